//! What holds only where the controller fetches by its arbiter: batches of entries, and shares of queues and
//! of parked writes.

use super::bench::{Bench, DATA, config};
use super::mandatory::set_feature;
use super::pause::{Disk, abort, bench, push, read as pause_read, write_at, written};
use crate::HostIfConfig;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_ports::host::HostOp;
use aster_units::Duration;
use aster_wire::nvme::features::{ArbitrationFeature, FeatureId};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::registers::{Arbitration, Register};
use aster_wire::nvme::{Sqe, Status};

fn read(slba: u64) -> Sqe {
    IoCommand::Read(BlockRange::new(slba, 1)).to_sqe(1, 0, DATA, 0)
}

#[test]
fn entries_of_one_instant_share_an_interrupt() {
    let mut bench = Bench::ready(config());
    bench.interrupts.clear();
    for _ in 0..8 {
        bench.push(1, Sqe::new(0x7f, 1));
    }
    bench.ring(1);
    bench.run();
    assert_eq!((bench.reap(1, true), &bench.interrupts[..]), (8, &[1][..]));
}

#[test]
fn weighted_round_robin_serves_the_urgent_queue_first() {
    let mut bench =
        Bench::new(HostIfConfig { weighted_round_robin: true, slots: 1, fetch_batch: 1, ..config() });
    bench.set_admin_queues(32);
    let cc = bench.cc().with_ams(Arbitration::WeightedRoundRobin.raw());
    bench.write(Register::Configuration, cc.0.into());
    for (queue, priority) in [(1, 3), (2, 0)] {
        bench.forget_pair(queue, 16);
        assert!(bench.status(0, Bench::create_cq(queue, 16, 0)).is_success());
        let sqe = Bench::create_sq(queue, 16, queue);
        let sqe = sqe.with_dword(11, sqe.dword(11) | priority << 1);
        assert!(bench.status(0, sqe).is_success());
    }
    bench.ftl.paused.set(true);
    for n in 0..4 {
        bench.push(1, read(n));
        bench.push(2, read(100 + n));
    }
    bench.ring(1);
    bench.ring(2);
    bench.run();
    bench.ftl.paused.set(false);
    bench.run();
    let order: Vec<u64> = bench.ftl.seen.borrow().iter().map(|c| c.offset / 512).collect();
    // One command of the low queue was fetched before the urgent queue rang.
    assert_eq!(order, [0, 100, 101, 102, 103, 1, 2, 3]);
}

/// The board's eight I/O queues in three classes (C9): each class gets its weight of every round, and the
/// queues of a class take turns (NVMe 1.4 §4.13.2). With plain round robin the same queues get equal
/// shares.
#[test]
fn eight_queues_share_commands_by_the_weights_of_their_classes() {
    const DEEP: u64 = 60;
    // Two queues of high priority, three of medium, three of low.
    const PRIORITIES: [u32; 8] = [1, 1, 2, 2, 2, 3, 3, 3];
    // The commands served per queue, from the second command on: the first was fetched when the first
    // queue rang.
    let served = |arbitration: Arbitration, commands: usize| {
        let wanted = HostIfConfig { queue_pairs: 8, weighted_round_robin: true, slots: 1, ..config() };
        let mut bench = Bench::new(HostIfConfig { fetch_batch: 1, vectors: 9, ..wanted });
        bench.set_admin_queues(32);
        bench.write(Register::Configuration, bench.cc().with_ams(arbitration.raw()).0.into());
        let weights = ArbitrationFeature(0).with_high_weight(5).with_medium_weight(2).with_low_weight(0);
        assert!(bench.status(0, set_feature(FeatureId::Arbitration, 0, weights.0)).is_success());
        for (queue, priority) in (1..).zip(PRIORITIES) {
            bench.forget_pair(queue, 64);
            assert!(bench.status(0, Bench::create_cq(queue, 64, 0)).is_success());
            let sqe = Bench::create_sq(queue, 64, queue);
            let sqe = sqe.with_dword(11, sqe.dword(11) | priority << 1);
            assert!(bench.status(0, sqe).is_success());
        }
        bench.ftl.paused.set(true);
        for queue in 1..=8 {
            (0..DEEP).for_each(|n| _ = bench.push(queue, read(u64::from(queue) * DEEP + n)));
            bench.ring(queue);
        }
        bench.run();
        bench.ftl.paused.set(false);
        bench.run();
        let mut counts = [0; 8];
        let seen = bench.ftl.seen.borrow();
        for command in &seen[1..=commands] {
            counts[(command.offset / 512 / DEEP) as usize - 1] += 1;
        }
        assert_eq!(seen.len() as u64, 8 * DEEP, "every command is served in the end");
        counts
    };
    // Rounds of 6 + 3 + 1 commands.
    let counts = served(Arbitration::WeightedRoundRobin, 120);
    assert_eq!(counts, [36, 36, 12, 12, 12, 4, 4, 4]);
    let counts = served(Arbitration::RoundRobin, 120);
    assert_eq!(counts, [15; 8]);
}

#[test]
fn reads_go_on_beside_parked_writes_that_get_their_slots_back() {
    for slots in [1, 2, 5] {
        let mut bench = Bench::ready(HostIfConfig { slots, fetch_batch: 1, ..config() });
        let disk = Rc::new(Disk::default());
        bench.front.pause_with(Some(disk.clone()));
        disk.say(&mut bench, true, 0);
        (0..30).for_each(|block| _ = push(&mut bench, write_at(block)));
        // Make slots scarce.
        bench.ftl.lingers.set(Duration::from_micros(5));
        let reads: Vec<u16> = (0..30).map(|_| bench.push(1, pause_read())).collect();
        disk.full.set(false);
        bench.ring(1);
        disk.say(&mut bench, false, 0);
        bench.run_for(Duration::from_millis(1));
        assert!(reads.iter().all(|&cid| bench.completion(1, cid).is_some()));
        assert_eq!(written(&bench), Vec::from_iter(0..30), "{slots} slots");
        let seen = bench.ftl.seen.borrow();
        let first_read = seen.iter().position(|command| command.op == HostOp::Read).unwrap();
        let last_write = seen.iter().rposition(|command| command.op == HostOp::Write).unwrap();
        assert!(first_read < 10 && last_write >= 35, "{slots} slots: {first_read}, {last_write}");
    }
}

#[test]
fn a_parked_write_is_aborted_and_no_other() {
    let (mut bench, disk) = bench();
    disk.say(&mut bench, true, 0);
    let parked = [0, 1, 2].map(|block| push(&mut bench, write_at(block)));
    assert_eq!(bench.send(0, abort(2, parked[1])).result.get(), 1, "there is none in that queue");
    // No slot is free for its entry until later.
    bench.ftl.paused.set(true);
    let reads: Vec<u16> = (0..config().slots).map(|_| push(&mut bench, pause_read())).collect();
    assert_eq!(bench.send(0, abort(1, parked[1])).result.get(), 0);
    assert_eq!(bench.completion(1, parked[1]), None);
    assert_eq!(bench.send(0, abort(1, parked[1])).result.get(), 1, "it has ended");
    bench.ftl.paused.set(false);
    bench.run();
    assert_eq!(bench.completion(1, parked[1]).unwrap().status(), Status::ABORT_REQUESTED);
    assert!(reads.iter().all(|&cid| bench.completion(1, cid).unwrap().status().is_success()));
    disk.say(&mut bench, false, 0);
    assert_eq!(written(&bench), [0, 2]);
    for cid in [parked[0], parked[2]] {
        assert!(bench.completion(1, cid).unwrap().status().is_success());
    }
}
