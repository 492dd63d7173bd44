use super::*;
use alloc::rc::Rc;
use aster_exec::{Exec, Handler};
use aster_ports::channel::ChannelPort;
use aster_txn::{Descriptor, Direction, Txn};
use aster_units::{BufferId, ChannelId, Duration, Instant};

struct Nobody;
impl Handler for Nobody {
    fn fire(&self, _: u64) {}
}

const SLOTS: usize = 4;

/// A port without an engine: the test asks it which transaction the engine would take.
fn port(policy: TransactionPolicy) -> (Exec, Rc<ChannelPort>) {
    let exec = Exec::new();
    let port = ChannelPort::new(&exec, ChannelId(0), SLOTS, SLOTS);
    port.attach(exec.register(Rc::new(Nobody)));
    if let Some(arbiter) = policy.arbiter(SLOTS) {
        arbiter.serve(&port);
    }
    (exec, port)
}

fn issue(port: &ChannelPort, slot: usize, build: impl FnOnce(&mut Txn)) {
    build(port.txn(slot).begin("t", 1 << slot));
    port.txn(slot).end();
    port.issue(slot, Instant::ZERO, Duration::ZERO);
}

fn command(txn: &mut Txn) {
    txn.cmd(0x60);
}
fn status(txn: &mut Txn) {
    txn.cmd(0x70).describe(Descriptor::mailbox_out()).data_read(1);
}
fn data(direction: Direction, bytes: u32) -> impl FnOnce(&mut Txn) {
    move |txn| {
        txn.cmd(0x05).describe(Descriptor::raw(direction, BufferId(0), 0));
        match direction {
            Direction::Out => txn.data_read(bytes),
            Direction::In => txn.data_write(bytes),
        };
    }
}

/// The slots in the order in which the engine would take them.
fn drain(port: &ChannelPort) -> Vec<usize> {
    core::iter::from_fn(|| port.next_pending(Instant::ZERO)).collect()
}

#[test]
fn without_a_scheduler_the_order_of_issue_holds() {
    let (_exec, port) = port(TransactionPolicy::Fifo);
    [2, 0, 3, 1].into_iter().for_each(|slot| issue(&port, slot, command));
    assert_eq!(drain(&port), [2, 0, 3, 1]);
}

#[test]
fn luns_take_turns_from_the_one_that_went_last() {
    let (_exec, port) = port(TransactionPolicy::RoundRobin);
    [2, 0, 3, 1].into_iter().for_each(|slot| issue(&port, slot, command));
    assert_eq!(port.next_pending(Instant::ZERO), Some(0));
    assert_eq!(port.next_pending(Instant::ZERO), Some(1));
    issue(&port, 0, command);
    assert_eq!(drain(&port), [2, 3, 0], "0 has had its turn");
}

#[test]
fn classes_go_in_their_order_and_within_one_in_the_order_of_issue() {
    let (_exec, port) = port(TransactionPolicy::ByClass);
    issue(&port, 0, data(Direction::In, 512));
    issue(&port, 1, data(Direction::Out, 512));
    issue(&port, 2, status);
    issue(&port, 3, command);
    assert_eq!(drain(&port), [3, 2, 1, 0]);
    [3, 1, 2].into_iter().for_each(|slot| issue(&port, slot, status));
    assert_eq!(drain(&port), [3, 1, 2]);
}

#[test]
fn the_shortest_goes_first() {
    let (_exec, port) = port(TransactionPolicy::ShortestFirst);
    issue(&port, 0, data(Direction::Out, 4096));
    issue(&port, 1, data(Direction::In, 16));
    issue(&port, 2, data(Direction::Out, 512));
    issue(&port, 3, command);
    assert_eq!(drain(&port), [3, 1, 2, 0]);
}

#[test]
fn the_lun_that_moved_least_goes_first_and_idleness_saves_up_only_so_much() {
    let (_exec, port) = port(TransactionPolicy::FairShare);
    // Slot 0 moves pages while 1 waits with commands: after a page of 0, 1 may go many times.
    issue(&port, 0, data(Direction::Out, 16_384));
    issue(&port, 1, command);
    assert_eq!(port.next_pending(Instant::ZERO), Some(0));
    issue(&port, 0, data(Direction::Out, 16_384));
    for _ in 0..100 {
        assert_eq!(port.next_pending(Instant::ZERO), Some(1));
        issue(&port, 1, command);
    }
    // With pages on both sides they alternate in the long run.
    drain(&port);
    let mut turns = [0u32; 2];
    issue(&port, 0, data(Direction::Out, 16_384));
    issue(&port, 1, data(Direction::Out, 16_384));
    for _ in 0..1_000 {
        let slot = port.next_pending(Instant::ZERO).unwrap();
        turns[slot] += 1;
        issue(&port, slot, data(Direction::Out, 16_384));
    }
    assert!(turns[0].abs_diff(turns[1]) <= 2, "{turns:?}");
}

#[test]
fn what_is_passed_over_too_often_goes_next_whatever_the_arbiter_says() {
    let (_exec, port) = port(TransactionPolicy::ShortestFirst);
    issue(&port, 0, data(Direction::In, 16_384));
    issue(&port, 1, command);
    for _ in 0..PASSED_OVER_MAX {
        assert_eq!(port.next_pending(Instant::ZERO), Some(1));
        issue(&port, 1, command);
    }
    assert_eq!(port.next_pending(Instant::ZERO), Some(0));
}

#[test]
fn what_is_issued_for_later_is_not_chosen_yet() {
    let (_exec, port) = port(TransactionPolicy::ShortestFirst);
    issue(&port, 0, data(Direction::In, 16_384));
    command(port.txn(1).begin("late", 2));
    port.txn(1).end();
    port.issue(1, Instant::ZERO + Duration::from_nanos(5), Duration::ZERO);
    assert_eq!(drain(&port), [0]);
    assert_eq!(port.next_pending(Instant::ZERO + Duration::from_nanos(5)), Some(1));
}
