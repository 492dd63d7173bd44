extern crate std;
use super::*;
use aster_units::{Column, Duration, RowAddr};
use std::vec;
use std::vec::Vec;

fn encode(txn: &Txn) -> Vec<u64> {
    let mut words = [0; MAX_WORDS];
    let n = txn.words(&mut words);
    words[..n].to_vec()
}

fn decode(words: &[u64]) -> Vec<Instruction<'_>> {
    Instructions::new(words).collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_read_latches_command_column_row_and_confirm_in_one_instruction() {
    let mut txn = Txn::default();
    txn.begin("read", 0b10).cmd(0x00).col_row(Column(0x0102), RowAddr(0x03_04_05)).cmd(0x30).end();
    let words = encode(&txn);
    let got = decode(&words);
    assert_eq!(got[0], Instruction::Begin { chips: 2 });
    let Instruction::CommandAddress(latches) = got[1] else { panic!("{:?}", got[1]) };
    let want = [0x02u8, 0x01, 0x05, 0x04, 0x03].map(Latch::Address);
    let mut all = vec![Latch::Command(0)];
    all.extend(want);
    all.push(Latch::Command(0x30));
    assert_eq!(latches.collect::<Vec<_>>(), all);
    assert_eq!(got[2], Instruction::End);
    assert_eq!(words.len(), 5, "BEGIN, C/A header, two words of latches, END");
}

#[test]
fn a_command_of_three_steps_is_its_latches_one_by_one() {
    let (mut at_once, mut by_steps) = (Txn::default(), Txn::default());
    for burst in [false, true] {
        at_once.begin("read", 1);
        by_steps.begin("read", 1);
        for txn in [&mut at_once, &mut by_steps] {
            if burst {
                txn.describe(Descriptor::mailbox_out()).data_read(1);
            }
        }
        let (column, row) = (Column(0x0102), RowAddr(0x03_04_05));
        at_once.command(0x05, AddressRun::column(column), 0xe0);
        at_once.command(0x00, AddressRun::column_and_row(column, row), 0x30).end();
        by_steps.cmd(0x05).column(column).cmd(0xe0).cmd(0x00).col_row(column, row).cmd(0x30).end();
        assert_eq!(at_once.ops(), by_steps.ops());
        assert_eq!(encode(&at_once), encode(&by_steps));
    }
}

#[test]
fn a_transaction_overflows_with_the_word_that_is_one_too_many() {
    let mut txn = Txn::default();
    txn.begin("full", 1).describe(Descriptor::mailbox_out());
    // BEGIN, four words for each command with a burst behind it, one for a pause, END.
    for _ in 0..7 {
        txn.command(0x00, AddressRun::column_and_row(Column(0), RowAddr(0)), 0x30).data_read(1);
    }
    txn.timer(Duration::from_nanos(1)).end();
    assert_eq!((encode(&txn).len(), txn.overflowed()), (31, false));
    for (latches, words, overflows) in [(0, 32, false), (4, 32, false), (5, 32, true)] {
        txn.begin("full", 1).describe(Descriptor::mailbox_out());
        for _ in 0..7 {
            txn.command(0x00, AddressRun::column_and_row(Column(0), RowAddr(0)), 0x30).data_read(1);
        }
        if latches == 0 {
            txn.data_read(1).data_read(1);
        }
        (0..latches).for_each(|_| {
            txn.cmd(0xff);
        });
        txn.end();
        assert_eq!((encode(&txn).len(), txn.overflowed()), (words, overflows), "{latches}");
    }
}

#[test]
fn bursts_name_the_descriptor_given_last() {
    let mut txn = Txn::default();
    txn.begin("status", 1).cmd(0x70).describe(Descriptor::mailbox_out()).data_read(4).end();
    assert_eq!(decode(&encode(&txn))[2], Instruction::DataRead { bytes: 4, descriptor: 0 });
    txn.begin("wait", 1).timer(Duration::from_picos(1_001)).end();
    assert_eq!(decode(&encode(&txn))[1], Instruction::Timer { nanoseconds: 2 });
}

#[test]
fn what_does_not_fit_is_flagged_not_lost() {
    let mut txn = Txn::default();
    txn.begin("long", 1);
    for _ in 0..(4 * MAX_WORDS) {
        txn.addr(0xaa);
    }
    assert!(txn.overflowed());
    txn.begin("short", 1).cmd(0xff).end();
    assert!(!txn.overflowed());
}

#[test]
fn illegal_words_are_named_by_index_and_reason() {
    let begin = 1u64 << 60 | 1;
    let bad = [
        (vec![begin, 0], 1, "unknown opcode"),
        (vec![1u64 << 60], 0, "Chip Control selects no chip"),
        (vec![begin, 2 << 60 | 5 << 32, 0], 1, "the C/A Writer's latches run past the end"),
        (vec![begin, 2 << 60 | 1 << 32, 0x300], 1, "a latch is neither command nor address"),
        (vec![begin, 4 << 60], 1, "a burst of no bytes"),
    ];
    for (words, index, reason) in bad {
        let error = Instructions::new(&words).find_map(Result::err).unwrap();
        assert_eq!(error, WordError { index, reason });
    }
}

#[test]
fn words_that_are_loaded_are_the_words_that_come_out() {
    let mut txn = Txn::default();
    txn.begin("page", 0b101).cmd(0x80).col_row(Column(3), RowAddr(0x112233));
    txn.describe(Descriptor::mailbox_in(7))
        .data_write(18_028)
        .cmd(0x10)
        .timer(Duration::from_nanos(70))
        .end();
    assert_eq!(txn.fault(), None);
    let words = encode(&txn);
    let mut again = Txn::default();
    again.load_words("page", &words);
    assert_eq!((again.fault(), again.ops(), again.chips()), (None, txn.ops(), 0b101));
    assert_eq!(encode(&again), words);
}

#[test]
fn streams_that_are_not_framed_are_named() {
    let begin = 1u64 << 60 | 1;
    let end = 6u64 << 60;
    for words in [&[][..], &[begin][..], &[end][..], &[begin, begin, end][..], &[begin, end, end][..]] {
        let mut txn = Txn::default();
        txn.load_words("bad", words);
        assert_eq!(txn.fault(), Some(Fault::Unframed), "{words:x?}");
    }
    let mut txn = Txn::default();
    txn.load_words("bad", &[begin, 0xf << 60, end]);
    assert_eq!(txn.fault(), Some(Fault::Word(WordError { index: 1, reason: "unknown opcode" })));
}

#[test]
fn a_long_stream_that_is_wrong_is_told_by_what_is_wrong_and_not_as_too_long() {
    let mut txn = Txn::default();
    for pauses in [4, 18, 29] {
        // BEGIN, pauses one behind the other, which is wrong already, and a word that is none.
        let mut words = vec![1u64 << 60 | 1];
        words.extend((0..pauses).map(|_| 5u64 << 60 | 1));
        words.push(0xf << 60);
        txn.load_words("wrong", &words);
        assert!(!txn.overflowed(), "{pauses}");
        assert!(matches!(txn.fault(), Some(Fault::Word(_))), "{pauses}: {:?}", txn.fault());
        assert_eq!(encode(&txn), words, "{pauses}");
    }
}

#[test]
fn hardware_gets_the_words_of_an_illegal_stream_as_they_came() {
    let begin = 1u64 << 60 | 1;
    for words in [vec![begin, 0xf << 60 | 7 << 30, 6 << 60], vec![], vec![begin, begin], vec![6u64 << 60; 32]]
    {
        let mut txn = Txn::default();
        txn.load_words("bad", &words);
        assert!(txn.fault().is_some());
        assert_eq!(encode(&txn), words);
        assert_eq!(encode(txn.begin("good", 1).cmd(0xff).end()).len(), 4);
    }
}

#[test]
fn the_builder_refuses_what_the_word_buffer_would() {
    let mut txn = Txn::default();
    txn.begin("bursts", 1).describe(Descriptor::mailbox_out());
    for _ in 0..MAX_WORDS - 2 {
        txn.data_read(2);
    }
    txn.end();
    assert!(!txn.overflowed());
    assert_eq!(encode(&txn).len(), MAX_WORDS);
    txn.begin("bursts", 1).describe(Descriptor::mailbox_out());
    for _ in 0..MAX_WORDS - 1 {
        txn.data_read(2);
    }
    txn.end();
    assert!(txn.overflowed());
}

#[test]
fn two_timers_in_succession_are_refused_as_words_and_merged_when_built() {
    let begin = 1u64 << 60 | 1;
    let timer = 5u64 << 60 | 100;
    let error = Instructions::new(&[begin, timer, timer]).find_map(Result::err).unwrap();
    assert_eq!((error.index, error.reason), (2, "a Timer follows a Timer"));
    let mut txn = Txn::default();
    txn.begin("apart", 1).timer(Duration::from_nanos(10)).cmd(0x70).timer(Duration::from_nanos(10)).end();
    assert!(Instructions::new(&encode(&txn)).all(|i| i.is_ok()));
    let pause = |build: &dyn Fn(&mut Txn)| {
        let mut txn = Txn::default();
        build(&mut txn);
        let words = encode(&txn);
        decode(&words).into_iter().find_map(|i| match i {
            Instruction::Timer { nanoseconds } => Some(nanoseconds),
            _ => None,
        })
    };
    let ns = Duration::from_nanos;
    let after_latch = pause(&|t| {
        t.begin("latch", 1).cmd(0x70).timer(ns(30)).timer(ns(20)).end();
    });
    assert_eq!(after_latch, Some(30), "both count from the latch");
    let elsewhere = pause(&|t| {
        t.begin("begin", 1).timer(ns(30)).timer(ns(20)).end();
    });
    assert_eq!(elsewhere, Some(50));
}

#[test]
fn a_bad_latch_is_named_before_missing_ones_as_it_comes_first() {
    let begin = 1u64 << 60 | 1;
    let header = 2u64 << 60 | 8 << 32;
    let error = |words: &[u64]| Instructions::new(words).find_map(Result::err).unwrap();
    assert_eq!(error(&[begin, header, 0]).reason, "the C/A Writer's latches run past the end");
    assert_eq!(error(&[begin, header, 0x200]).reason, "a latch is neither command nor address");
    // The bits behind the last latch are ignored.
    let one = 2u64 << 60 | 1 << 32;
    assert!(Instructions::new(&[begin, one, 0xffff_0000]).all(|i| i.is_ok()));
}
