//! A channel's ways to memory.

use aster_ports::resource::SharedBandwidth;

/// A channel's ways to memory, one for each direction. They may be the same.
#[derive(Clone)]
pub struct MemoryWays {
    /// Of pages that are read: from the channel to memory.
    pub read: SharedBandwidth,
    /// Of pages that are programmed: from memory to the channel.
    pub write: SharedBandwidth,
}

impl MemoryWays {
    /// The way of a transaction. One that has bursts in both directions goes the way of writes.
    pub(crate) fn of(&self, writes: bool) -> &SharedBandwidth {
        if writes { &self.write } else { &self.read }
    }
}

/// One way for both directions.
impl From<SharedBandwidth> for MemoryWays {
    fn from(both: SharedBandwidth) -> Self {
        MemoryWays { read: both.clone(), write: both }
    }
}
