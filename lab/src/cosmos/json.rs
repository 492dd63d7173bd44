//! The report for programs: ours with the paper's numbers beside them.

use super::plan::{Interference, Paper};
use super::{CosmosReport, Plan};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
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
    /// Keys of the profiles that this run has other values of.
    changed: BTreeMap<&'a str, &'a Value>,
}

/// The report with the paper's numbers.
pub fn json<'a>(report: &'a CosmosReport, plan: &'a Plan) -> Json<'a> {
    let changed = plan.changes().iter().map(|(key, value)| (key.as_str(), value)).collect();
    Json { report, paper: &plan.paper, interference: &plan.interference, changed }
}

/// The names of the core's parts, in the order of their index.
const PART_NAMES: [&str; aster_device::big_loop::PARTS] =
    ["commands", "ftl", "status_checker", "order", "issuer"];

/// Shares of the core's time by the parts' names.
pub(super) fn named_parts<S: Serializer>(
    parts: &[f64; aster_device::big_loop::PARTS],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(parts.len()))?;
    for (name, share) in PART_NAMES.iter().zip(parts) {
        map.serialize_entry(name, share)?;
    }
    map.end()
}
