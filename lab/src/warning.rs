//! Warnings about a run, for people and for programs.

use serde::Serialize;
use std::collections::BTreeMap;

/// A warning: a reason to doubt the figures, an option without effect, or an event during the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Warning {
    /// What it is, for programs: it stays the same from version to version.
    pub code: &'static str,
    /// The message for people.
    pub message: String,
    /// The task that it is about; absent when it is about the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The numbers behind it.
    pub values: BTreeMap<&'static str, f64>,
}

impl Warning {
    /// A warning about the whole run, without numbers.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Warning { code, message: message.into(), task: None, values: BTreeMap::new() }
    }

    /// The same for one task.
    #[must_use]
    pub fn of_task(self, task: &str) -> Self {
        Warning { task: Some(task.to_owned()), ..self }
    }

    /// The same with the numbers behind it.
    #[must_use]
    pub fn with<const N: usize>(self, values: [(&'static str, f64); N]) -> Self {
        Warning { values: values.into(), ..self }
    }
}
