//! What workers add to the controller: who wakes, who waits, and in which order things leave the drive.

use super::bench::{Bench, DATA, config};
use super::mandatory::delete;
use crate::{Fetching, HostIfConfig};
use alloc::vec::Vec;
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::{AdminOpcode, Sqe};

fn by(workers: u8) -> HostIfConfig {
    HostIfConfig { fetching: Fetching::ByWorkers, fetch_batch: workers, ..config() }
}
fn read(slba: u64) -> Sqe {
    IoCommand::Read(BlockRange::new(slba, 1)).to_sqe(1, 0, DATA, 0)
}

/// S18 and S19.
#[test]
fn a_doorbell_wakes_all_workers_of_its_queue_and_those_without_an_entry_sleep_again() {
    let mut bench = Bench::ready(by(8));
    let counts = |bench: &Bench| bench.software.as_ref().expect("workers fetch").worker_counts();
    let before = counts(&bench);
    assert!(bench.status(1, read(0)).is_success());
    let after = counts(&bench);
    assert_eq!(after.taken - before.taken, 1);
    // Eight at the doorbell, and the one that had the command once more behind it.
    assert_eq!(after.looked - before.looked, 9);
    // Nobody looks while no doorbell rings.
    bench.run();
    assert_eq!(counts(&bench), after);
}

/// What waits for an event holds no worker: with one worker per queue, four of them would stop the admin
/// queue.
#[test]
fn requests_for_events_leave_the_only_worker_of_the_admin_queue_free() {
    let mut bench = Bench::ready(by(1));
    for _ in 0..4 {
        bench.push(0, Sqe::new(AdminOpcode::AsyncEventRequest.raw(), 0));
    }
    bench.ring(0);
    bench.run();
    bench.create_pair(2, 16);
    assert!(bench.status(2, read(3)).is_success());
}

#[test]
fn the_head_that_the_host_is_told_stays_before_an_entry_that_is_still_fetched() {
    let mut bench = Bench::ready(by(8));
    bench.hold_link = true;
    let cids: Vec<_> = (0..2).map(|n| bench.push(1, read(n))).collect();
    bench.ring(1);
    bench.run();
    // Two fetches are on the link. The second one's is answered, and its command runs to its end.
    bench.set_one_aside();
    assert!(bench.carry_out_one());
    bench.hold_link = false;
    bench.run();
    let second = bench.completion(1, cids[1]).expect("it doesn't wait for the first");
    assert!(second.status().is_success());
    assert_eq!(second.sq_head.get(), 0, "entry 0 has not been read");
    assert_eq!(bench.completion(1, cids[0]), None);
    bench.release_link();
    let first = bench.completion(1, cids[0]).expect("its entry is there now");
    assert_eq!(first.sq_head.get(), 2);
}

#[test]
fn a_reset_while_entries_are_fetched_ends_when_their_answers_have_come() {
    let mut bench = Bench::ready(by(4));
    bench.hold_link = true;
    (0..4).for_each(|n| {
        bench.push(1, read(n));
    });
    bench.ring(1);
    bench.run();
    bench.disable();
    bench.release_link();
    assert!(!bench.csts().rdy(), "no fetch is on its way any more");
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    // All slots and workers are free again.
    bench.enable();
    bench.create_pair(1, 64);
    for n in 0..100 {
        assert!(bench.status(1, read(n)).is_success(), "{n}");
    }
}

#[test]
fn a_queue_deleted_while_its_entries_are_fetched_can_be_made_again() {
    let mut bench = Bench::ready(by(4));
    for round in 0..3 {
        bench.hold_link = true;
        (0..3).for_each(|n| {
            bench.push(1, read(n));
        });
        bench.ring(1);
        bench.run();
        let cid = bench.push(0, delete(AdminOpcode::DeleteIoSq, 1));
        bench.ring(0);
        bench.run();
        bench.release_link();
        assert!(bench.completion(0, cid).expect("the deletion ends").status().is_success(), "{round}");
        assert!(bench.status(0, delete(AdminOpcode::DeleteIoCq, 1)).is_success());
        bench.create_pair(1, 64);
        assert!(bench.status(1, read(1)).is_success());
    }
}

/// With one slot, the workers of four queues take turns from when they have found none.
#[test]
fn queues_whose_workers_found_no_slot_take_turns() {
    let mut bench = Bench::ready(HostIfConfig { slots: 1, ..by(2) });
    (2..=4).for_each(|queue| bench.create_pair(queue, 64));
    bench.ftl.paused.set(true);
    let mut sent = Vec::new();
    for queue in 1..=4 {
        sent.extend((0..20).map(|n| (queue, bench.push(queue, read(u64::from(queue) * 100 + n)))));
        bench.ring(queue);
    }
    bench.run();
    bench.ftl.paused.set(false);
    (0..10).for_each(|_| bench.run());
    for (queue, cid) in sent {
        assert!(bench.completion(queue, cid).expect("its turn has come").status().is_success());
    }
    let seen = bench.ftl.seen.borrow();
    for queue in 1..=4 {
        let of_queue = seen[..40].iter().filter(|command| command.offset / 512 / 100 == queue);
        assert!((9..=11).contains(&of_queue.count()), "{seen:?}");
    }
}

/// The message of a completion entry must not reach the host before it: of each message, a new entry is in
/// memory when it comes.
#[test]
fn a_message_finds_its_entry_in_host_memory() {
    let mut bench = Bench::ready(by(8));
    bench.interrupts.clear();
    bench.hold_link = true;
    (0..16).for_each(|n| {
        bench.push(1, read(n));
    });
    bench.ring(1);
    let (mut messages, mut entries) = (0, 0);
    for _ in 0..200 {
        bench.run();
        while bench.carry_out_one() {
            if bench.interrupts.len() > messages {
                messages = bench.interrupts.len();
                let new = bench.reap(1, false);
                assert!(new > 0, "message {messages} has no entry");
                entries += new;
            }
        }
    }
    assert_eq!(entries, 16);
}
