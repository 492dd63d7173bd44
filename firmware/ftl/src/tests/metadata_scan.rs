//! The stored map and the log of a drive that is only read are looked after as data is.

use super::bench::{Bench, config};
use crate::journal::map_stripes::{groups, places};
use crate::{Boot, CareConfig, FtlConfig, Refresh};
use aster_ports::host::HostStatus;
use aster_units::{Content, Duration, Ppa};
use std::vec::Vec;

const SCAN: Duration = Duration::from_micros(200);

fn scanned(corrected: u8) -> FtlConfig {
    let refresh = Refresh { corrected, correctable: 40, reads: 0 };
    FtlConfig {
        care: CareConfig { refresh, scan_interval: SCAN, ..config(Content::Full).care },
        ..config(Content::Full)
    }
}
fn idle(bench: &Bench, time: Duration) {
    let until = bench.exec.now() + time;
    while let Some(deadline) = bench.exec.next_deadline().filter(|at| *at <= until) {
        bench.exec.advance_to(deadline);
    }
    bench.exec.advance_to(until);
}
/// Time in which the scan comes round, however little there is.
const ROUND: Duration = Duration::from_millis(400);

/// A drive with some data, shut down, that nobody has written to since.
fn at_rest(config: FtlConfig) -> Bench {
    let bench = Bench::fresh(config);
    (0..200).for_each(|lpn| bench.write(lpn, 1 + lpn as u8 % 200));
    bench.trim(7, 1);
    bench.flush();
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let bench = bench.restart();
    idle(&bench, Duration::from_millis(20));
    assert_eq!((bench.ftl.stats().boot, bench.ftl.stats().checkpoints), (Boot::Clean, 0));
    bench
}
fn pages_of_map(bench: &Bench) -> Vec<Ppa> {
    let pages = bench.stored_map().pages;
    (0..places(pages) + groups(pages)).map(|place| bench.map_page(place)).collect()
}
fn comes_back(bench: Bench) {
    let bench = bench.restart();
    assert_ne!(bench.ftl.stats().boot, Boot::Rebuilt);
    for lpn in 0..200 {
        let byte = if lpn == 7 { 0 } else { 1 + lpn as u8 % 200 };
        assert!(bench.holds(lpn).iter().all(|&held| held == byte), "page {lpn}");
    }
    assert_eq!(bench.ftl.stats().boot, Boot::Recovered);
}

#[test]
fn a_page_of_map_or_log_that_fades_has_the_map_stored_anew() {
    type Pages = fn(&Bench) -> Vec<Ppa>;
    let kinds: [Pages; 2] = [pages_of_map, Bench::needed_log_pages];
    for pages in kinds {
        for (bits, stored) in [(31, 0), (32, 1)] {
            let bench = at_rest(scanned(32));
            let all = pages(&bench);
            assert!(all.len() > 1);
            for &page in &all {
                bench.cells.borrow_mut().wrong_bits.insert(page.0, bits);
            }
            idle(&bench, ROUND);
            assert_eq!(bench.ftl.stats().checkpoints, stored, "{bits} bits");
            let now = pages(&bench);
            assert_eq!(now.iter().any(|page| all.contains(page)), stored == 0, "{bits} bits");
            // What stands there now is well.
            idle(&bench, ROUND);
            assert_eq!(bench.ftl.stats().checkpoints, stored, "{bits} bits");
            if stored > 0 {
                comes_back(bench);
            }
        }
    }
}

#[test]
fn each_page_of_map_and_log_that_cannot_be_read_has_the_map_stored_anew() {
    let count = pages_of_map(&at_rest(scanned(0))).len();
    let copies = at_rest(scanned(0)).needed_log_pages().len();
    for nth in 0..count + copies {
        let bench = at_rest(scanned(0));
        let lost = match nth.checked_sub(count) {
            None => pages_of_map(&bench)[nth],
            Some(copy) => bench.needed_log_pages()[copy],
        };
        bench.cells.borrow_mut().uncorrectable.insert(lost.0, 1);
        idle(&bench, ROUND);
        assert_eq!(bench.ftl.stats().checkpoints, 1, "{nth}");
        assert!(![pages_of_map(&bench), bench.needed_log_pages()].concat().contains(&lost), "{nth}");
        comes_back(bench);
    }
}

/// Cells that are worn keep nothing better: the map is not stored over and over for that.
#[test]
fn a_map_that_is_as_bad_in_its_new_place_is_left_there() {
    let bench = at_rest(scanned(32));
    bench.cells.borrow_mut().wrong_bits_min = 33;
    idle(&bench, Duration::from_millis(4000));
    assert_eq!(bench.ftl.stats().checkpoints, 1);
}

/// Nothing but the scan goes on in a drive at rest, and a drive that was shut down is left alone.
#[test]
fn a_scan_that_finds_all_well_changes_nothing() {
    let bench = at_rest(scanned(32));
    let before = bench.ftl.stats();
    idle(&bench, Duration::from_millis(2000));
    let after = bench.ftl.stats();
    assert!(after.flash_reads.scan > before.flash_reads.scan + 2000);
    assert_eq!(after.flash_programs, before.flash_programs);
    assert_eq!(bench.shut_down(), HostStatus::Success);
    let page = pages_of_map(&bench)[0];
    bench.cells.borrow_mut().uncorrectable.insert(page.0, 1);
    let reads = bench.ftl.stats().flash_reads;
    idle(&bench, ROUND);
    assert_eq!(bench.ftl.stats().flash_reads, reads);
}

/// A transfer that never ends keeps a command in work for ever. The drive has nothing to do then but to scan,
/// and stops: who runs it sees that nothing is due any more.
#[test]
fn a_scan_keeps_no_drive_going_that_stands_still() {
    let bench = at_rest(scanned(0));
    bench.lose_next_dma();
    bench.send_read(3);
    let mut events = 0;
    while let Some(deadline) = bench.exec.next_deadline() {
        assert!(events < 100_000, "the scan goes on for ever");
        bench.exec.advance_to(deadline);
        events += 1;
    }
    assert!(!bench.has_completion());
    let scanned = bench.ftl.stats().flash_reads.scan;
    // Should there be something to do again, the scan goes on.
    bench.send_read(4);
    idle(&bench, ROUND);
    assert!(bench.has_completion());
    assert!(bench.ftl.stats().flash_reads.scan > scanned + 100);
}
