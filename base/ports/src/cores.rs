//! I4: core ↔ core. Work crosses between cores through ring pairs in shared memory (S16), which are the lanes
//! and slots of [`crate::flash::FlashPort`]; the receiver learns of it by an inter-processor interrupt, which
//! takes time.

use aster_exec::{Exec, WaitCell};
use aster_units::Duration;

/// How one core tells another: the latency of an inter-processor interrupt, zero when both ends run on one
/// core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// From raising it to the other core's handler.
    pub latency: Duration,
}

impl Interrupt {
    /// Wakes the one task that waits on `cell`.
    #[inline]
    pub fn raise(self, exec: &Exec, cell: &WaitCell) {
        if self.latency.is_zero() {
            cell.wake(exec);
        } else {
            cell.wake_at(exec, exec.now() + self.latency);
        }
    }
}
