//! Cost files: what each step of flash software costs a core (design §2).

use super::error::ExperimentError;
use super::plan::{parse, wrong};
use aster_device::profile::CostsProfile;
use serde::{Deserialize, Serialize};

/// The shipped cost files by name.
const SHIPPED: &[(&str, &str)] = &[("host", include_str!("../../../costs/host.toml"))];

/// Where a cost file's numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostSource {
    /// Counted instructions, times stated cycles per instruction.
    Measured,
}

/// A cost file.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CostFile {
    /// Where the numbers come from.
    pub source: CostSource,
    /// Core cycles per instruction.
    pub cycles_per_instruction: f64,
    /// Instructions of each step.
    pub instructions: Instructions,
}

/// Instructions of the steps of flash software.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// Taking a request, starting its operation, answering it.
    pub request: u64,
    /// Building a transaction and enqueueing it.
    pub enqueue: u64,
    /// Switching from a task that waits to one that continues.
    pub switch: u64,
    /// Evaluating a busy status, and waiting for the next poll.
    pub poll: u64,
}

/// The most cycles per instruction that a file may state.
const CYCLES_PER_INSTRUCTION_MAX: f64 = 1000.0;

impl CostFile {
    /// A shipped cost file.
    ///
    /// # Errors
    /// When there is no cost file of that name.
    pub fn shipped(name: &str) -> Result<Self, ExperimentError> {
        let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) else {
            let names: Vec<_> = SHIPPED.iter().map(|(name, _)| *name).collect();
            return Err(wrong("costs", format!("no file \"{name}\": those are {}", names.join(", "))));
        };
        Self::parse(&format!("costs/{name}.toml"), text)
    }

    /// Reads a cost file; `name` stands for it in errors.
    ///
    /// # Errors
    /// When a key is unknown or missing, or a number is out of range.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        let file: CostFile = parse(name, text)?;
        if !(file.cycles_per_instruction > 0.0 && file.cycles_per_instruction <= CYCLES_PER_INSTRUCTION_MAX) {
            let reason = format!("must be over 0 and at most {CYCLES_PER_INSTRUCTION_MAX}");
            return Err(wrong(name, format!("cycles_per_instruction: {reason}")));
        }
        Ok(file)
    }

    /// The costs as a profile's cycles. An operation waits once per transaction, so each transaction
    /// includes the cost of a switch.
    pub fn cycles(&self) -> CostsProfile {
        let cycles = |instructions: u64| (instructions as f64 * self.cycles_per_instruction).round() as u64;
        let steps = &self.instructions;
        CostsProfile {
            flash_request: cycles(steps.request),
            transaction: cycles(steps.enqueue + steps.switch),
            poll: cycles(steps.poll),
            ..CostsProfile::default()
        }
    }
}
