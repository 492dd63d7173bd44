//! Every command costs simulated time on every shipped profile, so that a job with a time limit ends.

use aster_device::profile::SHIPPED;
use aster_device::{Media, Profile, least_command};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{drive, machine, profile};
use aster_units::{Content, Duration};
use aster_workload::runner::{Contents, HostTask, KindStatistics, OnFailure, Runner, Statistics};
use aster_workload::{BlockSizes, Extent, Job, PerDirection, RequestKind, fio};

/// The shipped profile of that name, with so few blocks that it boots quickly.
fn small(name: &str) -> Profile {
    profile(name, |p| {
        let blocks = p.geometry.blocks_per_lun.min(128);
        p.restrict.blocks_per_lun = (blocks < p.geometry.blocks_per_lun).then_some(blocks);
        p.host.block_bytes = 4096;
    })
}

/// The shipped drives with logical blocks: an open-channel drive has none without an FTL of the host.
fn with_blocks() -> impl Iterator<Item = &'static str> {
    let names = SHIPPED.iter().map(|(name, _)| *name);
    names.filter(|name| {
        let profile = profile(name, |_| {});
        profile.host.command_set == "nvm" || profile.target.is_some()
    })
}

fn booted(name: &str) -> (Profile, Machine) {
    let profile = small(name);
    // An FTL on the host keeps its map in pages that the drive takes for data.
    let content = if profile.target.is_some() { Content::Full } else { Content::Fingerprint };
    let machine = machine(&profile, Some(content), Media::fresh(), &Recorder::default());
    (profile, machine)
}

/// The shortest and the longest command of each kind come from the statistics of jobs of one request.
fn run(machine: &Machine, jobs: &[Job], contents: Contents) -> (Vec<Statistics>, Contents) {
    let tasks = HostTask::of_jobs(jobs, drive(machine), 1).unwrap_or_else(|e| panic!("{e}"));
    let mut runner = Runner::new(machine.driver(), tasks, contents, (), OnFailure::EndTask);
    machine.run(&mut runner, |_| true).unwrap_or_else(|e| panic!("{e}"));
    let (statistics, contents, ()) = runner.finish();
    for s in &statistics {
        assert_eq!(s.failures, 0, "{}: {:?}", s.name, s.first_failure);
    }
    (statistics, contents)
}

/// One job of one request after the other: first to a place that was never written, then to one that was,
/// in the data buffer or not.
const COMMANDS: &str = "[global]\nbs=4k\nsize=256k\nnumber_ios=1\nstonewall\n\
    [write first]\nrw=write\nend_fsync=1\noffset=256k\n\
    [read unmapped]\nrw=read\n[trim unmapped]\nrw=trim\n[zero]\nrw=write\nwrite_mode=zeroes\n\
    [write]\nrw=write\n[write again]\nrw=write\n[read a hit]\nrw=read\n[flush]\nrw=write\nend_fsync=1\n\
    [write through]\nrw=write\nsync=1\n[read]\nrw=read\n[trim]\nrw=trim\n[read trimmed]\nrw=read\n\
    [zero mapped]\nrw=write\nwrite_mode=zeroes\n[flush twice]\nrw=write\nfsync=1\nend_fsync=1\n";

#[test]
fn every_command_costs_at_least_what_link_and_controller_take_on_every_shipped_profile() {
    let jobs = fio::parse(COMMANDS).unwrap_or_else(|e| panic!("{e}"));
    for name in with_blocks() {
        let (profile, machine) = booted(name);
        let least = least_command(&profile);
        assert!(!least.is_zero(), "{name}");
        let (all, _) = run(&machine, &jobs, Contents::unversioned(drive(&machine), 1));
        let of = |s: &Statistics| -> Vec<(RequestKind, KindStatistics)> {
            let kinds = Statistics::KINDS.into_iter().map(|kind| (kind, *s.of(kind)));
            kinds.filter(|(_, of)| of.requests > 0).collect()
        };
        for s in &all {
            for (kind, found) in of(s) {
                // There is one command, or two flushes. The faster flush takes at least the sum minus the
                // slower.
                let fastest = match found.requests {
                    1 => found.latency_sum,
                    _ => Duration::from_picos(
                        found.latency_sum.as_picos() - found.latency_max.as_picos() * (found.requests - 1),
                    ),
                };
                assert!(fastest >= least, "{name}, {}: {kind:?} took {fastest}, least {least}", s.name);
            }
        }
        let seen: Vec<RequestKind> = all.iter().flat_map(of).map(|(kind, _)| kind).collect();
        assert!(Statistics::KINDS.iter().all(|kind| seen.contains(kind)), "{name}: {seen:?}");
    }
}

#[test]
fn a_read_of_nothing_costs_an_ideal_drive_the_least_and_its_data() {
    let (profile, machine) = booted("ideal");
    let read = Job { number_ios: Some(1), ..Job::default() };
    let (all, _) = run(&machine, &[read], Contents::unversioned(drive(&machine), 1));
    let took = all[0].of(RequestKind::Read).latency_max;
    let least = least_command(&profile);
    // 4 KiB over four lanes of 16 GT/s.
    assert!(took > least && took < least + Duration::from_micros(1), "{took} with a least of {least}");
}

#[test]
fn a_job_that_goes_by_time_ends_on_every_shipped_profile_whatever_it_asks_for() {
    for name in with_blocks() {
        let (_, machine) = booted(name);
        let mut contents = Contents::unversioned(drive(&machine), 1);
        for line in ["rw=randread", "rw=randtrim", "rw=randwrite\nwrite_mode=zeroes", "rw=write\nfsync=1"] {
            let text = format!("[j]\n{line}\niodepth=32\ntime_based\nruntime=1ms\nsize=256k\n");
            let jobs = fio::parse(&text).unwrap_or_else(|e| panic!("{e}"));
            let began = machine.now();
            let (all, back) = run(&machine, &jobs, contents);
            contents = back;
            let (requests, lasted) = (all[0].requests(), machine.now().since(began));
            assert!(requests > 0 && lasted >= Duration::from_millis(1), "{name}, {line}: {lasted}");
            // 32 commands in flight, each of which costs at least one latency of a real link.
            assert!(requests < 1_000_000, "{name}, {line}: {requests} in a millisecond");
        }
    }
}

#[test]
fn without_a_limit_of_bytes_a_transfer_still_takes_the_links_latency() {
    let profile = profile("ideal", |p| (p.link.unlimited, p.link.latency_ns) = (true, 100));
    assert_eq!(least_command(&profile), Duration::from_nanos(400));
    let machine = machine(&profile, Some(Content::Fingerprint), Media::fresh(), &Recorder::default());
    let read = Job {
        block_sizes: PerDirection::all(BlockSizes::Fixed(4096)),
        size: Some(Extent::Bytes(4096)),
        ..Job::default()
    };
    let (all, _) = run(&machine, &[read], Contents::unversioned(drive(&machine), 1));
    // The doorbell, the fetch of the entry, and the data, together with the completion and the interrupt.
    assert_eq!(all[0].of(RequestKind::Read).latency_max, Duration::from_nanos(500));
}
