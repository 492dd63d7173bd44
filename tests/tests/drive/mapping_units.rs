//! Drives whose map knows places of less than a page (`ftl.mapping_unit_bytes`).

use aster_device::{DriveStats, Media};
use aster_events::Recorder;
use aster_tests::{SMALL, drive, job, machine, profile, run, versioned};
use aster_units::Content;
use aster_workload::{Access, Job, Mix};

/// Writes 4 KiB at random, flushes, loses its power, and reads all of it back. Gives what the writes cost.
fn written_at_random(name: &str, mapping_unit_bytes: u32, content: Content) -> DriveStats {
    let profile = profile(name, |p| {
        p.host.block_bytes = 4096;
        p.ftl.mapping_unit_bytes = mapping_unit_bytes;
        // An eviction finds companions in the buffer.
        p.ftl.buffer_entries = 256;
    });
    let m = machine(&profile, Some(content), Media::fresh(), &Recorder::default());
    let before = m.device().stats();
    let write = Job { flush_every: 500, ..job("write", Access::Random, Mix::Write, 4 << 10, 2_000) };
    let contents = run(&m, &[write], versioned(&m));
    let mut cost = m.device().stats();
    cost.ftl.flash_programs.host -= before.ftl.flash_programs.host;
    let m = machine(&profile, Some(content), m.cut_power(), &Recorder::default());
    let requests = drive(&m).bytes.div_ceil(64 << 10);
    run(&m, &[job("read back", Access::Sequential, Mix::Read, 64 << 10, requests)], contents);
    cost
}

/// A page takes four units where each write alone took a page, and nothing is read to complete it.
#[test]
fn small_writes_share_pages_and_are_found_again_after_a_loss_of_power() {
    for (name, content) in
        [("tiny", Content::Full), ("tiny", Content::Fingerprint), ("softssd-small", Content::Full)]
    {
        let (pages, units) = (written_at_random(name, 0, content), written_at_random(name, 4096, content));
        let programs = |stats: &DriveStats| stats.ftl.flash_programs.host;
        let (of_pages, of_units) = (programs(&pages), programs(&units));
        assert!(4 * of_units < of_pages + of_pages / 2, "{name}, {content:?}: {of_pages}, then {of_units}");
        let merges = (pages.ftl.flash_reads.merge, units.ftl.flash_reads.merge);
        assert!(merges.0 > 100 && merges.1 == 0, "{name}, {content:?}: {merges:?}");
    }
}

/// What is written in sequence is read in one piece: no page is read twice.
#[test]
fn what_is_written_in_sequence_is_read_page_by_page() {
    for (name, mapping_unit_bytes) in SMALL.into_iter().flat_map(|name| [(name, 0), (name, 4096)]) {
        let profile = profile(name, |p| p.ftl.mapping_unit_bytes = mapping_unit_bytes);
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let page = profile.geometry.page_bytes;
        let requests = 4 * u64::from(profile.ftl.buffer_entries);
        let of = |name, mix| job(name, Access::Sequential, mix, page, requests);
        let contents = run(&m, &[of("write", Mix::Write)], versioned(&m));
        let before = m.device().stats().ftl.flash_reads.host;
        run(&m, &[of("read", Mix::Read)], contents);
        let reads = m.device().stats().ftl.flash_reads.host - before;
        assert!(reads <= requests, "{name}, {mapping_unit_bytes}: {reads} reads of {requests} pages");
    }
}
