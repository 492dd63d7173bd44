//! Full drives with next to no spare room, written for ever: never stuck, never wrong.

use super::bench::{Bench, config};
use super::checked_host::{CheckedHost, Op, Request};
use super::flash::Cells;
use super::power::Torture;
use crate::Collection::{OnDemand, Paced};
use crate::{Capacity, CareConfig, DriveState, FtlConfig, GcConfig, LineConfig, NVRAM_BYTES, WearLevelling};
use aster_ports::host::{HostOp, HostStatus};
use aster_ports::medium::Nvram;
use aster_units::{Content, Duration, Geometry, LunIndex, Rng};
use std::vec;
use std::vec::Vec;

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
        lines: LineConfig { pages: pages_per_word_line, ..base.lines },
        // A program that fails while garbage collection works in its last block takes that block along.
        gc: GcConfig { reserve_blocks: 2, free_blocks: 3, ..base.gc },
        care: CareConfig { wear_levelling: WearLevelling::Static { spread: 5 }, ..base.care },
        ..base
    }
}

/// The failures that a drive can take, shared out over what is written: the last comes shortly before the
/// end, and leaves each LUN with just the blocks that it needs.
struct Failures {
    /// Host pages written after which an operation of a LUN fails, and whether it is an erase; the next one
    /// last.
    due: Vec<(u64, LunIndex, bool)>,
}

impl Failures {
    fn over(bench: &Bench, pages: u64) -> Self {
        let needed = bench.config.areas().blocks_needed_per_pool() as u32;
        let needed = needed.div_ceil(bench.config.luns_per_pool());
        let mut due = Vec::new();
        for lun in (0..bench.config.geometry.total_luns()).map(LunIndex) {
            let spare = u64::from(bench.good_blocks(lun).saturating_sub(needed));
            assert!(spare > 1, "a test of failures needs blocks that may fail");
            // LUNs of one pool share the reserve: they take turns.
            let turn = u64::from(lun.0 % bench.config.luns_per_pool());
            let of = u64::from(bench.config.luns_per_pool());
            let at = |nth: u64| pages * 97 / 100 * (nth * of - turn) / (spare * of);
            due.extend((1..=spare).map(|nth| (at(nth), lun, nth % 4 == 2)));
        }
        due.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        Failures { due }
    }
    /// Has those fail that are due after so many pages.
    fn strike(&mut self, bench: &Bench, written: u64) {
        while let Some((_, lun, is_erase)) = self.due.pop_if(|(at, ..)| *at <= written) {
            let mut cells = bench.cells.borrow_mut();
            if is_erase { cells.next_erases_fail.push(lun) } else { cells.next_programs_fail.push(lun) }
        }
    }
    /// Takes back those that nothing has met yet.
    fn hold(&mut self, bench: &Bench) {
        let mut cells = bench.cells.borrow_mut();
        let programs = std::mem::take(&mut cells.next_programs_fail).into_iter().map(|lun| (0, lun, false));
        let erases = std::mem::take(&mut cells.next_erases_fail).into_iter().map(|lun| (0, lun, true));
        self.due.extend(programs.chain(erases));
    }
}

fn grown_bad(bench: &Bench) -> usize {
    bench.cells.borrow().grown_bad()
}

fn fill(bench: &Bench) {
    let bytes = u64::from(bench.config.geometry.page_bytes);
    for page in 0..u64::from(bench.ftl.logical_pages()) {
        assert_eq!(bench.run(HostOp::Write, page * bytes, bytes, vec![1; 8]).0, HostStatus::Success);
    }
}

#[test]
fn a_full_drive_is_written_over_and_over_with_failures_and_trims() {
    let cases = [(1.0, 1), (2.0, 2), (4.0, 1), (7.0, 3)].map(|case| (case, OnDemand));
    let paced = [(7.0, 1), (7.0, 2)].map(|case| (case, Paced));
    for (n, ((percent, line), collection)) in cases.into_iter().chain(paced).enumerate() {
        let config =
            FtlConfig { gc: GcConfig { collection, ..tight(percent, line).gc }, ..tight(percent, line) };
        let bench =
            Bench::power_on(config, Cells::new(config.geometry, n as u64), Nvram::volatile(NVRAM_BYTES));
        let mut host = CheckedHost::new(&bench);
        host.fill(&bench);
        let pages = host.granules();
        let mut rng = Rng::new(n as u64);
        let end = pages * either(4, 100);
        let mut failures = Failures::over(&bench, end);
        let all_failures = failures.due.len();
        let before = bench.ftl.stats().host_pages_written;
        let mut failed_before_the_last_tenth = 0;
        loop {
            let written = bench.ftl.stats().host_pages_written - before;
            if written >= end {
                break;
            }
            failures.strike(&bench, written);
            if written < end / 10 * 9 {
                failed_before_the_last_tenth = grown_bad(&bench);
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
            host.send(&bench, Request { op, first: first * count, count });
        }
        host.finish(&bench);
        host.verify(&bench);
        let stats = bench.ftl.stats();
        assert_eq!(stats.state, DriveState::Ready, "{percent} %: {}", bench.dump());
        assert_eq!(grown_bad(&bench), all_failures, "{percent} %: all of the spare is used up");
        assert!(failed_before_the_last_tenth < all_failures, "{percent} %: failures go on to the end");
        assert!(stats.gc_runs > 1_000, "{percent} %: {stats:?}");
    }
}

#[test]
fn a_full_drive_whose_power_goes_again_and_again_is_never_stuck_or_wrong() {
    let cases = [(1.0, 1), (3.0, 2), (7.0, 3)].map(|case| (case, OnDemand));
    for (n, ((percent, line), collection)) in cases.into_iter().chain([((7.0, 1), Paced)]).enumerate() {
        let config =
            FtlConfig { gc: GcConfig { collection, ..tight(percent, line).gc }, ..tight(percent, line) };
        let mut bench =
            Bench::power_on(config, Cells::new(config.geometry, n as u64), Nvram::volatile(NVRAM_BYTES));
        fill(&bench);
        let mut torture = Torture::new(&bench, 1 + n as u64);
        torture.take_as_it_is(&bench);
        let mut rng = Rng::new(!(n as u64));
        let pages = u64::from(bench.ftl.logical_pages());
        let (mut written, end) = (0, pages * either(2, 100));
        let mut failures = Failures::over(&bench, end);
        let all_failures = failures.due.len();
        let mut failed_before_the_last_tenth = 0;
        while written < end {
            torture.trims = if rng.below(3) == 0 { 4 } else { 0 };
            for _ in 0..8 {
                failures.strike(&bench, written);
                let before = bench.ftl.stats().host_pages_written;
                torture
                    .work_until(&bench, bench.exec.now() + Duration::from_micros(60_000 + rng.below(40_000)));
                let progress = bench.ftl.stats().host_pages_written - before;
                assert!(progress > 0, "{percent} %: no progress: {}", bench.dump());
                written += progress;
            }
            if written < end / 10 * 9 {
                failed_before_the_last_tenth = grown_bad(&bench);
            }
            // Failures of recovery itself are not what this is about.
            failures.hold(&bench);
            bench = bench.restart();
            torture.verify(&bench);
            assert_eq!(
                (bench.ftl.state(), bench.ftl.boot_error()),
                (DriveState::Ready, None),
                "{percent} %, after {written} pages"
            );
        }
        torture.finish(&bench);
        assert!(
            grown_bad(&bench) > failed_before_the_last_tenth,
            "{percent} %: failures go on to the end: {} of {all_failures}",
            grown_bad(&bench)
        );
    }
}
