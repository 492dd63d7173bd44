//! Drives whose map is on their own flash (`ftl.mapping = "demand-paged"`).

use aster_device::profile::{EmmcProfile, MappingName, Profile};
use aster_device::{Boot, DriveStats, EMMC_BLOCK_BYTES, EmmcCells, Media, check};
use aster_events::Recorder;
use aster_image::{check_image, image_state, open_image};
use aster_tests::{cases, drive, job, machine, profile, run, versioned};
use aster_units::{Content, Duration};
use aster_workload::{Access, Job, Mix};
use std::path::Path;
use std::rc::Rc;

fn paged(name: &str, map_cache_bytes: Option<u64>) -> Profile {
    let mut profile = aster_tests::paged(name, map_cache_bytes);
    profile.host.block_bytes = 4096;
    profile
}

/// Writes, trims, flushes, loses its power and recovers, and then is shut down. Gives what it did each time.
fn lost_and_back(profile: &Profile, content: Content, rounds: u64) -> Vec<DriveStats> {
    let (mut media, mut kept, mut stats) = (Media::fresh(), None, Vec::new());
    for round in 0..rounds {
        let m = machine(profile, Some(content), media, &Recorder::default());
        stats.push(m.device().stats());
        let contents = kept.take().unwrap_or_else(|| versioned(&m));
        let work = |name, mix, block, requests| Job {
            seed: round,
            ..job(name, Access::Random, mix, block, requests)
        };
        let all = drive(&m).bytes;
        let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, all.div_ceil(64 << 10));
        let write = work("write", Mix::Write, 4 << 10, all / 4096 / 4);
        let trim = work("trim", Mix::Trim, 32 << 10, 20);
        // The last command is a flush: everything before it must be there.
        let flush = Job { flush_every: 1, ..work("flush", Mix::Write, 4 << 10, 1) };
        kept = Some(run(&m, &[read, write, trim, flush], contents));
        media = m.cut_power();
    }
    stats
}

#[test]
fn what_was_flushed_is_there_after_each_loss_of_power() {
    for (name, content) in [
        ("tiny", Content::Full),
        ("tiny", Content::Fingerprint),
        ("softssd-small", Content::Full),
        ("softssd-small", Content::Fingerprint),
    ] {
        let all = lost_and_back(&paged(name, None), content, cases(4, 20));
        for stats in &all[1..] {
            assert_eq!(format!("{:?} {:?}", stats.ftl.boot, stats.ftl.state), "Recovered Ready");
        }
    }
}

/// All of it is in memory, or a small part: the same data, and other costs.
#[test]
fn a_small_cache_reads_and_writes_translation_pages() {
    let cost = |cache| {
        let stats = lost_and_back(&paged("tiny", cache), Content::Fingerprint, 2).pop().expect("two rounds");
        stats.ftl.flash_reads.metadata
    };
    let (small, large) = (cost(None), cost(Some(1 << 20)));
    assert!(small > 0 && large > 0, "a power-on reads each translation page: {small}, {large}");
}

fn with_emmc() -> Profile {
    let mut profile = paged("tiny", None);
    profile.board.emmc = Some(EmmcProfile { read_us: 150.0, write_us: 400.0 });
    profile
}

/// What two copies of the directory may take.
const COPIES: u32 = 8;

fn delete(emmc: &EmmcCells) {
    (0..COPIES).for_each(|block| emmc.set_block(block, &[0; EMMC_BLOCK_BYTES]));
}
fn is_written(emmc: &EmmcCells) -> bool {
    (0..COPIES).any(|block| emmc.block(block).iter().any(|&byte| byte != 0))
}

/// S24: an image has the eMMC. One without, as it was made before, is the same drive.
#[test]
fn a_drive_finds_the_directory_in_its_images_emmc_and_does_without() {
    let (profile, folder) = (with_emmc(), tempfile::tempdir().expect("a folder"));
    let [path, before] = ["drive", "before"].map(|name| folder.path().join(name));
    let open = |path: &Path| open_image(path, &profile, None).unwrap_or_else(|e| panic!("{e}"));
    let m = machine(&profile, None, open(&path), &Recorder::default());
    let jobs = [job("write", Access::Random, Mix::Write, 4 << 10, 600)];
    let contents = run(&m, &jobs, versioned(&m));
    drop(m.shut_down().unwrap_or_else(|e| panic!("{e}")));
    std::fs::copy(&path, &before).expect("a copy");
    let media = open(&before);
    assert!(is_written(media.emmc()));
    delete(media.emmc());
    drop(media);
    let state = |path: &Path| {
        let mut parts = Vec::new();
        image_state(path, &profile, None, &mut |at, part| parts.push((at, part.to_vec()))).unwrap();
        parts
    };
    assert_ne!(state(&path), state(&before), "the eMMC is a part of what a drive holds");

    let mut contents = Some(contents);
    let mut boot = |path: &Path| {
        check_image(path, &profile, None, |_, _| true).unwrap_or_else(|e| panic!("{e}"));
        let m = machine(&profile, None, open(path), &Recorder::default());
        let (ftl, all) = (m.device().stats().ftl, drive(&m).bytes);
        let from_emmc = m.device().translation().counter("gtd_from_emmc");
        let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, all.div_ceil(64 << 10));
        contents = Some(run(&m, &[read], contents.take().expect("what it holds")));
        m.shut_down().unwrap_or_else(|e| panic!("{e}"));
        (ftl.boot, from_emmc, ftl.boot_nanos, ftl.boot_reads)
    };
    let (with, without) = (boot(&path), boot(&before));
    assert_eq!((with.0, with.1), (Boot::Clean, Some(1)));
    assert_eq!((without.0, without.1), (Boot::Clean, Some(0)));
    assert!(with.2 != without.2 && with.3 < without.3, "{with:?} {without:?}");
}

/// S24: a shutdown stores the map; the power goes at some moment of it.
#[test]
fn a_copy_that_a_loss_of_power_has_torn_is_not_needed() {
    let profile = with_emmc();
    for micros in (0..cases(8, 200)).map(|n| 700 + 97 * n) {
        let m = machine(&profile, Some(Content::Full), Media::fresh(), &Recorder::default());
        let write = job("write", Access::Random, Mix::Write, 4 << 10, 300);
        let flush = Job { flush_every: 1, ..job("flush", Access::Random, Mix::Write, 4 << 10, 1) };
        let contents = run(&m, &[write, flush], versioned(&m));
        let driver = Rc::clone(m.driver());
        m.host().spawn(async move { drop(driver.shut_down().await) });
        m.idle(Duration::from_micros(micros));
        let m = machine(&profile, Some(Content::Full), m.cut_power(), &Recorder::default());
        let all = drive(&m).bytes;
        run(
            &m,
            &[job("read back", Access::Sequential, Mix::Read, 64 << 10, all.div_ceil(64 << 10))],
            contents,
        );
    }
}

/// With pages of 4 KiB the directory has many more translation pages, each of fewer units.
#[test]
fn a_directory_that_does_not_fit_into_the_emmc_is_refused_with_both_sizes() {
    let mut profile = profile("softssd", |p| {
        (p.geometry.page_bytes, p.geometry.spare_bytes) = (4096, 468);
        p.geometry.pages_per_block *= 4;
        p.ftl.map_cache_bytes = Some(1 << 30);
    });
    let error = check(&profile, None).unwrap_err().to_string();
    assert!(error.contains("board.emmc: must be absent: it has 786432 bytes"), "{error}");
    profile.board.emmc = None;
    check(&profile, None).unwrap();
}

/// S24: with a hundredth of its map in memory softssd has the over-provisioning of its profile.
#[test]
fn a_hundredth_of_the_map_is_enough_for_softssd() {
    let with = |bytes| check(&profile("softssd", |p| p.ftl.map_cache_bytes = Some(bytes)), None);
    let hundredth = 1_047_395_106_816 / 16_384 * 4 / 100;
    with(hundredth).unwrap();
    let error = with(hundredth * 9 / 10).unwrap_err().to_string();
    assert!(error.contains("must be at least 2430912"), "{error}");
}

/// A drive whose map is in memory has nothing to keep in its eMMC.
#[test]
fn a_map_in_memory_leaves_the_emmc_alone() {
    let mut profile = with_emmc();
    profile.ftl.mapping = MappingName::Resident;
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    run(&m, &[job("write", Access::Random, Mix::Write, 4 << 10, 100)], versioned(&m));
    assert_eq!(m.device().translation().counter("gtd_copies_written"), None);
    let media = m.shut_down().unwrap_or_else(|e| panic!("{e}"));
    assert!(!is_written(media.emmc()));
}
