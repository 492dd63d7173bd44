//! Figs 33 to 35: throughput and latencies of writes by the number outstanding, pblk beside the board's own
//! FTL.

use super::drive::{PaperDrive, Work};
use super::plan::{Ftl, Plan};
use super::watch::Heard;
use crate::experiment::{Done, ExperimentError};
use aster_units::Duration;
use serde::Serialize;

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// Which FTL.
    pub ftl: Ftl,
    /// Writes, or reads.
    pub write: bool,
    /// Requests outstanding.
    pub outstanding: u32,
    /// 10⁶ bytes per second.
    pub mb_per_s: f64,
    /// Quantiles of the latency that the host sees, µs, in steps of a twentieth (Fig 34).
    pub host_us: Vec<f64>,
    /// The same of the drive's commands, from fetch to completion (Fig 35).
    pub drive_us: Vec<f64>,
    /// The share of the host's requests that end within tPROG.
    pub below_program: f64,
    /// Of reads by pblk: the mean time of a fetch of addresses, µs (C86).
    pub list_fetch_us: Option<f64>,
    /// Of reads by pblk: for how long the drive's manager waits for a list of addresses, µs (C86).
    pub list_wait_us: Option<f64>,
}

/// Steps of a curve of quantiles.
pub(super) const STEPS: u32 = 20;

/// Its points, in the order of [`Ftl::ALL`], of writes before reads, and of the number outstanding.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<SweepPoint>, ExperimentError> {
    let total = (2 * Ftl::ALL.len() * plan.load.outstanding.len()) as f64;
    let mut points = Vec::new();
    for ftl in Ftl::ALL {
        for write in [true, false] {
            for &outstanding in &plan.load.outstanding {
                told(points.len() as f64 / total)?;
                points.push(point(plan, ftl, write, outstanding)?);
            }
        }
    }
    Ok(points)
}

/// Requests of a point: more where more are outstanding.
fn requests(plan: &Plan, outstanding: u32) -> u64 {
    plan.load.requests / 4 + plan.load.requests * u64::from(outstanding) / 64
}

/// A drive of the load in the state that long work of this kind brings it to, and the work itself: its
/// buffers are full of what is written (G9), and what is read isn't in them.
pub(super) fn prepared(
    plan: &Plan,
    drive: &mut PaperDrive,
    write: bool,
    outstanding: u32,
    requests: u64,
) -> Result<Work, ExperimentError> {
    let (bytes, buffer) = (u64::from(plan.load.request_bytes), drive.buffer_bytes());
    let range = requests * bytes;
    let work = |write, from, range: u64| Work {
        write,
        random: false,
        bytes: plan.load.request_bytes,
        outstanding,
        requests: range / bytes,
        from,
        range,
    };
    if write {
        drive.run("until the buffer is full", &work(true, 0, 2 * buffer))?;
        return Ok(work(true, 2 * buffer, range));
    }
    // What is written last stays in the buffer.
    drive.fill(0, range + 2 * buffer)?;
    Ok(work(false, 0, range))
}

fn point(plan: &Plan, ftl: Ftl, write: bool, outstanding: u32) -> Result<SweepPoint, ExperimentError> {
    let mut drive = PaperDrive::of_load(plan, ftl)?;
    let work = prepared(plan, &mut drive, write, outstanding, requests(plan, outstanding))?;
    let sample = Duration::from_micros(plan.load.sample_us.into());
    let big_loop = |drive: &PaperDrive| drive.drive.machine.device().stats().big_loop.unwrap_or_default();
    let before = big_loop(&drive);
    let (done, heard) = drive.watched("sweep", &work, sample)?;
    let lists = big_loop(&drive).since(&before);
    let waits = (!write && lists.lists > 0).then(|| lists.list_time.as_secs_f64() * 1e6 / lists.lists as f64);
    Ok(SweepPoint { list_wait_us: waits, ..of_point(plan, ftl, &work, &done, &heard) })
}

fn of_point(plan: &Plan, ftl: Ftl, work: &Work, done: &Done, heard: &Heard) -> SweepPoint {
    let mut host = done.latencies.clone();
    host.sort_unstable();
    let program = Duration::from_nanos((plan.program_us * 1e3) as u64);
    let below = host.partition_point(|latency| *latency < program);
    let drive = heard.latencies_of(work.write);
    let fetches = &heard.list_fetches;
    let mean = |times: &[Duration]| {
        times.iter().map(|time| time.as_secs_f64() * 1e6).sum::<f64>() / times.len() as f64
    };
    SweepPoint {
        ftl,
        write: work.write,
        outstanding: work.outstanding,
        mb_per_s: done.bytes as f64 / 1e6 / done.took.as_secs_f64().max(f64::MIN_POSITIVE),
        host_us: curve(&host),
        drive_us: curve(&drive),
        below_program: below as f64 / host.len().max(1) as f64,
        list_fetch_us: (!work.write && !fetches.is_empty()).then(|| mean(fetches)),
        list_wait_us: None,
    }
}

/// Quantiles of sorted times, µs, from the least to the most.
pub(super) fn curve(sorted: &[Duration]) -> Vec<f64> {
    let last = sorted.len().saturating_sub(1) as f64;
    let at = |step: u32| (f64::from(step) / f64::from(STEPS) * last).round() as usize;
    (0..=STEPS).map(|step| sorted.get(at(step)).map_or(0.0, |time| time.as_secs_f64() * 1e6)).collect()
}
