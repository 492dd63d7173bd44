//! Full drives with next to no spare room, written for ever: never stuck, never wrong.

use super::bench::{Bench, config};
use super::flash::{Cells, Faults};
use super::oracle::{Op, Oracle, Request};
use super::power::Torture;
use crate::{Capacity, DriveState, FtlConfig, NVRAM_BYTES, WearLevelling};
use aster_ports::host::{HostOp, HostStatus};
use aster_ports::medium::Nvram;
use aster_units::{Content, Duration, Geometry, LunIndex, Rng};
use std::vec;

/// `short`, or `long` with `ASTER_LONG=1`.
fn either(short: u64, long: u64) -> u64 {
    if std::env::var("ASTER_LONG").is_ok_and(|wanted| wanted == "1") { long } else { short }
}

/// Two LUNs, with so many blocks that the percentage is some blocks more than garbage collection works in.
fn tight(percent: f64, pages_per_word_line: u16) -> FtlConfig {
    let blocks_per_lun = match percent {
        ..2.0 => 600,
        ..5.0 => 320,
        _ => 160,
    };
    let base = config(Content::Fingerprint);
    FtlConfig {
        geometry: Geometry { channels: 1, blocks_per_lun, page_bytes: 4096, ..base.geometry },
        capacity: Capacity::OverProvisioning(percent),
        pages_per_word_line,
        // A program that fails while garbage collection works in its last block takes that block along.
        gc_reserve_blocks: 2,
        gc_free_blocks: 3,
        wear_levelling: WearLevelling::Static { spread: 5 },
        ..base
    }
}

/// Lets operations fail as long as each LUN has blocks to spare.
fn faults(bench: &Bench, one_in: u64) {
    let needed = bench.config.blocks_needed_per_lun() as u32;
    let luns = (0..bench.config.geometry.total_luns()).map(LunIndex);
    let spare = luns.map(|lun| bench.ftl.drive().blocks.borrow().lasting(lun).saturating_sub(needed)).min();
    let one_in = if spare > Some(1) { one_in } else { 0 };
    bench.cells.borrow_mut().faults = Faults { program: one_in, erase: one_in / 4, ..Faults::default() };
}

fn fill(bench: &Bench) {
    let bytes = u64::from(bench.config.geometry.page_bytes);
    for page in 0..u64::from(bench.ftl.logical_pages()) {
        assert_eq!(bench.run(HostOp::Write, page * bytes, bytes, vec![1; 8]).0, HostStatus::Success);
    }
}

#[test]
fn a_full_drive_is_written_over_and_over_with_failures_and_trims() {
    let cases = [(1.0, 1), (2.0, 2), (4.0, 1), (7.0, 3)];
    for (n, (percent, line)) in cases.into_iter().enumerate() {
        let config = tight(percent, line);
        let bench =
            Bench::power_on(config, Cells::new(config.geometry, n as u64), Nvram::volatile(NVRAM_BYTES));
        let mut oracle = Oracle::new(&bench);
        oracle.fill(&bench);
        let pages = oracle.granules();
        let mut rng = Rng::new(n as u64);
        let writes = pages * either(4, 100);
        for written in 0..writes {
            if written % 64 == 0 {
                faults(&bench, 4_000);
            }
            // Phases: all of it, a hot tenth, with trims.
            let phase = written * 8 / pages % 3;
            let first = rng.below(if phase == 1 { pages / 10 } else { pages });
            let op = match rng.below(40) {
                0 => Op::Write { fua: true },
                1 => Op::Read,
                2 if phase == 2 => Op::Trim,
                3 if rng.below(8) == 0 => Op::Flush,
                _ => Op::Write { fua: false },
            };
            let count = u64::from(op != Op::Flush);
            oracle.send(&bench, Request { op, first: first * count, count });
        }
        oracle.finish(&bench);
        oracle.verify(&bench);
        let stats = bench.ftl.stats();
        assert_eq!(stats.state, DriveState::Ready, "{percent} %: {}", bench.dump());
        assert!(stats.grown_bad_blocks > 0 && stats.gc_runs > 1_000, "{percent} %: {stats:?}");
    }
}

#[test]
fn a_full_drive_whose_power_goes_again_and_again_is_never_stuck_or_wrong() {
    let cases = [(1.0, 1), (3.0, 2), (7.0, 3)];
    for (n, (percent, line)) in cases.into_iter().enumerate() {
        let config = tight(percent, line);
        let mut bench =
            Bench::power_on(config, Cells::new(config.geometry, n as u64), Nvram::volatile(NVRAM_BYTES));
        fill(&bench);
        let mut torture = Torture::new(&bench, 1 + n as u64);
        torture.take_as_it_is(&bench);
        let mut rng = Rng::new(!(n as u64));
        let (mut written, pages) = (0, u64::from(bench.ftl.logical_pages()));
        while written < pages * either(2, 100) {
            torture.trims = if rng.below(3) == 0 { 4 } else { 0 };
            for _ in 0..8 {
                faults(&bench, 4_000);
                let before = bench.ftl.stats().host_pages_written;
                torture
                    .work_until(&bench, bench.exec.now() + Duration::from_micros(60_000 + rng.below(40_000)));
                let progress = bench.ftl.stats().host_pages_written - before;
                assert!(progress > 0, "{percent} %: no progress: {}", bench.dump());
                written += progress;
            }
            // Failures of recovery itself are not what this is about.
            bench.cells.borrow_mut().faults = Faults::default();
            bench = bench.restart();
            torture.verify(&bench);
            assert_eq!(
                (bench.ftl.state(), bench.ftl.boot_error()),
                (DriveState::Ready, None),
                "{percent} %, after {written} pages"
            );
        }
        torture.finish(&bench);
    }
}
