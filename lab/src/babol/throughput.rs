//! Fig 10: READ throughput of a channel by package, rate, controller, core clock and LUNs.

use super::bus::{is_right, reads};
use super::plan::Plan;
use crate::experiment::ExperimentError;
use crate::words::counted;
use aster_device::profile::{ControllerName, Profile};
use aster_device::units::Content;
use aster_events::Recorder;
use aster_run_bench::Bench;
use serde::Serialize;
use std::fmt;

/// What drives the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "controller")]
pub enum Controller {
    /// Hardware: an operation module per LUN and an arbiter (BABOL's Fig 4).
    Synchronous,
    /// Hardware: control words and a dispatcher (Cosmos+).
    Asynchronous,
    /// Operations as coroutines.
    Coroutine {
        /// The core's clock.
        clock_mhz: u32,
    },
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Controller::Synchronous => f.write_str("HW synchronous"),
            Controller::Asynchronous => f.write_str("HW asynchronous"),
            Controller::Coroutine { clock_mhz } => write!(f, "coroutine {clock_mhz} MHz"),
        }
    }
}

impl Controller {
    /// The plan's profile with this controller.
    pub(super) fn profile(
        self,
        plan: &Plan,
        package: &str,
        rate_mt_s: u32,
    ) -> Result<Profile, ExperimentError> {
        let fixed = match self {
            Controller::Synchronous => ControllerName::Synchronous,
            Controller::Asynchronous => ControllerName::Asynchronous,
            Controller::Coroutine { clock_mhz } => return plan.coroutine(package, rate_mt_s, clock_mhz),
        };
        let mut profile = plan.bench_profile(package, rate_mt_s)?;
        profile.channel.controller = fixed;
        Ok(profile)
    }
}

/// A number of LUNs and their throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// LUNs on the channel.
    pub luns: u8,
    /// 10⁶ data bytes per second.
    pub mb_per_s: f64,
    /// Share of the time that the bus was owned.
    pub bus: f64,
}

/// One controller with one package at one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Track {
    /// The package.
    pub package: String,
    /// MT/s.
    pub rate_mt_s: u32,
    /// The controller.
    #[serde(flatten)]
    pub controller: Controller,
    /// From one LUN on.
    pub points: Vec<Point>,
}

/// The bounds of a package at a rate, for any controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// The package.
    pub package: String,
    /// MT/s.
    pub rate_mt_s: u32,
    /// One LUN, from the paper's Table I: page over tR and transfer (B24), MB/s.
    pub paper_one_lun: f64,
    /// The channel, from Table I: page over transfer (B24), MB/s.
    pub paper_channel: f64,
    /// One LUN, from tR and the bytes that our page format moves, MB/s.
    pub ours_one_lun: f64,
    /// The channel, from those bytes, MB/s.
    pub ours_channel: f64,
}

/// Fig 10.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThroughputReport {
    /// What no controller can exceed.
    pub bounds: Vec<Bounds>,
    /// The throughput of each.
    pub tracks: Vec<Track>,
}

impl ThroughputReport {
    /// A controller's throughput.
    pub fn points(&self, package: &str, rate_mt_s: u32, controller: Controller) -> Option<&[Point]> {
        let same =
            |t: &&Track| t.package == package && t.rate_mt_s == rate_mt_s && t.controller == controller;
        self.tracks.iter().find(same).map(|track| track.points.as_slice())
    }
}

/// Every point.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<ThroughputReport, ExperimentError> {
    let clocks = plan.throughput.clocks_mhz.iter().map(|&clock_mhz| Controller::Coroutine { clock_mhz });
    let controllers: Vec<_> =
        [Controller::Synchronous, Controller::Asynchronous].into_iter().chain(clocks).collect();
    let each = plan.rates_mt_s.len() * controllers.len();
    let total = plan.throughput.luns_max.iter().map(|&luns| usize::from(luns)).sum::<usize>() * each;
    let (mut bounds, mut tracks, mut done) = (Vec::new(), Vec::new(), 0);
    for (at, package) in plan.packages.iter().enumerate() {
        for (&rate_mt_s, &transfer_us) in plan.rates_mt_s.iter().zip(&plan.paper.transfer_us) {
            bounds.push(bounds_of(plan, (package, rate_mt_s), (plan.paper.read_us[at], transfer_us))?);
            for &controller in &controllers {
                let profile = controller.profile(plan, package, rate_mt_s)?;
                let mut points = Vec::new();
                for luns in 1..=plan.throughput.luns_max[at] {
                    told(done as f64 / total as f64)?;
                    let name =
                        || format!("{package}, {rate_mt_s} MT/s, {controller}, {}", counted(luns, "LUN"));
                    points.push(point(plan, &profile, luns, &name)?);
                    done += 1;
                }
                tracks.push(Track { package: package.clone(), rate_mt_s, controller, points });
            }
        }
    }
    Ok(ThroughputReport { bounds, tracks })
}

fn bounds_of(
    plan: &Plan,
    (package, rate_mt_s): (&str, u32),
    (read_us, transfer_us): (f64, f64),
) -> Result<Bounds, ExperimentError> {
    let profile = &plan.bench_profile(package, rate_mt_s)?;
    let page = f64::from(plan.paper.page_bytes);
    let bench = Bench::power_on(profile, 1, 1, Some(Content::Fingerprint), &Recorder::default())?;
    let limits = bench.limits(&reads(1, None));
    let mb_per_s = |operations: f64| operations * limits.data_bytes / 1e6;
    Ok(Bounds {
        package: package.to_owned(),
        rate_mt_s,
        paper_one_lun: page / (read_us + transfer_us),
        paper_channel: page / transfer_us,
        ours_one_lun: mb_per_s(limits.array),
        ours_channel: mb_per_s(limits.bus.unwrap_or(f64::INFINITY)),
    })
}

fn point(
    plan: &Plan,
    profile: &Profile,
    luns: u8,
    name: &dyn Fn() -> String,
) -> Result<Point, ExperimentError> {
    let depth = u16::from(luns) * plan.requests_per_lun;
    let bench = Bench::power_on(profile, luns, depth, Some(Content::Fingerprint), &Recorder::default())?;
    let (mut bytes, mut failures) = (0u64, 0);
    let prepared = bench.prepare(&reads(plan.requests, None), &mut |_| true)?;
    let ran = bench.run(prepared, &mut |sample| {
        bytes += u64::from(sample.bytes);
        failures += u64::from(!is_right(sample));
        true
    });
    if failures > 0 {
        return Err(ExperimentError::Wrong { point: name(), failures });
    }
    let seconds = ran.simulated.as_secs_f64();
    Ok(Point { luns, mb_per_s: bytes as f64 / seconds / 1e6, bus: ran.channel.busy.as_secs_f64() / seconds })
}
