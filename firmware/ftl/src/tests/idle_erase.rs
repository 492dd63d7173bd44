//! What holds nothing any more is erased while the host leaves the drive alone.

use super::bench::{Bench, config};
use crate::{CareConfig, FtlConfig, LineConfig};
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Duration, LunIndex};
use std::vec;

const BYTES: u64 = 8192;

fn write(bench: &Bench, page: u64, tag: u8) {
    assert_eq!(bench.run(HostOp::Write, page * BYTES, BYTES, vec![tag; 16]).0, HostStatus::Success);
}
fn read(bench: &Bench, page: u64) -> u8 {
    let (status, data) = bench.run(HostOp::Read, page * BYTES, BYTES, vec![9; 16]);
    assert_eq!(status, HostStatus::Success, "page {page}");
    data[0]
}
fn trim(bench: &Bench, pages: core::ops::Range<u64>) {
    let op = HostOp::WriteZeroes { deallocate: true };
    let (status, _) = bench.run(op, pages.start * BYTES, (pages.end - pages.start) * BYTES, vec![]);
    assert_eq!(status, HostStatus::Success);
}
fn pages(bench: &Bench) -> u64 {
    bench.ftl.logical_pages().into()
}
fn filled(config: FtlConfig) -> Bench {
    let bench = Bench::fresh(config);
    (0..pages(&bench)).for_each(|page| write(&bench, page, 1));
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    bench.rest();
    bench
}
fn drive() -> FtlConfig {
    config(Content::Fingerprint)
}
fn free(bench: &Bench) -> usize {
    (0..bench.config.geometry.total_luns()).map(|lun| bench.ftl.free_blocks(LunIndex(lun))).sum()
}
fn empty(bench: &Bench) -> bool {
    (0..bench.config.geometry.total_luns()).any(|lun| bench.has_empty_block(LunIndex(lun)))
}

#[test]
fn a_trimmed_drive_erases_its_blocks_by_itself_and_then_sleeps() {
    let bench = filled(drive());
    let (free_before, erases) = (free(&bench), bench.ftl.stats().flash_erases.total());
    trim(&bench, 0..pages(&bench));
    assert_eq!(bench.ftl.stats().flash_erases.total(), erases, "the host comes first");
    // Comes to an end: nothing wakes a drive without empty blocks.
    bench.rest();
    assert!(!empty(&bench));
    let blocks = pages(&bench) as usize / usize::from(bench.config.geometry.pages_per_block);
    let luns = bench.config.geometry.total_luns() as usize;
    // Each LUN may keep a block open for the host and one for garbage collection.
    assert!(free(&bench) >= free_before + blocks - 2 * luns, "{free_before}, {}", bench.dump());
    let rest = bench.ftl.stats();
    bench.exec.advance_to(bench.exec.now() + Duration::from_secs(10));
    assert_eq!(bench.ftl.stats(), rest);
    assert!((0..pages(&bench)).all(|page| read(&bench, page) == 0));
}

#[test]
fn so_does_one_that_was_overwritten_or_formatted() {
    let bench = filled(drive());
    (0..pages(&bench) / 2).for_each(|page| write(&bench, page, 2));
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    bench.rest();
    assert!(!empty(&bench), "{}", bench.dump());
    let before = free(&bench);
    assert_eq!(bench.run(HostOp::Format { erase: false }, 0, 0, vec![]).0, HostStatus::Success);
    bench.rest();
    assert!(!empty(&bench) && free(&bench) > before);
}

#[test]
fn a_host_that_never_leaves_it_alone_keeps_the_luns_to_itself() {
    let bench = filled(drive());
    trim(&bench, 0..pages(&bench));
    let erases = bench.ftl.stats().flash_erases.total();
    let pause = Duration::from_picos(bench.config.care.background_gap.as_picos() / 2);
    for _ in 0..50 {
        let until = bench.exec.now() + pause;
        while let Some(deadline) = bench.exec.next_deadline().filter(|&at| at <= until) {
            bench.exec.advance_to(deadline);
        }
        bench.exec.advance_to(until);
        assert_eq!(read(&bench, 0), 0);
    }
    assert_eq!(bench.ftl.stats().flash_erases.total(), erases);
}

#[test]
fn a_drive_that_was_shut_down_erases_nothing() {
    let bench = filled(drive());
    trim(&bench, 0..pages(&bench));
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let before = bench.ftl.stats();
    bench.rest();
    assert_eq!(bench.ftl.stats(), before);
}

#[test]
fn without_a_pause_it_erases_all_the_same() {
    let bench =
        filled(FtlConfig { care: CareConfig { background_gap: Duration::ZERO, ..drive().care }, ..drive() });
    trim(&bench, 0..pages(&bench));
    bench.rest();
    assert!(!empty(&bench));
}

#[test]
fn a_loss_of_power_at_any_time_of_it_brings_nothing_back_that_was_erased() {
    for events in (0..4_000).step_by(97) {
        let bench = filled(FtlConfig { lines: LineConfig { pages: 2, ..drive().lines }, ..drive() });
        let (half, all) = (pages(&bench) / 2, pages(&bench));
        trim(&bench, 0..half);
        for _ in 0..events {
            let Some(deadline) = bench.exec.next_deadline() else { break };
            bench.exec.advance_to(deadline);
        }
        // A trim that was not flushed may be undone, but only as a whole page: never to one that was erased.
        let erased = bench.ftl.stats().flash_erases.total();
        let bench = bench.restart();
        let back = (0..half).filter(|&page| read(&bench, page) == 1).count();
        assert!((half..all).all(|page| read(&bench, page) == 1), "{events} events, {erased} erases");
        assert!(events < 2_000 || back == 0, "{back} pages are back after {events} events, {erased} erases");
    }
}
