//! Data that the cells lose with reads and with time, under the error model: how much of it refresh and
//! scan save.

use aster_device::Media;
use aster_device::profile::Profile;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_run_virtual::driver::{DriverError, QueueId};
use aster_tests::{machine, profile};
use aster_units::{Content, Duration};
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
/// Logical blocks of 4 KiB per page, and the number of pages written. The pages fill whole blocks, so that
/// none stays open.
const PAGE_BLOCKS: u64 = 4;
const PAGES: u64 = 64;

/// A drive of two LUNs with a tiny data buffer.
fn drive(change: impl FnOnce(&mut Profile)) -> Machine {
    let profile = profile("tiny", |p| {
        (p.geometry.channels, p.geometry.ways, p.geometry.planes) = (1, 1, 1);
        p.package.factory_bad_per_mille = 0;
        (p.ftl.buffer_entries, p.ftl.slice_workers) = (8, 4);
        (p.ftl.refresh_corrected_percent, p.ftl.refresh_reads, p.ftl.scan_us) = (0, 0, 0);
        p.host.block_bytes = 4096;
        change(p);
    });
    let m = machine(&profile, Some(Content::Fingerprint), Media::fresh(), &Recorder::default());
    let driver = Rc::clone(m.driver());
    let filled = async move {
        for page in 0..PAGES {
            driver.write_tags(QUEUE, page * PAGE_BLOCKS, &tags(page), false).await?;
        }
        driver.flush(QUEUE).await
    };
    m.block_on("filling", filled).unwrap().unwrap();
    m
}
fn tags(page: u64) -> [[u8; 8]; PAGE_BLOCKS as usize] {
    [(0xA57E_0000 + page).to_le_bytes(); PAGE_BLOCKS as usize]
}

/// Reads pages. Each must be intact or reported as lost (02h/81h). Returns how many are lost.
fn read(m: &Machine, pages: impl Iterator<Item = u64>) -> u64 {
    let mut lost = 0;
    for page in pages {
        let driver = Rc::clone(m.driver());
        let work = async move {
            let mut found = [[0; 8]; PAGE_BLOCKS as usize];
            driver.read_tags(QUEUE, page * PAGE_BLOCKS, &mut found).await.map(|()| found)
        };
        match m.block_on("reading", work).unwrap() {
            Ok(found) => assert_eq!(found, tags(page), "page {page}"),
            Err(error @ DriverError::Command { .. }) if error.is_unrecovered_read() => lost += 1,
            Err(error) => panic!("page {page}: {error}"),
        }
    }
    lost
}

/// Reads half of the pages over and over: each read disturbs the whole block. Returns how many pages were
/// lost and how many blocks were refreshed.
fn hammered(corrected_percent: u32, reads: u32) -> (u64, u64) {
    let m = drive(|p| {
        p.package.errors.read = 8e-6;
        (p.ftl.refresh_corrected_percent, p.ftl.refresh_reads) = (corrected_percent, reads);
    });
    let mut lost = 0;
    for _ in 0..50 {
        lost += read(&m, 0..PAGES / 2);
        m.idle(Duration::from_millis(20));
    }
    (lost, m.device().stats().ftl.refreshed)
}

#[test]
fn a_block_that_is_read_over_and_over_loses_data_unless_it_is_refreshed() {
    let (lost, refreshed) = hammered(0, 0);
    assert!(lost > 0 && refreshed == 0, "{lost} reads failed without refresh, {refreshed} blocks refreshed");
    let (lost, refreshed) = hammered(0, 60);
    assert!(lost == 0 && refreshed > 4, "by reads: {lost} reads failed, {refreshed} blocks refreshed");
    let (lost, refreshed) = hammered(60, 0);
    assert!(lost == 0 && refreshed > 4, "by wrong bits: {lost} reads failed, {refreshed} blocks refreshed");
}

/// Lets time pass in steps of twenty hours, and lets the drive run for a moment after each. Returns how
/// many pages are lost then and how many blocks were refreshed.
fn aged(scan_us: u32) -> (u64, u64) {
    let m = drive(|p| {
        p.package.errors.retention = 2.2e-4;
        (p.ftl.refresh_corrected_percent, p.ftl.scan_us) = (50, scan_us);
    });
    for step in 1..=30 {
        m.device().nand().set_age_hours(20 * step).unwrap();
        m.idle(Duration::from_millis(250));
    }
    (read(&m, 0..PAGES), m.device().stats().ftl.refreshed)
}

#[test]
fn data_that_nobody_reads_fades_away_unless_the_scan_finds_it_in_time() {
    let (lost, refreshed) = aged(0);
    assert!(lost > 0 && refreshed == 0, "{lost} pages are lost without a scan, {refreshed} blocks refreshed");
    let (lost, refreshed) = aged(200);
    assert!(lost == 0 && refreshed > 8, "{lost} pages are lost, {refreshed} blocks refreshed");
}
