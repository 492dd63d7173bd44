//! Firmware tasks on stacks of their own (S13, S14): the same source as on the executor's stack, and the same
//! drive.

use aster_device::Media;
use aster_device::profile::{ControllerName, MappingName, Profile, TasksName};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{as_in_papers, big_loop, cases, drive, events_of, job, machine, profile, run, versioned};
use aster_workload::runner::{HostTask, OnFailure, Runner};
use aster_workload::{Access, BlockSizes, Job, Mix, PerDirection};

fn mixed(requests: u64, seed: u64) -> Job {
    Job {
        block_sizes: PerDirection::all(BlockSizes::Range { min: 4096, max: 200 << 10 }),
        read_percent: 40,
        seed,
        flush_every: 61,
        queue_depth: 32,
        ..job("mixed", Access::Random, Mix::ReadWrite, 4096, requests)
    }
}

fn stackful(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    profile.cores.tasks = TasksName::Stackful;
    profile
}

/// Drives whose firmware differs: each kind of front end, mapping, scheduler and controller.
fn drives() -> Vec<(&'static str, Profile)> {
    type Change = fn(&mut Profile);
    let changes: [(&str, &str, Change); 6] = [
        ("workers and NVMe in hardware", "tiny", |_| {}),
        ("controllers in software", "tiny", |p| p.channel.controller = ControllerName::Software),
        ("the big loop", "tiny", |p| {
            big_loop(p);
            p.geometry.luns = 1;
        }),
        ("packets, the interface layer and correction in software", "softssd-small", |p| {
            p.package.errors.fresh = 1e-4;
        }),
        ("packets without the offload", "softssd-small", |p| p.host.completion_offload = Some(false)),
        ("a map on flash", "tiny", |p| {
            as_in_papers(p);
            p.geometry.luns = 1;
            p.ftl.over_provisioning_percent = 45.0;
            p.ftl.mapping = MappingName::DemandPaged;
            p.ftl.slice_workers = 4;
            p.ftl.map_cache_bytes = Some(36_000);
        }),
    ];
    changes.map(|(what, name, change)| (what, profile(name, change))).into()
}

#[test]
fn both_forms_of_tasks_give_the_same_events() {
    for (what, profile) in drives() {
        let work = mixed(cases(300, 3_000), 5);
        let (plain, on_stacks) = (events_of(&profile, &work), events_of(&stackful(&profile), &work));
        assert!(plain.len() > 8_000, "{what}: {} events", plain.len());
        if let Some(at) = plain.iter().zip(&on_stacks).position(|(a, b)| a != b) {
            panic!("{what}: event {at} is {:?} and {:?}", plain[at], on_stacks[at]);
        }
        assert_eq!(plain.len(), on_stacks.len(), "{what}");
    }
}

/// Begins `work`, and leaves it under way after `steps`. Nobody sends more than the first commands: they must
/// take longer.
fn begin(m: &Machine, work: Job, steps: u32) {
    let tasks = HostTask::of_jobs(&[work], drive(m), 1).unwrap_or_else(|e| panic!("{e}"));
    let mut runner = Runner::new(m.driver(), tasks, versioned(m), (), OnFailure::Continue);
    m.host().catch_up(m.now());
    runner.start();
    assert!((0..steps).all(|_| m.step()) && !runner.is_done());
}

/// The drive's power is cut while every task waits on its stack, those of commands that are under way, too.
/// Either form comes up from what the other left.
#[test]
fn what_was_flushed_survives_losses_of_power_with_suspended_stacks() {
    for (what, plain) in drives() {
        let forms = [stackful(&plain), plain];
        let (mut media, mut kept) = (Media::fresh(), None);
        for round in 0..cases(4, 40) {
            let m = machine(&forms[(round % 2) as usize], None, media, &Recorder::default());
            let contents = kept.take().unwrap_or_else(|| versioned(&m));
            let blocks = drive(&m).bytes.div_ceil(64 << 10);
            let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, blocks);
            // The last command is a flush.
            let flush = Job { flush_every: 1, ..job("flush", Access::Random, Mix::Write, 4096, 1) };
            kept = Some(run(&m, &[read, mixed(200, round), flush], contents));
            let stacks = m.device().stats().stacks;
            assert_eq!(stacks.is_some(), round % 2 == 0, "{what}");
            if let Some(stacks) = stacks {
                assert!(stacks.stacks > 10 && stacks.switches > 1_000, "{what}: {stacks:?}");
            }
            let reads = job("under way", Access::Random, Mix::Read, 16 << 10, 1_000);
            begin(&m, reads, 40 + 60 * (round % 4) as u32);
            media = m.cut_power();
        }
    }
}
