//! The report for programs: our numbers, and what the paper says.

use super::HostFtlReport;
use super::claims::claims;
use super::numbers::{NumberRow, numbers};
use super::plan::{Paper, Plan};
use crate::experiment::Claim;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::Value;

/// What is printed as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Json<'a> {
    #[serde(flatten)]
    report: &'a HostFtlReport,
    /// What the paper prints, beside ours.
    numbers: Vec<NumberRow>,
    /// What it says in words.
    claims: Vec<Claim>,
    /// What it prints.
    paper: &'a Paper,
    /// Keys of the profile whose values this run overrides.
    changed: BTreeMap<&'a str, &'a Value>,
}

/// The report with the paper's numbers.
pub fn json<'a>(report: &'a HostFtlReport, plan: &'a Plan) -> Json<'a> {
    let changed = plan.changes().iter().map(|(key, value)| (key.as_str(), value)).collect();
    Json { report, numbers: numbers(report, plan), claims: claims(report, plan), paper: &plan.paper, changed }
}
