//! Figs 36 and 37: commands outstanding in the drive, and its active channels and ways, over time, with the
//! most requests outstanding at the host; and Fig 38, the same of a drive with a LUN that is slow now and
//! then, under pblk as it is and without its rule of one write per LUN.

use super::convoy::{Convoy, WaySpan};
use super::drive::PaperDrive;
use super::plan::{Ftl, Plan};
use super::sweep::prepared;
use super::watch::LoadSample;
use crate::experiment::ExperimentError;
use aster_units::{Duration, LunIndex};
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
    /// One LUN is slow now and then.
    pub slow_lun: bool,
    /// How many other LUNs program or erase in the second half of a slow program of that one, in the mean.
    pub beside_slow: Option<f64>,
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
    /// What the ways do around a slow program, for the picture.
    #[serde(skip)]
    pub(super) spans: Vec<WaySpan>,
}

/// A number over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverTime {
    /// Its mean.
    pub mean: f64,
    /// Means over each sample.
    pub samples: Vec<f64>,
}

/// Commands for as many LUNs as the board has, less a twentieth: between the end of one and the fetch of the
/// next there is always a moment.
const FULL: f64 = 64.0 * 0.95;
/// Samples at the beginning and at the end that don't count, in parts of all: the load rises and falls there.
const RAMP: usize = 10;

/// Each FTL under writes and reads, then pblk's writes without its rule; and both of these with a slow LUN.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<LoadReport>, ExperimentError> {
    let mut all = Vec::new();
    let work = [
        (Ftl::Pblk, true, true, false),
        (Ftl::Pblk, false, true, false),
        (Ftl::Drive, true, true, false),
        (Ftl::Drive, false, true, false),
        (Ftl::Pblk, true, false, false),
        (Ftl::Pblk, true, true, true),
        (Ftl::Pblk, true, false, true),
    ];
    for (ftl, write, rule, slow) in work {
        told(all.len() as f64 / work.len() as f64)?;
        all.push(under_load(plan, ftl, write, rule, slow)?);
    }
    Ok(all)
}

fn under_load(
    plan: &Plan,
    ftl: Ftl,
    write: bool,
    rule: bool,
    slow: bool,
) -> Result<LoadReport, ExperimentError> {
    let mut profile = plan.load_profile(ftl)?;
    profile.package.slow_lun = slow.then_some(plan.load.slow_lun);
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
    let convoy = Convoy {
        arrays: &heard.arrays,
        slow: drive.drive.machine.device().geometry().lun_addr(LunIndex(plan.load.slow_lun.lun)),
        least: Duration::from_micros(plan.program_us as u64) * u64::from(plan.load.slow_lun.times) / 2,
    };
    Ok(LoadReport {
        ftl,
        one_write_per_lun: rule,
        write,
        slow_lun: slow,
        beside_slow: convoy.beside(),
        mb_per_s: done.bytes as f64 / 1e6 / done.took.as_secs_f64().max(f64::MIN_POSITIVE),
        below_full: below as f64 / outstanding.samples.len().max(1) as f64,
        outstanding,
        channels: of(|sample| sample.channels),
        ways: of(|sample| sample.ways),
        spans: convoy.picture(f64::from(plan.load.timeline_us)),
    })
}

impl OverTime {
    fn of(samples: Vec<f64>) -> Self {
        OverTime { mean: samples.iter().sum::<f64>() / samples.len().max(1) as f64, samples }
    }
}
