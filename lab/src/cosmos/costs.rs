//! The sources of those profile numbers that the paper doesn't state (costs/cosmos.toml).

use super::drive::Measured;
use super::mode::{Mode, ROWS, row_name};
use super::plan::Plan;
use crate::experiment::{ExperimentError, Range, parse, wrong};
use serde::Deserialize;

const FILE: &str = "costs/cosmos.toml";
const TEXT: &str = include_str!("../../../costs/cosmos.toml");
/// The number that isn't the profile's: what an instruction takes, by which all that are counted are
/// multiplied.
const CYCLES_PER_INSTRUCTION: &str = "cycles_per_instruction";

/// A latency of Table 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Latency {
    System,
    Hic,
    Firmware,
    Storage,
}

/// A number, and the one cell of Table 7 to which it is fitted. The cell grows with the number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fitted {
    pub(super) key: String,
    pub(super) value: f64,
    /// The range in which it is sought, and the step.
    from: f64,
    to: f64,
    step: f64,
    pub(super) mode: Mode,
    pub(super) write: bool,
    pub(super) outstanding: u32,
    pub(super) latency: Latency,
}

/// A step of the firmware, by counted instructions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Counted {
    pub(super) key: String,
    pub(super) instructions: f64,
}

/// A number that was chosen, not fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stated {
    pub(super) key: String,
    pub(super) value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Source {
    Paper,
}

/// The cost file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Costs {
    #[serde(rename = "source")]
    _source: Source,
    pub(super) fitted: Vec<Fitted>,
    pub(super) counted: Vec<Counted>,
    pub(super) stated: Vec<Stated>,
}

impl Fitted {
    /// The range in which it is sought.
    pub(super) fn range(&self) -> Range {
        Range { from: self.from, to: self.to, step: self.step }
    }
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
    /// The cell in words.
    pub(super) fn cell(&self) -> String {
        let part = match self.latency {
            Latency::System => "Sys",
            Latency::Hic => "HIC",
            Latency::Firmware => "CF",
            Latency::Storage => "SC",
        };
        format!("Table 7, {} {part}, IO = {}", row_name(self.mode, self.write), self.outstanding)
    }
}

impl Costs {
    pub(super) fn shipped() -> Result<Self, ExperimentError> {
        parse(FILE, TEXT)
    }
    /// The profile's numbers, with these in place of the fitted ones.
    pub(super) fn numbers(&self, fitted: &[f64]) -> Vec<(String, f64)> {
        let named = self.fitted.iter().map(|entry| entry.key.clone()).zip(fitted.iter().copied());
        let (instruction, mut numbers): (Vec<_>, Vec<_>) =
            named.partition(|(key, _)| key == CYCLES_PER_INSTRUCTION);
        let cycles = instruction.first().map_or(1.0, |(_, cycles)| *cycles);
        numbers.extend(
            self.counted.iter().map(|entry| (entry.key.clone(), (entry.instructions * cycles).round())),
        );
        numbers.extend(self.stated.iter().map(|entry| (entry.key.clone(), entry.value)));
        numbers
    }
    /// True for a system latency to which a number is fitted.
    pub(super) fn fits_system_latency(&self, mode: Mode, write: bool, outstanding: u32) -> bool {
        let cell = (mode, write, outstanding, Latency::System);
        self.fitted.iter().any(|entry| (entry.mode, entry.write, entry.outstanding, entry.latency) == cell)
    }
    /// The fitted numbers, as the file states them.
    pub(super) fn values(&self) -> Vec<f64> {
        self.fitted.iter().map(|entry| entry.value).collect()
    }
    /// Checks that the plan's profiles have these numbers.
    ///
    /// # Errors
    /// Names the first that differs.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), ExperimentError> {
        for name in plan.profiles() {
            let profile = plan.profile_file(name)?;
            for (key, value) in self.numbers(&self.values()) {
                let found = profile.number(&key);
                // A package's numbers are in its own file.
                let others = name != plan.profiles()[0] && key.starts_with("package.");
                if !others && found != Some(value) {
                    let reason = format!("{key} comes to {value}, but profile {name} has {found:?}");
                    return Err(wrong(FILE, reason));
                }
            }
        }
        Ok(())
    }
}
