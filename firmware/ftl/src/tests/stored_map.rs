//! A stored map of which pages can't be read any more.

use super::bench::{Bench, config};
use crate::map_stripes::{part_at, places};
use crate::{Boot, Capacity, DriveState, FtlConfig};
use aster_ports::host::{ByteRange, HostOp, HostStatus};
use aster_units::{Content, Geometry, Ppa};
use std::vec;
use std::vec::Vec;

const PAGE: u64 = 8192;
/// Logical pages that a page of the map has.
const OF_MAP_PAGE: u64 = PAGE / 4;

/// Two stripes, and a bit of the second.
fn large() -> FtlConfig {
    let geometry = Geometry { blocks_per_lun: 3000, ..config(Content::Full).geometry };
    FtlConfig { geometry, capacity: Capacity::Pages(18 * OF_MAP_PAGE as u32), ..config(Content::Full) }
}
fn write(bench: &Bench, lpn: u64, byte: u8) {
    let data = vec![byte; PAGE as usize];
    assert_eq!(bench.run(HostOp::Write, lpn * PAGE, PAGE, data).0, HostStatus::Success);
}
fn holds(bench: &Bench, lpn: u64, byte: u8) -> bool {
    let (status, data) = bench.run(HostOp::Read, lpn * PAGE, PAGE, vec![0xEE; PAGE as usize]);
    status == HostStatus::Success && data.iter().all(|&held| held == byte)
}
/// A drive that has written a page for each of its map, trimmed another, and stored its map; and where that stands.
fn stored() -> (Bench, Vec<Ppa>) {
    let bench = Bench::fresh(large());
    (0..18).for_each(|n| write(&bench, n * OF_MAP_PAGE, 1 + n as u8));
    write(&bench, 5, 99);
    bench.send_deallocate(&[ByteRange { offset: 5 * PAGE, length: PAGE }]);
    assert_eq!(bench.wait().0.status, HostStatus::Success);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let drive = bench.ftl.drive();
    let stored = drive.stored.borrow().clone();
    let at = (0..places(stored.pages)).map(|place| drive.map_place(&stored.blocks, place)).collect();
    drop(stored);
    (bench, at)
}
fn boot_without(bench: Bench, lost: &[Ppa]) -> Bench {
    for at in lost {
        bench.cells.borrow_mut().uncorrectable.insert(at.0, 1);
    }
    let bench = bench.restart();
    bench.settle();
    assert_eq!(bench.ftl.state(), DriveState::Ready);
    assert!((0..18).all(|n| holds(&bench, n * OF_MAP_PAGE, 1 + n as u8)), "{lost:?}");
    bench
}

#[test]
fn a_page_that_cannot_be_read_is_made_from_the_others_of_its_stripe() {
    let (bench, at) = stored();
    let pages = bench.ftl.drive().stored.borrow().pages;
    assert!(pages > 18 && at.len() as u32 == pages + 2, "{pages} pages in {} places", at.len());
    drop(bench);
    for lost in 0..at.len() {
        let (bench, at) = stored();
        let bench = boot_without(bench, &at[lost..=lost]);
        let is_parity = matches!(part_at(lost as u32, pages), crate::map_stripes::Part::Parity(_));
        let stats = bench.ftl.stats();
        // Parity that nobody needs isn't read.
        assert_eq!(
            (stats.boot, stats.map_pages_restored),
            (Boot::Clean, u64::from(!is_parity)),
            "place {lost}"
        );
        assert!(holds(&bench, 5, 0), "what was trimmed");
    }
    // One of each stripe.
    let (bench, at) = stored();
    let bench = boot_without(bench, &[at[0], at[17]]);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Clean, 2));
    // Before another page is lost the map is stored anew.
    assert_eq!(bench.ftl.stats().checkpoints, 0);
    write(&bench, 5, 9);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    bench.settle();
    assert_eq!(bench.ftl.stats().checkpoints, 1);
}

#[test]
fn of_two_pages_of_a_stripe_the_drive_looks_at_every_page() {
    let (bench, at) = stored();
    let bench = boot_without(bench, &[at[1], at[4]]);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Rebuilt, 0));
}

#[test]
fn a_sudden_loss_of_power_is_no_other_case() {
    let (bench, _) = stored();
    write(&bench, 7, 77);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    let drive = bench.ftl.drive();
    let stored = drive.stored.borrow().clone();
    let lost = drive.map_place(&stored.blocks, 3);
    drop(stored);
    let bench = boot_without(bench, &[lost]);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Recovered, 1));
    assert!(holds(&bench, 7, 77) && holds(&bench, 5, 0));
}
