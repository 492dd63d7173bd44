//! More runs of stale pages than one log page has room for, when a map is stored.

use super::bench::{Bench, config};
use crate::{Boot, Capacity, CareConfig, FtlConfig, Refresh, WearLevelling};
use aster_ports::host::{ByteRange, HostOp, HostStatus};
use aster_units::{Content, Duration, Geometry, Lpn};
use std::vec;
use std::vec::Vec;

const BYTES: u64 = 4096;

fn run(bench: &Bench, op: HostOp, page: u64, data: Vec<u8>) -> Vec<u8> {
    let bytes = if op == HostOp::Flush { 0 } else { BYTES };
    let (status, data) = bench.run(op, page * bytes, bytes, data);
    assert_eq!(status, HostStatus::Success);
    data
}

/// A block's pages are being moved, and every second one of those that have been is trimmed. None of the
/// moves is journaled before the block is empty, so recovery will look at all the copies, and only the runs
/// that come with the stored map tell it which of them count.
#[test]
fn runs_that_overflow_a_log_page_stand_in_the_pages_before_it() {
    let base = config(Content::Fingerprint);
    let geometry = Geometry {
        channels: 1,
        luns: 1,
        blocks_per_lun: 16,
        pages_per_block: 2048,
        page_bytes: BYTES as u32,
        ..base.geometry
    };
    let config = FtlConfig {
        geometry,
        capacity: Capacity::OverProvisioning(150.0),
        care: CareConfig {
            wear_levelling: WearLevelling::None,
            refresh: Refresh { corrected: 32, correctable: 40, reads: 0 },
            background_gap: Duration::from_millis(10),
            ..base.care
        },
        ..base
    };
    let mut bench = Bench::fresh(config);
    let pages = u64::from(bench.ftl.logical_pages());
    assert!(pages > 2048);
    let data = |page: u64| (page + 1).to_le_bytes().to_vec();
    (0..pages).for_each(|page| drop(run(&bench, HostOp::Write, page, data(page))));
    run(&bench, HostOp::Flush, 0, vec![]);

    // The first block's data fade. It moves page by page, with long pauses.
    let first = bench.place_of(Lpn(0)).unwrap();
    bench.cells.borrow_mut().wrong_bits.insert(first.0, 36);
    (0..u64::from(config.host.buffer_entries))
        .for_each(|n| drop(run(&bench, HostOp::Read, 1000 + n, data(0))));
    run(&bench, HostOp::Read, 0, data(0));
    let step = |bench: &Bench| bench.exec.advance_to(bench.exec.next_deadline().expect("pages move"));
    while bench.ftl.stats().flash_programs.gc < 1900 {
        step(&bench);
    }
    assert_eq!(bench.ftl.stats().refreshed, 0, "the block is not empty yet");
    let trimmed: Vec<u64> = (1..1800).step_by(2).collect();
    for some in trimmed.chunks(100) {
        let ranges: Vec<_> =
            some.iter().map(|page| ByteRange { offset: page * BYTES, length: BYTES }).collect();
        bench.send_deallocate(&ranges);
        assert_eq!(bench.wait().0.status, HostStatus::Success);
    }
    run(&bench, HostOp::Flush, 0, vec![]);

    let before = bench.ftl.stats();
    bench.renew_map();
    while bench.ftl.stats().checkpoints == before.checkpoints {
        step(&bench);
    }
    let after = bench.ftl.stats();
    assert_eq!(after.refreshed, 0, "the block is not empty yet");
    assert!(after.log_pages > before.log_pages + 1, "one page has had room for all runs");

    bench = bench.restart();
    assert_eq!(run(&bench, HostOp::Read, 0, vec![0; 8]), data(0));
    assert_eq!(bench.ftl.stats().boot, Boot::Recovered);
    let back: Vec<u64> = trimmed
        .iter()
        .copied()
        .filter(|&page| run(&bench, HostOp::Read, page, vec![9; 8]) != [0; 8])
        .collect();
    assert!(
        back.is_empty(),
        "{} of {} pages that were trimmed are back: {back:?}",
        back.len(),
        trimmed.len()
    );
    (0..pages)
        .filter(|page| !trimmed.contains(page))
        .for_each(|page| assert_eq!(run(&bench, HostOp::Read, page, vec![0; 8]), data(page), "page {page}"));
}
