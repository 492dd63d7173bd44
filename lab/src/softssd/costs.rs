//! The sources of those numbers of the profile that the paper doesn't state (costs/softssd.toml).

use crate::experiment::{BoardCosts, Changes, ExperimentError, ProfileFile, parse, value_of};
use serde::Deserialize;
use std::fmt;
use toml::Value;

pub(super) const FILE: &str = "costs/softssd.toml";
const TEXT: &str = include_str!("../../../costs/softssd.toml");
/// The board in small, which has the same costs.
const SMALL: &str = "softssd-small";
/// tR of both kinds of pages, which the profile has as a list.
const READ: &str = "package.read_us";

/// What a number is fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Cell {
    /// Commands per second of NVMe in software.
    #[serde(rename = "fig-11-software")]
    Software,
    /// With one thread, the time of a transfer of a page that is read, µs.
    #[serde(rename = "fig-10-read-transfer")]
    ReadTransfer,
    /// Of one that is written.
    #[serde(rename = "fig-10-write-transfer")]
    WriteTransfer,
    /// And of a read command.
    #[serde(rename = "fig-10-read-command")]
    ReadCommand,
}

impl Cell {
    /// What grows with the number that is fitted: a result, or the time that one takes.
    pub(super) fn growing(self, result: f64) -> f64 {
        if self == Cell::ReadCommand { result } else { 1.0 / result }
    }
}

/// In words.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cell::Software => "Fig 11, NVMe in software, commands/s",
            Cell::ReadTransfer => "Fig 10, 1 thread, read transfer, µs",
            Cell::WriteTransfer => "Fig 10, 1 thread, write transfer, µs",
            Cell::ReadCommand => "Fig 10, 1 thread, read command, µs",
        })
    }
}

/// The cost file.
pub(super) type Costs = BoardCosts<Cell>;

/// The shipped file.
///
/// # Errors
/// When it is wrong.
pub(super) fn shipped() -> Result<Costs, ExperimentError> {
    parse(FILE, TEXT)
}

/// The profile's values with these in place of the fitted ones.
pub(super) fn changes(costs: &Costs, fitted: &[f64]) -> Changes {
    let of = |(key, number): (String, f64)| {
        let value = value_of(number);
        let both = key == READ;
        (key, if both { Value::Array(vec![value.clone(), value]) } else { value })
    };
    costs.numbers(fitted).into_iter().map(of).collect()
}

/// Checks that this profile, and the board in small, have the shipped file's numbers.
///
/// # Errors
/// Names the first that differs.
pub(super) fn check(profile: &str) -> Result<(), ExperimentError> {
    let costs = shipped()?;
    for name in [profile, SMALL] {
        // The small board has another package.
        let has = |key: &str| name != SMALL || key != READ;
        costs.check(FILE, (name, &ProfileFile::shipped(FILE, name)?), has)?;
    }
    Ok(())
}
