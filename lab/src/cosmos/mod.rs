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
mod grid;
mod hardware;
mod json;
mod one_shot;
mod plan;
mod scrambler;
mod table_7;
mod text;

pub use calibrate::{Fit, calibrate, fits_table};
pub use chart::figures;
pub use clock::ClockPoint;
pub use controllers::Exchange;
pub use distribution::Distribution;
pub use drive::{Found, Mode, Setup, Work};
pub use grid::GridPoint;
pub use hardware::{ArrayRow, BusRow};
pub use json::{Json, json};
pub use one_shot::Utilisation;
pub use plan::Plan;
pub use scrambler::BitErrors;
pub use table_7::{LatencyRow, Table7};
pub use text::table;

use aster_device::profile::ProfileError;
use aster_run_bench::BenchError;
use aster_run_virtual::RunError;
use serde::Serialize;
use std::ops::ControlFlow;

/// Everything that the experiment found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CosmosReport {
    /// Table 5.
    pub array: Vec<ArrayRow>,
    /// Table 6.
    pub buses: Vec<BusRow>,
    /// Fig 21.
    pub throughput: Vec<GridPoint>,
    /// Fig 22.
    pub random: Vec<GridPoint>,
    /// Table 7 and Fig 24.
    pub latency: Table7,
    /// Figs 25 and 26.
    pub distribution: Vec<Distribution>,
    /// Fig 27, and the shares of 7.1.
    pub clock: Vec<ClockPoint>,
    /// Fig 30.
    pub scrambler: Vec<BitErrors>,
    /// Fig 32.
    pub one_shot: Vec<Utilisation>,
    /// BABOL's Fig 12.
    pub controllers: Vec<Exchange>,
}

/// Why the experiment ended early.
#[derive(Debug, thiserror::Error)]
pub enum CosmosError {
    /// The experiment file or a cost file is wrong.
    #[error("{0}")]
    File(String),
    /// A profile is wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A drive of the plan can't be built.
    #[error("{figure}: {key}: {reason}")]
    Drive {
        /// What it is for.
        figure: &'static str,
        /// The profile's key that is to blame.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A drive can't be built or run.
    #[error(transparent)]
    Machine(#[from] RunError),
    /// A bench can't be built.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// A request failed.
    #[error("{0}")]
    Run(String),
    /// Whoever watches had it stopped.
    #[error("stopped")]
    Stopped,
}

/// Carries the experiment out. `progress` hears which part is in work and its share from 0 to 1, and may stop
/// it.
///
/// # Errors
/// When a file is wrong, a request fails, or it was stopped.
pub fn run(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<CosmosReport, CosmosError> {
    let mut told = |part, share| match progress(part, share) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CosmosError::Stopped),
    };
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
