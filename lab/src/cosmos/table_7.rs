//! Table 7: latencies of 16 KiB requests by the number outstanding, and Fig 24, their throughput.

use super::drive::{AccessPattern, Measured, PaperDrive, Setup};
use super::mode::{Mode, ROWS};
use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_events::Recorder;
use serde::Serialize;

/// A row: one mode and direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyRow {
    /// How the flash is used.
    pub mode: Mode,
    /// Writes, or reads.
    pub write: bool,
    /// By the number outstanding.
    pub found: Vec<Measured>,
}

/// Table 7.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table7 {
    /// Requests outstanding.
    pub outstanding: Vec<u32>,
    /// R SLC, R MLC, W SLC, W MLC.
    pub rows: Vec<LatencyRow>,
}

/// Measures it; Calls `told` with the share done.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Table7, ExperimentError> {
    let outstanding = plan.paper.table_7.outstanding.clone();
    let each: u64 = outstanding.iter().map(|&ios| requests(plan, ios)).sum();
    let (total, mut done) = ((ROWS.len() as u64 * each) as f64, 0);
    let mut rows = Vec::new();
    for (mode, write) in ROWS {
        let mut found = Vec::new();
        for &ios in &outstanding {
            told(done as f64 / total)?;
            found.push(point(plan, mode, write, ios)?);
            done += requests(plan, ios);
        }
        rows.push(LatencyRow { mode, write, found });
    }
    Ok(Table7 { outstanding, rows })
}

/// The number of requests for a column, chosen so that every LUN gets the same number of pages of each
/// type.
fn requests(plan: &Plan, ios: u32) -> u64 {
    (plan.requests / 4 + plan.requests * u64::from(ios) / 64)
        .next_multiple_of(2 * Setup::full(Mode::Slc).luns())
}

/// One column of a row.
pub(super) fn point(plan: &Plan, mode: Mode, write: bool, ios: u32) -> Result<Measured, ExperimentError> {
    let setup = Setup::full(mode);
    let requests = requests(plan, ios);
    let work = AccessPattern { write, random: false, bytes: 16 << 10, outstanding: ios, requests };
    let mut bench = PaperDrive::new(plan, &setup, &Recorder::default())?;
    let buffered = u64::from(bench.drive.profile.ftl.buffer_entries);
    // The reads cover more pages than the buffer holds, so that none hits (C57).
    let pages = if write { requests } else { requests.max(2 * buffered) };
    bench.steady(pages, &work)
}
