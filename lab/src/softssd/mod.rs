//! `aster reproduce softssd`: Table 2 and Figs 8 to 11 of the SoftSSD paper on the whole drive, ours beside
//! the paper's. The paper prints few digits of its figures, so most of what is compared are its statements
//! ([`Claim`](crate::experiment::Claim)). A figure of our own beside them shows what a map costs of which
//! memory has a part.

mod calibrate;
mod chart;
mod claims;
mod costs;
mod drive;
mod host;
mod immediate;
mod json;
mod map_cache;
mod phases;
mod plan;
mod table_2;
mod text;
mod threads;

pub use calibrate::{CostFit, calibrate, fits_table};
pub use chart::figures;
pub use claims::claims;
pub use host::HostInterfaces;
pub use json::{Json, json};
pub use map_cache::{MapCachePoint, Pattern};
pub use phases::{Phases, PhasesAt};
pub use plan::{MapCachePlan, Plan};
pub use table_2::Table2Row;
pub use text::table;
pub use threads::{Access, ThreadsPoint};

use crate::experiment::{ExperimentError, heard};
use serde::Serialize;
use std::ops::ControlFlow;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoftssdReport {
    /// Table 2.
    pub table_2: Vec<Table2Row>,
    /// Figs 8 and 9.
    pub threads: Vec<ThreadsPoint>,
    /// Fig 10.
    pub phases: Vec<PhasesAt>,
    /// Fig 11.
    pub host: HostInterfaces,
    /// Throughput by the size of the map's cache.
    pub map_cache: Vec<MapCachePoint>,
}

/// Carries the experiment out. Calls `progress` with the current part and its share from 0 to 1;
/// `progress` may stop it.
///
/// # Errors
/// When a file is wrong, a request fails, or it was stopped.
pub fn run(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<SoftssdReport, ExperimentError> {
    let mut told = |part, share| heard(progress(part, share));
    told("Table 2", 0.0)?;
    Ok(SoftssdReport {
        table_2: table_2::rows(plan)?,
        threads: threads::measure(plan, &mut |share| told("Figs 8 and 9", share))?,
        phases: phases::measure(plan, &mut |share| told("Fig 10", share))?,
        host: host::measure(plan, &mut |share| told("Fig 11", share))?,
        map_cache: map_cache::measure(plan, &mut |share| told("Map cache", share))?,
    })
}

#[cfg(test)]
mod tests;
