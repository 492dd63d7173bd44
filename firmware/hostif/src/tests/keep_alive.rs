//! Keep Alive (NVMe 1.4 §5.16, §5.21.1.15, §7.12).

use super::bench::{Bench, DATA, config};
use super::mandatory::{get_feature, log_page, set_feature};
use super::pause::{Disk, write_at};
use alloc::rc::Rc;
use aster_parties::HostTrouble;
use aster_units::{Duration, Instant};
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::features::{FeatureId, FeatureSelect};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::log::{ErrorEntry, NO_COMMAND};
use aster_wire::nvme::registers::{Csts, Register};
use aster_wire::nvme::{AdminOpcode, Sqe, Status};
use zerocopy::FromBytes;

/// Longer than any command of these tests takes.
const SOON: Duration = Duration::from_millis(1);

fn keep_alive() -> Sqe {
    AdminCommand::KeepAlive.to_sqe(0, 0, 0, 0)
}
fn read() -> Sqe {
    IoCommand::Read(BlockRange::new(0, 1)).to_sqe(1, 0, DATA, 0)
}
/// A drive whose timer is set to `millis`, and when that was.
fn alive(millis: u32) -> (Bench, Instant) {
    let mut bench = Bench::ready(config());
    let at = bench.exec.now();
    assert_eq!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, millis)), Status::SUCCESS);
    (bench, at)
}
fn timeout(bench: &mut Bench) -> u32 {
    let get = get_feature(FeatureId::KeepAliveTimer, FeatureSelect::Current, 0, 0);
    bench.send(0, get).result.get()
}
/// Lets time pass until so long after `from`.
fn run_until(bench: &mut Bench, from: Instant, after: Duration) {
    let until = from + after;
    assert!(until > bench.exec.now(), "it is not too late");
    bench.run_for(until.since(bench.exec.now()));
}
fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_host_that_sends_nothing_is_given_up_when_the_time_is_over_and_not_before() {
    let (mut bench, set) = alive(500);
    run_until(&mut bench, set, millis(500) - SOON);
    assert_eq!(bench.csts(), Csts(0).with_rdy(true));
    assert_eq!(bench.front.take_trouble(), None);
    run_until(&mut bench, set, millis(500) + SOON);
    assert_eq!(bench.csts(), Csts(0).with_rdy(true).with_cfs(true));
    assert_eq!(bench.front.take_trouble(), Some(HostTrouble::Silent { timeout_ms: 500 }));
    assert_eq!(bench.exec.next_deadline(), None, "nothing looks at the timer any more");
}

#[test]
fn no_command_is_processed_after_that_until_a_reset_which_finds_the_error_in_the_log() {
    let (mut bench, set) = alive(100);
    run_until(&mut bench, set, millis(100) + SOON);
    let (admin, io) = (bench.push(0, keep_alive()), bench.push(1, read()));
    bench.ring(0);
    bench.ring(1);
    bench.run();
    assert_eq!((bench.completion(0, admin), bench.completion(1, io)), (None, None));
    assert!(bench.ftl.seen.borrow().is_empty());
    bench.disable();
    bench.enable();
    bench.create_pair(1, 64);
    let entry = ErrorEntry::read_from_bytes(&bench.fetch_page(log_page(1, 64))[..64]).unwrap();
    assert!(entry.status().is(Status::KEEP_ALIVE_TIMER_EXPIRED));
    assert_eq!((entry.sq_id.get(), entry.cid.get()), (NO_COMMAND, NO_COMMAND));
    assert!(bench.status(1, read()).is_success());
    assert_eq!(timeout(&mut bench), 0, "the reset has switched the timer off");
    bench.run_for(millis(1_000));
    assert!(!bench.csts().cfs());
}

#[test]
fn keep_alive_begins_the_time_anew_each_time() {
    let (mut bench, mut last) = alive(300);
    for _ in 0..10 {
        run_until(&mut bench, last, millis(300) - SOON);
        last = bench.exec.now();
        assert_eq!(bench.status(0, keep_alive()), Status::SUCCESS);
    }
    run_until(&mut bench, last, millis(300) - SOON);
    assert!(!bench.csts().cfs());
    run_until(&mut bench, last, millis(300) + SOON);
    assert!(bench.csts().cfs());
}

/// CTRATT.TBKAS: an interval with a command is followed by another one, so a host is given up between one and
/// two timeouts after its last command.
#[test]
fn any_command_keeps_the_drive_alive_for_another_interval() {
    let (mut bench, set) = alive(300);
    for interval in 0..6 {
        run_until(&mut bench, set, millis(300 * interval + 10));
        let status =
            if interval % 2 == 0 { bench.status(1, read()) } else { bench.status(0, log_page(2, 512)) };
        assert!(status.is_success());
    }
    run_until(&mut bench, set, millis(2_100) - SOON);
    assert!(!bench.csts().cfs(), "the last command was in the sixth interval");
    run_until(&mut bench, set, millis(2_100) + SOON);
    assert!(bench.csts().cfs());
}

#[test]
fn a_command_that_takes_longer_than_the_timeout_is_no_silence() {
    let (mut bench, set) = alive(200);
    bench.ftl.lingers.set(millis(900));
    let cid = bench.push(1, read());
    bench.ring(1);
    run_until(&mut bench, set, millis(950));
    assert!(bench.completion(1, cid).expect("it has ended").status().is_success());
    run_until(&mut bench, set, millis(1_200) - SOON);
    assert!(!bench.csts().cfs(), "its completion was in the fifth interval");
    run_until(&mut bench, set, millis(1_200) + SOON);
    assert!(bench.csts().cfs());
}

/// An event request waits as long as the drive lives, and completions that a host doesn't take stay where
/// they are: neither tells that the host is there.
#[test]
fn what_waits_for_the_host_is_no_sign_of_it() {
    let mut bench = Bench::new(config());
    bench.enable();
    bench.forget_pair(1, 64);
    assert!(bench.status(0, Bench::create_cq(1, 2, 1)).is_success());
    assert!(bench.status(0, Bench::create_sq(1, 64, 1)).is_success());
    assert!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, 300)).is_success());
    let set = bench.exec.now();
    bench.push(0, Sqe::new(AdminOpcode::AsyncEventRequest.raw(), 0));
    bench.ring(0);
    (0..3).for_each(|_| {
        bench.push(1, read());
    });
    bench.ring(1);
    run_until(&mut bench, set, millis(599));
    assert!(!bench.csts().cfs(), "the first interval had commands");
    assert!(bench.front.controller().commands_in_flight() > 0, "they are stalled");
    run_until(&mut bench, set, millis(601));
    assert!(bench.csts().cfs());
}

#[test]
fn the_timeout_is_rounded_up_to_the_granularity() {
    let mut bench = Bench::ready(config());
    for (asked, gets) in [(1, 100), (100, 100), (101, 200), (120_000, 120_000), (0, 0)] {
        assert_eq!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, asked)), Status::SUCCESS);
        assert_eq!(timeout(&mut bench), gets, "{asked}");
    }
    // 2³² ms have no room in the dword.
    let longest = u32::MAX / 100 * 100;
    assert!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, longest)).is_success());
    let status = bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, longest + 1));
    assert!(status.is(Status::KEEP_ALIVE_TIMEOUT_INVALID), "{status}");
    assert_eq!(timeout(&mut bench), longest, "it stays as it was");
    let (mut bench, set) = alive(150);
    run_until(&mut bench, set, millis(200) - SOON);
    assert!(!bench.csts().cfs());
    run_until(&mut bench, set, millis(200) + SOON);
    assert!(bench.csts().cfs());
}

#[test]
fn a_timer_that_is_off_costs_no_event() {
    let mut bench = Bench::ready(config());
    assert_eq!(bench.status(0, keep_alive()), Status::SUCCESS);
    bench.run_for(millis(10_000));
    assert_eq!(bench.exec.next_deadline(), None);
    assert!(!bench.csts().cfs());
    assert!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, 300)).is_success());
    assert!(bench.exec.next_deadline().is_some());
    assert!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, 0)).is_success());
    bench.run_for(millis(101));
    assert_eq!(bench.exec.next_deadline(), None);
    bench.run_for(millis(1_000));
    assert!(!bench.csts().cfs());
}

#[test]
fn setting_the_timer_again_begins_the_time_anew_be_it_longer_or_shorter() {
    let (mut bench, _) = alive(60_000);
    bench.run_for(millis(250));
    let set = bench.exec.now();
    assert!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, 200)).is_success());
    run_until(&mut bench, set, millis(150));
    let set = bench.exec.now();
    assert!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, 400)).is_success());
    run_until(&mut bench, set, millis(400) - SOON);
    assert!(!bench.csts().cfs());
    run_until(&mut bench, set, millis(400) + SOON);
    assert!(bench.csts().cfs());
}

#[test]
fn a_reset_and_a_shutdown_stop_the_timer() {
    let (mut bench, _) = alive(100);
    bench.disable();
    bench.enable();
    bench.run_for(millis(500));
    assert!(!bench.csts().cfs());
    assert!(bench.status(0, set_feature(FeatureId::KeepAliveTimer, 0, 100)).is_success());
    bench.write(Register::Configuration, bench.cc().with_shn(1).0.into());
    bench.run_for(millis(500));
    assert!(!bench.csts().cfs(), "the host has said that it goes");
    assert_eq!(bench.exec.next_deadline(), None);
}

/// The disk under the media is full: the drive owes the write, and the host nothing.
#[test]
fn a_host_that_waits_for_a_write_without_room_is_not_given_up() {
    let (mut bench, set) = alive(300);
    let disk = Rc::new(Disk::default());
    bench.front.pause_with(Some(disk.clone()));
    disk.say(&mut bench, true, 0);
    let cid = bench.push(1, write_at(0));
    bench.ring(1);
    run_until(&mut bench, set, millis(1_500));
    assert_eq!(bench.completion(1, cid), None);
    assert!(!bench.csts().cfs(), "a write that is parked is the drive's to carry out");
    disk.say(&mut bench, false, 0);
    bench.run_for(millis(1));
    assert!(bench.completion(1, cid).unwrap().status().is_success());
}

#[test]
fn a_drive_that_stood_still_begins_an_interval_anew() {
    let (mut bench, set) = alive(300);
    run_until(&mut bench, set, millis(200));
    bench.front.excuse_host();
    run_until(&mut bench, set, millis(600) - SOON);
    assert!(!bench.csts().cfs());
    run_until(&mut bench, set, millis(600) + SOON);
    assert!(bench.csts().cfs(), "the next interval counts");
}
