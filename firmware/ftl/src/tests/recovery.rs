//! What recovery must get right beyond what losses of power at random find soon.

use super::bench::{Bench, config};
use crate::{Boot, Capacity, DriveState, FtlConfig, LineConfig, PageKind};
use aster_ports::host::{ByteRange, HostOp, HostStatus};
use aster_units::{Content, Geometry, Lpn, LunIndex, Ppa};
use std::vec;
use std::vec::Vec;

pub(super) const PAGE: u64 = 8192;

pub(super) fn roomy(pages_per_word_line: u16) -> FtlConfig {
    let capacity = Capacity::OverProvisioning(60.0);
    FtlConfig {
        capacity,
        lines: LineConfig { pages: pages_per_word_line, ..config(Content::Full).lines },
        ..config(Content::Full)
    }
}

impl Bench {
    pub(super) fn write(&self, lpn: u64, byte: u8) {
        let data = vec![byte; PAGE as usize];
        assert_eq!(self.run(HostOp::Write, lpn * PAGE, PAGE, data).0, HostStatus::Success);
    }
    pub(super) fn holds(&self, lpn: u64) -> Vec<u8> {
        let (status, data) = self.run(HostOp::Read, lpn * PAGE, PAGE, vec![0xEE; PAGE as usize]);
        assert_eq!(status, HostStatus::Success);
        data
    }
    pub(super) fn trim(&self, lpn: u64, pages: u64) {
        self.send_deallocate(&[ByteRange { offset: lpn * PAGE, length: pages * PAGE }]);
        assert_eq!(self.wait().0.status, HostStatus::Success);
    }
    pub(super) fn flush(&self) {
        assert_eq!(self.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    }
    pub(super) fn write_log_page(&self) {
        self.ask_for_log();
        self.rest();
    }
    pub(super) fn store_map(&self) {
        let before = self.ftl.stats().checkpoints;
        self.renew_map();
        self.rest();
        assert_eq!(self.ftl.stats().checkpoints, before + 1);
    }
    fn not_safe(&self) -> usize {
        (0..self.config.geometry.total_luns()).map(|lun| self.unsafe_pages(LunIndex(lun)).len()).sum()
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
            bench.rest();
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

/// A trim of a page whose write with force unit access is on flash, but not safe yet: the write's end
/// promises that what was there before both is gone for good. The log, which tells of some hundred other
/// trims first, is cut off after each of its pages.
#[test]
fn a_forced_write_that_a_trim_overtakes_leaves_nothing_of_before() {
    let base = roomy(2);
    let geometry = Geometry { blocks_per_lun: 48, pages_per_block: 64, page_bytes: 4096, ..base.geometry };
    let capacity = Capacity::OverProvisioning(60.0);
    let page = 4096;
    let (others, at) = (2000, 2001);
    for log_pages in 0..4 {
        let bench = Bench::fresh(FtlConfig { geometry, capacity, checkpoint_pages: 1 << 20, ..base });
        let write = |lpn: u64, byte, fua| bench.send(HostOp::Write, lpn * page, page, fua, vec![byte; 4096]);
        for lpn in 0..=at {
            write(lpn, 1, false);
            assert_eq!(bench.wait().0.status, HostStatus::Success);
        }
        bench.flush();
        bench.write_log_page();
        bench.write_log_page();
        let forced = write(at, 2, true);
        let before = bench.place_of(Lpn(at as u32));
        while bench.place_of(Lpn(at as u32)) == before {
            bench.exec.advance_to(bench.exec.next_deadline().expect("a write in work"));
        }
        // No two are neighbours: each is an entry of the log.
        for ranges in (0..others).step_by(2).map(|lpn| lpn * page).collect::<Vec<_>>().chunks(128) {
            let range = |&offset: &u64| ByteRange { offset, length: page };
            bench.send_deallocate(&ranges.iter().map(range).collect::<Vec<_>>());
        }
        bench.send_deallocate(&[ByteRange { offset: at * page, length: page }]);
        while bench.wait().0.id != forced {}
        let ended = bench.log_number();
        while bench.log_number() < ended + log_pages {
            bench.ask_for_log();
            bench.exec.advance_to(bench.exec.next_deadline().expect("a log page in work"));
        }
        let bench = bench.restart();
        let (status, data) = bench.run(HostOp::Read, at * page, page, vec![9; 4096]);
        assert_eq!(status, HostStatus::Success);
        assert_ne!(data[0], 1, "what was there before is back after {log_pages} log pages");
    }
}

/// Every second page of the open blocks is trimmed before a map is stored: recovery finds none of them again,
/// whether or not the blocks have been filled since.
#[test]
fn pages_of_open_blocks_that_were_trimmed_before_a_map_was_stored_stay_trimmed() {
    for blocks_after in [0, 3] {
        trimmed_before_a_map_is_stored(blocks_after);
    }
}
fn trimmed_before_a_map_is_stored(blocks_after: u64) {
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
    bench.flush();
    let before = bench.ftl.stats().log_pages;
    bench.store_map();
    assert!(bench.ftl.stats().log_pages > before);
    let more = blocks_after * u64::from(geometry.pages_per_block) * luns;
    for lpn in pages..pages + more {
        assert_eq!(full(lpn), HostStatus::Success);
    }
    bench.flush();
    bench = bench.restart();
    for lpn in 0..pages + more {
        let (_, data) = bench.run(HostOp::Read, lpn * page, page, vec![0xEE; page as usize]);
        let byte = if ranges.contains(&lpn) { 0 } else { 7 };
        assert_eq!(data, vec![byte; page as usize], "page {lpn}");
    }
}

/// What was trimmed or written anew while its copy waited for its turn is programmed as nothing: no loss of
/// power brings it back.
#[test]
fn a_copy_of_what_has_moved_on_while_it_waited_is_padding() {
    for trimmed in [false, true] {
        let bench = Bench::fresh(roomy(1));
        bench.write(0, 7);
        bench.flush();
        let from = bench.place_of(Lpn(0)).unwrap();
        let record = bench.cells.borrow().record(from).unwrap();
        if trimmed {
            bench.trim(0, 1);
        }
        let programmed = bench.program_copy(Lpn(0), from, &record);
        bench.rest();
        let kind = bench.cells.borrow().record(programmed.get().expect("it is programmed")).unwrap().kind;
        assert_eq!(kind, if trimmed { PageKind::Padding } else { PageKind::Data });
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
    bench.rest();
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

/// The second copy of the page that names a stored map fails, on the first word line of each slot in turn:
/// the page stands first in two slots, and the log goes on in one of them.
#[test]
fn a_log_page_that_stands_in_two_slots_is_one() {
    let bench = Bench::fresh(roomy(1));
    bench.rest();
    let slots = bench.log_slots().len();
    assert!(slots > 1);
    for wanted in 0..slots {
        let mut bench = Bench::fresh(roomy(1));
        bench.rest();
        for lpn in 0..20 {
            bench.write(lpn, 9);
        }
        bench.flush();
        let lines = u32::from(bench.config.geometry.pages_per_block) / bench.config.lines.log_copies();
        let before = (wanted + slots - 1) % slots;
        for page in 0.. {
            assert!(page < 100, "the log goes through all its slots");
            if bench.log_at() == Some((before, lines)) {
                break;
            }
            if bench.has_room_in_log() { bench.write_log_page() } else { bench.store_map() }
        }
        let block = bench.log_slots()[wanted];
        bench.cells.borrow_mut().fail_at = Some(Ppa(block.0 * 4 + 1));
        bench.store_map();
        assert_eq!(bench.ftl.stats().grown_bad_blocks, 1, "slot {wanted}");
        // Recovery needs no page before the one that stands twice.
        assert_eq!(bench.replays_from(), bench.naming_page(), "slot {wanted}");
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

/// Why a drive takes no more writes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    TooFewBlocks,
    NoRoomForTheMap,
    NoSlotTakesAPage,
}

/// A drive that takes no more writes says so for ever, however its power goes, and whether there is a log to
/// say it or not.
#[test]
fn a_drive_that_takes_no_more_writes_comes_back_as_one_with_all_it_has() {
    for end in [End::TooFewBlocks, End::NoRoomForTheMap, End::NoSlotTakesAPage] {
        for lines in [1, 3] {
            let mut bench = Bench::fresh(roomy(lines));
            for lpn in 0..40 {
                bench.write(lpn, 5);
            }
            bench.trim(30, 5);
            bench.flush();
            bench.trim(35, 5);
            if end == End::NoRoomForTheMap {
                while bench.has_room_in_log() {
                    bench.write_log_page();
                }
                bench.trim(25, 5);
            }
            match end {
                End::TooFewBlocks => bench.make_read_only(),
                End::NoRoomForTheMap => bench.give_up_storing(),
                End::NoSlotTakesAPage => {
                    bench.wear_out_log();
                    bench.ask_for_log();
                }
            }
            bench.rest();
            // The last pages of the log take what it has not been told yet, as long as any is taken.
            let flushed = bench.run(HostOp::Flush, 0, 0, vec![]).0;
            assert_eq!(flushed == HostStatus::Success, end != End::NoSlotTakesAPage, "{end:?}");
            let gone = match end {
                End::TooFewBlocks => 30..40,
                End::NoRoomForTheMap => 25..40,
                End::NoSlotTakesAPage => 30..35,
            };
            for _ in 0..3 {
                bench = bench.restart();
                bench.rest();
                let up = (bench.ftl.stats().boot, bench.ftl.state());
                assert_eq!(up, (Boot::Recovered, DriveState::ReadOnly), "{end:?} {lines}");
                assert_eq!(bench.run(HostOp::Write, 0, PAGE, vec![1; PAGE as usize]).0, HostStatus::ReadOnly);
                for lpn in 0..40 {
                    let byte = if gone.contains(&lpn) { 0 } else { 5 };
                    assert!(bench.holds(lpn).iter().all(|&held| held == byte), "page {lpn}, {end:?} {lines}");
                }
                assert_eq!(bench.ftl.stats().flash_programs.total(), 0, "it has said all before");
            }
            assert_eq!(bench.shut_down(), HostStatus::Success);
            bench = bench.restart();
            bench.rest();
            assert_eq!((bench.ftl.stats().boot, bench.ftl.state()), (Boot::Clean, DriveState::ReadOnly));
        }
    }
}

/// While a map is being stored the one before it stands yet: two of them on one LUN would leave it without
/// room for its data.
#[test]
fn two_stored_maps_share_the_luns() {
    let pages_per_block = 16 * config(Content::Full).units().per_page() as u16;
    let geometry = Geometry { pages_per_block, ..config(Content::Full).geometry };
    let bench = Bench::fresh(FtlConfig { geometry, ..roomy(1) });
    let luns = || bench.stored_map().blocks.iter().map(|&block| bench.lun_of(block)).collect::<Vec<_>>();
    let mut before = luns();
    for n in 0..8 {
        bench.write(n, 1);
        bench.flush();
        // Attempts that come to nothing move the LUN on with which the next one begins.
        bench.skip_generations(n % u64::from(geometry.total_luns()));
        bench.store_map();
        let now = luns();
        let of_both = |lun| before.iter().chain(&now).filter(|&of| of == lun).count() as u64;
        let share = bench.config.areas().metadata_blocks_per_lun();
        assert!(now.iter().all(|lun| of_both(lun) <= share), "{before:?}, then {now:?}");
        before = now;
    }
}
