//! Cells of the tests that repeat rounds until the drive is steady, as data.

use super::plan::{Plan, Test};
use crate::limits::{Asks, HostLimit, Queues, queues};
use aster_units::{Duration, mix64};
use aster_workload::{Access, BlockSizes, Drive, Extent, Job, Mix, PerDirection};
use serde::Serialize;

const KIB: u32 = 1 << 10;
/// Shares of reads, in percent, in the order of a round (PTS IOPS).
const IOPS_READS: [u8; 7] = [100, 95, 65, 50, 35, 5, 0];
/// Bytes of requests, in the order in which each mix has them.
const IOPS_BLOCKS: [u32; 8] =
    [1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, KIB / 2];
const LATENCY_READS: [u8; 3] = [100, 65, 0];
const LATENCY_BLOCKS: [u32; 3] = [8 * KIB, 4 * KIB, KIB / 2];
const THROUGHPUT_BLOCKS: [u32; 2] = [1024 * KIB, 128 * KIB];
const THROUGHPUT_DEPTH: u32 = 32;
const QUICK_READS: [u8; 3] = [100, 65, 0];
const QUICK_BLOCKS: [u32; 3] = [128 * KIB, 4 * KIB, KIB / 2];
/// The writes of the workload-independent preconditioning.
const PRECONDITION_BLOCK: u32 = 128 * KIB;
/// How often they go over the whole drive.
pub(crate) const PRECONDITION_PASSES: u32 = 2;
/// Requests in flight of the preconditioning.
const PRECONDITION_DEPTH: u32 = 32;

/// One load of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Cell {
    /// The share of reads, in percent.
    pub read_percent: u8,
    /// Bytes of a request.
    pub block_bytes: u32,
}

impl Cell {
    /// Its name: `R/W 65/35, 4 KiB`.
    pub fn name(&self) -> String {
        format!("R/W {}, {}", self.mix_name(), size_name(self.block_bytes))
    }
    /// Its reads and writes, in percent: `65/35`.
    pub fn mix_name(&self) -> String {
        format!("{}/{}", self.read_percent, 100 - self.read_percent)
    }
}

/// A size of requests: `0.5 KiB`, `128 KiB`.
pub(super) fn size_name(bytes: u32) -> String {
    format!("{} KiB", f64::from(bytes) / f64::from(KIB))
}

/// What is tracked of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tracked {
    /// Requests per second.
    Iops,
    /// 10⁶ bytes per second.
    MbPerS,
    /// The mean time of a request, in microseconds.
    MeanUs,
}

impl Tracked {
    /// Its unit.
    pub const fn unit(self) -> &'static str {
        match self {
            Tracked::Iops => "IOPS",
            Tracked::MbPerS => "MB/s",
            Tracked::MeanUs => "µs on average",
        }
    }
}

/// A test of rounds: the drive is purged, preconditioned, and given all cells in turn until what is tracked
/// is steady.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sweep {
    /// The test that it belongs to.
    pub(crate) test: Test,
    /// Its name, which is the test's where the test has one sweep.
    pub(crate) title: String,
    /// Bytes of the preconditioning's writes.
    pub(crate) precondition_block: u32,
    /// How often they go over the whole drive.
    pub(crate) precondition_passes: u32,
    /// How offsets follow one another in the cells.
    pub(crate) access: Access,
    /// Copies of each cell's job.
    pub(crate) threads: u32,
    /// Requests that each of them has in flight.
    pub(crate) depth: u32,
    /// The cells of a round, in order.
    pub(crate) cells: Vec<Cell>,
    /// The cells that must be steady.
    pub(crate) tracked: Vec<Cell>,
    /// What of them.
    pub(crate) figure: Tracked,
}

/// Cells that a drive can't have, and why.
pub(super) struct Skipped {
    pub(super) test: Test,
    pub(super) block_bytes: u32,
    pub(super) because: String,
}

impl Sweep {
    /// Whether it is of write saturation, which has no preconditioning and no end at steady state.
    pub(super) fn is_saturation(&self) -> bool {
        self.test == Test::WriteSaturation
    }

    /// The sweeps of a plan on `drive`, and the block sizes of its tests that the drive can't have.
    pub(super) fn of(plan: &Plan, drive: Drive) -> (Vec<Sweep>, Vec<Skipped>) {
        let (mut sweeps, mut skipped) = (Vec::new(), Vec::new());
        for &test in &plan.tests {
            for sweep in Sweep::of_test(plan, test) {
                let (sweep, missing) = sweep.on(plan, drive);
                skipped.extend(missing);
                sweeps.extend(sweep);
            }
        }
        (sweeps, skipped)
    }

    fn of_test(plan: &Plan, test: Test) -> Vec<Sweep> {
        let cells = |reads: &[u8], blocks: &[u32]| -> Vec<Cell> {
            let of = |read_percent| blocks.iter().map(move |&block_bytes| Cell { read_percent, block_bytes });
            reads.iter().flat_map(|&read_percent| of(read_percent)).collect()
        };
        let random_writes = Cell { read_percent: 0, block_bytes: 4 * KIB };
        let random = Sweep {
            test,
            title: test.title().to_owned(),
            precondition_block: PRECONDITION_BLOCK,
            precondition_passes: PRECONDITION_PASSES,
            access: Access::Random,
            threads: plan.threads,
            depth: plan.depth,
            cells: match plan.is_quick {
                false => cells(&IOPS_READS, &IOPS_BLOCKS),
                true => cells(&QUICK_READS, &QUICK_BLOCKS),
            },
            tracked: vec![random_writes],
            figure: Tracked::Iops,
        };
        match test {
            Test::Iops => vec![random],
            Test::Throughput => THROUGHPUT_BLOCKS
                .into_iter()
                .map(|block_bytes| {
                    let cells = cells(&[100, 0], &[block_bytes]);
                    Sweep {
                        title: format!("throughput of {}", size_name(block_bytes)),
                        precondition_block: block_bytes,
                        access: Access::Sequential,
                        threads: 1,
                        depth: THROUGHPUT_DEPTH,
                        tracked: cells.clone(),
                        cells,
                        figure: Tracked::MbPerS,
                        ..random.clone()
                    }
                })
                .collect(),
            Test::Latency => vec![Sweep {
                threads: 1,
                depth: 1,
                cells: cells(&LATENCY_READS, &LATENCY_BLOCKS),
                figure: Tracked::MeanUs,
                ..random
            }],
            Test::WriteSaturation => vec![Sweep { cells: vec![random_writes], ..random }],
        }
    }

    /// Without the cells that `drive` can't have; `None` where nothing is left to track.
    fn on(self, plan: &Plan, drive: Drive) -> (Option<Sweep>, Vec<Skipped>) {
        let range = plan.range_bytes(drive);
        let refused = |block_bytes: u32| match block_bytes {
            block if !block.is_multiple_of(drive.block_bytes) => {
                Some(format!("the drive's logical blocks have {} bytes", drive.block_bytes))
            }
            block if u64::from(block) > range => Some(format!("the active range has {range} bytes")),
            _ => None,
        };
        let mut skipped: Vec<Skipped> = Vec::new();
        for cell in &self.cells {
            let block_bytes = cell.block_bytes;
            if let Some(because) = refused(block_bytes)
                && skipped.iter().all(|known| known.block_bytes != block_bytes)
            {
                skipped.push(Skipped { test: self.test, block_bytes, because });
            }
        }
        let keep = |cells: &[Cell]| -> Vec<Cell> {
            cells.iter().copied().filter(|cell| refused(cell.block_bytes).is_none()).collect()
        };
        let (cells, tracked) = (keep(&self.cells), keep(&self.tracked));
        let is_possible = !tracked.is_empty() && refused(self.precondition_block).is_none();
        (is_possible.then_some(Sweep { cells, tracked, ..self }), skipped)
    }

    /// The job of a cell.
    pub(super) fn job(&self, plan: &Plan, cell: Cell, round: usize, minute: Duration) -> Job {
        let seed = [u64::from(cell.read_percent), u64::from(cell.block_bytes), round as u64]
            .into_iter()
            .fold(plan.seed, |seed, part| mix64(seed ^ mix64(part)));
        // Threads that go in order have a part of the range each, so that none writes what another has just
        // written.
        let parts = if self.access == Access::Sequential { self.threads.clamp(1, 100) as u8 } else { 1 };
        let part = plan.active_range_percent / parts;
        Job {
            name: cell.name(),
            access: self.access,
            mix: match cell.read_percent {
                100 => Mix::Read,
                0 => Mix::Write,
                _ => Mix::ReadWrite,
            },
            read_percent: cell.read_percent,
            block_sizes: PerDirection::all(BlockSizes::Fixed(cell.block_bytes)),
            size: Some(Extent::Percent(part)),
            offset_increment: if parts > 1 { Extent::Percent(part) } else { Extent::Bytes(0) },
            queue_depth: self.depth,
            copies: self.threads,
            group_reporting: true,
            // Like a host without a memory of what it has drawn.
            random_map: false,
            run_time: Some(minute),
            time_based: true,
            seed,
            ..Job::default()
        }
    }

    /// The job of the workload-independent preconditioning.
    pub(super) fn precondition(&self) -> Job {
        Job {
            name: "precondition".to_owned(),
            access: Access::Sequential,
            mix: Mix::Write,
            block_sizes: PerDirection::all(BlockSizes::Fixed(self.precondition_block)),
            queue_depth: PRECONDITION_DEPTH,
            loops: self.precondition_passes,
            ..Job::default()
        }
    }

    /// A job that asks the host for as much as any of the cells.
    pub(super) fn widest_job(&self) -> Job {
        let largest = self.cells.iter().map(|cell| cell.block_bytes).max().unwrap_or(0);
        Job {
            name: self.title.clone(),
            block_sizes: PerDirection::all(BlockSizes::Fixed(largest)),
            queue_depth: self.depth,
            copies: self.threads,
            // One test after the other.
            after_previous: true,
            ..Job::default()
        }
    }
}

impl Plan {
    /// The driver's queues for all tests, and what the drive has less of than the tests ask for.
    pub(super) fn queues(&self, sweeps: &[Sweep]) -> Queues {
        let jobs: Vec<_> = sweeps.iter().map(|sweep| sweep.widest_job()).collect();
        let mut found = queues(&self.profile, &Asks::of_jobs(&jobs), PRECONDITION_DEPTH);
        // Each test asks for it once; the sizes of requests say nothing about a limit of the drive.
        found.limits.retain(|limit: &HostLimit| limit.option != "bs");
        found
    }

    /// Bytes from the drive's beginning that the tests use.
    pub(super) fn range_bytes(&self, drive: Drive) -> u64 {
        Extent::Percent(self.active_range_percent).resolve(drive.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pts::Class;
    use aster_device::profile::shipped;

    fn plan(tests: &[Test]) -> Plan {
        let plan = Plan::new("tiny", shipped("tiny").unwrap(), Class::Enterprise);
        Plan { tests: tests.to_vec(), ..plan }
    }

    const DRIVE: Drive = Drive { bytes: 32 << 20, block_bytes: 512, streams: 0 };

    #[test]
    fn the_tests_have_the_specification_s_cells_in_its_order() {
        let (sweeps, skipped) = Sweep::of(&plan(&Test::ALL), DRIVE);
        assert!(skipped.is_empty());
        let [iops, large, small, latency, saturation] = &sweeps[..] else { panic!("{sweeps:?}") };
        assert_eq!(iops.cells.len(), 56);
        assert_eq!(iops.cells[0].name(), "R/W 100/0, 1024 KiB");
        assert_eq!(iops.cells[7].name(), "R/W 100/0, 0.5 KiB");
        assert_eq!(iops.cells[8].name(), "R/W 95/5, 1024 KiB");
        assert_eq!((iops.threads, iops.depth, iops.precondition_block), (4, 32, 128 << 10));
        assert_eq!((large.precondition_block, small.precondition_block), (1 << 20, 128 << 10));
        assert_eq!((large.threads, large.depth, large.tracked.len()), (1, 32, 2));
        assert_eq!((latency.threads, latency.depth, latency.cells.len()), (1, 1, 9));
        assert_eq!((saturation.threads, saturation.depth), (4, 32));
        let tracked = Cell { read_percent: 0, block_bytes: 4096 };
        assert_eq!((&latency.tracked[..], &iops.tracked[..]), (&[tracked][..], &[tracked][..]));
        assert_eq!(saturation.cells, [tracked]);
    }

    #[test]
    fn what_a_drive_cannot_have_is_left_out_and_told_once_a_test() {
        let drive = Drive { bytes: 512 << 10, block_bytes: 4096, streams: 0 };
        let (sweeps, skipped) = Sweep::of(&plan(&Test::ALL), drive);
        assert_eq!(sweeps.iter().map(|sweep| sweep.cells.len()).collect::<Vec<_>>(), [42, 2, 6, 1]);
        let told: Vec<_> = skipped.iter().map(|s| (s.test, s.block_bytes, s.because.as_str())).collect();
        let (blocks, range) =
            ("the drive's logical blocks have 4096 bytes", "the active range has 524288 bytes");
        assert_eq!(
            told,
            [
                (Test::Iops, 1 << 20, range),
                (Test::Iops, 512, blocks),
                (Test::Throughput, 1 << 20, range),
                (Test::Latency, 512, blocks)
            ]
        );
    }

    /// Whoever goes in order has a part of the drive to itself, and all parts are within the active range.
    #[test]
    fn threads_that_go_in_order_do_not_follow_each_other() {
        let plan = plan(&[Test::Throughput]);
        let (sweeps, _) = Sweep::of(&plan, DRIVE);
        let of = |access, threads| {
            let sweep = Sweep { access, threads, ..sweeps[0].clone() };
            let job = sweep.job(&plan, sweep.cells[0], 1, Duration::from_millis(1));
            (job.size, job.offset_increment)
        };
        let none = Extent::Bytes(0);
        assert_eq!(of(Access::Sequential, 1), (Some(Extent::Percent(100)), none));
        assert_eq!(of(Access::Sequential, 4), (Some(Extent::Percent(25)), Extent::Percent(25)));
        assert_eq!(of(Access::Random, 4), (Some(Extent::Percent(100)), none));
    }

    #[test]
    fn no_two_cells_and_rounds_draw_the_same_addresses() {
        let plan = plan(&[Test::Iops]);
        let (sweeps, _) = Sweep::of(&plan, DRIVE);
        let seed = |cell: usize, round| {
            sweeps[0].job(&plan, sweeps[0].cells[cell], round, Duration::from_millis(1)).seed
        };
        let seeds = [seed(0, 1), seed(1, 1), seed(8, 1), seed(0, 2), seed(0, 3)];
        let different: std::collections::BTreeSet<_> = seeds.into_iter().collect();
        assert_eq!(different.len(), seeds.len());
        assert_eq!(seed(3, 4), seed(3, 4));
    }
}
