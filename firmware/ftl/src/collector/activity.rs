//! What the collector knows of the host.

use core::cell::Cell;

/// Whether the host leaves the drive alone.
#[derive(Default)]
pub(super) struct HostActivity {
    pub(super) in_work: Cell<u32>,
    /// Commands since power-on.
    pub(super) taken: Cell<u64>,
}
