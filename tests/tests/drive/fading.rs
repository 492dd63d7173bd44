//! Data that the cells lose with reads and with time, under the error model: how much of it refresh and
//! scan save.

use aster_device::Media;
use aster_device::profile::{CorrectionName, Profile};
use aster_driver::{DriverError, QueueId};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{machine, small};
use aster_units::{Content, Duration};
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
/// Logical blocks of 4 KiB per page, and the number of pages written. The pages fill whole blocks, so that
/// none stays open.
const PAGE_BLOCKS: u64 = 4;
const PAGES: u64 = 64;

/// Small drives of two LUNs with a tiny data buffer.
fn drives() -> [(&'static str, Profile); 3] {
    small(|p| {
        (p.geometry.channels, p.geometry.ways, p.geometry.planes) = (1, 1, 1);
        // In drives of either size of pages a block has as many of them, and so as many reads.
        p.geometry.blocks_per_lun *= u32::from(p.geometry.pages_per_block / 16);
        p.geometry.pages_per_block = 16;
        p.package.factory_bad_per_mille = 0;
        (p.ftl.buffer_entries, p.ftl.slice_workers) = (8, 4);
        (p.ftl.refresh_corrected_percent, p.ftl.refresh_reads, p.ftl.scan_us) = (0, 0, 0);
        p.host.block_bytes = 4096;
        // What another read would save is lost.
        p.scheduler.read_retries = 0;
        if p.ecc.correction == CorrectionName::OnDemand {
            // Twenty hours pass within a quarter of a second. Correction in software would take more than all
            // of it.
            (p.costs.ecc_frame, p.costs.ecc_error) = (200, 50);
        }
    })
}
/// How much of an error rate gives a codeword as many wrong bits as one of 256 bytes.
fn share(p: &Profile) -> f64 {
    256.0 / f64::from(p.ecc.chunk_bytes)
}
/// A drive that has been filled.
fn filled(profile: &Profile) -> Machine {
    let m = machine(profile, Some(Content::Fingerprint), Media::fresh(), &Recorder::default());
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
fn hammered(mut profile: Profile, corrected_percent: u32, reads: u32) -> (u64, u64) {
    profile.package.errors.read = 4e-6 * share(&profile);
    (profile.ftl.refresh_corrected_percent, profile.ftl.refresh_reads) = (corrected_percent, reads);
    let m = filled(&profile);
    // The pages are moved one by one.
    let rest = Duration::from_millis(20) * u64::from((16 << 10) / profile.geometry.page_bytes);
    let mut lost = 0;
    for _ in 0..50 {
        lost += read(&m, 0..PAGES / 2);
        m.idle(rest);
    }
    (lost, m.device().stats().ftl.refreshed)
}

#[test]
fn a_block_that_is_read_over_and_over_loses_data_unless_it_is_refreshed() {
    for (name, profile) in drives() {
        let (lost, refreshed) = hammered(profile.clone(), 0, 0);
        assert!(lost > 0 && refreshed == 0, "{name}: {lost} reads failed, {refreshed} blocks refreshed");
        for (by, corrected_percent, reads) in [("reads", 0, 60), ("wrong bits", 60, 0)] {
            let (lost, refreshed) = hammered(profile.clone(), corrected_percent, reads);
            let found = format!("{lost} reads failed, {refreshed} blocks refreshed");
            assert!(lost == 0 && refreshed > 4, "{name}, by {by}: {found}");
        }
    }
}

/// Lets time pass in steps of twenty hours, and lets the drive run for a moment after each. Returns how
/// many pages are lost then and how many blocks were refreshed.
fn aged(mut profile: Profile, scan_us: u32) -> (u64, u64) {
    profile.package.errors.retention = 2.2e-4 * share(&profile);
    (profile.ftl.refresh_corrected_percent, profile.ftl.scan_us) = (50, scan_us);
    let m = filled(&profile);
    for step in 1..=30 {
        m.device().nand().set_age_hours(20 * step).unwrap();
        m.idle(Duration::from_millis(250));
    }
    (read(&m, 0..PAGES), m.device().stats().ftl.refreshed)
}

#[test]
fn data_that_nobody_reads_fades_away_unless_the_scan_finds_it_in_time() {
    // With a map on flash there are four times as many pages, and the scan is late for some.
    for (name, profile) in drives().into_iter().take(2) {
        let (lost, refreshed) = aged(profile.clone(), 0);
        assert!(lost > 0 && refreshed == 0, "{name}: {lost} pages are lost, {refreshed} blocks refreshed");
        let (lost, refreshed) = aged(profile, 200);
        assert!(lost == 0 && refreshed > 8, "{name}: {lost} pages are lost, {refreshed} blocks refreshed");
    }
}
