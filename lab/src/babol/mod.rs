//! `aster reproduce babol`: the BABOL paper's Tables I and II and Figures 9 to 11 on the bench, ours beside
//! the paper's.

mod bus;
mod chart;
mod costs;
mod lines;
mod plan;
mod polling;
mod text;
mod throughput;
mod transfer;

pub use bus::Shown;
pub use chart::{polling_csv, polling_figure, throughput_figure};
pub use costs::{CostFile, CostSource, Instructions};
pub use lines::{LinesReport, PaperLines};
pub use plan::Plan;
pub use polling::PollingReport;
pub use text::table;
pub use throughput::{Controller, Point, ThroughputReport, Track};
pub use transfer::TransferReport;

use aster_device::profile::ProfileError;
use aster_run_bench::BenchError;
use serde::Serialize;
use std::ops::ControlFlow;

/// Everything that the experiment found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BabolReport {
    /// Table I.
    pub transfers: Vec<TransferReport>,
    /// Fig 10.
    pub throughput: ThroughputReport,
    /// Fig 11.
    pub polling: Vec<PollingReport>,
    /// What the paper says of Fig 11: the period of a coroutine at 1 GHz.
    pub paper_poll_period_us: f64,
    /// Table II.
    pub lines: Vec<LinesReport>,
    /// What a coroutine's steps were taken to cost.
    pub costs: CostFile,
    /// Fig 9 as a picture.
    #[serde(skip)]
    pub waveform_svg: Vec<u8>,
    /// Its changes as CSV.
    #[serde(skip)]
    pub waveform_csv: Vec<u8>,
}

/// Why the experiment ended early.
#[derive(Debug, thiserror::Error)]
pub enum BabolError {
    /// The experiment file, cost file or profile is wrong.
    #[error("{0}")]
    File(String),
    /// A profile is wrong.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A bench can't be built or used.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// Requests failed or brought other content.
    #[error("{point}: {failures} READs failed or brought wrong content")]
    Wrong {
        /// Where.
        point: String,
        /// How many.
        failures: u64,
    },
    /// A picture can't be drawn.
    #[error("a picture can't be drawn: {0}")]
    Picture(#[from] std::io::Error),
    /// Whoever watches had it stopped.
    #[error("stopped")]
    Stopped,
}

/// Carries the experiment out. `progress` hears which part is in work and its share from 0 to 1, and may stop
/// it.
///
/// # Errors
/// When a file is wrong, a READ fails, or it was stopped.
pub fn run(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<BabolReport, BabolError> {
    let mut told = |part, share| match progress(part, share) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(BabolError::Stopped),
    };
    told("Table I and Fig 9", 0.0)?;
    let transfers = transfer::measure(plan)?;
    let (waveform_svg, waveform_csv) = transfer::waveform(plan)?;
    let throughput = throughput::measure(plan, &mut |share| told("Fig 10", share))?;
    told("Fig 11", 0.0)?;
    let polling = polling::measure(plan)?;
    let lines = lines::count(plan)?;
    Ok(BabolReport {
        transfers,
        throughput,
        polling,
        paper_poll_period_us: plan.polling.paper_period_us,
        lines,
        costs: plan.costs.clone(),
        waveform_svg,
        waveform_csv,
    })
}

#[cfg(test)]
mod tests;
