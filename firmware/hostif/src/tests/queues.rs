//! Queues: many, full, shared, deleted in use; interrupts.

use super::bench::{Bench, DATA, config};
use super::mandatory::{delete, log_page, set_feature};
use crate::{HostIfConfig, vectors_for};
use alloc::vec::Vec;
use aster_parties::HostTrouble;
use aster_units::Duration;
use aster_wire::nvme::features::{FeatureId, InterruptCoalescing, NumberOfQueues};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::log::ErrorEntry;
use aster_wire::nvme::registers::{DoorbellKind, Register};
use aster_wire::nvme::{AdminOpcode, Sqe, Status};
use zerocopy::FromBytes;

fn read(slba: u64) -> Sqe {
    IoCommand::Read(BlockRange::new(slba, 1)).to_sqe(1, 0, DATA, 0)
}

#[test]
fn sixty_four_queue_pairs_work_side_by_side() {
    let mut bench = Bench::new(HostIfConfig { queue_pairs: 64, vectors: 65, slots: 16, ..config() });
    bench.enable();
    (1..=64).for_each(|queue| bench.create_pair(queue, 16));
    bench.interrupts.clear();
    for round in 0..3u64 {
        let mut sent = Vec::new();
        for queue in 1..=64 {
            (0..10).for_each(|n| sent.push((queue, bench.push(queue, read(round * 10 + n)))));
            bench.ring(queue);
        }
        bench.run();
        for (queue, cid) in sent {
            let entry = bench.completion(queue, cid).expect("every command completes");
            assert!(entry.status().is_success());
        }
    }
    let mut vectors = bench.interrupts.clone();
    vectors.sort_unstable();
    vectors.dedup();
    assert_eq!(vectors, (1..=64).collect::<Vec<u16>>());
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
}

#[test]
fn a_host_that_wants_more_queues_than_there_are_is_noted() {
    let mut bench = Bench::new(config());
    bench.enable();
    let number = |pairs: u16| set_feature(FeatureId::NumberOfQueues, 0, NumberOfQueues::of(pairs, pairs).0);
    let missed = |asked| Some(HostTrouble::Queues { asked, offered: 4 });
    assert!(bench.status(0, number(4)).is_success());
    assert_eq!(bench.front.take_trouble(), None);
    let reply = bench.send(0, number(1_024));
    assert_eq!((reply.status(), reply.result.get()), (Status::SUCCESS, 0x0003_0003));
    assert_eq!(bench.front.take_trouble(), missed(1_024));
    assert_eq!(bench.front.take_trouble(), None, "it is told once");
    // A host that has asked for few is refused what it hasn't asked for; that is its own doing.
    assert!(bench.status(0, number(2)).is_success());
    assert!(bench.status(0, Bench::create_cq(3, 16, 1)).is(Status::INVALID_QUEUE_IDENTIFIER));
    assert_eq!(bench.front.take_trouble(), None);
    assert!(bench.status(0, Bench::create_cq(5, 16, 1)).is(Status::INVALID_QUEUE_IDENTIFIER));
    assert_eq!(bench.front.take_trouble(), missed(5));
    let entry = ErrorEntry::read_from_bytes(&bench.fetch_page(log_page(1, 64))[..64]).unwrap();
    assert!(entry.status().is(Status::INVALID_QUEUE_IDENTIFIER));
    assert_eq!((entry.error_count.get(), entry.sq_id.get()), (2, 0));
}

/// MSI-X has at most 2,048 vectors, so completion queues share them.
#[test]
fn a_completion_queue_beyond_the_last_vector_shares_one() {
    let mut bench =
        Bench::new(HostIfConfig { queue_pairs: u16::MAX, vectors: vectors_for(u16::MAX), ..config() });
    bench.enable();
    assert!(bench.status(0, Bench::create_cq(u16::MAX, 16, 2_047)).is_success());
    assert!(bench.status(0, Bench::create_cq(2_047, 16, 2_047)).is_success());
    assert!(bench.status(0, Bench::create_cq(2_048, 16, 2_048)).is(Status::INVALID_INTERRUPT_VECTOR));
    assert!(bench.status(0, Bench::create_cq(2_048, 16, 0)).is_success());
}

#[test]
fn a_full_completion_queue_holds_entries_until_the_host_takes_some() {
    let mut bench = Bench::new(config());
    bench.enable();
    bench.forget_pair(1, 64);
    assert!(bench.status(0, Bench::create_cq(1, 4, 1)).is_success());
    assert!(bench.status(0, Bench::create_sq(1, 64, 1)).is_success());
    let sent: Vec<u16> = (0..20).map(|n| bench.push(1, read(n))).collect();
    bench.ring(1);
    bench.run();
    // The submission and completion queues differ in size, so the test reads the entries itself.
    let at = Bench::completion_at(1) as usize;
    let mut order = Vec::new();
    let (mut head, mut phase) = (0, 1);
    while order.len() < sent.len() {
        let entry = &bench.memory.0[at + head * 16..at + head * 16 + 16];
        assert_eq!(entry[14] & 1, phase, "after {} entries", order.len());
        order.push(u16::from_le_bytes([entry[12], entry[13]]));
        head = (head + 1) % 4;
        if head == 0 {
            phase ^= 1;
        }
        if order.len() % 3 == 0 {
            bench.doorbell(1, DoorbellKind::CompletionHead, head as u32);
            bench.run();
        }
    }
    order.sort_unstable();
    assert_eq!(order, sent);
}

#[test]
fn a_deleted_queue_takes_its_commands_with_it() {
    let mut bench = Bench::ready(config());
    bench.ftl.paused.set(true);
    for n in 0..5 {
        bench.push(1, read(n));
    }
    bench.ring(1);
    bench.run();
    assert_eq!(bench.front.controller().commands_in_flight(), 5);
    assert!(bench.status(0, delete(AdminOpcode::DeleteIoSq, 1)).is_success());
    assert!(bench.status(0, delete(AdminOpcode::DeleteIoCq, 1)).is_success());
    bench.ftl.paused.set(false);
    bench.run();
    assert_eq!(bench.reap(1, false), 0, "nobody completes a command of a deleted queue");
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
    bench.create_pair(1, 16);
    assert!(bench.status(1, read(0)).is_success());
}

#[test]
fn a_deletion_waits_for_the_queues_dma() {
    let mut bench = Bench::ready(config());
    bench.create_pair(2, 16);
    // The data of queue 2's command is on the link when the deletion comes.
    bench.ftl.paused.set(true);
    bench.push(2, read(0));
    bench.ring(2);
    bench.run();
    bench.hold_link = true;
    bench.ftl.paused.set(false);
    bench.run();
    let cid = bench.push(0, delete(AdminOpcode::DeleteIoSq, 2));
    bench.ring(0);
    bench.run();
    assert_eq!(bench.completion(0, cid), None);
    bench.release_link();
    assert!(bench.completion(0, cid).unwrap().status().is_success());
    // Data that have been posted are the link's, which brings them before the entries.
    assert_eq!(bench.reap(2, false), usize::from(!Bench::writes_are_answered()));
    assert_eq!(bench.front.controller().commands_in_flight(), 0);
}

#[test]
fn number_of_queues_limits_what_can_be_created() {
    let mut bench = Bench::new(config());
    bench.enable();
    let reply = bench.send(0, set_feature(FeatureId::NumberOfQueues, 0, 0x00ff_0000));
    assert_eq!(
        reply.result.get(),
        0x0003_0000,
        "one submission queue asked for, four completion queues there"
    );
    assert!(
        bench.status(0, set_feature(FeatureId::NumberOfQueues, 0, 0xffff_0000)).is(Status::INVALID_FIELD)
    );
    assert!(bench.status(0, Bench::create_cq(2, 16, 0)).is_success());
    assert!(bench.status(0, Bench::create_sq(2, 16, 2)).is(Status::INVALID_QUEUE_IDENTIFIER));
    assert!(bench.status(0, Bench::create_sq(1, 16, 2)).is_success());
}

#[test]
fn coalescing_waits_for_its_threshold_or_its_time() {
    let mut bench = Bench::ready(config());
    let feature = InterruptCoalescing(0).with_threshold_zero_based(2).with_time_100us(5);
    assert!(bench.status(0, set_feature(FeatureId::InterruptCoalescing, 0, feature.0)).is_success());
    let send = |bench: &mut Bench| {
        bench.push(1, read(0));
        bench.ring(1);
        bench.run_for(Duration::from_micros(10));
    };
    bench.interrupts.clear();
    (0..2).for_each(|_| send(&mut bench));
    assert_eq!(bench.interrupts, []);
    send(&mut bench);
    assert_eq!(bench.interrupts, [1], "three entries are one more than the zero-based threshold");
    bench.run_for(Duration::from_millis(1));
    assert_eq!(bench.interrupts, [1], "the time finds nothing new");
    send(&mut bench);
    bench.run_for(Duration::from_micros(480));
    assert_eq!(bench.interrupts, [1]);
    bench.run_for(Duration::from_micros(20));
    assert_eq!(bench.interrupts, [1, 1]);
    // With coalescing disabled for the vector, every entry is announced.
    let disabled = set_feature(FeatureId::InterruptVectorConfiguration, 0, 1 << 16 | 1);
    assert!(bench.status(0, disabled).is_success());
    bench.interrupts.clear();
    (0..2).for_each(|_| send(&mut bench));
    assert_eq!(bench.interrupts, [1, 1]);
}

#[test]
fn a_masked_vector_interrupts_when_it_is_unmasked() {
    let mut bench = Bench::ready(config());
    bench.interrupts.clear();
    bench.write(Register::InterruptMaskSet, 0b10);
    assert_eq!(bench.read(Register::InterruptMaskClear), 0b10);
    assert!(bench.status(1, read(0)).is_success());
    assert_eq!(bench.interrupts, []);
    bench.write(Register::InterruptMaskClear, 0b10);
    assert_eq!(bench.interrupts, [1]);
}
