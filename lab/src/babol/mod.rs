//! `aster reproduce babol`: the BABOL paper's Tables I and II and Figures 9 to 11 on the bench, ours beside
//! the paper's.

mod bus;
mod chart;
mod lines;
mod plan;
mod polling;
mod report;
mod text;
mod throughput;
mod transfer;

pub use bus::Shown;
pub use chart::{polling_csv, polling_figure, throughput_figure};
pub use lines::LinesReport;
pub use plan::{PaperLines, Plan};
pub use polling::PollingReport;
pub use report::BabolReport;
pub use text::table;
pub use throughput::{Controller, Point, ThroughputReport, Track};
pub use transfer::TransferReport;

use crate::experiment::{ExperimentError, heard};
use std::ops::ControlFlow;

/// Carries the experiment out. Calls `progress` with the current part and its share from 0 to 1;
/// `progress` may stop it.
///
/// # Errors
/// When a file is wrong, a READ fails, or it was stopped.
pub fn run(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<BabolReport, ExperimentError> {
    let mut told = |part, share| heard(progress(part, share));
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
