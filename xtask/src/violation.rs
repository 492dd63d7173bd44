//! The report of a broken rule.

use std::fmt;

/// One broken rule: where, and what to do about it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Violation {
    /// Path from the workspace root, with a line where there is one (`base/exec/src/lib.rs:12`).
    pub place: String,
    /// The rule that is broken, in a sentence for the person who broke it.
    pub message: String,
}

impl Violation {
    /// A violation at `place`.
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}
