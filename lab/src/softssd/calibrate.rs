//! The one fitted number: the factor of NVMe's cycles, by the commands per second of Fig 11.

use super::host::software;
use super::plan::Plan;
use crate::experiment::{ExperimentError, Range, fit, heard};
use serde::Serialize;
use std::ops::ControlFlow;

/// The fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NvmeFit {
    /// The factor that was found.
    pub factor: f64,
    /// The committed one.
    pub committed: f64,
    /// Commands per second with the factor that was found.
    pub per_second: f64,
    /// The paper's.
    pub paper_per_second: f64,
}

/// Finds the factor.
///
/// # Errors
/// When a drive can't be built or run, or it was stopped.
pub fn calibrate(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<NvmeFit, ExperimentError> {
    let paper = plan.paper.fig_11.software_per_second;
    let range = Range { from: 1.0, to: 40.0, step: 0.01 };
    // The time of a command grows with the factor.
    let mut told = |share| heard(progress("the factor of NVMe's cycles", share));
    let found = fit(&[range], &[1.0 / paper], &mut told, &mut |_, values: &[f64]| {
        Ok(1.0 / software(plan, values[0])?)
    })?;
    Ok(NvmeFit {
        factor: found[0],
        committed: plan.nvme.factor,
        per_second: software(plan, found[0])?,
        paper_per_second: paper,
    })
}

/// The fit for people.
pub fn fit_table(fit: &NvmeFit) -> String {
    format!(
        "nvme.factor of experiments/softssd.toml: found {:.2}, committed {:.2}\n\
         commands per second, software: ours {:.0}, paper {:.0} [Fig 11]\n",
        fit.factor, fit.committed, fit.per_second, fit.paper_per_second
    )
}
