//! Figs 36 and 37: commands outstanding in the drive, and its active channels and ways, over time, with the
//! most requests outstanding at the host; and Fig 38, the same of pblk as it is and without its rule of one
//! write per LUN.

use super::drive::PaperDrive;
use super::plan::{Ftl, Plan};
use super::sweep::prepared;
use super::watch::{ArrayWork, LoadSample};
use crate::experiment::ExperimentError;
use aster_units::Duration;
use serde::Serialize;

/// A drive under load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadReport {
    /// Which FTL.
    pub ftl: Ftl,
    /// Whether pblk sends a LUN one write at a time.
    pub one_write_per_lun: bool,
    /// Writes, or reads.
    pub write: bool,
    /// 10⁶ bytes per second.
    pub mb_per_s: f64,
    /// Commands outstanding in the drive.
    pub outstanding: OverTime,
    /// The share of the time in which they are fewer than the LUNs by a twentieth or more.
    pub below_full: f64,
    /// Active channels.
    pub channels: OverTime,
    /// Active ways of a channel, mean over channels.
    pub ways: OverTime,
    /// Programs and erases of each way, for the picture.
    #[serde(skip)]
    pub(super) arrays: Vec<WaySpan>,
}

/// A number over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverTime {
    /// Its mean.
    pub mean: f64,
    /// Means over each sample.
    pub samples: Vec<f64>,
}

/// Time in which the array of a way programs or erases, µs from the picture's beginning.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct WaySpan {
    pub(super) channel: u16,
    pub(super) way: u8,
    pub(super) erases: bool,
    pub(super) from_us: f64,
    pub(super) until_us: f64,
}

/// Commands for as many LUNs as the board has, less a twentieth: between the end of one and the fetch of the
/// next there is always a moment.
const FULL: f64 = 64.0 * 0.95;
/// Samples at the beginning and at the end that don't count, in parts of all: the load rises and falls there.
const RAMP: usize = 10;

/// Each FTL under writes and reads, then pblk's writes without its rule.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<LoadReport>, ExperimentError> {
    let mut all = Vec::new();
    for (ftl, write, rule) in [
        (Ftl::Pblk, true, true),
        (Ftl::Pblk, false, true),
        (Ftl::Drive, true, true),
        (Ftl::Drive, false, true),
        (Ftl::Pblk, true, false),
    ] {
        told(all.len() as f64 / 5.0)?;
        all.push(under_load(plan, ftl, write, rule)?);
    }
    Ok(all)
}

fn under_load(plan: &Plan, ftl: Ftl, write: bool, rule: bool) -> Result<LoadReport, ExperimentError> {
    let mut profile = plan.load_profile(ftl)?;
    if let Some(target) = &mut profile.target {
        target.one_write_per_lun = Some(rule);
    }
    let mut drive = PaperDrive::of(profile)?;
    let work = prepared(plan, &mut drive, write, plan.most_outstanding(), plan.load.steady_requests)?;
    let sample = Duration::from_micros(plan.load.sample_us.into());
    let (done, heard) = drive.watched("load", &work, sample)?;
    let ramp = heard.samples.len() / RAMP;
    let steady = &heard.samples[ramp..heard.samples.len() - ramp];
    let of = |of: fn(&LoadSample) -> f64| OverTime::of(steady.iter().map(of).collect());
    let outstanding = of(|sample| sample.outstanding);
    let below = outstanding.samples.iter().filter(|&&level| level < FULL).count();
    Ok(LoadReport {
        ftl,
        one_write_per_lun: rule,
        write,
        mb_per_s: done.bytes as f64 / 1e6 / done.took.as_secs_f64().max(f64::MIN_POSITIVE),
        below_full: below as f64 / outstanding.samples.len().max(1) as f64,
        outstanding,
        channels: of(|sample| sample.channels),
        ways: of(|sample| sample.ways),
        arrays: spans(&heard.arrays, f64::from(plan.load.timeline_us)),
    })
}

impl OverTime {
    fn of(samples: Vec<f64>) -> Self {
        OverTime { mean: samples.iter().sum::<f64>() / samples.len().max(1) as f64, samples }
    }
}

/// The first `width_us` from the first erase on: an erase begins each line.
fn spans(arrays: &[ArrayWork], width_us: f64) -> Vec<WaySpan> {
    let Some(first) = arrays.iter().find(|work| work.erases).or(arrays.first()).map(|work| work.from) else {
        return Vec::new();
    };
    let us = |at: aster_units::Instant| at.since(first).as_secs_f64() * 1e6;
    let within = arrays.iter().filter(|work| work.from >= first && us(work.from) < width_us);
    within
        .map(|work| WaySpan {
            channel: work.channel,
            way: work.way,
            erases: work.erases,
            from_us: us(work.from),
            until_us: us(work.until).min(width_us),
        })
        .collect()
}
