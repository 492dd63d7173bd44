//! The sources of those profile numbers that the paper doesn't state (costs/cosmos.toml).

use super::drive::Measured;
use super::mode::{Mode, ROWS, row_name};
use super::plan::Plan;
use crate::experiment::{BoardCosts, ExperimentError, parse};
use serde::Deserialize;
use std::fmt;

pub(super) const FILE: &str = "costs/cosmos.toml";
const TEXT: &str = include_str!("../../../costs/cosmos.toml");

/// A latency of Table 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Latency {
    System,
    Hic,
    Firmware,
    Storage,
}

/// A cell of Table 7. It grows with the number that is fitted to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cell {
    pub(super) mode: Mode,
    pub(super) write: bool,
    pub(super) outstanding: u32,
    latency: Latency,
}

/// The cost file.
pub(super) type Costs = BoardCosts<Cell>;

impl Cell {
    /// Its row of Table 7.
    fn row(&self) -> usize {
        ROWS.iter().position(|row| *row == (self.mode, self.write)).unwrap_or(0)
    }
    /// The paper's number, µs; `None` if its table has no such column.
    pub(super) fn paper_us(&self, plan: &Plan) -> Option<f64> {
        let table = &plan.paper.table_7;
        let column = table.outstanding.iter().position(|ios| *ios == self.outstanding)?;
        let rows = match self.latency {
            Latency::System => &table.system,
            Latency::Hic => &table.hic,
            Latency::Firmware => &table.firmware,
            Latency::Storage => &table.storage,
        };
        Some(rows[self.row()][column])
    }
    /// Our number for the same cell.
    pub(super) fn ours_us(&self, found: &Measured) -> f64 {
        match self.latency {
            Latency::System => found.system_us,
            Latency::Hic => found.hic_us,
            Latency::Firmware => found.firmware_us,
            Latency::Storage => found.storage_us,
        }
    }
}

/// In words.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.latency {
            Latency::System => "Sys",
            Latency::Hic => "HIC",
            Latency::Firmware => "CF",
            Latency::Storage => "SC",
        };
        write!(f, "Table 7, {} {part}, IO = {}", row_name(self.mode, self.write), self.outstanding)
    }
}

/// The shipped file.
///
/// # Errors
/// When it is wrong.
pub(super) fn shipped() -> Result<Costs, ExperimentError> {
    parse(FILE, TEXT)
}

/// True for a system latency to which a number is fitted.
pub(super) fn fits_system_latency(costs: &Costs, mode: Mode, write: bool, outstanding: u32) -> bool {
    let cell = Cell { mode, write, outstanding, latency: Latency::System };
    costs.fitted.iter().any(|entry| entry.cell == cell)
}

/// Checks that the plan's profiles have the shipped file's numbers.
///
/// # Errors
/// Names the first that differs.
pub(super) fn check(plan: &Plan) -> Result<(), ExperimentError> {
    let costs = shipped()?;
    for name in plan.profiles() {
        // A package's numbers are in its own file.
        let is_first = name == plan.profiles()[0];
        let has = |key: &str| is_first || !key.starts_with("package.");
        costs.check(FILE, (name, &plan.profile_file(name)?), has)?;
    }
    Ok(())
}
