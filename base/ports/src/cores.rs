//! I4: core ↔ core. Work crosses between cores through ring pairs in shared memory (S16): the lanes and
//! slots of [`crate::flash::FlashPort`]. An inter-processor interrupt, which takes time, notifies the
//! receiver.

use aster_exec::{Exec, WaitCell};
use aster_units::Duration;

/// How one core notifies another: by an inter-processor interrupt with this latency, which is zero when
/// both ends run on one core.
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
