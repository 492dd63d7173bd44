//! Asynchronous events and Abort.

use super::bench::{Bench, DATA, config};
use super::mandatory::{log_page, set_feature};
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_observe::monitor::{OperationMonitor, OutstandingCommands, Sample, TableEntry};
use aster_parties::MediaHealth;
use aster_ports::host::HostStatus;
use aster_units::{Duration, Instant};
use aster_wire::nvme::admin::{AbortDword10, AdminCommand};
use aster_wire::nvme::features::FeatureId;
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::log::{ErrorEntry, NO_COMMAND};
use aster_wire::nvme::registers::DoorbellKind;
use aster_wire::nvme::{AdminOpcode, Sqe, Status};
use core::cell::RefCell;
use zerocopy::FromBytes;

fn request(bench: &mut Bench) -> u16 {
    let cid = bench.push(0, Sqe::new(AdminOpcode::AsyncEventRequest.raw(), 0));
    bench.ring(0);
    bench.run();
    cid
}
fn abort(sq_id: u16, cid: u16) -> Sqe {
    AdminCommand::Abort(AbortDword10(0).with_sq_id(sq_id).with_cid(cid)).to_sqe(0, 0, 0, 0)
}

#[test]
fn bad_doorbells_are_reported_once_until_the_error_log_is_read() {
    let mut bench = Bench::ready(config());
    let (first, second) = (request(&mut bench), request(&mut bench));
    assert_eq!(bench.front.controller().commands_in_flight(), 0, "they keep nothing busy");
    bench.doorbell(9, DoorbellKind::CompletionHead, 0);
    bench.doorbell(1, DoorbellKind::SubmissionTail, 64);
    bench.doorbell(1, DoorbellKind::CompletionHead, 1);
    bench.run();
    assert_eq!(bench.completion(0, first).unwrap().result.get(), 0x0001_0000);
    assert_eq!(bench.completion(0, second), None, "events of the type are masked");
    let retain = log_page(1, 64);
    let retain = retain.with_dword(10, retain.dword(10) | 1 << 15);
    bench.fetch_page(retain);
    assert_eq!(bench.completion(0, second), None, "the event is retained");
    let page = bench.fetch_page(log_page(1, 192));
    let entry = ErrorEntry::read_from_bytes(&page[..64]).unwrap();
    assert_eq!((entry.error_count.get(), entry.sq_id.get(), entry.cid.get()), (3, NO_COMMAND, NO_COMMAND));
    assert_eq!(bench.completion(0, second).unwrap().result.get(), 0x0001_0100);
}

#[test]
fn one_request_too_many_is_refused_and_others_still_work() {
    let mut bench = Bench::ready(config());
    let parked = [(); 4].map(|()| request(&mut bench));
    let fifth = request(&mut bench);
    assert!(bench.completion(0, fifth).unwrap().status().is(Status::ASYNC_EVENT_LIMIT_EXCEEDED));
    bench.fetch_page(log_page(2, 512));
    let reply = bench.send(0, abort(0, parked[2]));
    assert_eq!((reply.status(), reply.result.get()), (Status::SUCCESS, 0));
    assert!(bench.completion(0, parked[2]).unwrap().status().is(Status::ABORT_REQUESTED));
    bench.doorbell(9, DoorbellKind::SubmissionTail, 0);
    bench.run();
    assert!(bench.completion(0, parked[0]).is_some());
}

#[test]
fn health_warnings_are_reported_if_the_host_wants_them() {
    let mut bench = Bench::ready(config());
    let cid = request(&mut bench);
    let worn = MediaHealth { available_spare: 5, percentage_used: 99, ..Default::default() };
    bench.front.set_media_health(worn);
    bench.run();
    assert_eq!(bench.completion(0, cid), None, "nobody asked for it");
    assert!(bench.status(0, set_feature(FeatureId::AsyncEventConfiguration, 0, 0x0f)).is_success());
    assert_eq!(bench.completion(0, cid).unwrap().result.get(), 0x0002_0201);
    let page = bench.fetch_page(log_page(2, 512));
    assert_eq!((page[0], page[3], page[5]), (1, 5, 99));
    let cid = request(&mut bench);
    assert!(bench.status(0, set_feature(FeatureId::TemperatureThreshold, 0, 290)).is_success());
    assert_eq!(bench.completion(0, cid).unwrap().result.get(), 0x0002_0101);
    bench.fetch_page(log_page(2, 512));
    let cid = request(&mut bench);
    bench.front.set_media_health(MediaHealth { read_only: true, ..worn });
    bench.run();
    assert_eq!(bench.completion(0, cid).unwrap().result.get(), 0x0002_0001);
}

#[test]
fn media_that_have_become_unreliable_are_told_and_count_as_one_integrity_error() {
    let mut bench = Bench::ready(config());
    assert!(bench.status(0, set_feature(FeatureId::AsyncEventConfiguration, 0, 0x0f)).is_success());
    let cid = request(&mut bench);
    let lost = MediaHealth { reliability_degraded: true, ..Default::default() };
    for media in [lost, MediaHealth { available_spare: 90, ..lost }] {
        bench.front.set_media_health(media);
        bench.run();
    }
    assert_eq!(bench.completion(0, cid).unwrap().result.get(), 0x0002_0001);
    let page = bench.fetch_page(log_page(2, 512));
    assert_eq!((page[0], page[160]), (4, 1), "reliability degraded, one integrity error");
}

#[test]
fn data_lost_more_often_than_the_limit_degrades_the_drive_and_is_told() {
    let mut bench = Bench::ready(config());
    let read = || IoCommand::Read(BlockRange::new(0, 2)).to_sqe(1, 0, DATA, 0);
    assert!(bench.status(0, set_feature(FeatureId::AsyncEventConfiguration, 0, 0x0f)).is_success());
    let cid = request(&mut bench);
    bench.ftl.outcome.set(HostStatus::UnrecoveredRead);
    assert!(bench.status(1, read()).is(Status::UNRECOVERED_READ_ERROR));
    assert_eq!(bench.completion(0, cid), None, "the limit is two");
    assert!(bench.status(1, read()).is(Status::UNRECOVERED_READ_ERROR));
    assert_eq!(bench.completion(0, cid).unwrap().result.get(), 0x0002_0001);
    let page = bench.fetch_page(log_page(2, 512));
    assert_eq!((page[0], page[160]), (4, 2), "reliability degraded, two media errors");
}

#[test]
fn an_abort_that_names_itself_is_not_aborted() {
    let mut bench = Bench::ready(config());
    // The identifier that the bench will assign next.
    let own = bench.push(0, abort(1, 0xdead)).wrapping_add(1);
    let cid = bench.push(0, abort(0, own));
    assert_eq!(cid, own);
    bench.ring(0);
    bench.run();
    let answer = bench.completion(0, own).unwrap();
    assert!(answer.status().is_success());
    assert_eq!(answer.result.get(), 1, "the command was not aborted");
}

#[test]
fn abort_ends_what_waits_for_its_prp_list_and_not_what_the_ftl_has() {
    let mut bench = Bench::ready(config());
    bench.ftl.paused.set(true);
    let with_ftl = bench.push(1, IoCommand::Flush.encode(1));
    bench.ring(1);
    bench.run();
    assert_eq!(bench.send(0, abort(1, with_ftl)).result.get(), 1);
    assert_eq!(bench.send(0, abort(1, 0xdead)).result.get(), 1);
    // One command has been fetched but its list has not: the link stops in between.
    let long = IoCommand::Read(BlockRange::new(0, 64)).to_sqe(1, 0, DATA, DATA + 0x8000);
    let waiting = bench.push(1, long);
    let admin = bench.push(0, abort(1, waiting));
    bench.hold_link = true;
    bench.ring(1);
    bench.run();
    bench.carry_out_one();
    bench.run();
    bench.set_one_aside();
    bench.hold_link = false;
    bench.ring(0);
    bench.run();
    bench.release_link();
    assert_eq!(bench.completion(0, admin).unwrap().result.get(), 0);
    assert!(bench.completion(1, waiting).unwrap().status().is(Status::ABORT_REQUESTED));
    bench.ftl.paused.set(false);
    bench.run();
    assert!(bench.completion(1, with_ftl).unwrap().status().is_success());
}

/// What the operation monitor counted as outstanding: the mean per sample.
type Outstanding = Rc<RefCell<Vec<f64>>>;

/// A drive whose outstanding commands are counted. The function samples the next microsecond.
fn watched(config: crate::HostIfConfig) -> (Bench, impl FnMut(&mut Bench) -> f64) {
    let bench = Bench::new(config);
    let means = Outstanding::default();
    let into = Rc::clone(&means);
    let each = move |_: &[TableEntry], sample: Sample<'_>| into.borrow_mut().push(sample.values[0]);
    let module = alloc::boxed::Box::new(OutstandingCommands::default());
    let never = Duration::from_secs(1000);
    let mut monitor = OperationMonitor::new(never, Instant::ZERO, each);
    monitor.insert(Instant::ZERO, module).unwrap();
    let monitor = Rc::new(RefCell::new(monitor));
    bench.recorder.attach(Rc::clone(&monitor));
    let sample = move |bench: &mut Bench| {
        monitor.borrow_mut().sample_now(bench.exec.now());
        bench.run_for(Duration::from_micros(1));
        monitor.borrow_mut().sample_now(bench.exec.now());
        *means.borrow().last().expect("a sample was just taken")
    };
    (bench, sample)
}
fn write(slba: u64) -> Sqe {
    IoCommand::Write(BlockRange::new(slba, 1)).to_sqe(1, 0, DATA, 0)
}

#[test]
fn commands_that_a_reset_takes_are_outstanding_no_more_and_event_requests_never_are() {
    let (mut bench, mut outstanding) = watched(config());
    bench.enable();
    bench.create_pair(1, 64);
    for _ in 0..3 {
        request(&mut bench);
        assert_eq!(outstanding(&mut bench), 0.0, "an event request waits for nothing that the drive does");
        bench.ftl.paused.set(true);
        for n in 0..4 {
            bench.push(1, write(n));
        }
        bench.ring(1);
        bench.run();
        assert_eq!(outstanding(&mut bench), 4.0);
        bench.disable();
        bench.ftl.paused.set(false);
        bench.run();
        assert_eq!(outstanding(&mut bench), 0.0, "the host knows of none of them any more");
        bench.enable();
        bench.create_pair(1, 64);
    }
    request(&mut bench);
    bench.doorbell(9, DoorbellKind::CompletionHead, 0);
    bench.run();
    assert_eq!(outstanding(&mut bench), 0.0, "its completion is none of an I/O command");
}

#[test]
fn commands_whose_entry_waits_for_room_or_finds_no_memory_are_outstanding_no_more_when_they_are_gone() {
    let (mut bench, mut outstanding) = watched(config());
    bench.enable();
    bench.create_pair(1, 3);
    for n in 0..2 {
        bench.push(1, write(n));
    }
    bench.ring(1);
    bench.run();
    for n in 0..2 {
        bench.push(1, write(n));
    }
    bench.ring(1);
    bench.run();
    assert_eq!(outstanding(&mut bench), 2.0, "a completion queue of three entries holds two");
    bench.disable();
    assert_eq!(outstanding(&mut bench), 0.0, "the held ones are gone");

    bench.enable();
    bench.create_pair(1, 64);
    bench.memory.0.truncate(Bench::completion_at(1) as usize);
    bench.push(1, write(0));
    bench.ring(1);
    bench.run();
    assert_eq!(bench.csts().cfs(), Bench::writes_are_answered(), "the entry had nowhere to go");
    assert_eq!(outstanding(&mut bench), 0.0);
}
