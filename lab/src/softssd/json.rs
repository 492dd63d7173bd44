//! The report for programs: our numbers beside the paper's.

use super::SoftssdReport;
use super::claims::claims;
use super::costs;
use super::plan::{Paper, Plan};
use super::threads::QUANTILES;
use crate::experiment::Claim;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::Value;

/// What is printed as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Json<'a> {
    #[serde(flatten)]
    report: &'a SoftssdReport,
    /// The shares of `threads[].quantiles_us`.
    quantiles: [f64; QUANTILES.len()],
    /// What the paper says in words.
    claims: Vec<Claim>,
    /// What the paper prints.
    paper: &'a Paper,
    /// What was fitted of the costs, by name.
    fitted: BTreeMap<String, f64>,
    /// Keys of the profile whose values this run overrides.
    changed: BTreeMap<&'a str, &'a Value>,
}

/// The report with the paper's numbers.
///
/// # Panics
/// Never with a plan that was read: its cost file has been read with it.
pub fn json<'a>(report: &'a SoftssdReport, plan: &'a Plan) -> Json<'a> {
    let fitted = costs::shipped().expect("read when the plan was").fitted;
    let changed = plan.changes().iter().map(|(key, value)| (key.as_str(), value)).collect();
    Json {
        report,
        quantiles: QUANTILES,
        claims: claims(report, plan),
        paper: &plan.paper,
        fitted: fitted.into_iter().map(|entry| (entry.key, entry.value)).collect(),
        changed,
    }
}
