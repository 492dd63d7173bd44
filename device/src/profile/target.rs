//! The keys of an FTL on the host.

use serde::{Deserialize, Serialize};

/// Targets of ours. What makes them stands on the host, and not in this crate.
pub(crate) const TARGETS: &[&str] = &[];

/// An FTL on the host.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TargetProfile {
    /// Which one: a target of a reader's own.
    pub kind: String,
    /// Time that the host's software takes for a command, nanoseconds: one command after the other. None when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_ns: Option<u32>,
}
