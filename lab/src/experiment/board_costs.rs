//! Cost files of boards: the numbers of a profile that a paper doesn't state, and where each comes from.

use super::error::ExperimentError;
use super::fit::Range;
use super::plan::wrong;
use super::profile::ProfileFile;
use serde::Deserialize;
use std::fmt::{Display, Write};

/// The number that isn't the profile's: what an instruction takes, by which all that are counted are
/// multiplied.
const CYCLES_PER_INSTRUCTION: &str = "cycles_per_instruction";

/// A number, and the one cell of the paper to which it is fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fitted<C> {
    pub(crate) key: String,
    pub(crate) value: f64,
    /// The range in which it is sought, and the step.
    from: f64,
    to: f64,
    step: f64,
    pub(crate) cell: C,
}

impl<C> Fitted<C> {
    /// The range in which it is sought.
    pub(crate) fn range(&self) -> Range {
        Range { from: self.from, to: self.to, step: self.step }
    }
}

/// A step of the firmware, by counted instructions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counted {
    key: String,
    instructions: f64,
}

/// A number that was chosen, not fitted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    key: String,
    value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Source {
    Paper,
}

/// The cost file of a board whose paper has cells `C`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoardCosts<C> {
    #[serde(rename = "source")]
    _source: Source,
    pub(crate) fitted: Vec<Fitted<C>>,
    counted: Vec<Counted>,
    stated: Vec<Stated>,
}

impl<C: Display> BoardCosts<C> {
    /// The profile's numbers, with these in place of the fitted ones.
    pub(crate) fn numbers(&self, fitted: &[f64]) -> Vec<(String, f64)> {
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
    /// The fitted numbers, as the file states them.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.fitted.iter().map(|entry| entry.value).collect()
    }
    /// Checks that `profile` has the numbers of this file, `name`, whose keys `has` names.
    ///
    /// # Errors
    /// Names the first that differs.
    pub(crate) fn check(
        &self,
        name: &str,
        (of, profile): (&str, &ProfileFile),
        has: impl Fn(&str) -> bool,
    ) -> Result<(), ExperimentError> {
        for (key, value) in self.numbers(&self.values()).into_iter().filter(|(key, _)| has(key)) {
            let found = profile.number(&key);
            if found != Some(value) {
                let found = found.map_or("none".to_owned(), |found| found.to_string());
                let reason = format!("{key} comes to {value}, but profile {of} has {found}");
                return Err(wrong(name, reason));
            }
        }
        Ok(())
    }
    /// Writes what was fitted to what, what was counted, and what was stated.
    pub(crate) fn write(&self, out: &mut String, name: &str) {
        let _ = writeln!(out, "\nfitted ({name})");
        for entry in &self.fitted {
            let _ = writeln!(out, "  {} = {} to {}", entry.key, entry.value, entry.cell);
        }
        let counted: Vec<String> =
            self.counted.iter().map(|c| format!("{} {}", c.key, c.instructions)).collect();
        let _ = writeln!(out, "instructions counted: {}", counted.join(", "));
        let stated: Vec<String> = self.stated.iter().map(|s| format!("{} = {}", s.key, s.value)).collect();
        let _ = write!(out, "stated: {}", stated.join(", "));
    }
}
