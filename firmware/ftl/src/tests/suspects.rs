//! A block with a page that can't be corrected goes bad once its data has moved (S12).

use super::bench::{Bench, config};
use crate::{Capacity, CareConfig, FtlConfig};
use aster_ports::host::{HostOp, HostStatus};
use aster_units::{Content, Duration, Lpn, Ppa, Rng};
use std::vec;
use std::vec::Vec;

const BYTES: u64 = 8192;
/// What a test breaks.
const BROKEN: u64 = 77;

/// A drive that was filled, and of which nothing more than the last page is in the buffer.
fn filled(retire_uncorrectable: bool, scan_micros: u64) -> Bench {
    let bench = Bench::fresh(FtlConfig {
        care: CareConfig {
            retire_uncorrectable,
            scan_interval: Duration::from_micros(scan_micros),
            ..config(Content::Fingerprint).care
        },
        capacity: Capacity::OverProvisioning(30.0),
        ..config(Content::Fingerprint)
    });
    for page in 0..u64::from(bench.ftl.logical_pages()) {
        assert_eq!(bench.run(HostOp::Write, page * BYTES, BYTES, content(page)).0, HostStatus::Success);
    }
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    for page in 200..200 + u64::from(bench.config.host.buffer_entries) {
        assert_eq!(read(&bench, page).0, HostStatus::Success);
    }
    bench
}

fn content(page: u64) -> Vec<u8> {
    (page + 1).to_le_bytes().repeat(2)
}

fn read(bench: &Bench, page: u64) -> (HostStatus, Vec<u8>) {
    bench.run(HostOp::Read, page * BYTES, BYTES, vec![0; 16])
}

fn idle(bench: &Bench, time: Duration) {
    let until = bench.exec.now() + time;
    while let Some(deadline) = bench.exec.next_deadline().filter(|at| *at <= until) {
        bench.exec.advance_to(deadline);
    }
    bench.exec.advance_to(until);
}

/// The block where a logical page lies, and the others whose data is in it.
fn block_of(bench: &Bench, page: u64) -> (Ppa, Vec<u64>) {
    let pages_per_block = u32::from(bench.config.geometry.pages_per_block);
    let block = |page: u64| bench.place_of(Lpn(page as u32)).map(|at| at.0 / pages_per_block);
    let at = bench.place_of(Lpn(page as u32)).unwrap();
    let pages = (0..u64::from(bench.ftl.logical_pages())).filter(|&other| block(other) == block(page));
    (at, pages.filter(|&other| other != page).collect())
}

/// Overwrites the drive in no order, so that each block that can be is programmed again.
fn write_much(bench: &Bench, ops: u64) {
    let mut rng = Rng::new(5);
    for _ in 0..ops {
        let page = rng.below(bench.ftl.logical_pages().into());
        if page != BROKEN {
            assert_eq!(bench.run(HostOp::Write, page * BYTES, BYTES, content(page)).0, HostStatus::Success);
        }
    }
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
}

#[test]
fn a_block_that_could_not_be_read_is_retired_after_its_data_has_moved() {
    for retires in [true, false] {
        let bench = filled(retires, 0);
        let (at, beside) = block_of(&bench, BROKEN);
        assert!(!beside.is_empty(), "there is something else to move");
        bench.cells.borrow_mut().uncorrectable.insert(at.0, 0b01);
        assert_eq!(read(&bench, BROKEN).0, HostStatus::UnrecoveredRead);
        idle(&bench, Duration::from_millis(100));
        assert_eq!(bench.ftl.stats().grown_bad_blocks, u64::from(retires));
        let pages_per_block = u32::from(bench.config.geometry.pages_per_block);
        let erases = |bench: &Bench| bench.cells.borrow().erases[at.0 as usize / pages_per_block as usize];
        let before = erases(&bench);
        for page in beside {
            let now = bench.place_of(Lpn(page as u32)).unwrap();
            assert_eq!(now.0 / pages_per_block != at.0 / pages_per_block, retires, "page {page}");
            assert_eq!(read(&bench, page), (HostStatus::Success, content(page)));
        }
        // What was lost stays lost, where it is now as well as where it was.
        assert_eq!(read(&bench, BROKEN).0, HostStatus::UnrecoveredRead);
        write_much(&bench, 6_000);
        assert_eq!(erases(&bench) == before, retires, "it is never erased again, and so never written");
        assert_eq!(read(&bench, BROKEN).0, HostStatus::UnrecoveredRead);
        assert_eq!(bench.ftl.stats().grown_bad_blocks, u64::from(retires), "one page, one block");
        let again = bench.restart();
        assert_eq!(read(&again, BROKEN).0, HostStatus::UnrecoveredRead);
    }
}

/// A read can fail for what is not the block's fault; the second one decides.
#[test]
fn a_page_that_can_be_read_the_second_time_costs_no_block() {
    let bench = filled(true, 0);
    let (at, _) = block_of(&bench, BROKEN);
    bench.cells.borrow_mut().uncorrectable.insert(at.0, u16::MAX);
    assert_eq!(read(&bench, BROKEN).0, HostStatus::UnrecoveredRead);
    bench.cells.borrow_mut().uncorrectable.remove(&at.0);
    idle(&bench, Duration::from_millis(100));
    assert_ne!(bench.place_of(Lpn(BROKEN as u32)), Some(at), "its data has moved all the same");
    assert_eq!(bench.ftl.stats().grown_bad_blocks, 0);
}

/// The scan finds what nobody reads, and garbage collection what it copies.
#[test]
fn a_page_that_only_the_drive_reads_costs_its_block_as_well() {
    for by_scan in [true, false] {
        let bench = filled(true, if by_scan { 100 } else { 0 });
        let (at, _) = block_of(&bench, BROKEN);
        bench.cells.borrow_mut().uncorrectable.insert(at.0, u16::MAX);
        if by_scan {
            idle(&bench, Duration::from_millis(600));
        } else {
            write_much(&bench, 6_000);
        }
        assert_ne!(bench.place_of(Lpn(BROKEN as u32)), Some(at));
        assert_eq!(bench.ftl.stats().grown_bad_blocks, 1, "by the scan: {by_scan}");
        assert_eq!(read(&bench, BROKEN).0, HostStatus::UnrecoveredRead);
    }
}
