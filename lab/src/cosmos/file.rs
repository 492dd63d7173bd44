//! Reads the experiment file, and checks that it agrees with the cost file.

use super::costs;
use super::plan::{FILE, Plan};
use crate::experiment::{ExperimentError, parse, wrong};

const TEXT: &str = include_str!("../../../experiments/cosmos.toml");

impl Plan {
    /// The shipped experiment file.
    ///
    /// # Errors
    /// When it is wrong, for example when a key or name is unknown.
    pub fn shipped() -> Result<Self, ExperimentError> {
        Self::parse(FILE, TEXT)
    }
    /// Reads an experiment file; `name` stands for it in errors.
    ///
    /// # Errors
    /// When a key is unknown or missing, lists that belong together differ in length, or its profiles
    /// don't have the numbers of costs/cosmos.toml.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        let plan: Plan = parse(name, text)?;
        let t = &plan.paper.table_7;
        let rows = [&t.system, &t.hic, &t.firmware, &t.storage];
        if rows.into_iter().flatten().any(|row| row.len() != t.outstanding.len()) {
            return Err(wrong(name, "paper.table_7: each row must have a number for each of outstanding"));
        }
        costs::check(&plan)?;
        Ok(plan)
    }
}
