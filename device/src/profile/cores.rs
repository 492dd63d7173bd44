//! The schema of `[cores]`.

use serde::{Deserialize, Serialize};

/// What the firmware's tasks run on. Both run the same source with the same events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TasksName {
    /// The stack of the executor, which a wait leaves by returning.
    #[default]
    Async,
    /// A stack of each task's own, which a wait leaves as it is (S13, S14).
    Stackful,
}

/// Processor cores.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoresProfile {
    /// Clock in MHz.
    pub frequency_mhz: f64,
    /// Run flash operations on a core of their own; with `channel.lanes`, on one for each array controller.
    #[serde(default)]
    pub flash_core: bool,
    /// Clock of that core, or of each; `frequency_mhz` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_mhz: Option<f64>,
    /// Run correction in software on a core of its own.
    #[serde(default)]
    pub ecc_core: bool,
    /// Clock of that core; `frequency_mhz` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc_mhz: Option<f64>,
    /// Inter-processor interrupt between two cores, nanoseconds.
    #[serde(default)]
    pub interrupt_ns: u32,
    /// What the firmware's tasks run on.
    #[serde(default)]
    pub tasks: TasksName,
    /// Bytes of each task's stack with `tasks = "stackful"`; 65,536 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_bytes: Option<u32>,
}

/// Ordinary work takes up to 12 KiB, a panic with its backtrace 20 KiB more.
pub(super) const STACK_BYTES_MIN: u32 = 32 << 10;
/// More than enough.
pub(super) const STACK_BYTES_MAX: u32 = 1 << 20;
const STACK_BYTES: u32 = 64 << 10;

impl CoresProfile {
    /// Bytes of each task's stack, if it has one of its own.
    pub fn stack_bytes(&self) -> Option<u32> {
        (self.tasks == TasksName::Stackful).then(|| self.stack_bytes.unwrap_or(STACK_BYTES))
    }
}
