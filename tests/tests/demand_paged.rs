//! Drives whose map is on their own flash (`ftl.mapping = "demand-paged"`).

use aster_device::profile::{MappingName, Profile};
use aster_device::{DriveStats, Media};
use aster_events::Recorder;
use aster_tests::{cases, drive, job, machine, profile, run, versioned};
use aster_units::Content;
use aster_workload::{Access, Job, Mix};

/// Pages of 4 KiB, and so many of them that the map has a dozen translation pages.
fn paged(name: &str, map_cache_bytes: Option<u64>) -> Profile {
    profile(name, |p| {
        p.geometry.page_bytes = 4096;
        p.geometry.spare_bytes = 448;
        p.geometry.pages_per_block = 64;
        p.geometry.blocks_per_lun = 48;
        p.host.block_bytes = 4096;
        p.ftl.over_provisioning_percent = 40.0;
        p.ftl.mapping = MappingName::DemandPaged;
        p.ftl.map_cache_bytes = map_cache_bytes;
    })
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
    for content in [Content::Full, Content::Fingerprint] {
        let all = lost_and_back(&paged("tiny", None), content, cases(4, 20));
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
