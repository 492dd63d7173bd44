//! The fitted numbers, each with the one cell of the paper that it is fitted to.

use super::loads::most_reads;
use super::plan::Plan;
use crate::experiment::{ExperimentError, Range, error_percent, fit, heard};
use serde::Serialize;
use std::ops::ControlFlow;

/// A fitted number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostFtlFit {
    /// The profile's key.
    pub key: &'static str,
    /// What was found.
    pub found: f64,
    /// What the profile has.
    pub committed: f64,
    /// The paper's result that it is fitted to.
    pub cell: &'static str,
    /// The result with what was found.
    pub ours: f64,
    /// The paper's.
    pub paper: f64,
}

/// Finds them.
///
/// # Errors
/// When a drive can't be built or run, or it was stopped.
pub fn calibrate(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<Vec<HostFtlFit>, ExperimentError> {
    let paper = plan.paper.fig_25_most_iops;
    let range = Range { from: 100.0, to: 600.0, step: 1.0 };
    let mut told = |share| heard(progress("costs.command", share));
    let costs = plan.profile()?.costs;
    // The time of a read grows with the cycles.
    let found = fit(&[range], &[1.0 / paper], &mut told, &mut |_, values: &[f64]| {
        Ok(1.0 / most_reads(plan, (values[0] as u64, costs.slice))?)
    })?[0];
    Ok(vec![HostFtlFit {
        key: "costs.command",
        found,
        committed: costs.command as f64,
        cell: "Fig 25, most 4 KiB reads",
        ours: most_reads(plan, (found as u64, costs.slice))?,
        paper,
    }])
}

/// The fits for people.
pub fn fits_table(fits: &[HostFtlFit]) -> String {
    let row = |fit: &HostFtlFit| {
        let HostFtlFit { key, found, committed, cell, ours, paper } = fit;
        let error = error_percent(*ours, *paper);
        format!(
            "{key}: found {found:.0}, committed {committed:.0}; {cell}: ours {ours:.0}, paper {paper:.0} \
             ({error:+.2} %)\n"
        )
    };
    fits.iter().map(row).collect()
}
