//! Commands that are completed with the last byte of their data (P13), before the FTL has ended them.

use super::bench::{Bench, DATA, HOST_BYTES, config};
use super::mandatory::log_page;
use crate::HostIfConfig;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, EventSink};
use aster_units::{Duration, Instant};
use aster_wire::nvme::admin::{AbortDword10, AdminCommand};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::log::HealthLog;
use aster_wire::nvme::{AdminOpcode, Sqe, Status};
use core::cell::RefCell;
use zerocopy::FromBytes;

/// What the FTL does after a command's work.
const LINGERS: Duration = Duration::from_micros(50);
const SOON: Duration = Duration::from_micros(10);

fn lingering(auto_completion: bool, change: impl FnOnce(&mut HostIfConfig)) -> Bench {
    let mut config = HostIfConfig { auto_completion, ..config() };
    change(&mut config);
    let bench = Bench::ready(config);
    bench.ftl.lingers.set(LINGERS);
    bench
}
fn read(slba: u64, blocks: u32) -> Sqe {
    IoCommand::Read(BlockRange::new(slba, blocks)).to_sqe(1, 0, DATA, DATA + 0x1000)
}
fn write(fua: bool) -> Sqe {
    let mut range = BlockRange::new(0, 8);
    range.control = range.control.with_force_unit_access(fua);
    IoCommand::Write(range).to_sqe(1, 0, DATA, 0)
}
fn delete(opcode: AdminOpcode, queue: u16) -> Sqe {
    Sqe::new(opcode.raw(), 0).with_dword(10, queue.into())
}
fn in_flight(bench: &Bench) -> usize {
    bench.front.controller().commands_in_flight()
}
/// Sends a command. Returns the status with which it completes soon, and the one with which it completes
/// in the end.
fn soon_and_later(bench: &mut Bench, sqe: Sqe) -> (Option<Status>, Option<Status>) {
    let cid = bench.push(1, sqe);
    bench.ring(1);
    bench.run_for(SOON);
    bench.reap(1, false);
    let soon = bench.completion(1, cid).map(|entry| entry.status());
    bench.run();
    (soon, bench.completion(1, cid).map(|entry| entry.status()))
}

#[test]
fn reads_and_writes_are_completed_with_their_last_byte_and_all_else_by_the_ftl() {
    let done = Some(Status::SUCCESS);
    let range = BlockRange::new(0, 8);
    let cases = [
        (read(0, 8), true),
        (read(0, 16), true),
        (write(false), true),
        (write(true), false),
        (IoCommand::Compare(range).to_sqe(1, 0, DATA, 0), false),
        (IoCommand::WriteZeroes(range).to_sqe(1, 0, 0, 0), false),
        (IoCommand::Flush.to_sqe(1, 0, 0, 0), false),
    ];
    for auto_completion in [false, true] {
        let mut bench = lingering(auto_completion, |_| ());
        for (sqe, automatic) in &cases {
            let want = if auto_completion && *automatic { (done, None) } else { (None, done) };
            assert_eq!(soon_and_later(&mut bench, *sqe), want, "{sqe:?}");
            assert_eq!(in_flight(&bench), 0);
        }
    }
}

#[test]
fn a_drive_without_a_write_cache_in_use_completes_no_write_early() {
    let mut bench = lingering(true, |config| config.volatile_write_cache = false);
    assert_eq!(soon_and_later(&mut bench, write(false)), (None, Some(Status::SUCCESS)));
}

#[test]
fn the_completion_latency_is_what_it_was() {
    let mut bench = lingering(true, |config| config.completion_latency = Duration::from_micros(4));
    let cid = bench.push(1, read(0, 8));
    bench.ring(1);
    bench.run_for(Duration::from_micros(3));
    assert_eq!(bench.completion(1, cid), None);
    bench.run_for(Duration::from_micros(2));
    assert!(bench.reap(1, false) == 1);
}

#[test]
fn a_slot_is_taken_until_the_ftl_gives_it_back() {
    let mut bench = lingering(true, |config| config.slots = 1);
    bench.push(1, read(0, 8));
    bench.push(1, read(8, 8));
    bench.ring(1);
    bench.run_for(SOON);
    assert_eq!((bench.reap(1, false), bench.ftl.seen.borrow().len(), in_flight(&bench)), (1, 1, 1));
    bench.run_for(LINGERS);
    assert_eq!((bench.reap(1, false), bench.ftl.seen.borrow().len(), in_flight(&bench)), (1, 2, 1));
    bench.run_for(LINGERS);
    assert_eq!((bench.reap(1, false), in_flight(&bench)), (0, 0));
}

#[test]
fn health_counts_a_command_when_it_is_completed() {
    let mut bench = lingering(true, |_| ());
    let commands = |bench: &mut Bench| {
        let log = HealthLog::read_from_bytes(&bench.fetch_page(log_page(2, 512))[..512]).unwrap();
        (log.host_read_commands.get(), log.host_write_commands.get())
    };
    bench.ftl.lingers.set(Duration::from_millis(1));
    assert!(bench.status(1, read(0, 8)).is_success());
    assert!(bench.status(1, write(false)).is_success());
    assert_eq!((commands(&mut bench), in_flight(&bench)), ((1, 1), 2));
    bench.run_for(Duration::from_millis(2));
    assert_eq!((commands(&mut bench), in_flight(&bench)), ((1, 1), 0), "and only then");
}

#[test]
fn a_reset_leaves_completed_commands_to_the_ftl() {
    let mut bench = lingering(true, |_| ());
    bench.ftl.lingers.set(Duration::from_millis(5));
    for n in 0..4 {
        bench.push(1, read(n, 8));
    }
    bench.ring(1);
    bench.run();
    assert_eq!(bench.reap(1, true), 4);
    bench.disable();
    assert!(!bench.csts().rdy());
    bench.enable();
    bench.create_pair(1, 64);
    assert_eq!(in_flight(&bench), 4);
    bench.ftl.lingers.set(Duration::ZERO);
    assert!(bench.status(1, read(0, 8)).is_success());
    bench.run_for(Duration::from_millis(6));
    assert_eq!((bench.reap(1, false), in_flight(&bench)), (0, 0));
}

#[test]
fn a_reset_between_the_last_byte_and_the_entry_drops_the_command_once() {
    for completion_latency in [Duration::ZERO, Duration::from_micros(20)] {
        let mut bench = lingering(true, |config| config.completion_latency = completion_latency);
        let told = Rc::new(RefCell::new(Vec::new()));
        let into = told.clone();
        bench.recorder.attach(Ends(into));
        // Where nothing else delays the entry, the link holds it back, after the fetch and the data.
        bench.hold_link = completion_latency.is_zero();
        bench.push(1, write(false));
        bench.ring(1);
        // Packets have eight requests for 4 KiB.
        let data = if Bench::writes_are_answered() { 1 } else { 8 };
        for _ in 0..1 + data {
            bench.run_for(SOON);
            assert_eq!(bench.carry_out_one(), completion_latency.is_zero());
        }
        bench.run_for(Duration::from_nanos(1));
        bench.front.mmio_write(0x14, 4, bench.cc().with_en(false).0.into());
        bench.release_link();
        bench.run();
        assert_eq!((bench.csts().rdy(), in_flight(&bench)), (false, 0));
        let told = told.borrow();
        let ends = told
            .iter()
            .filter(|e| matches!(e, Event::CommandCompleted { .. } | Event::CommandDropped { .. }));
        assert_eq!(ends.count(), 1, "{told:?}");
        assert!(told.iter().any(|event| matches!(event, Event::CommandAnswered { .. })), "{told:?}");
    }
}

struct Ends(Rc<RefCell<Vec<Event>>>);

impl EventSink for Ends {
    fn event(&mut self, _: Instant, event: &Event) {
        self.0.borrow_mut().push(*event);
    }
}

#[test]
fn queues_are_deleted_and_created_again_while_the_ftl_has_their_completed_commands() {
    let mut bench = lingering(true, |_| ());
    bench.ftl.lingers.set(Duration::from_millis(5));
    for n in 0..3 {
        bench.push(1, read(n, 8));
    }
    bench.ring(1);
    bench.run();
    assert_eq!(bench.reap(1, true), 3);
    for _ in 0..2 {
        assert!(bench.status(0, delete(AdminOpcode::DeleteIoSq, 1)).is_success());
        assert!(bench.status(0, delete(AdminOpcode::DeleteIoCq, 1)).is_success());
        bench.create_pair(1, 16);
    }
    assert_eq!(in_flight(&bench), 3);
    bench.ftl.lingers.set(Duration::ZERO);
    assert!(bench.status(1, read(0, 8)).is_success());
    bench.run_for(Duration::from_millis(6));
    assert_eq!((bench.reap(1, false), in_flight(&bench)), (0, 0));
}

#[test]
fn abort_finds_the_command_that_has_the_identifier_now() {
    let mut bench = lingering(true, |config| config.fetch_latency = Duration::from_micros(60));
    bench.ftl.lingers.set(Duration::from_millis(5));
    let cid = bench.push(1, read(0, 8));
    bench.ring(1);
    bench.run_for(Duration::from_micros(200));
    assert!(bench.completion(1, cid).is_some());
    let abort = AdminCommand::Abort(AbortDword10(0).with_sq_id(1).with_cid(cid)).to_sqe(0, 0, 0, 0);
    assert_eq!(bench.send(0, abort).result.get(), 1, "it has ended");
    // The Abort is decoded once the read that now has the identifier is in its slot. That read is decoded
    // afterwards.
    let own = bench.push(0, abort);
    bench.ring(0);
    bench.run_for(SOON);
    bench.next_identifier(cid);
    bench.push(1, read(8, 8));
    bench.ring(1);
    bench.run_for(Duration::from_micros(200));
    assert_eq!(bench.completion(0, own).unwrap().result.get(), 0);
    assert!(bench.completion(1, cid).unwrap().status().is(Status::ABORT_REQUESTED));
}

#[test]
fn a_full_completion_queue_holds_what_is_answered_until_both_have_let_go() {
    for lingers in [Duration::ZERO, Duration::from_millis(5)] {
        let mut bench = lingering(true, |_| ());
        bench.forget_pair(2, 2);
        assert!(bench.status(0, Bench::create_cq(2, 2, 2)).is_success());
        assert!(bench.status(0, Bench::create_sq(2, 2, 2)).is_success());
        assert!(bench.status(0, Bench::create_sq(3, 2, 2)).is_success());
        bench.ftl.lingers.set(lingers);
        bench.forget_pair(3, 2);
        bench.push(2, read(0, 8));
        bench.push(3, read(8, 8));
        bench.ring(2);
        bench.ring(3);
        bench.run();
        assert_eq!(in_flight(&bench), if lingers.is_zero() { 1 } else { 2 }, "one has no room for its entry");
        assert_eq!(bench.reap(2, true), 1);
        assert_eq!(bench.reap(2, true), 1);
        bench.run_for(lingers);
        assert_eq!(in_flight(&bench), 0);
        // Commands that wait for room end with their queue, too.
        for queue in [2, 3] {
            bench.push(queue, read(0, 8));
            bench.ring(queue);
        }
        bench.run();
        for queue in [2, 3] {
            assert!(bench.status(0, delete(AdminOpcode::DeleteIoSq, queue)).is_success());
        }
        assert!(bench.status(0, delete(AdminOpcode::DeleteIoCq, 2)).is_success());
        bench.run_for(lingers);
        assert_eq!(in_flight(&bench), 0);
    }
}

#[test]
fn an_entry_that_cannot_be_written_is_fatal_and_its_slot_comes_back() {
    let mut bench = lingering(true, |_| ());
    let nowhere = Bench::create_cq(2, 8, 2).with_prps(HOST_BYTES as u64, 0);
    assert!(bench.status(0, nowhere).is_success());
    assert!(bench.status(0, Bench::create_sq(2, 8, 2)).is_success());
    bench.forget_pair(2, 8);
    bench.push(2, read(0, 8));
    bench.ring(2);
    bench.run_for(SOON);
    assert_eq!(bench.csts().cfs(), Bench::writes_are_answered());
    assert_eq!(in_flight(&bench), 1);
    bench.run();
    assert_eq!(in_flight(&bench), 0);
    bench.disable();
    bench.enable();
    bench.create_pair(1, 16);
    assert!(bench.status(1, read(0, 8)).is_success());
}

#[test]
fn a_read_that_lost_a_sector_is_answered_by_the_ftl() {
    let mut bench = lingering(true, |_| ());
    // A byte in the third page of 64 KiB.
    bench.ftl.lost.set(Some(40 << 10));
    let list: Vec<u8> = (1..16u64).flat_map(|n| (DATA + n * 0x1000).to_le_bytes()).collect();
    let at = DATA as usize + 0x10_0000;
    bench.memory.0[at..at + list.len()].copy_from_slice(&list);
    let sqe = IoCommand::Read(BlockRange::new(0, 128)).to_sqe(1, 0, DATA, at as u64);
    let (soon, later) = soon_and_later(&mut bench, sqe);
    assert!(soon.is_none() && later.unwrap().is(Status::UNRECOVERED_READ_ERROR), "{later:?}");
    bench.ftl.lost.set(None);
    assert_eq!(soon_and_later(&mut bench, sqe), (Some(Status::SUCCESS), None));
}

#[test]
fn a_last_page_that_is_not_there_is_told_by_the_ftl() {
    for (writes, direction) in
        [(false, read(0, 16)), (true, IoCommand::Write(BlockRange::new(0, 16)).to_sqe(1, 0, 0, 0))]
    {
        let mut bench = lingering(true, |_| ());
        let sqe = direction.with_prps(DATA, HOST_BYTES as u64);
        let (soon, later) = soon_and_later(&mut bench, sqe);
        assert_eq!(in_flight(&bench), 0);
        if !writes && !Bench::writes_are_answered() {
            assert_eq!((soon, later), (Some(Status::SUCCESS), None), "nobody tells the drive");
            continue;
        }
        assert!(soon.is_none() && later.unwrap().is(Status::DATA_TRANSFER_ERROR), "{later:?}");
    }
}
