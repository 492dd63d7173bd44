//! What a paper says in words, held against our numbers.

use serde::Serialize;
use std::fmt::Write;

/// A statement of a paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The requirement that it belongs to.
    pub id: &'static str,
    /// What the paper says.
    pub says: String,
    /// Our numbers.
    pub ours: String,
    /// Whether it holds for them.
    pub holds: bool,
}

/// Writes statements, each with our numbers and the verdict.
pub(crate) fn write_claims(out: &mut String, claims: &[Claim]) {
    let _ = writeln!(out, "What the paper says in words, held against our points");
    for claim in claims {
        let verdict = if claim.holds { "holds " } else { "DIFFERS" };
        let _ = writeln!(out, "{:<7} {} {}\n            ours: {}", verdict, claim.id, claim.says, claim.ours);
    }
}
