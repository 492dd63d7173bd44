//! `aster reproduce cosmos`: the Cosmos+ paper's tables and figures on the whole drive, ours beside the
//! paper's.

mod calibrate;
mod chart;
mod clock;
mod controllers;
mod costs;
mod distribution;
mod drive;
mod drives;
mod file;
mod grid;
mod hardware;
mod json;
mod mode;
mod one_shot;
mod plan;
mod report;
mod scrambler;
mod table_7;
mod text;

pub use calibrate::{Fit, calibrate, fits_table};
pub use chart::figures;
pub use clock::ClockPoint;
pub use controllers::Exchange;
pub use distribution::Distribution;
pub use drive::{AccessPattern, Measured, Setup};
pub use grid::GridPoint;
pub use hardware::{ArrayRow, BusRow};
pub use json::{Json, json};
pub use mode::Mode;
pub use one_shot::Utilisation;
pub use plan::Plan;
pub use report::CosmosReport;
pub use scrambler::BitErrors;
pub use table_7::{LatencyRow, Table7};
pub use text::table;

use crate::experiment::{ExperimentError, heard};
use std::ops::ControlFlow;

/// Carries the experiment out. Calls `progress` with the current part and its share from 0 to 1;
/// `progress` may stop it.
///
/// # Errors
/// When a file is wrong, a request fails, or it was stopped.
pub fn run(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<CosmosReport, ExperimentError> {
    let mut told = |part, share| heard(progress(part, share));
    told("Tables 5 and 6", 0.0)?;
    let (array, buses) = (hardware::array(plan)?, hardware::buses(plan)?);
    Ok(CosmosReport {
        array,
        buses,
        latency: table_7::measure(plan, &mut |share| told("Table 7 and Fig 24", share))?,
        throughput: grid::measure(plan, false, &mut |share| told("Fig 21", share))?,
        random: grid::measure(plan, true, &mut |share| told("Fig 22", share))?,
        distribution: distribution::measure(plan, &mut |share| told("Figs 25 and 26", share))?,
        clock: clock::measure(plan, &mut |share| told("Fig 27", share))?,
        scrambler: scrambler::measure(plan, &mut |share| told("Fig 30", share))?,
        one_shot: one_shot::measure(plan, &mut |share| told("Fig 32", share))?,
        controllers: controllers::measure(plan, &mut |share| told("BABOL's Fig 12", share))?,
    })
}

#[cfg(test)]
mod tests;
