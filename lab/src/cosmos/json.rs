//! The report for programs: our numbers beside the paper's.

use super::plan::{Interference, Paper, Plan};
use super::report::CosmosReport;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::Value;

/// What is printed as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Json<'a> {
    #[serde(flatten)]
    report: &'a CosmosReport,
    /// What the paper prints; Table 7's rows and columns are in the order of `latency`.
    paper: &'a Paper,
    /// What was fitted to Fig 30.
    interference: &'a Interference,
    /// Keys of the profiles whose values this run overrides.
    changed: BTreeMap<&'a str, &'a Value>,
}

/// The report with the paper's numbers.
pub fn json<'a>(report: &'a CosmosReport, plan: &'a Plan) -> Json<'a> {
    let changed = plan.changes().iter().map(|(key, value)| (key.as_str(), value)).collect();
    Json { report, paper: &plan.paper, interference: &plan.interference, changed }
}
