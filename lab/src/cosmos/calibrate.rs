//! `aster reproduce cosmos --calibrate`: finds the numbers that costs/cosmos.toml says are fitted, each by
//! its own cell of Table 7. It looks at no other cell.

use super::costs::{Costs, Fitted};
use super::plan::value_of;
use super::{CosmosError, Plan, table_7};
use serde::Serialize;
use std::fmt::Write;
use std::ops::ControlFlow;

/// A number and how near its cell it brings us.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The profile's key, or `cycles_per_instruction`.
    pub key: String,
    /// What costs/cosmos.toml has.
    pub shipped: f64,
    /// What was found.
    pub value: f64,
    /// The cell.
    pub cell: String,
    /// What we come to with all that was found, µs.
    pub ours_us: f64,
    /// The paper's, µs.
    pub paper_us: f64,
}

/// Times that all numbers are sought: each moves the others' cells a little.
const ROUNDS: usize = 8;

/// Seeks the numbers, beginning in the middle of the range that the file gives each. `progress` is as that of
/// [`super::run`].
///
/// # Errors
/// When a file is wrong, a request fails, or it was stopped.
pub fn calibrate(
    plan: &Plan,
    progress: &mut dyn FnMut(&'static str, f64) -> ControlFlow<()>,
) -> Result<Vec<Fit>, CosmosError> {
    let costs = Costs::shipped()?;
    let ours = |entry: &Fitted, values: &[f64]| -> Result<f64, CosmosError> {
        let numbers = costs.numbers(values).into_iter().map(|(key, number)| (key, value_of(number)));
        let plan = plan.changed(numbers.collect());
        Ok(entry.ours_us(&table_7::point(&plan, entry.mode, entry.write, entry.outstanding)?))
    };
    let mut values: Vec<f64> = costs.fitted.iter().map(|entry| entry.at(entry.steps() / 2)).collect();
    let total = (ROUNDS * costs.fitted.len()) as f64;
    for round in 0..ROUNDS {
        for (index, entry) in costs.fitted.iter().enumerate() {
            let paper = paper_of(entry, plan)?;
            // The first step at which the cell reaches the paper's, by halves, and the one before it.
            let (mut low, mut high) = (0, entry.steps());
            let mut below = f64::NEG_INFINITY;
            let mut above = f64::INFINITY;
            while low < high {
                let share = (round * costs.fitted.len() + index) as f64 / total;
                if progress("calibrating", share).is_break() {
                    return Err(CosmosError::Stopped);
                }
                let middle = low + (high - low) / 2;
                values[index] = entry.at(middle);
                let found = ours(entry, &values)?;
                if found < paper {
                    (low, below) = (middle + 1, found);
                } else {
                    (high, above) = (middle, found);
                }
            }
            let nearer_below = low > 0 && paper - below < above - paper;
            values[index] = entry.at(if nearer_below { low - 1 } else { low });
        }
    }
    let mut fits = Vec::new();
    for (entry, &value) in costs.fitted.iter().zip(&values) {
        fits.push(Fit {
            key: entry.key.clone(),
            shipped: entry.value,
            value,
            cell: entry.cell(),
            ours_us: ours(entry, &values)?,
            paper_us: paper_of(entry, plan)?,
        });
    }
    Ok(fits)
}

fn paper_of(entry: &Fitted, plan: &Plan) -> Result<f64, CosmosError> {
    let missing = || CosmosError::File(format!("costs/cosmos.toml: {}: no such cell", entry.cell()));
    entry.paper_us(plan).ok_or_else(missing)
}

impl Fitted {
    fn steps(&self) -> u32 {
        ((self.to - self.from) / self.step).round() as u32
    }
    /// The number after so many steps, without what binary fractions add.
    fn at(&self, steps: u32) -> f64 {
        let value = self.from + self.step * f64::from(steps);
        (value * 1e6).round() / 1e6
    }
}

/// The numbers as a text, and the profile's that follow from them.
///
/// # Errors
/// When the cost file is wrong.
pub fn fits_table(fits: &[Fit]) -> Result<String, CosmosError> {
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
    for (key, number) in Costs::shipped()?.numbers(&values) {
        let _ = write!(out, "\n  {key} = {number}");
    }
    Ok(out)
}
