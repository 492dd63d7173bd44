//! Figs 8 and 9: throughput and latencies by the number of threads, each with one request outstanding.

use super::drive::{PaperDrive, Work};
use super::plan::Plan;
use crate::experiment::{Done, ExperimentError};
use aster_events::Recorder;
use aster_units::Duration;
use serde::Serialize;

/// What the threads do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Fig 8a, b.
    SequentialRead,
    /// Fig 8c, d.
    SequentialWrite,
    /// Fig 9a, b.
    RandomRead,
    /// Fig 9c, d.
    RandomWrite,
}

impl Access {
    /// All of them.
    pub const ALL: [Access; 4] =
        [Access::SequentialRead, Access::SequentialWrite, Access::RandomRead, Access::RandomWrite];
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Access::SequentialRead => "sequential read",
            Access::SequentialWrite => "sequential write",
            Access::RandomRead => "random read",
            Access::RandomWrite => "random write",
        }
    }
    /// Whether it writes.
    pub const fn writes(self) -> bool {
        matches!(self, Access::SequentialWrite | Access::RandomWrite)
    }
    const fn is_random(self) -> bool {
        matches!(self, Access::RandomRead | Access::RandomWrite)
    }
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadsPoint {
    /// What the threads do.
    pub access: Access,
    /// How many they are.
    pub threads: u32,
    /// 10⁶ bytes per second. Of writes, with the write cache full.
    pub mb_per_s: f64,
    /// Requests per second.
    pub iops: f64,
    /// Quantiles of the latency, µs, at each of `QUANTILES`. Of writes, from an empty cache on.
    pub quantiles_us: Vec<f64>,
    /// 99th percentile over median of the writes that found room in the cache; absent for reads.
    pub tail_before: Option<f64>,
    /// The same of those that came when it was full.
    pub tail_after: Option<f64>,
    /// Slices that found their page in the data buffer. The paper has no read cache (S31).
    pub buffer_hits: u64,
}

/// The quantiles of the latency that a point has.
pub const QUANTILES: [f64; 21] = [
    0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9,
    0.95, 0.99,
];

/// What the ranges of the threads take more than their sum: a page for each thread, at most.
pub(super) const STAGGER: u64 = 1 << 20;

/// All points, in the order of [`Access::ALL`] and of the threads.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<ThreadsPoint>, ExperimentError> {
    let total = (Access::ALL.len() * plan.threads.len()) as f64;
    let mut points = Vec::new();
    for access in Access::ALL {
        for &threads in &plan.threads {
            told(points.len() as f64 / total)?;
            points.push(point(plan, access, threads)?);
        }
    }
    Ok(points)
}

fn point(plan: &Plan, access: Access, threads: u32) -> Result<ThreadsPoint, ExperimentError> {
    let mut drive = PaperDrive::new(plan, &Recorder::default())?;
    let cache = drive.cache_bytes();
    let work = |write, bytes: u32, range: u64, amount: u64| Work {
        write,
        random: access.is_random(),
        bytes,
        threads,
        outstanding: 1,
        requests: amount / u64::from(bytes),
        from: 0,
        range,
    };
    if !access.writes() {
        let range = u64::from(plan.reads_mib) << 20;
        // What is written last stays in the data buffer.
        drive.fill(0, range + STAGGER + cache)?;
        let bytes = match access {
            Access::SequentialRead => plan.sequential_read_bytes,
            _ => plan.request_bytes,
        };
        let hits = drive.drive.machine.device().stats().ftl.buffer_hits;
        let done = drive.run(access.name(), &work(false, bytes, range, range / 2))?;
        let hits = drive.drive.machine.device().stats().ftl.buffer_hits - hits;
        return Ok(of_point(access, threads, &done, &done.latencies, (None, None), hits));
    }
    // The range is several times the cache, and each page of it is written once.
    let range = 8 * cache;
    let first = drive.run("into the empty cache", &work(true, plan.request_bytes, range, cache * 3 / 4))?;
    let between = Work { from: range + STAGGER, ..work(true, plan.request_bytes, range, cache / 2) };
    let filled = drive.run("until the cache is full", &between)?;
    let beyond = Work { from: 2 * (range + STAGGER), ..work(true, plan.request_bytes, range, 2 * cache) };
    let hits = drive.drive.machine.device().stats().ftl.buffer_hits;
    let done = drive.run(access.name(), &beyond)?;
    let hits = drive.drive.machine.device().stats().ftl.buffer_hits - hits;
    let tails = (Some(tail(&first.latencies)), Some(tail(&done.latencies)));
    let all: Vec<Duration> =
        [&first, &filled, &done].iter().flat_map(|done| done.latencies.clone()).collect();
    Ok(of_point(access, threads, &done, &all, tails, hits))
}

fn of_point(
    access: Access,
    threads: u32,
    done: &Done,
    latencies: &[Duration],
    (tail_before, tail_after): (Option<f64>, Option<f64>),
    buffer_hits: u64,
) -> ThreadsPoint {
    let seconds = done.took.as_secs_f64().max(f64::MIN_POSITIVE);
    let sorted = sorted(latencies);
    ThreadsPoint {
        access,
        threads,
        mb_per_s: done.bytes as f64 / 1e6 / seconds,
        iops: done.latencies.len() as f64 / seconds,
        quantiles_us: QUANTILES.iter().map(|&share| quantile(&sorted, share) * 1e6).collect(),
        tail_before,
        tail_after,
        buffer_hits,
    }
}

fn sorted(latencies: &[Duration]) -> Vec<Duration> {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    sorted
}
/// A quantile, in seconds.
pub(super) fn quantile(sorted: &[Duration], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64).round() as usize).map_or(0.0, |latency| latency.as_secs_f64())
}
/// 99th percentile over median.
fn tail(latencies: &[Duration]) -> f64 {
    let sorted = sorted(latencies);
    quantile(&sorted, 0.99) / quantile(&sorted, 0.5).max(f64::MIN_POSITIVE)
}
