//! Data that fades is written anew while it can be read.

use super::bench::{Bench, config};
use crate::terms::sizes::PROGRAM_ATTEMPTS;
use crate::{Capacity, CareConfig, FtlConfig, Refresh};
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Duration, Lpn, Ppa};
use std::vec;
use std::vec::Vec;

const BYTES: u64 = 8192;

fn refreshing(corrected: u8, reads: u32, scan_micros: u64) -> FtlConfig {
    FtlConfig {
        care: CareConfig {
            refresh: Refresh { corrected, correctable: 40, reads },
            scan_interval: Duration::from_micros(scan_micros),
            ..config(Content::Fingerprint).care
        },
        ..config(Content::Fingerprint)
    }
}

/// A drive that was filled and has nothing in its buffer.
fn filled(config: FtlConfig) -> Bench {
    let bench = Bench::fresh(config);
    for page in 0..u64::from(bench.ftl.logical_pages()) {
        let data = (page + 1).to_le_bytes().repeat(2);
        assert_eq!(bench.run(HostOp::Write, page * BYTES, BYTES, data).0, HostStatus::Success);
    }
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    bench
}

fn read(bench: &Bench, page: u64) -> (HostStatus, Vec<u8>) {
    bench.run(HostOp::Read, page * BYTES, BYTES, vec![0; 16])
}

/// Reads a page from flash, whatever the buffer held.
fn read_from_flash(bench: &Bench, page: u64) {
    for other in (0..u64::from(bench.config.host.buffer_entries)).map(|n| 500 + n) {
        assert_eq!(read(bench, other).0, HostStatus::Success);
    }
    assert_eq!(read(bench, page), (HostStatus::Success, (page + 1).to_le_bytes().repeat(2)));
}

fn idle(bench: &Bench, time: Duration) {
    let until = bench.exec.now() + time;
    while let Some(deadline) = bench.exec.next_deadline().filter(|at| *at <= until) {
        bench.exec.advance_to(deadline);
    }
    bench.exec.advance_to(until);
}

/// The page where a logical page lies, and the others of its block that count.
fn block_of(bench: &Bench, page: u32) -> (Ppa, Vec<u32>) {
    let at = bench.place_of(Lpn(page)).unwrap();
    let beside = (0..bench.ftl.logical_pages())
        .filter(|&other| bench.place_of(Lpn(other)).is_some_and(|ppa| ppa.0 / 4 == at.0 / 4));
    (at, beside.collect())
}

#[test]
fn a_read_that_corrects_too_many_bits_has_the_whole_block_written_anew() {
    for (bits, moves) in [(31, false), (32, true)] {
        let bench = filled(refreshing(32, 0, 0));
        let (at, beside) = block_of(&bench, 77);
        bench.cells.borrow_mut().wrong_bits.insert(at.0, bits);
        read_from_flash(&bench, 77);
        idle(&bench, Duration::from_millis(100));
        assert_eq!(bench.ftl.stats().refreshed, u64::from(moves), "{bits} bits");
        for page in beside {
            let now = bench.place_of(Lpn(page)).unwrap();
            assert_eq!(now.0 / 4 != at.0 / 4, moves, "page {page}, {bits} bits");
        }
        read_from_flash(&bench, 77);
    }
}

#[test]
fn a_drive_that_is_only_read_refreshes_as_well() {
    let bench = filled(refreshing(32, 0, 0));
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let bench = bench.restart();
    assert_eq!(read(&bench, 0).0, HostStatus::Success);
    let (at, _) = block_of(&bench, 77);
    bench.cells.borrow_mut().wrong_bits.insert(at.0, 36);
    read_from_flash(&bench, 77);
    idle(&bench, Duration::from_millis(100));
    assert_eq!(bench.ftl.stats().refreshed, 1);
    read_from_flash(&bench, 77);
}

#[test]
fn a_block_that_was_read_too_often_is_written_anew() {
    let bench = filled(refreshing(0, 60, 0));
    let (at, beside) = block_of(&bench, 77);
    for n in 0..60 {
        // Each page that counts in the block takes its share.
        let page = beside[n % beside.len()];
        read_from_flash(&bench, page.into());
        let moved = bench.place_of(Lpn(77)) != Some(at);
        assert!(!moved || n > 40, "moved after {n} reads");
    }
    idle(&bench, Duration::from_millis(100));
    assert!(bench.ftl.stats().refreshed >= 1);
    assert_ne!(bench.place_of(Lpn(77)), Some(at));
    read_from_flash(&bench, 77);
}

#[test]
fn a_move_that_found_no_room_is_made_again() {
    let bench = filled(FtlConfig { capacity: Capacity::OverProvisioning(60.0), ..refreshing(32, 0, 0) });
    let (at, beside) = block_of(&bench, 77);
    let lun = bench.config.geometry.split_ppa(at).0;
    {
        let mut cells = bench.cells.borrow_mut();
        cells.wrong_bits.insert(at.0, 34);
        // As often as the collector tries to write a page.
        cells.next_programs_fail = vec![lun; PROGRAM_ATTEMPTS as usize];
    }
    read_from_flash(&bench, 77);
    idle(&bench, Duration::from_millis(300));
    assert!(bench.cells.borrow().next_programs_fail.is_empty());
    assert_eq!(bench.ftl.stats().grown_bad_blocks, u64::from(PROGRAM_ATTEMPTS));
    // What is moved is counted when it is, and nothing is left where it fades.
    assert_eq!(bench.ftl.stats().refreshed, 1);
    for page in beside {
        assert_ne!(bench.place_of(Lpn(page)).unwrap().0 / 4, at.0 / 4, "page {page}");
    }
    read_from_flash(&bench, 77);
}

#[test]
fn the_scan_saves_what_nobody_reads_before_it_is_lost() {
    for (scan_micros, survives) in [(100, true), (0, false)] {
        let bench = filled(refreshing(32, 0, scan_micros));
        let (at, _) = block_of(&bench, 77);
        bench.cells.borrow_mut().wrong_bits.insert(at.0, 35);
        idle(&bench, Duration::from_millis(600));
        // Time goes on: what still lies there can't be corrected any more.
        bench.cells.borrow_mut().uncorrectable.insert(at.0, u16::MAX);
        let expected = if survives { HostStatus::Success } else { HostStatus::UnrecoveredRead };
        assert_eq!(read(&bench, 77).0, expected, "a scan each {scan_micros} µs");
        assert_eq!(bench.ftl.stats().flash_reads.scan > 1_000, survives);
    }
}

#[test]
fn the_scan_rests_after_a_shutdown() {
    let bench = filled(refreshing(32, 0, 100));
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let before = bench.ftl.stats();
    idle(&bench, Duration::from_millis(200));
    assert_eq!(bench.ftl.stats(), before);
    // As well after one that had nothing to store, since the drive was only read.
    let bench = bench.restart();
    assert_eq!(read(&bench, 77).0, HostStatus::Success);
    idle(&bench, Duration::from_millis(20));
    assert!(bench.ftl.stats().flash_reads.scan > 50);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let before = bench.ftl.stats();
    assert_eq!(before.flash_programs.total(), 0);
    bench.cells.borrow_mut().wrong_bits_min = 36;
    idle(&bench, Duration::from_millis(200));
    assert_eq!(bench.ftl.stats(), before);
    // Nor does a read that finds fading data make it move: the drive stays as its root record says.
    read_from_flash(&bench, 77);
    idle(&bench, Duration::from_millis(200));
    assert_eq!(bench.ftl.stats().flash_programs.total(), 0);
}

#[test]
fn worn_cells_are_not_worn_further_for_data_that_stays_as_bad() {
    let bench = filled(refreshing(32, 0, 100));
    bench.cells.borrow_mut().wrong_bits_min = 33;
    idle(&bench, Duration::from_millis(1_000));
    let once = bench.ftl.stats();
    assert!(once.refreshed > 100, "{once:?}");
    idle(&bench, Duration::from_millis(3_000));
    // Each page was moved for 32 bits, but not again before it has 36.
    assert!(bench.ftl.stats().refreshed <= once.refreshed + 20, "{:?}", bench.ftl.stats());
    bench.cells.borrow_mut().wrong_bits_min = 36;
    idle(&bench, Duration::from_millis(3_000));
    assert!(bench.ftl.stats().refreshed > once.refreshed + 100, "{:?}", bench.ftl.stats());
}

#[test]
fn the_host_keeps_its_share_while_the_whole_drive_fades() {
    let time_of_work = |bits: u8| {
        let bench = filled(refreshing(32, 0, 20));
        bench.cells.borrow_mut().wrong_bits_min = bits;
        let began = bench.exec.now();
        for n in 0..400u64 {
            let page = n * 37 % u64::from(bench.ftl.logical_pages());
            assert_eq!(bench.run(HostOp::Write, page * BYTES, BYTES, vec![9; 16]).0, HostStatus::Success);
        }
        assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
        (bench.exec.now().since(began), bench.ftl.stats().refreshed)
    };
    let ((calm, none), (busy, some)) = (time_of_work(0), time_of_work(33));
    assert!(none == 0 && some > 20, "{some} blocks were refreshed");
    assert!(busy < calm + calm, "{busy} instead of {calm} while {some} blocks were refreshed");
}
