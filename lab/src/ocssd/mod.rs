//! `aster reproduce ocssd`: Cosmos+ as an open-channel drive under pblk beside the same board with its own
//! FTL. Figs 33 to 38 of the Cosmos+ paper's section 7.5, and the workloads of the slides. Their curves have
//! no digits, so most of what is compared are statements ([`Claim`](crate::experiment::Claim)).

mod blocks;
mod chart;
mod claims;
mod convoy;
mod drive;
mod json;
mod load;
mod places;
mod plan;
mod slides;
mod sweep;
mod text;
mod watch;

pub use chart::{figures, timelines};
pub use claims::claims;
pub use json::{Json, json};
pub use load::{LoadReport, OverTime};
pub use places::PlaceRow;
pub use plan::{Ftl, Place, Plan};
pub use slides::{CommandSize, EraseParts, SlidesRow, Workload};
pub use sweep::SweepPoint;
pub use text::table;

use crate::experiment::{ExperimentError, heard};
use serde::Serialize;
use std::ops::ControlFlow;

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OcssdReport {
    /// Figs 33 to 35.
    pub sweep: Vec<SweepPoint>,
    /// Figs 36 to 38.
    pub load: Vec<LoadReport>,
    /// The slides' workloads.
    pub slides: Vec<SlidesRow>,
    /// One FTL, two places.
    pub places: Vec<PlaceRow>,
}

/// Carries the experiment out. Calls `progress` with the current part and its share from 0 to 1;
/// `progress` may stop it.
///
/// # Errors
/// When a file is wrong, a request fails, or it was stopped.
pub fn run(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<OcssdReport, ExperimentError> {
    let mut told = |part, share| heard(progress(part, share));
    Ok(OcssdReport {
        sweep: sweep::measure(plan, &mut |share| told("Figs 33 to 35", share))?,
        load: load::measure(plan, &mut |share| told("Figs 36 to 38", share))?,
        slides: slides::measure(plan, &mut |share| told("the slides' workloads", share))?,
        places: places::measure(plan, &mut |share| told("one FTL, two places", share))?,
    })
}

#[cfg(test)]
mod tests;
