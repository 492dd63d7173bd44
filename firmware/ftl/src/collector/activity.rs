//! What the collector knows of the host.

use aster_exec::WaitCell;
use core::cell::Cell;

/// Whether the host leaves the drive alone.
#[derive(Default)]
pub(super) struct HostActivity {
    pub(super) in_work: Cell<u32>,
    /// The number of commands since power-on.
    pub(super) taken: Cell<u64>,
    /// Waits for the host to leave the drive alone.
    pub(super) rests: WaitCell,
}
