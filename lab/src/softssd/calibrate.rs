//! `aster reproduce softssd --calibrate`: finds what costs/softssd.toml marks as fitted, each number by its
//! own cell of Fig 10 or 11. It uses no other cell.

use super::costs::{self, Cell};
use super::host::software;
use super::phases::phases_at;
use super::plan::Plan;
use crate::experiment::{ExperimentError, Range, fit, heard};
use serde::Serialize;
use std::fmt::Write;
use std::ops::ControlFlow;

/// The times of a phase come in steps of one pass of the interface layer, 2 % apart. Two medians within this
/// share are of the same step.
const ALIKE: f64 = 0.001;

/// A number, and how close the result is to its cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostFit {
    /// The profile's key, or `cycles_per_instruction`.
    pub key: String,
    /// The value that was found.
    pub value: f64,
    /// The shipped one.
    pub shipped: f64,
    /// The cell.
    pub cell: String,
    /// What it comes to with the values that were found.
    pub ours: f64,
    /// The paper's.
    pub paper: f64,
}

/// The paper's result for a cell.
fn paper(plan: &Plan, cell: Cell) -> f64 {
    let Plan { paper, .. } = plan;
    match cell {
        Cell::Software => paper.fig_11.software_per_second,
        Cell::ReadTransfer => paper.fig_10.read_transfer_us,
        Cell::WriteTransfer => paper.fig_10.write_transfer_us,
        Cell::ReadCommand => paper.fig_10.read_command_us,
    }
}

/// Ours.
fn ours(plan: &Plan, cell: Cell) -> Result<f64, ExperimentError> {
    if cell == Cell::Software {
        return software(plan);
    }
    let one = phases_at(&plan.of_few_requests(), 1)?;
    let phase = match cell {
        Cell::ReadTransfer => one.read_transfer,
        Cell::WriteTransfer => one.write_transfer,
        _ => one.read_command,
    };
    Ok(phase.median_us)
}

/// Seeks the numbers, beginning in the middle of each one's range in the file.
///
/// # Errors
/// When a drive can't be built or run, or it was stopped.
pub fn calibrate(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<Vec<CostFit>, ExperimentError> {
    let costs = costs::shipped()?;
    let ours = |index: usize, values: &[f64]| {
        ours(&plan.changed(costs::changes(&costs, values)), costs.fitted[index].cell)
    };
    let ranges: Vec<Range> = costs.fitted.iter().map(|entry| entry.range()).collect();
    let papers: Vec<f64> =
        costs.fitted.iter().map(|entry| entry.cell.growing(paper(plan, entry.cell))).collect();
    let mut told = |share| heard(progress("calibrating", share));
    let found = fit(&ranges, &papers, Some(ALIKE), &mut told, &mut |index, values: &[f64]| {
        Ok(costs.fitted[index].cell.growing(ours(index, values)?))
    })?;
    let fits = costs.fitted.iter().enumerate().map(|(index, entry)| {
        Ok(CostFit {
            key: entry.key.clone(),
            value: found[index],
            shipped: entry.value,
            cell: entry.cell.to_string(),
            ours: ours(index, &found)?,
            paper: paper(plan, entry.cell),
        })
    });
    fits.collect()
}

/// The fits for people, and the profile's numbers that follow from them.
///
/// # Errors
/// When the cost file is wrong.
pub fn fits_table(fits: &[CostFit]) -> Result<String, ExperimentError> {
    let mut out = format!(
        "{:<36}{:>9}{:>10}    {:<38}{:>8}{:>9}\n",
        "number", "found", "shipped", "its cell", "ours", "paper"
    );
    for CostFit { key, value, shipped, cell, ours, paper } in fits {
        let _ = writeln!(out, "{key:<36}{value:>9}{shipped:>10}    {cell:<38}{ours:>8.1}{paper:>9.1}");
    }
    let values: Vec<f64> = fits.iter().map(|fit| fit.value).collect();
    let _ = write!(out, "in the profiles:");
    for (key, number) in costs::shipped()?.numbers(&values) {
        let _ = write!(out, "\n  {key} = {number}");
    }
    Ok(out)
}
