//! The report for programs: our numbers, and what the sources say.

use super::OcssdReport;
use super::claims::claims;
use super::plan::{Paper, Plan};
use crate::experiment::Claim;
use serde::Serialize;
use std::collections::BTreeMap;
use toml::Value;

/// What is printed as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Json<'a> {
    #[serde(flatten)]
    report: &'a OcssdReport,
    /// What the sources say in words.
    claims: Vec<Claim>,
    /// What they print.
    paper: &'a Paper,
    /// The share of the slides' drive and requests that was taken.
    slides_share: f64,
    /// Keys of the profiles whose values this run overrides.
    changed: BTreeMap<&'a str, &'a Value>,
}

/// The report with the sources' numbers.
pub fn json<'a>(report: &'a OcssdReport, plan: &'a Plan) -> Json<'a> {
    let changed = plan.changes().iter().map(|(key, value)| (key.as_str(), value)).collect();
    Json {
        report,
        claims: claims(report, plan),
        paper: &plan.paper,
        slides_share: plan.slides.share,
        changed,
    }
}
