//! Identifiers of queue pairs and of their slots.

/// A queue pair: submission and completion queue share their number. 0 is the admin queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueueId(pub u16);

impl QueueId {
    /// The admin queue.
    pub const ADMIN: QueueId = QueueId(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A request slot of a queue pair: one command with its data buffer. Its number is the command identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotId(pub u16);

impl SlotId {
    /// The slot as a slice index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
