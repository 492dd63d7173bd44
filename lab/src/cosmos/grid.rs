//! Figs 21 and 22: throughput of long sequential requests and IOPS of small random ones by channels and ways.

use super::drive::{Bench, Found, Mode, Setup, Work};
use super::{CosmosError, Plan};
use aster_run_virtual::events::Recorder;
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
    /// What came of it.
    pub found: Found,
}

/// The drives of a figure, in the order of mode and direction, channels, ways.
pub(super) fn measure(
    plan: &Plan,
    random: bool,
    told: &mut dyn FnMut(f64) -> Result<(), CosmosError>,
) -> Result<Vec<GridPoint>, CosmosError> {
    let kinds = [(Mode::Slc, false), (Mode::Mlc, false), (Mode::Slc, true), (Mode::Mlc, true)];
    let mut points = Vec::new();
    let total = (kinds.len() * plan.channels.len() * plan.ways.len()) as f64;
    for (mode, write) in kinds {
        for &channels in &plan.channels {
            for &ways in &plan.ways {
                told(points.len() as f64 / total)?;
                let setup = Setup { channels, ways, ..Setup::full(mode) };
                let found = point(plan, &setup, write, random)?;
                points.push(GridPoint { mode, write, channels, ways, found });
            }
        }
    }
    Ok(points)
}

/// 128 KiB sequential with 16 outstanding, or 4 KiB random with 128 (C58, C59).
pub(super) fn point(plan: &Plan, setup: &Setup, write: bool, random: bool) -> Result<Found, CosmosError> {
    let mut bench = Bench::new(plan, setup, &Recorder::default())?;
    let page_bytes = bench.page_bytes();
    let buffered = u64::from(bench.profile.ftl.buffer_entries);
    // Smaller drives need fewer requests for the same time.
    let pages = (plan.requests * setup.luns() / 64).next_multiple_of(2 * setup.luns()).max(1024);
    if !random {
        let (bytes, outstanding) = (128 << 10, 16);
        let requests = pages.div_ceil(u64::from(bytes) / page_bytes);
        let work = Work { write, random, bytes, outstanding, requests };
        return bench.steady(if write { pages } else { pages.max(2 * buffered) }, &work);
    }
    let work = Work { write, random, bytes: 4 << 10, outstanding: 128, requests: pages };
    // Many times what the buffer holds, so that little hits.
    bench.steady(plan.random_buffers * buffered, &work)
}
