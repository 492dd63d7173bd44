//! What parts of the drive count by themselves: packets, and what a map on flash found in memory.

use alloc::rc::Rc;
use core::fmt;

/// Tells two counters as they are now; they never go down.
pub type Counter = Rc<dyn Fn() -> [u64; 2]>;

/// What a drive counts beside its events. `None` where it has nothing to count.
#[derive(Clone, Default)]
pub struct DriveCounters {
    /// Packets that firmware has built, and packets that have come to it.
    pub packets: Option<Counter>,
    /// Look-ups of a map on flash whose entry was in memory, and those for which it was not.
    pub map: Option<Counter>,
}

impl fmt::Debug for DriveCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (packets, map) = (self.packets.is_some(), self.map.is_some());
        f.debug_struct("DriveCounters").field("packets", &packets).field("map", &map).finish()
    }
}
