extern crate std;
use super::*;
use aster_units::{Column, Duration, RowAddr};
use std::vec;
use std::vec::Vec;

fn decode(txn: &Txn) -> Vec<Instruction<'_>> {
    txn.instructions().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_read_latches_command_column_row_and_confirm_in_one_instruction() {
    let mut txn = Txn::default();
    txn.begin("read", 0b10).cmd(0x00).col_row(Column(0x0102), RowAddr(0x03_04_05)).cmd(0x30).end();
    let got = decode(&txn);
    assert_eq!(got[0], Instruction::Begin { chips: 2 });
    let Instruction::CommandAddress(latches) = got[1] else { panic!("{:?}", got[1]) };
    let want = [0x02u8, 0x01, 0x05, 0x04, 0x03].map(Latch::Address);
    let mut all = vec![Latch::Command(0)];
    all.extend(want);
    all.push(Latch::Command(0x30));
    assert_eq!(latches.collect::<Vec<_>>(), all);
    assert_eq!(got[2], Instruction::End);
    assert_eq!(txn.words().len(), 5, "BEGIN, C/A header, two words of latches, END");
}

#[test]
fn bursts_name_the_descriptor_given_last() {
    let mut txn = Txn::default();
    txn.begin("status", 1).cmd(0x70).describe(Descriptor::mailbox_out()).data_read(4).end();
    assert_eq!(decode(&txn)[2], Instruction::DataRead { bytes: 4, descriptor: 0 });
    txn.begin("wait", 1).timer(Duration::from_picos(1_001)).end();
    assert_eq!(decode(&txn)[1], Instruction::Timer { nanoseconds: 2 });
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
