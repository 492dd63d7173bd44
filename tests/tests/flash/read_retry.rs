//! Read retry under the schedulers that are made of workers, and under SoftSSD's interface layer (C39, B31).
//! The big loop's stands in `cosmos.rs`.

use aster_device::Media;
use aster_device::profile::{ControllerName, Profile, RetryProfile};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{as_in_papers, drive, job, machine, profile, run_with};
use aster_workload::runner::Contents;
use aster_workload::{Access, Extent, Job, Mix};

/// A small drive whose cells lose charge. Data is not moved for that.
fn fading(policy: &str, luns: u8, controller: ControllerName, levels: &[i16]) -> Profile {
    profile("tiny", |p| {
        as_in_papers(p);
        p.geometry.luns = luns;
        p.scheduler.policy = policy.to_owned();
        p.channel.controller = controller;
        p.ftl.over_provisioning_percent = 45.0;
        p.ftl.refresh_corrected_percent = 0;
        p.host.block_bytes = 4096;
        let e = &mut p.package.errors;
        (e.fresh, e.retention_shift_mv, e.level_width_mv) = (8e-4, 10.0, 25.0);
        p.package.retry =
            (!levels.is_empty()).then(|| RetryProfile { feature: 0x89, levels_mv: levels.to_vec() });
    })
}

/// A drive that was filled and left alone for so many hours.
fn filled(profile: &Profile, hours: u32) -> Machine {
    let m = machine(profile, None, Media::fresh(), &Recorder::default());
    let fill = Job { verify: false, ..job("fill", Access::Sequential, Mix::Write, 64 << 10, 64) };
    run_with(&m, &[fill], Contents::unversioned(drive(&m), 1), ());
    m.device().nand().set_age_hours(hours).unwrap();
    m
}

/// Reads what was filled at random. Returns how many reads failed.
fn read(m: &Machine, queue_depth: u32) -> u64 {
    let read = Job {
        verify: false,
        queue_depth,
        size: Some(Extent::Bytes(4 << 20)),
        ..job("read", Access::Random, Mix::Read, 16 << 10, 300)
    };
    // Contents know what a page holds without having seen it written: it has no version.
    let (statistics, _) = run_with(m, &[read], Contents::unversioned(drive(m), 1), ());
    statistics[0].failures
}

fn counter(m: &Machine, name: &str) -> u64 {
    let scheduler = m.device().stats().scheduler;
    scheduler.iter().find(|(counter, _)| *counter == name).map_or(0, |(_, value)| *value)
}

const LEVELS: [i16; 3] = [0, -40, -80];

#[test]
fn workers_recover_faded_data_at_other_levels() {
    use ControllerName::{Asynchronous, Software, Synchronous};
    for (policy, luns, controller) in [
        ("fifo", 1, Software),
        ("reads-first", 2, Software),
        ("fifo", 1, Synchronous),
        ("fifo", 2, Asynchronous),
        ("pass-through", 1, Software),
    ] {
        let what = format!("{policy}, {luns} LUNs, {controller:?}");
        let without = filled(&fading(policy, luns, controller, &[]), 4_000);
        let lost = read(&without, 16);
        let with = filled(&fading(policy, luns, controller, &LEVELS), 4_000);
        let still = read(&with, 16);
        assert!(lost > 200 && still == 0, "{what}: {still} of {lost} lost");
        if policy != "pass-through" {
            // Its workers stand below the scheduler, which has no counters.
            assert!(counter(&with, "reads_recovered") > 0, "{what}");
            assert_eq!(counter(&with, "reads_lost"), 0, "{what}");
            assert!(counter(&without, "reads_lost") > 200, "{what}");
        }
    }
}

#[test]
fn a_block_is_read_at_once_at_the_level_that_was_right_before() {
    let of = |luns| {
        let m = filled(&fading("fifo", luns, ControllerName::Software, &LEVELS), 4_000);
        let repeated = |depth| {
            let before = counter(&m, "read_retries");
            assert_eq!(read(&m, depth), 0);
            counter(&m, "read_retries") - before
        };
        (repeated(16), repeated(16), repeated(1))
    };
    let (first, second, third) = of(1);
    assert!(first > 0 && first < 100, "a repetition or two for each block, not for each read: {first}");
    assert_eq!((second, third), (0, 0));
    // LUNs behind one chip enable share its level: each read begins at the first row.
    let (first, second, _) = of(2);
    assert!(first > 300 && second > 300, "{first}, {second}");
}

#[test]
fn reads_are_repeated_as_often_as_the_profile_says() {
    let of = |retries| {
        let mut profile = fading("reads-first", 1, ControllerName::Software, &LEVELS);
        profile.scheduler.read_retries = retries;
        let m = filled(&profile, 4_000);
        (read(&m, 8), counter(&m, "read_retries"))
    };
    let ((none, never), (one, once), (five, _)) = (of(0), of(1), of(5));
    assert_eq!((never, five), (0, 0));
    assert!(none > 200 && one > 0 && one <= none && once > 0, "{none}, {one} after {once}");
}

/// With read noise each read has other wrong bits. The interface layer repeats at the level that is set.
#[test]
fn the_interface_layer_reads_again_what_noise_made_too_bad() {
    for controller in [ControllerName::Software, ControllerName::Synchronous] {
        let of = |retries| {
            let mut profile = fading("fil", 2, controller, &[]);
            let e = &mut profile.package.errors;
            (e.fresh, e.level_width_mv, e.read_noise_mv) = (1.35e-3, 25.0, 8.0);
            profile.scheduler.read_retries = retries;
            let m = filled(&profile, 0);
            (read(&m, 16), counter(&m, "reads_recovered"), counter(&m, "reads_lost"))
        };
        let ((lost, never, _), (still, recovered, reported)) = (of(0), of(5));
        assert!(never == 0 && lost > 20, "{controller:?}: {lost} lost");
        assert!(recovered > lost / 2 && still < lost / 2, "{controller:?}: {recovered}, {still} of {lost}");
        assert!(reported >= still, "{controller:?}");
    }
}

/// Data that was correct only when it was read again is moved, so that it is soon read at once.
#[test]
fn data_that_had_to_be_read_again_is_moved() {
    for policy in ["fifo", "fil"] {
        let mut profile = fading(policy, 2, ControllerName::Software, &LEVELS);
        profile.ftl.refresh_corrected_percent = 100;
        if policy == "fil" {
            let e = &mut profile.package.errors;
            (e.fresh, e.retention_shift_mv, e.read_noise_mv) = (1.25e-3, 0.0, 8.0);
        }
        let m = filled(&profile, if policy == "fil" { 0 } else { 4_000 });
        read(&m, 4);
        let stats = m.device().stats().ftl;
        assert!(stats.refreshed > 0, "{policy}: {stats:?}");
        if policy == "fifo" {
            let before = counter(&m, "read_retries");
            assert_eq!(read(&m, 4), 0);
            let again = counter(&m, "read_retries") - before;
            assert!(again < before / 4, "{again} after {before}");
        }
    }
}
