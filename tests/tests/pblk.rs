//! pblk, our FTL of the host, over whole open-channel drives.

use aster_device::profile::{Profile, TargetProfile};
use aster_device::{Boot, DriveState, Media};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{cases, config, drive, job, profile, run, versioned};
use aster_units::Content;
use aster_workload::runner::Contents;
use aster_workload::{Access, Job, Mix};

/// A drive of four LUNs whose lines have 64 sectors of 4 KiB.
fn pocket(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("pocket-ocssd", |p| {
        p.target = Some(TargetProfile { kind: "pblk".to_owned(), ..TargetProfile::default() });
        change(p);
    })
}
/// A drive with pages of four sectors, as the board has them.
fn large_pages(change: impl FnOnce(&mut Profile)) -> Profile {
    pocket(|p| {
        (p.geometry.page_bytes, p.geometry.spare_bytes) = (16_384, 1_664);
        p.geometry.pages_per_block = 16;
        p.host.transfer_bytes_max = 1 << 20;
        change(p);
    })
}

fn power_on(profile: &Profile, content: Content, media: Media) -> Machine {
    let config = Config { depth: 31, ..config(profile) };
    let recorder = Recorder::default();
    let machine = Machine::power_on("pblk", profile, Some(content), media, &recorder, config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}
fn random(mix: Mix, block: u32, requests: u64) -> Job {
    job("random", Access::Random, mix, block, requests)
}
fn everything(machine: &Machine) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10);
    job("everything", Access::Sequential, Mix::Read, 64 << 10, requests)
}
fn counter(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).expect("it is counted")
}

// O7, O10, O11, P30.
#[test]
fn jobs_are_written_and_read_back_for_many_times_the_capacity() {
    for (profile, content) in [
        (pocket(|_| ()), Content::Full),
        (large_pages(|_| ()), Content::Full),
        (large_pages(|_| ()), Content::Fingerprint),
    ] {
        let machine = power_on(&profile, content, Media::fresh());
        let ftl = machine.device().stats().ftl;
        assert_eq!((ftl.boot, ftl.state), (Boot::Fresh, DriveState::Ready));
        let pages = drive(&machine).bytes / 4096;
        let write = random(Mix::Write, 4096, 4 * pages);
        let mixed = Job { seed: 5, ..random(Mix::ReadWrite, 32 << 10, 400) };
        let contents = run(&machine, &[write, mixed], versioned(&machine));
        run(&machine, &[everything(&machine)], contents);
        let stats = machine.device().stats();
        assert!(stats.ftl.gc_runs > 10 && stats.ftl.waf() > 1.0, "{:?}", stats.ftl);
        assert!(stats.ftl.waf() < 8.0, "{}", stats.ftl.waf());
        assert_eq!(machine.device().translation().state(), DriveState::Ready);
        assert!(counter(&machine, "erased_ahead") > 0);
    }
}

#[test]
fn all_is_there_after_a_shutdown_and_what_was_flushed_after_a_loss_of_power() {
    for (profile, content) in [(pocket(|_| ()), Content::Full), (large_pages(|_| ()), Content::Fingerprint)] {
        let mut machine = power_on(&profile, content, Media::fresh());
        let mut contents: Contents = versioned(&machine);
        for round in 0..cases(6, 40) {
            let write = Job { seed: round, ..random(Mix::Write, 8192, 400) };
            let flush = Job { flush_every: 1, seed: round, ..random(Mix::Write, 4096, 2) };
            contents = run(&machine, &[write, flush], contents);
            let shuts_down = round % 2 == 0;
            let media = if shuts_down { machine.shut_down().unwrap() } else { machine.cut_power() };
            machine = power_on(&profile, content, media);
            let ftl = machine.device().stats().ftl;
            let expected = if shuts_down { Boot::Clean } else { Boot::Recovered };
            assert_eq!((ftl.boot, ftl.state), (expected, DriveState::Ready), "round {round}");
            contents = run(&machine, &[everything(&machine)], contents);
        }
    }
}
