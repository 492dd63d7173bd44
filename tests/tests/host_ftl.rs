//! Host-FTL: a drive that takes frames and knows no logical address, and FTLs on its host.

use aster_device::{Boot, Media, Profile, least_command};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, run, versioned};
use aster_units::{Content, Duration};
use aster_workload::{Access, Job, Mix};
use std::rc::Rc;

/// The small profile with our FTL on its host.
fn small() -> Profile {
    let mut profile = paper();
    profile.target.as_mut().expect("a target").kind = "page-mapping".to_owned();
    profile.ftl.buffer_entries = 128;
    profile
}

/// The small profile: the paper's FTL is on its host.
fn paper() -> Profile {
    aster_device::profile::shipped("host-ftl-small").expect("a shipped profile")
}

fn machine(profile: &Profile, content: Content, media: Media) -> Machine {
    let config = Config { depth: 32, ..config(profile) };
    let machine = Machine::power_on("host-ftl", profile, Some(content), media, &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

fn random(requests: u64, block: u32, mix: Mix) -> Job {
    Job { queue_depth: 16, ..job("random", Access::Random, mix, block, requests) }
}
fn everything(machine: &Machine) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10);
    job("everything", Access::Sequential, Mix::Read, 64 << 10, requests)
}

#[test]
fn jobs_with_verification_run_through_frames_and_survive_a_restart() {
    works_and_survives_a_restart(&small(), Content::Full);
}

/// H19 to H21: the map is in the host's memory, so that the drive may keep fingerprints.
#[test]
fn the_papers_ftl_works_and_survives_a_restart_in_both_contents() {
    works_and_survives_a_restart(&paper(), Content::Fingerprint);
    let mut profile = paper();
    profile.host.block_bytes = 512;
    works_and_survives_a_restart(&profile, Content::Full);
}

fn works_and_survives_a_restart(profile: &Profile, content: Content) {
    let first = machine(profile, content, Media::fresh());
    assert_eq!(first.device().stats().ftl.boot, Boot::Fresh);
    let below = Rc::clone(first.device().below().expect("the drive"));
    assert!(first.device().is_nvme() && !below.is_nvme());
    let mut jobs = vec![
        job("fill", Access::Sequential, Mix::Write, 128 << 10, drive(&first).bytes.div_ceil(128 << 10)),
        random(3_000, 4096, Mix::ReadWrite),
        random(400, 64 << 10, Mix::ReadWrite),
        Job { flush_every: 10, ..random(300, 8192, Mix::Write) },
    ];
    if profile.host.block_bytes < 4096 {
        // Parts of sectors.
        jobs.push(random(2_000, 512, Mix::ReadWrite));
    }
    let contents = run(&first, &jobs, versioned(&first));
    let stats = first.device().stats();
    // The host's FTL collects garbage in a drive that knows of none.
    assert!(stats.ftl.flash_erases.gc > 0 && stats.ftl.flash_programs.gc > 0, "{:?}", stats.ftl);
    assert!(below.completed() > stats.ftl.flash_programs.host);
    drop(below);
    let media = first.shut_down().unwrap();
    let second = machine(profile, content, media);
    assert_ne!(second.device().stats().ftl.boot, Boot::Fresh);
    run(&second, &[everything(&second), random(200, 4096, Mix::ReadWrite)], contents);
}

/// Numbers of status entries come round after 65,536 commands. By then the host's status buffer has held
/// frames of many entries and frames of one.
#[test]
fn reads_at_high_depth_go_on_when_the_numbers_of_statuses_come_round() {
    let profile = small();
    let machine = machine(&profile, Content::Full, Media::fresh());
    let fill = job("fill", Access::Sequential, Mix::Write, 128 << 10, drive(&machine).bytes / (128 << 10));
    let reads = Job { queue_depth: 64, ..random(70_000, 4096, Mix::Read) };
    run(&machine, &[fill, reads], versioned(&machine));
    assert!(machine.device().below().expect("the drive").completed() > 65_536);
}

#[test]
fn what_was_flushed_is_there_after_a_cut_of_the_host_or_of_both() {
    keeps_what_was_flushed(&small());
}

#[test]
fn the_papers_ftl_keeps_what_was_flushed_through_cuts_of_the_host_or_of_both() {
    keeps_what_was_flushed(&paper());
}

fn keeps_what_was_flushed(profile: &Profile) {
    let mut now = machine(profile, Content::Full, Media::fresh());
    let mut contents = versioned(&now);
    for round in 0..24 {
        let write = Job { seed: round, ..random(60, 8192, Mix::Write) };
        let flush = Job { flush_every: 1, ..random(1, 4096, Mix::Write) };
        contents = run(&now, &[write, flush], contents);
        let driver = Rc::clone(now.driver());
        // Reads are in flight, through frames, when the power goes.
        now.host().spawn(async move {
            let mut page = vec![0; 4096];
            for lba in 0.. {
                let _ = driver.read(aster_driver::QueueId(1), lba * 8 % 512, &mut page).await;
            }
        });
        for _ in 0..13 * round {
            assert!(now.step());
        }
        now = if round % 3 == 0 {
            machine(profile, Content::Full, now.cut_power())
        } else {
            let drive = now.cut_host().expect("there is a target");
            let config = Config { depth: 32, ..config(profile) };
            let next = Machine::power_on_over(aster_device::Pieces::default(), "h", profile, drive, config)
                .unwrap_or_else(|e| panic!("power-on: {e}"));
            next.boot().unwrap_or_else(|e| panic!("boot: {e}"));
            next
        };
        contents = run(&now, &[everything(&now)], contents);
    }
}

#[test]
fn the_least_time_of_a_command_is_that_of_the_hosts_software() {
    let mut profile = small();
    let least = |profile: &Profile| least_command(profile);
    let before = least(&profile);
    profile.target.as_mut().expect("a target").command_ns = Some(6_000);
    assert_eq!(least(&profile) - before, Duration::from_micros(5));
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let refused_of = |mut profile: Profile, content, change: fn(&mut Profile)| {
        change(&mut profile);
        let (media, recorder) = (Media::fresh(), Recorder::default());
        let built =
            Machine::power_on("h", &profile, Some(content), media, &recorder, config(&profile)).map(|_| ());
        built.unwrap_err().to_string()
    };
    let refused = |content, change| refused_of(small(), content, change);
    let tags = refused(Content::Fingerprint, |_| ());
    assert!(tags.starts_with("content: must be \"full\" under target.kind"), "{tags}");
    let units = refused(Content::Full, |p| p.ftl.mapping_unit_bytes = 4096);
    assert!(units.starts_with("ftl.mapping_unit_bytes: must be 0 for an FTL on the host"), "{units}");
    let other = refused(Content::Full, |p| p.ftl.kind = "page-mapping".to_owned());
    assert!(other.contains("vectors"), "{other}");
    let nvme = refused(Content::Full, |p| p.host.front_end = "nvme".to_owned());
    assert!(nvme.contains("front_end") || nvme.contains("command_set"), "{nvme}");
    let pairs = refused_of(paper(), Content::Full, |p| p.package.pair_loss = true);
    assert!(pairs.starts_with("package.pair_loss: must be false under target.kind"), "{pairs}");
    let spare = refused_of(paper(), Content::Full, |p| p.ftl.over_provisioning_percent = 20.0);
    assert!(spare.starts_with("ftl.over_provisioning_percent: must leave 6 blocks"), "{spare}");
    let policy = refused_of(paper(), Content::Full, |p| p.ftl.victims = "none".to_owned());
    assert!(policy.starts_with("ftl.victims: must be one of"), "{policy}");
}
