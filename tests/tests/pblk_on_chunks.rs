//! pblk over whole drives of Open-Channel SSD 2.0 (P29, P30): as over those of 1.2, and nothing of it
//! differs.

use aster_device::profile::Profile;
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
    profile("pocket-ocssd-2", change)
}
/// A drive with pages of four sectors, as the board has them.
fn large_pages(change: impl FnOnce(&mut Profile)) -> Profile {
    pocket(|p| {
        (p.geometry.page_bytes, p.geometry.spare_bytes) = (16_384, 1_664);
        p.geometry.pages_per_block = 16;
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

#[test]
fn jobs_are_written_and_read_back_for_many_times_the_capacity() {
    for (profile, content) in [
        (pocket(|_| ()), Content::Full),
        (large_pages(|_| ()), Content::Full),
        (large_pages(|p| p.target.as_mut().unwrap().one_write_per_lun = Some(false)), Content::Fingerprint),
    ] {
        let machine = power_on(&profile, content, Media::fresh());
        let pages = drive(&machine).bytes / 4096;
        let write = random(Mix::Write, 4096, 4 * pages);
        let mixed = Job { seed: 5, ..random(Mix::ReadWrite, 32 << 10, 400) };
        let contents = run(&machine, &[write, mixed], versioned(&machine));
        run(&machine, &[everything(&machine)], contents);
        let ftl = machine.device().stats().ftl;
        assert!(ftl.gc_runs > 10 && ftl.waf() > 1.0 && ftl.waf() < 8.0, "{ftl:?}");
        assert_eq!(ftl.state, DriveState::Ready);
    }
}

/// The same job takes the same programs on both versions: only the commands differ.
#[test]
fn both_versions_are_written_alike() {
    let programs = |name| {
        let profile = profile(name, |p| p.package.factory_bad_per_mille = 0);
        let machine = power_on(&profile, Content::Full, Media::fresh());
        // The flush sends what is left in the write buffer.
        let write = job("write", Access::Sequential, Mix::Write, 32 << 10, 100);
        run(&machine, &[Job { flush_every: 100, ..write }], versioned(&machine));
        let totals = machine.device().nand().totals_of_drive();
        (totals.programs, machine.device().stats().ftl.flash_programs)
    };
    assert_eq!(programs("pocket-ocssd"), programs("pocket-ocssd-2"));
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

/// Writes that fail leave their chunk open or close it early, and resets that fail take it offline.
#[test]
fn failing_programs_and_erases_lose_nothing() {
    let profile = pocket(|p| {
        p.package.program_failures_per_million = 500;
        p.package.erase_failures_per_million = 6_000;
        p.ftl.over_provisioning_percent = 60.0;
    });
    let machine = power_on(&profile, Content::Full, Media::fresh());
    let pages = drive(&machine).bytes / 4096;
    let contents = run(&machine, &[random(Mix::Write, 4096, 6 * pages)], versioned(&machine));
    let contents = run(&machine, &[everything(&machine)], contents);
    let totals = machine.device().nand().totals_of_drive();
    assert!(totals.program_failures > 0 && totals.erase_failures > 0, "{totals:?}");
    let again = power_on(&profile, Content::Full, machine.shut_down().unwrap());
    let contents = run(&again, &[everything(&again)], contents);
    let again = power_on(&profile, Content::Full, again.cut_power());
    run(&again, &[everything(&again)], contents);
}
