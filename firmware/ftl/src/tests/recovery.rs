//! What recovery must get right beyond what losses of power at random find soon.

use super::bench::{Bench, config};
use crate::{Boot, Capacity, ConfigError, DriveState, FtlConfig};
use aster_ports::host::{ByteRange, HostOp, HostStatus};
use aster_units::{Content, Geometry, Ppa};
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

const PAGE: u64 = 8192;

fn roomy(pages_per_word_line: u16) -> FtlConfig {
    let capacity = Capacity::OverProvisioning(60.0);
    FtlConfig { capacity, pages_per_word_line, ..config(Content::Full) }
}

impl Bench {
    fn write(&self, lpn: u64, byte: u8) {
        let data = vec![byte; PAGE as usize];
        assert_eq!(self.run(HostOp::Write, lpn * PAGE, PAGE, data).0, HostStatus::Success);
    }
    fn holds(&self, lpn: u64) -> Vec<u8> {
        let (status, data) = self.run(HostOp::Read, lpn * PAGE, PAGE, vec![0xEE; PAGE as usize]);
        assert_eq!(status, HostStatus::Success);
        data
    }
    fn trim(&self, lpn: u64, pages: u64) {
        self.send_deallocate(&[ByteRange { offset: lpn * PAGE, length: pages * PAGE }]);
        assert_eq!(self.wait().0.status, HostStatus::Success);
    }
    fn flush(&self) {
        assert_eq!(self.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    }
    fn write_log_page(&self) {
        self.ftl.drive().ask_for_log();
        self.settle();
    }
    fn store_map(&self) {
        let (drive, before) = (self.ftl.drive(), self.ftl.stats().checkpoints);
        drive.log.borrow_mut().recovered = true;
        drive.checkpoint_wanted.wake(drive.exec());
        self.settle();
        assert_eq!(self.ftl.stats().checkpoints, before + 1);
    }
    fn not_safe(&self) -> usize {
        let drive = self.ftl.drive();
        let luns = (0..self.config.geometry.total_luns()).map(aster_units::LunIndex);
        luns.map(|lun| drive.blocks.borrow().unsettled.pages(lun).count()).sum()
    }
}

#[test]
fn a_flushed_trim_stays_though_a_map_was_stored_while_the_word_line_was_open() {
    for lines in [2, 3] {
        let mut bench = Bench::fresh(roomy(lines));
        let mut pages = 0;
        while bench.not_safe() == 0 {
            assert!(pages < 100, "no word line is ever open");
            bench.write(pages, 7);
            bench.settle();
            pages += 1;
        }
        bench.trim(0, pages);
        bench.write_log_page();
        bench.store_map();
        bench.flush();
        bench = bench.restart();
        for lpn in 0..pages {
            assert!(bench.holds(lpn).iter().all(|&byte| byte == 0), "page {lpn} is back");
        }
        assert_eq!(bench.ftl.stats().boot, Boot::Recovered);
    }
}

#[test]
fn more_void_pages_than_a_log_page_lists_take_several() {
    let base = roomy(1);
    let geometry = Geometry { blocks_per_lun: 24, pages_per_block: 256, page_bytes: 4096, ..base.geometry };
    let mut bench = Bench::fresh(FtlConfig { geometry, ..base });
    let page = 4096;
    let pages = 2400;
    let full = |lpn: u64| bench.run(HostOp::Write, lpn * page, page, vec![7; page as usize]).0;
    for lpn in 0..pages {
        assert_eq!(full(lpn), HostStatus::Success);
    }
    bench.flush();
    // Every second page of what is in the blocks that are open, so that no two are one run.
    let luns = u64::from(geometry.total_luns());
    let ranges: Vec<_> = (0..pages).filter(|lpn| lpn / luns % 2 == 0).collect();
    for chunk in ranges.chunks(64) {
        let range = |&lpn: &u64| ByteRange { offset: lpn * page, length: page };
        bench.send_deallocate(&chunk.iter().map(range).collect::<Vec<_>>());
        assert_eq!(bench.wait().0.status, HostStatus::Success);
    }
    // What recovery looks into reaches back to the first page of an open block whose place the log doesn't know.
    bench.flush();
    let before = bench.ftl.stats().log_pages;
    bench.store_map();
    assert!(bench.ftl.stats().log_pages > before);
    bench = bench.restart();
    for lpn in 0..pages {
        let (_, data) = bench.run(HostOp::Read, lpn * page, page, vec![0xEE; page as usize]);
        let byte = if ranges.contains(&lpn) { 0 } else { 7 };
        assert_eq!(data, vec![byte; page as usize], "page {lpn}");
    }
}

#[test]
fn free_blocks_that_nobody_has_looked_at_are_not_trusted_after_a_shutdown_either() {
    let mut bench = Bench::fresh(roomy(1));
    for lpn in 0..60 {
        bench.write(lpn, 3);
    }
    bench.flush();
    let free = bench.cells.borrow().erased_blocks();
    bench = bench.restart();
    // The power went while every second one was being erased.
    free.iter().step_by(2).for_each(|&block| bench.cells.borrow_mut().cut_erase(block));
    bench.settle();
    assert_eq!(bench.ftl.stats().boot, Boot::Recovered);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    bench = bench.restart();
    // A program in a block that is half erased panics.
    for round in 0..12 {
        for lpn in 0..60 {
            bench.write(lpn, round);
        }
    }
    assert_eq!(bench.ftl.stats().boot, Boot::Clean);
    assert_eq!(bench.holds(59), vec![11; PAGE as usize]);
}

/// The second copy of the page that names a stored map fails, on the first word line of each slot in turn: the page stands first
/// in two slots, and the log goes on in one of them.
#[test]
fn a_log_page_that_stands_in_two_slots_is_one() {
    let bench = Bench::fresh(roomy(1));
    bench.settle();
    let slots = bench.ftl.drive().log.borrow().slots.len();
    assert!(slots > 1);
    for wanted in 0..slots {
        let mut bench = Bench::fresh(roomy(1));
        bench.settle();
        for lpn in 0..20 {
            bench.write(lpn, 9);
        }
        bench.flush();
        let lines = u32::from(bench.config.geometry.pages_per_block) / bench.ftl.drive().log_copies();
        let before = (wanted + slots - 1) % slots;
        for page in 0.. {
            assert!(page < 100, "the log goes through all its slots");
            if bench.ftl.drive().log.borrow().at == Some((before, lines)) {
                break;
            }
            if bench.ftl.drive().log_has_room() { bench.write_log_page() } else { bench.store_map() }
        }
        let block = bench.ftl.drive().log.borrow().slots[wanted].block;
        bench.cells.borrow_mut().fail_at = Some(Ppa(block.0 * 4 + 1));
        bench.store_map();
        assert_eq!(bench.ftl.stats().grown_bad_blocks, 1, "slot {wanted}");
        {
            // Recovery needs no page before the one that stands twice.
            let log = bench.ftl.drive().log.borrow();
            assert_eq!(log.replay_from, log.commit, "slot {wanted}");
        }
        bench.trim(0, 10);
        bench.flush();
        bench = bench.restart();
        for lpn in 0..20 {
            let byte = if lpn < 10 { 0 } else { 9 };
            assert!(bench.holds(lpn).iter().all(|&held| held == byte), "page {lpn}, slot {wanted}");
        }
        assert_eq!((bench.ftl.stats().boot, bench.ftl.state()), (Boot::Recovered, DriveState::Ready));
    }
}

#[test]
fn small_pages_and_many_luns_have_a_log_that_fits_or_are_refused_in_words() {
    let with = |page_bytes: u32, luns: u16| FtlConfig {
        geometry: Geometry {
            channels: luns / 8,
            ways: 8,
            luns: 1,
            page_bytes,
            pages_per_block: 64,
            ..config(Content::Full).geometry
        },
        ..config(Content::Full)
    };
    for (page_bytes, luns, listed) in [(4096, 64, 1), (8192, 64, 8), (16384, 64, 8), (16384, 512, 1)] {
        let config = with(page_bytes, luns);
        assert_eq!(config.validate(), Ok(()));
        assert!(config.listed_blocks() >= listed, "{page_bytes} {luns}: {}", config.listed_blocks());
    }
    for (page_bytes, luns) in [(4096, 128), (8192, 512)] {
        let refused = with(page_bytes, luns).validate();
        assert!(
            matches!(refused, Err(ConfigError::Range { key: "geometry", must }) if must.contains("fewer LUNs"))
        );
    }
}

/// A drive that takes no more writes says so for ever, however its power goes, and whether there is a log to say it or not.
#[test]
fn a_drive_that_takes_no_more_writes_comes_back_as_one_with_all_it_has() {
    for gives_up in [false, true] {
        for lines in [1, 3] {
            let mut bench = Bench::fresh(roomy(lines));
            for lpn in 0..40 {
                bench.write(lpn, 5);
            }
            bench.flush();
            let drive = Rc::clone(bench.ftl.drive());
            match gives_up {
                true => {
                    let one = Rc::clone(&drive);
                    drive.core.spawn(async move { one.give_up_log().await });
                }
                false => drive.set_state(DriveState::ReadOnly),
            }
            drop(drive);
            bench.settle();
            for boot in [if gives_up { Boot::Rebuilt } else { Boot::Recovered }, Boot::Recovered] {
                bench = bench.restart();
                bench.settle();
                assert_eq!((bench.ftl.stats().boot, bench.ftl.state()), (boot, DriveState::ReadOnly));
                assert_eq!(bench.run(HostOp::Write, 0, PAGE, vec![1; PAGE as usize]).0, HostStatus::ReadOnly);
                (0..40).for_each(|lpn| assert!(bench.holds(lpn).iter().all(|&held| held == 5), "page {lpn}"));
            }
            assert_eq!(bench.shut_down(), HostStatus::Success);
            bench = bench.restart();
            bench.settle();
            assert_eq!((bench.ftl.stats().boot, bench.ftl.state()), (Boot::Clean, DriveState::ReadOnly));
        }
    }
}
