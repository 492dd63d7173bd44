//! Illegal words give the same error on both. Streams are mutated at random: for illegal ones the RTL must
//! give the timed model's error, and legal ones must do the same on both.

use crate::bench::{Bench, GEOMETRY, Hardware, Setting};
use aster_ports::channel::{TxnFault, TxnResult};
use aster_tests::cases;
use aster_txn::interface::{opcode, word};
use aster_txn::{Descriptor, Direction, MAX_WORDS, Txn};
use aster_units::*;
use aster_wire::onfi::{DataInterface, command};

/// Timers are limited to this many nanoseconds: the longest would take the RTL minutes.
const PAUSE_MAX: u64 = 4095;

/// Legal streams, before mutation.
fn original(rng: &mut Rng) -> Vec<u64> {
    let row = GEOMETRY.row(0, BlockAddr(1), PageInBlock(0));
    let mut txn = Txn::default();
    txn.begin("original", 1 + rng.below(2) as u32);
    match rng.below(4) {
        0 => txn.cmd(command::READ_STATUS_ENHANCED).row(row),
        1 => txn.cmd(command::PROGRAM).col_row(Column(0), row),
        2 => txn.cmd(command::READ).col_row(Column(4), row).cmd(command::READ_CONFIRM),
        _ => txn.cmd(command::GET_FEATURES).addr(0x10).timer(Duration::from_nanos(rng.below(3_000))),
    };
    // Their order is that of `describe` below.
    let bursts =
        [(opcode::DATA_READ, 0), (opcode::DATA_WRITE, 1), (opcode::DATA_READ, 2), (opcode::DATA_WRITE, 3)];
    let (op, descriptor) = bursts[rng.below(4) as usize];
    txn.end();
    let mut words = [0; MAX_WORDS];
    let count = txn.words(&mut words);
    let mut words = words[..count].to_vec();
    let burst = word::OPCODE.put(u64::from(op))
        | word::DESCRIPTOR.put(descriptor)
        | word::LENGTH.put(1 + rng.below(8));
    words.insert(count - 1, burst);
    words
}

fn describe(txn: &mut Txn) {
    txn.describe(Descriptor::mailbox_out()).describe(Descriptor::mailbox_in(0x0123_4567_89ab_cdef));
    txn.describe(Descriptor::raw(Direction::Out, BufferId(0), 0));
    txn.describe(Descriptor::raw(Direction::In, BufferId(1), 8));
}

fn mutate(words: &mut Vec<u64>, rng: &mut Rng) {
    let at = rng.below(words.len().max(1) as u64) as usize;
    let any = match rng.below(3) {
        0 => rng.next_u64(),
        _ => word::OPCODE.put(rng.below(8)) | word::LENGTH.put(rng.below(12)) | rng.below(4),
    };
    match rng.below(8) {
        0 | 1 if !words.is_empty() => words[at] ^= 1 << rng.below(64),
        2 if !words.is_empty() => words[at] ^= word::OPCODE.put(rng.below(16)),
        3 if !words.is_empty() => drop(words.remove(at)),
        4 if !words.is_empty() => words.insert(at, words[at]),
        5 if !words.is_empty() => words[at] = any,
        6 => words.truncate(at),
        7 if rng.below(6) == 0 => words.resize(MAX_WORDS + rng.below(3) as usize, any),
        _ => words.insert(at, any),
    }
}

fn issue(bench: &Bench, words: &[u64]) -> Result<TxnResult, TxnFault> {
    describe(bench.port.txn(0).load_words("mutated", words));
    let (port, exec) = (bench.port.clone(), bench.exec.clone());
    let result = bench.run(async move {
        port.issue(0, exec.now(), Duration::ZERO);
        port.finished(0).await
    });
    // Resets the LUN, so that it isn't busy or in the middle of a command when the next stream comes.
    let lun = bench.lun(0, 0);
    bench.run(async move { aster_flash::operations::reset(&lun).await.map(drop) }).expect("RESET");
    bench.log.borrow_mut().clear();
    result.map_err(|fault| *fault)
}

#[test]
fn mutated_words_give_the_same_error_on_both() {
    let (mut refused, mut legal) = (0u32, 0u32);
    let setting = Setting::of(DataInterface::Sdr, 5);
    let benches = [Hardware::Timed, Hardware::Rtl].map(|hardware| Bench::new(hardware, &setting));
    for seed in 0..cases(1_500, 100_000) {
        let mut rng = Rng::new(seed);
        let mut words = original(&mut rng);
        for _ in 0..rng.below(4) {
            mutate(&mut words, &mut rng);
        }
        for w in &mut words {
            if word::OPCODE.get(*w) == u64::from(opcode::TIMER) {
                *w &= !word::OPERAND.put(!PAUSE_MAX);
            }
        }
        let [timed, rtl] = [&benches[0], &benches[1]].map(|bench| issue(bench, &words));
        assert_eq!(timed, rtl, "timed model, then RTL, of seed {seed}: {words:#018x?}");
        match timed {
            Ok(_) => legal += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100 && legal > 100, "{refused} refused, {legal} legal");
}
