//! Figs 21 and 22: throughput of large sequential requests and IOPS of small random ones, by channels and
//! ways.

use super::drive::{AccessPattern, Measured, PaperDrive, Setup};
use super::mode::Mode;
use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_events::Recorder;
use serde::Serialize;

/// One drive under one work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridPoint {
    /// How its flash is used.
    pub mode: Mode,
    /// Writes, or reads.
    pub write: bool,
    /// Channels.
    pub channels: u16,
    /// Ways.
    pub ways: u8,
    /// The result.
    pub found: Measured,
}

/// The drives of a figure, in the order of mode and direction, channels, ways.
pub(super) fn measure(
    plan: &Plan,
    random: bool,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<GridPoint>, ExperimentError> {
    let kinds = [(Mode::Slc, false), (Mode::Mlc, false), (Mode::Slc, true), (Mode::Mlc, true)];
    let mut points = Vec::new();
    // A drive's run time grows with the pages that are written and read.
    let cost = |channels: u16, ways: u8| pages(plan, u64::from(channels) * u64::from(ways)) as f64;
    let each: f64 = plan.channels.iter().flat_map(|&c| plan.ways.iter().map(move |&w| cost(c, w))).sum();
    let (total, mut done) = (kinds.len() as f64 * each, 0.0);
    for (mode, write) in kinds {
        for &channels in &plan.channels {
            for &ways in &plan.ways {
                told(done / total)?;
                let setup = Setup { channels, ways, ..Setup::full(mode) };
                let found = point(plan, &setup, write, random)?;
                points.push(GridPoint { mode, write, channels, ways, found });
                done += cost(channels, ways);
            }
        }
    }
    Ok(points)
}

/// Pages for the measurement of a drive with this many LUNs. Smaller drives need fewer for the same
/// simulated time.
fn pages(plan: &Plan, luns: u64) -> u64 {
    (plan.requests * luns / 64).next_multiple_of(2 * luns).max(1024)
}

/// 128 KiB sequential with 16 outstanding, or 4 KiB random with 128 (C58, C59).
pub(super) fn point(
    plan: &Plan,
    setup: &Setup,
    write: bool,
    random: bool,
) -> Result<Measured, ExperimentError> {
    let mut bench = PaperDrive::new(plan, setup, &Recorder::default())?;
    let page_bytes = bench.page_bytes();
    let buffered = u64::from(bench.drive.profile.ftl.buffer_entries);
    let pages = pages(plan, setup.luns());
    if !random {
        let (bytes, outstanding) = (128 << 10, 16);
        let requests = pages.div_ceil(u64::from(bytes) / page_bytes);
        let work = AccessPattern { write, random, bytes, outstanding, requests };
        return bench.steady(if write { pages } else { pages.max(2 * buffered) }, &work);
    }
    let work = AccessPattern { write, random, bytes: 4 << 10, outstanding: 128, requests: pages };
    // Many times the buffer's size, so that few requests hit.
    bench.steady(plan.random_buffers * buffered, &work)
}
