//! The flash operations of each LUN.

use super::owner::Owner;
use alloc::collections::VecDeque;
use aster_units::Instant;

/// A flash operation that is requested or in progress.
#[derive(Clone, Copy)]
pub(super) struct ArrayOperation {
    pub(super) since: Instant,
    pub(super) kind: u8,
    pub(super) row: u32,
    pub(super) buffer: u32,
    pub(super) owner: Owner,
    /// The array has worked for it.
    pub(super) has_array: bool,
    /// When the drive has begun it, if that is told and the FTL is on the host.
    pub(super) began: Option<Instant>,
}

impl ArrayOperation {
    pub(super) fn new(since: Instant, (kind, row): (u8, u32), buffer: u32, owner: Owner) -> Self {
        ArrayOperation { since, kind, row, buffer, owner, has_array: false, began: None }
    }
}

/// What a LUN has to do.
#[derive(Clone, Default)]
pub(super) struct LunState {
    pub(super) queued: VecDeque<ArrayOperation>,
    pub(super) open: VecDeque<ArrayOperation>,
    // The last reads that have ended, since when: one of them may go to the ECC engine.
    pub(super) read: VecDeque<ArrayOperation>,
}

impl LunState {
    /// Whose work the array begins, which is of this kind.
    pub(super) fn array_begins(&mut self, kind: u8) -> Option<Owner> {
        let first = self.open.iter().position(|o| o.kind == kind && !o.has_array);
        // An operation may have its array work several times, as a read does that is tried again.
        let place = first.or_else(|| self.open.iter().rposition(|o| o.kind == kind));
        let operation = self.open.get_mut(place.or(self.open.len().checked_sub(1))?)?;
        operation.has_array = true;
        Some(operation.owner)
    }
}
