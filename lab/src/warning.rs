//! What casts doubt on the figures of a run, for people and for programs.

use serde::Serialize;
use std::collections::BTreeMap;

/// A doubt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    /// What it is, for programs: it stays the same from version to version.
    pub code: &'static str,
    /// In words.
    pub message: String,
    /// The task that it is about; absent when it is about the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The numbers behind it.
    pub values: BTreeMap<&'static str, f64>,
}
