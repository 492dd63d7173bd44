//! Workers that suspend programs and erases for reads of their LUN (B31).

use aster_device::Media;
use aster_device::profile::{CollectionName, Profile, RetryProfile, SuspendProfile};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{as_in_papers, cases, drive, job, machine, profile, run, run_with};
use aster_units::{Duration, LunIndex};
use aster_workload::runner::Contents;
use aster_workload::{Access, BlockSizes, Job, Mix, PerDirection};

fn suspending(luns: u8, times: u8, change: impl FnOnce(&mut Profile)) -> Profile {
    profile("tiny", |p| {
        as_in_papers(p);
        p.geometry.luns = luns;
        p.scheduler.policy = "reads-first".to_owned();
        p.ftl.over_provisioning_percent = 45.0;
        p.host.block_bytes = 4096;
        p.package.suspend = Some(SuspendProfile {
            erase: 0x61,
            erase_resume: 0xD2,
            program: 0x84,
            program_resume: 0x13,
            latency_us: 20.0,
        });
        p.scheduler.suspends = times;
        change(p);
    })
}
fn power_on(profile: &Profile) -> Machine {
    machine(profile, None, Media::fresh(), &Recorder::default())
}
fn counter(m: &Machine, name: &str) -> Option<u64> {
    let scheduler = m.device().stats().scheduler;
    scheduler.iter().find(|(counter, _)| *counter == name).map(|(_, value)| *value)
}
fn fill(m: &Machine) -> Job {
    job("fill", Access::Sequential, Mix::Write, 128 << 10, drive(m).bytes / (128 << 10))
}

/// Every byte is checked, on drives that collect garbage, and whose programs and erases fail at times.
#[test]
fn a_drive_that_suspends_keeps_every_byte() {
    for (luns, times) in [(1, 1), (1, 8), (2, 3)] {
        let m = power_on(&suspending(luns, times, |p| {
            // As many failures with more commands: too many, and the drive takes no more writes.
            let rarer = cases(1, 10) as u32;
            p.package.program_failures_per_million = 200 / rarer;
            p.package.erase_failures_per_million = 500 / rarer;
        }));
        let mixed = Job {
            block_sizes: PerDirection::all(BlockSizes::Range { min: 4096, max: 40 << 10 }),
            read_percent: 60,
            queue_depth: 32,
            flush_every: 61,
            ..job("mixed", Access::Random, Mix::ReadWrite, 4096, cases(4_000, 40_000))
        };
        let jobs = [fill(&m), mixed];
        run(&m, &jobs, Contents::versioned(drive(&m), 1));
        let stats = m.device().stats();
        assert!(stats.ftl.gc_runs > 5, "{luns} LUNs: {:?}", stats.ftl);
        let suspended = counter(&m, "operations_suspended").expect("it is counted");
        let reads = counter(&m, "reads_while_suspended").expect("it is counted");
        assert!(suspended > 200 && reads >= suspended, "{luns} LUNs: {suspended}, {reads}");
    }
}

/// Reads beside writes at a low depth: a read waits for a part of a program or an erase at most.
#[test]
fn reads_wait_less_for_programs_and_erases_that_are_suspended() {
    let of = |times| {
        let m = power_on(&suspending(1, times, |p| p.ftl.collection = CollectionName::Paced));
        let reads = job("reads", Access::Random, Mix::Read, 16 << 10, 4_000);
        let reads = Job { queue_depth: 1, ..reads };
        let writes = job("writes", Access::Random, Mix::Write, 16 << 10, 500);
        let writes = Job { after_previous: false, seed: 5, ..writes };
        let jobs = [fill(&m), reads, writes];
        let (statistics, _) = run_with(&m, &jobs, Contents::versioned(drive(&m), 1), ());
        let reads = &statistics[1].kinds[0];
        let mean = reads.latency_sum.as_picos() / reads.requests;
        assert_eq!(statistics[1].failures + statistics[2].failures, 0);
        assert_eq!(counter(&m, "operations_suspended").is_some(), times > 0);
        (mean, m.device().stats().nand)
    };
    let ((slow, before), (fast, after)) = (of(0), of(4));
    // It is 312 and 346 µs, of which 179 are the read alone.
    assert!(fast < slow * 95 / 100, "{fast} ps with, {slow} ps without");
    let (programs, erases) = (before.programs, before.erases);
    assert!(after.programs.abs_diff(programs) < programs / 20, "{programs} programs, {after:?}");
    assert!(after.erases.abs_diff(erases) <= erases / 10 + 1, "{erases} erases, {after:?}");
}

/// A read that can't be corrected while an operation is suspended is repeated after it: SET FEATURES needs an
/// idle LUN.
#[test]
fn a_read_that_fails_while_something_is_suspended_is_repeated_afterwards() {
    for luns in [1, 2] {
        let profile = suspending(luns, 4, |p| {
            p.ftl.refresh_corrected_percent = 0;
            let e = &mut p.package.errors;
            (e.fresh, e.retention_shift_mv, e.level_width_mv) = (6e-4, 10.0, 25.0);
            p.package.retry = Some(RetryProfile { feature: 0x89, levels_mv: vec![0, -40, -80] });
        });
        let m = power_on(&profile);
        let fill = Job { verify: false, ..fill(&m) };
        run_with(&m, &[fill], Contents::unversioned(drive(&m), 1), ());
        m.device().nand().set_age_hours(4_000).unwrap();
        let mixed = Job {
            verify: false,
            read_percent: 80,
            queue_depth: 16,
            ..job("mixed", Access::Random, Mix::ReadWrite, 16 << 10, 2_000)
        };
        let (statistics, _) = run_with(&m, &[mixed], Contents::unversioned(drive(&m), 1), ());
        let counted = |name| counter(&m, name).unwrap_or(0);
        assert_eq!(statistics[0].failures, 0, "{luns} LUNs");
        assert!(counted("reads_recovered") > 50 && counted("reads_while_suspended") > 50, "{luns} LUNs");
    }
}

/// The longest that a program takes from its issue to its end is bounded by the number of suspensions.
#[test]
fn an_operation_ends_although_reads_keep_coming() {
    let m = power_on(&suspending(1, 2, |p| (p.geometry.channels, p.geometry.ways) = (1, 1)));
    let fill = fill(&m);
    let reads = Job { queue_depth: 64, ..job("reads", Access::Random, Mix::Read, 16 << 10, 4_000) };
    let writes = Job { queue_depth: 1, seed: 5, ..job("writes", Access::Random, Mix::Write, 16 << 10, 100) };
    let jobs = [fill, reads, Job { after_previous: false, ..writes }];
    let (statistics, _) = run_with(&m, &jobs, Contents::versioned(drive(&m), 1), ());
    let writes = &statistics[2].kinds[1];
    assert_eq!(statistics[2].failures, 0);
    assert!(writes.latency_max < Duration::from_millis(200), "{}", writes.latency_max);
}

/// A LUN gets stuck while programs and reads wait for it: none of them is forgotten.
#[test]
fn every_request_to_a_lun_that_gets_stuck_has_an_end() {
    let m = power_on(&suspending(1, 4, |p| p.ftl.collection = CollectionName::Paced));
    run_with(&m, &[fill(&m)], Contents::versioned(drive(&m), 1), ());
    m.device().nand().force_busy(LunIndex(0), true);
    let mixed = Job {
        verify: false,
        read_percent: 70,
        queue_depth: 16,
        ..job("mixed", Access::Random, Mix::ReadWrite, 16 << 10, 200)
    };
    let (statistics, _) = run_with(&m, &[mixed], Contents::unversioned(drive(&m), 1), ());
    let (done, failed) =
        (statistics[0].kinds.iter().map(|kind| kind.requests).sum::<u64>(), statistics[0].failures);
    assert!(failed > 0 && done + failed == 200, "{done} done, {failed} failed");
}
