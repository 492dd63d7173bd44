//! A stored map of which pages can't be read any more.

use super::bench::{Bench, config};
use crate::journal::map_stripes::{group_parity_place, part_at, places, stripe_of};
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
/// Where the stored map is, with the parity of its stripes.
fn stored_at(bench: &Bench) -> Vec<Ppa> {
    (0..places(bench.stored_map().pages)).map(|place| bench.map_page(place)).collect()
}
/// A drive that has written a page for each of its map, trimmed another, and stored its map; and where that
/// stands.
fn stored() -> (Bench, Vec<Ppa>) {
    let bench = Bench::fresh(large());
    (0..18).for_each(|n| write(&bench, n * OF_MAP_PAGE, 1 + n as u8));
    write(&bench, 5, 99);
    bench.send_deallocate(&[ByteRange { offset: 5 * PAGE, length: PAGE }]);
    assert_eq!(bench.wait().0.status, HostStatus::Success);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let at = stored_at(&bench);
    (bench, at)
}
fn boot_without(bench: Bench, lost: &[Ppa]) -> Bench {
    for at in lost {
        bench.cells.borrow_mut().uncorrectable.insert(at.0, 1);
    }
    let bench = bench.restart();
    bench.rest();
    assert_eq!(bench.ftl.state(), DriveState::Ready);
    assert!((0..18).all(|n| holds(&bench, n * OF_MAP_PAGE, 1 + n as u8)), "{lost:?}");
    bench
}

#[test]
fn a_page_that_cannot_be_read_is_made_from_the_others_of_its_stripe() {
    let (bench, at) = stored();
    let pages = bench.stored_map().pages;
    assert!(pages > 18 && at.len() as u32 == pages + 2, "{pages} pages in {} places", at.len());
    drop(bench);
    for lost in 0..at.len() {
        let (bench, at) = stored();
        let bench = boot_without(bench, &at[lost..=lost]);
        let is_parity =
            matches!(part_at(lost as u32, pages), crate::journal::map_stripes::StripePart::Parity(_));
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
    // Before another page is lost the map is stored anew, though nobody has written anything.
    assert_eq!(bench.ftl.stats().checkpoints, 1);
    assert!(stored_at(&bench).iter().all(|page| !at.contains(page)));
    let bench = boot_without(bench, &[]);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Recovered, 0));
    assert!(holds(&bench, 5, 0), "what was trimmed");
}

#[test]
fn two_pages_of_a_stripe_are_made_from_the_others_of_its_group() {
    let (_, at) = stored();
    let stripe = stripe_of(0, at.len() as u32 - 2);
    let parity = stripe.end - 1;
    let pairs = [(0, 1), (1, 4), (0, 14), (12, 13), (3, parity), (14, parity)];
    for (one, other) in pairs {
        let (bench, at) = stored();
        let bench = boot_without(bench, &[at[one as usize], at[other as usize]]);
        let restored = if other == parity { 1 } else { 2 };
        let stats = bench.ftl.stats();
        assert_eq!((stats.boot, stats.map_pages_restored), (Boot::Clean, restored), "{one} {other}");
        assert!(holds(&bench, 5, 0), "what was trimmed, {one} {other}");
    }
    // And another one of the other stripe.
    let (bench, at) = stored();
    let bench = boot_without(bench, &[at[1], at[4], at[20]]);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Clean, 3));
    assert!(holds(&bench, 5, 0), "what was trimmed");
}

/// Beyond what the parities give back: all data is found again, and only what was trimmed is not known.
#[test]
fn of_three_pages_of_a_stripe_the_drive_looks_at_every_page() {
    let (bench, at) = stored();
    let group_parity = bench.map_page(group_parity_place(0, bench.stored_map().pages));
    let lost = [[at[1], at[4], at[7]], [at[1], at[4], at[15]], [at[1], at[4], group_parity]];
    drop(bench);
    for lost in lost {
        let (bench, _) = stored();
        let bench = boot_without(bench, &lost);
        assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Rebuilt, 0));
    }
}

#[test]
fn a_map_without_the_parity_of_groups_has_that_of_stripes() {
    let (bench, at) = stored();
    let group_parity = bench.map_page(group_parity_place(0, bench.stored_map().pages));
    let bench = boot_without(bench, &[at[1], group_parity]);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Clean, 1));
}

#[test]
fn a_sudden_loss_of_power_is_no_other_case() {
    let (bench, _) = stored();
    write(&bench, 7, 77);
    assert_eq!(bench.run(HostOp::Flush, 0, 0, vec![]).0, HostStatus::Success);
    let lost = bench.map_page(3);
    let bench = boot_without(bench, &[lost]);
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().map_pages_restored), (Boot::Recovered, 1));
    assert!(holds(&bench, 7, 77) && holds(&bench, 5, 0));
}
