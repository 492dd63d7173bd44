//! What all parties have in common.

use alloc::string::{String, ToString};
use core::fmt;

/// Why a party could not be started: for the person who chose it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PieceError {
    /// The profile's key that is to blame, or its table.
    pub key: &'static str,
    /// What is wrong, and what would do.
    pub reason: String,
}

impl PieceError {
    /// An error about `key`.
    pub fn new(key: &'static str, reason: impl ToString) -> Self {
        PieceError { key, reason: reason.to_string() }
    }
}

impl fmt::Display for PieceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.reason)
    }
}
impl core::error::Error for PieceError {}
