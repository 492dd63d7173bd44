//! Loads on the drive, each until it is steady: Figs 22 to 27, 30 and 31.

use super::copy::{CopyCosts, CopyWay};
use super::plan::Plan;
use crate::experiment::ExperimentError;
use crate::pts::{Bench, Cell, Measured, PRECONDITION_PASSES, Step, Sweep, Test, Tracked, WINDOW};
use aster_device::profile::Profile;
use aster_units::Duration;
use aster_workload::Access;
use serde::Serialize;
use std::ops::ControlFlow;

/// What a load is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
    /// Fig 22: random requests by block size, in steady state.
    BlockSizes,
    /// Figs 23 to 25: random requests of 4 KiB by depth, in steady state.
    Depths,
    /// Figs 24 and 25 before collection begins.
    Prepared,
    /// The same, with the pages of each write sent at once.
    PreparedAtOnce,
    /// Figs 26 and 27: sequential requests.
    Sequential,
    /// Fig 31: one request at a time, in steady state.
    Alone,
    /// The same before collection begins.
    PreparedAlone,
    /// Fig 28: random requests of one thread, before collection begins.
    OneThread,
    /// The same on the drive beside.
    OneThreadBeside,
    /// Fig 28: sequential requests of one thread, before collection begins.
    OneThreadInOrder,
    /// The same on the drive beside.
    OneThreadInOrderBeside,
}

/// What the drive does under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadPoint {
    /// What it is for.
    pub kind: LoadKind,
    /// Threads of the host.
    pub threads: u32,
    /// Requests that each of them has in flight.
    pub depth: u32,
    /// What is tracked became steady; `None` if it was measured once.
    pub is_steady: Option<bool>,
    /// The means of the last five rounds, and the longest time of all.
    #[serde(flatten)]
    pub measured: Measured,
}

impl LoadPoint {
    /// Requests in flight.
    pub const fn in_flight(&self) -> u32 {
        self.threads * self.depth
    }
}

/// Fig 30: the latencies of each round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyRounds {
    /// The first round of the five that are steady, from 1; `None` if none were.
    pub steady_from: Option<usize>,
    /// Each round's cells, in order.
    pub rounds: Vec<Vec<Measured>>,
}

/// Progress of a part.
type Told<'a> = &'a mut dyn FnMut(f64) -> Result<(), ExperimentError>;

const KIB: u32 = 1 << 10;
const PAGE: u32 = 4 * KIB;

fn cells(reads: &[u8], blocks_kib: &[u32]) -> Vec<Cell> {
    let of = |read_percent| {
        let cell = move |&kib: &u32| Cell { read_percent, block_bytes: kib * KIB };
        // As the specification has them, the largest first.
        blocks_kib.iter().rev().map(cell)
    };
    reads.iter().flat_map(|&read_percent| of(read_percent)).collect()
}

fn random(title: &str, threads: u32, depth: u32, cells: Vec<Cell>) -> Sweep {
    let four = |read_percent| Cell { read_percent, block_bytes: PAGE };
    // Writes of 4 KiB are what the specification tracks; a load without any has its reads tracked.
    let tracked = [four(0), four(100)].into_iter().find(|cell| cells.contains(cell));
    Sweep {
        test: Test::Iops,
        title: title.to_owned(),
        precondition_block: 128 * KIB,
        precondition_passes: PRECONDITION_PASSES,
        access: Access::Random,
        threads,
        depth,
        tracked: tracked.into_iter().collect(),
        cells,
        figure: Tracked::Iops,
    }
}

/// Random requests in steady state: Figs 22 to 25.
pub(super) fn steady(plan: &Plan, told: Told<'_>) -> Result<Vec<LoadPoint>, ExperimentError> {
    let of = &plan.random;
    let matrix = cells(&of.reads_percent, &of.blocks_kib);
    let mut loads = vec![(LoadKind::BlockSizes, random("IOPS", plan.threads, of.matrix_depth, matrix))];
    loads.extend(of.depths.iter().map(|&depth| {
        (LoadKind::Depths, random("IOPS", plan.threads, depth, cells(&of.reads_percent, &[4])))
    }));
    measure(plan, (plan.profile()?, of.minute_ms), loads, told)
}

/// Reads and writes of 4 KiB before collection begins: Figs 24 and 25.
pub(super) fn prepared(
    plan: &Plan,
    at_once: bool,
    told: Told<'_>,
) -> Result<Vec<LoadPoint>, ExperimentError> {
    let mut profile = plan.profile()?;
    let mut loads: Vec<Sweep> = Vec::new();
    // Written once, the drive has no block that it could erase.
    let load = |threads, depth, reads| Sweep {
        precondition_passes: 1,
        ..random("IOPS", threads, depth, cells(&[reads], &[4]))
    };
    let mut add = |threads, depth, reads| loads.push(load(threads, depth, reads));
    let kind = if at_once { LoadKind::PreparedAtOnce } else { LoadKind::Prepared };
    if at_once {
        profile.target.get_or_insert_default().gather_pages = Some(0);
    } else {
        // H43: one read alone.
        add(1, 1, 100);
        // H44: 24,529 reads a second are two in flight, fewer than four threads have.
        add(2, 1, 100);
        plan.random.depths.iter().for_each(|&depth| add(plan.threads, depth, 100));
    }
    plan.random.depths.iter().for_each(|&depth| add(plan.threads, depth, 0));
    if !at_once {
        add(1, 1, 0);
    }
    let (pts, all) = (plan.pts(profile), loads.len());
    let mut bench =
        Bench::prepared(&pts, minute(plan.prepared.minute_ms), &loads, &mut follow(told, 0, all))?;
    // Meanwhile what the host still has in memory is written.
    bench.once(&loads[0], &mut follow(told, 0, all))?;
    let mut found = Vec::new();
    for (at, load) in loads.iter().enumerate() {
        let cells = bench.once(load, &mut follow(told, at, all))?;
        let is_alone = load.threads * load.depth == 1;
        let kind = if is_alone { LoadKind::PreparedAlone } else { kind };
        found.extend(points(kind, load, &cells, None));
    }
    Ok(found)
}

/// The most 4 KiB reads a second, by how the MCU copies commands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CopyReads {
    /// In a loop.
    pub looped: f64,
    /// By a table.
    pub table: f64,
    /// Cycles of the MCU for a read with two host addresses whose status shares its frame with 15 others.
    pub cycles: f64,
    /// As many of them as its clock has in a second.
    pub bound: f64,
}

/// Fig 11 on the drive, whose profile has the copy by a table: the loop's cycles take the place of its.
pub(super) fn copy_reads(plan: &Plan) -> Result<CopyReads, ExperimentError> {
    let (profile, copies) = (plan.profile()?, CopyCosts::shipped()?);
    let costs = profile.costs;
    let more = copies.of_command(CopyWay::Looped) - copies.of_command(CopyWay::Table);
    let looped = (costs.command + more.round() as u64, copies.of_address(CopyWay::Looped).round() as u64);
    let moved = copies.of_command(CopyWay::Table) + 2.0 * copies.of_address(CopyWay::Table);
    let cycles = costs.loop_pass as f64 + moved + copies.of_status() + copies.of_frame() / 16.0;
    Ok(CopyReads {
        looped: most_reads(plan, looped)?,
        table: most_reads(plan, (costs.command, costs.slice))?,
        cycles,
        bound: profile.cores.frequency_mhz * 1e6 / cycles,
    })
}

/// The most 4 KiB reads a second, with the greatest depth, of a drive whose MCU takes so many cycles for a
/// command, and for a page of it.
pub(super) fn most_reads(plan: &Plan, (command, page): (u64, u64)) -> Result<f64, ExperimentError> {
    let mut profile = plan.profile()?;
    (profile.costs.command, profile.costs.slice) = (command, page);
    let depth = plan.random.depths.last().copied().unwrap_or(1);
    let load = Sweep { precondition_passes: 1, ..random("IOPS", plan.threads, depth, cells(&[100], &[4])) };
    let (pts, loads) = (plan.pts(profile), [load]);
    let mut on = |_: &Step<'_>| ControlFlow::Continue(());
    let mut bench = Bench::prepared(&pts, minute(plan.prepared.minute_ms), &loads, &mut on)?;
    // Meanwhile what the host still has in memory is written.
    bench.once(&loads[0], &mut on)?;
    Ok(bench.once(&loads[0], &mut on)?[0].iops)
}

/// Requests of one thread on the drive and on the one beside it: Fig 28.
pub(super) fn beside(plan: &Plan, told: Told<'_>) -> Result<Vec<LoadPoint>, ExperimentError> {
    use LoadKind::{OneThread, OneThreadBeside, OneThreadInOrder, OneThreadInOrderBeside};
    let mut found = Vec::new();
    let drives = [
        (plan.pts(plan.profile()?), [OneThreadInOrder, OneThread]),
        (plan.beside()?, [OneThreadInOrderBeside, OneThreadBeside]),
    ];
    for (n, (pts, kinds)) in drives.iter().enumerate() {
        let load = |access, reads| Sweep {
            precondition_passes: 1,
            access,
            ..random("one thread", 1, plan.beside.depth, cells(&[reads], &[4]))
        };
        // Reads come before writes.
        let all = [100, 0].map(|reads| {
            [(kinds[0], load(Access::Sequential, reads)), (kinds[1], load(Access::Random, reads))]
        });
        let all = all.concat();
        let loads: Vec<Sweep> = all.iter().map(|(_, load)| load.clone()).collect();
        let time = minute(plan.beside.minute_ms);
        let mut bench = Bench::prepared(pts, time, &loads, &mut follow(told, n, drives.len()))?;
        bench.once(&loads[0], &mut follow(told, n, drives.len()))?;
        for (kind, load) in &all {
            let cells = bench.once(load, &mut follow(told, n, drives.len()))?;
            found.extend(points(*kind, load, &cells, None));
        }
    }
    Ok(found)
}

/// Sequential requests: Figs 26 and 27. All reads come before the first write, since small writes of several
/// threads lie mixed in pages.
pub(super) fn sequential(plan: &Plan, told: Told<'_>) -> Result<Vec<LoadPoint>, ExperimentError> {
    let of = &plan.sequential;
    let load = |reads, depth| {
        let cells = cells(&[reads], &of.blocks_kib);
        let load = Sweep {
            test: Test::Throughput,
            access: Access::Sequential,
            tracked: cells[..1].to_vec(),
            figure: Tracked::MbPerS,
            ..random("throughput", plan.threads, depth, cells)
        };
        (LoadKind::Sequential, load)
    };
    let loads = [100, 0].into_iter().flat_map(|reads| of.depths.iter().map(move |&depth| load(reads, depth)));
    measure(plan, (plan.profile()?, of.minute_ms), loads.collect(), told)
}

/// One request at a time: Figs 30 and 31.
pub(super) fn alone(plan: &Plan, told: Told<'_>) -> Result<(Vec<LoadPoint>, LatencyRounds), ExperimentError> {
    let latency = &plan.latency;
    let cells = cells(&latency.reads_percent, &latency.blocks_kib);
    let load = Sweep { test: Test::Latency, figure: Tracked::MeanUs, ..random("latency", 1, 1, cells) };
    let (pts, loads) = (plan.pts(plan.profile()?), [load]);
    let mut bench = Bench::prepared(&pts, minute(latency.minute_ms), &loads, &mut follow(told, 0, 1))?;
    let steady = bench.steady(&loads[0], &mut follow(told, 0, 1))?;
    let points = points(LoadKind::Alone, &loads[0], &steady.cells, Some(steady.is_steady));
    let from = steady.rounds.len().saturating_sub(WINDOW) + 1;
    let steady_from = steady.is_steady.then_some(from);
    Ok((points, LatencyRounds { steady_from, rounds: steady.rounds }))
}

/// The loads one after the other on one drive, which is prepared once, each until it is steady.
fn measure(
    plan: &Plan,
    (profile, minute_ms): (Profile, u32),
    loads: Vec<(LoadKind, Sweep)>,
    told: Told<'_>,
) -> Result<Vec<LoadPoint>, ExperimentError> {
    let pts = plan.pts(profile);
    let sweeps: Vec<Sweep> = loads.iter().map(|(_, sweep)| sweep.clone()).collect();
    let all = loads.len();
    let mut bench = Bench::prepared(&pts, minute(minute_ms), &sweeps, &mut follow(told, 0, all))?;
    let mut found = Vec::new();
    for (at, (kind, sweep)) in loads.iter().enumerate() {
        let steady = bench.steady(sweep, &mut follow(told, at, all))?;
        found.extend(points(*kind, sweep, &steady.cells, Some(steady.is_steady)));
    }
    Ok(found)
}

fn minute(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

fn points(kind: LoadKind, load: &Sweep, cells: &[Measured], is_steady: Option<bool>) -> Vec<LoadPoint> {
    let (threads, depth) = (load.threads, load.depth);
    let point = |&measured: &Measured| LoadPoint { kind, threads, depth, is_steady, measured };
    cells.iter().map(point).collect()
}

/// Tells the share of the loads that are done, and hears whether to stop.
fn follow<'a>(told: Told<'a>, at: usize, all: usize) -> impl FnMut(&Step<'_>) -> ControlFlow<()> + 'a {
    move |_| match told(at as f64 / all as f64) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}
