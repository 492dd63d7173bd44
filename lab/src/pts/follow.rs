//! Progress of a run of tests.

use std::ops::ControlFlow;

/// Where a run of tests is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step<'a> {
    /// The part of the work.
    pub stage: &'a str,
    /// The share of it that is done; `None` for rounds, whose number isn't known before.
    pub share: Option<f64>,
    /// How far it is, where there is no share.
    pub words: &'a str,
}

/// Reports progress; may stop the work.
pub type Follow<'a> = &'a mut dyn FnMut(&Step<'_>) -> ControlFlow<()>;
