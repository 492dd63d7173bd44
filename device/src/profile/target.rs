//! The keys of an FTL on the host.

use serde::{Deserialize, Serialize};

/// Targets of ours. What makes them stands on the host, and not in this crate.
pub(crate) const TARGETS: &[&str] = &["page-mapping"];

/// An FTL on the host.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TargetProfile {
    /// Which one: `page-mapping` (the page-mapping FTL, with the keys of `[ftl]`, over a drive that takes
    /// command frames), or one of a reader's own.
    pub kind: String,
    /// Time that the host's software takes for a command, nanoseconds: one command after the other. None when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_ns: Option<u32>,
}
