//! `aster reproduce cosmos --calibrate`: finds the numbers that costs/cosmos.toml marks as fitted, each by
//! its own cell of Table 7. It uses no other cell.

use super::costs::{self, Cell};
use super::plan::Plan;
use super::table_7;
use crate::experiment::{ExperimentError, Range, fit, heard, value_of, wrong};
use serde::Serialize;
use std::fmt::Write;
use std::ops::ControlFlow;

/// A number, and how close the result is to its cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The profile's key, or `cycles_per_instruction`.
    pub key: String,
    /// The value in costs/cosmos.toml.
    pub shipped: f64,
    /// The value found.
    pub value: f64,
    /// The cell.
    pub cell: String,
    /// Our result with all found values, µs.
    pub ours_us: f64,
    /// The paper's, µs.
    pub paper_us: f64,
}

/// Seeks the numbers, beginning in the middle of each one's range in the file. `progress` is called as by
/// [`super::run`].
///
/// # Errors
/// When a file is wrong, a request fails, or it was stopped.
pub fn calibrate(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<Vec<Fit>, ExperimentError> {
    let costs = costs::shipped()?;
    let mut ours = |index: usize, values: &[f64]| -> Result<f64, ExperimentError> {
        let cell = costs.fitted[index].cell;
        let numbers = costs.numbers(values).into_iter().map(|(key, number)| (key, value_of(number)));
        let plan = plan.changed(numbers.collect());
        Ok(cell.ours_us(&table_7::point(&plan, cell.mode, cell.write, cell.outstanding)?))
    };
    let ranges: Vec<Range> = costs.fitted.iter().map(|entry| entry.range()).collect();
    let papers =
        costs.fitted.iter().map(|entry| paper_of(entry.cell, plan)).collect::<Result<Vec<_>, _>>()?;
    let mut told = |share| heard(progress("calibrating", share));
    let values = fit(&ranges, &papers, None, &mut told, &mut ours)?;
    let mut fits = Vec::new();
    for (index, ((entry, &value), &paper_us)) in costs.fitted.iter().zip(&values).zip(&papers).enumerate() {
        fits.push(Fit {
            key: entry.key.clone(),
            shipped: entry.value,
            value,
            cell: entry.cell.to_string(),
            ours_us: ours(index, &values)?,
            paper_us,
        });
    }
    Ok(fits)
}

fn paper_of(cell: Cell, plan: &Plan) -> Result<f64, ExperimentError> {
    let missing = || wrong(costs::FILE, format!("{cell}: no such cell"));
    cell.paper_us(plan).ok_or_else(missing)
}

/// The numbers as a text, and the profile's that follow from them.
///
/// # Errors
/// When the cost file is wrong.
pub fn fits_table(fits: &[Fit]) -> Result<String, ExperimentError> {
    let mut out = String::from(
        "number                            found   shipped    its cell comes to, µs      paper\n",
    );
    for fit in fits {
        let _ = writeln!(
            out,
            "{:<30}{:>9}{:>10}    {:<32}{:>8.1}{:>9.1}",
            fit.key, fit.value, fit.shipped, fit.cell, fit.ours_us, fit.paper_us
        );
    }
    let values: Vec<f64> = fits.iter().map(|fit| fit.value).collect();
    let _ = write!(out, "in the profiles:");
    for (key, number) in costs::shipped()?.numbers(&values) {
        let _ = write!(out, "\n  {key} = {number}");
    }
    Ok(out)
}
