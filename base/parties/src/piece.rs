//! What all parties have in common.

use alloc::string::{String, ToString};
use core::fmt;

/// Why a party could not be started, for the user who chose it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PieceError {
    /// The key or table of the profile that is at fault.
    pub key: &'static str,
    /// What is wrong, and what would be right.
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
