//! Submission and completion queues (NVMe 1.4 §4.1).

use crate::slots::NO_SLOT;

/// A doorbell value that the queue can't take (NVMe 1.4 §5.2.1, Invalid Doorbell Write Value).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InvalidDoorbell;

/// Steps from `from` to `to` in a ring of `size`.
#[inline]
const fn distance(from: u32, to: u32, size: u32) -> u32 {
    if to >= from { to - from } else { to + size - from }
}

/// A submission queue: the host moves the tail, fetches move the head.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct SubmissionQueue {
    /// Created and not deleted.
    pub exists: bool,
    /// How many queues have had this number.
    pub created: u32,
    pub address: u64,
    pub size: u32,
    pub head: u32,
    pub tail: u32,
    /// The number of its completion queue.
    pub completion: u16,
    /// Entries of the fetch in flight, if the arbiter fetches.
    pub fetching: u32,
    /// Entries from the head on that workers have taken.
    pub ahead: u32,
    /// Which of these have been fetched, one bit each, from the head on.
    pub landed: u64,
    /// The workers have yet to hear that it has entries.
    pub woken: bool,
    /// Writes that were fetched and are parked.
    pub parked: u32,
    /// Link operations in flight for this queue or its commands, also after the queue is deleted.
    pub in_flight: u32,
    /// The slot of the Delete command that waits for `in_flight` to fall to zero.
    pub deletion: Option<u16>,
}

impl SubmissionQueue {
    pub fn create(&mut self, address: u64, size: u32, completion: u16) {
        let created = self.created.wrapping_add(1);
        *self = SubmissionQueue { exists: true, created, address, size, completion, ..Default::default() };
    }
    /// Entries that the host has added and that have not been fetched.
    #[inline]
    pub const fn waiting(&self) -> u32 {
        distance(self.head, self.tail, self.size)
    }
    /// Whether another write may be parked: at most as many as the queue holds entries.
    #[inline]
    pub const fn may_park(&self) -> bool {
        self.parked + 1 < self.size
    }
    /// Entries from the head on that are contiguous in host memory.
    #[inline]
    pub const fn contiguous(&self) -> u32 {
        if self.tail >= self.head { self.tail - self.head } else { self.size - self.head }
    }
    /// Handles a write of the tail doorbell. A full queue holds one entry less than its size.
    #[inline]
    pub fn ring(&mut self, tail: u32) -> Result<(), InvalidDoorbell> {
        if tail >= self.size {
            return Err(InvalidDoorbell);
        }
        let added = distance(self.tail, tail, self.size);
        if added == 0 || added > self.size - 1 - self.waiting() {
            return Err(InvalidDoorbell);
        }
        self.tail = tail;
        Ok(())
    }
    /// Takes the next entry for a worker and returns its index. There is none if all have been taken, or if
    /// as many as there are bits wait for an older one.
    pub fn take_entry(&mut self) -> Option<u32> {
        if self.ahead == self.waiting() || self.ahead == u64::BITS {
            return None;
        }
        let index = self.head + self.ahead;
        self.ahead += 1;
        Some(if index >= self.size { index - self.size } else { index })
    }
    /// A worker has fetched the entry at `index`. The head moves to the oldest one that isn't there yet.
    pub fn entry_landed(&mut self, index: u32) {
        let place = distance(self.head, index, self.size);
        assert!(place < self.ahead && self.landed >> place & 1 == 0, "entry {index} was not on its way");
        self.landed |= 1 << place;
        let whole = self.landed.trailing_ones();
        self.landed = self.landed.checked_shr(whole).unwrap_or(0);
        self.ahead -= whole;
        self.advance(whole);
    }
    /// The fetch in flight has brought these entries: moves the head.
    #[inline]
    pub fn advance(&mut self, entries: u32) {
        self.head += entries;
        if self.head >= self.size {
            self.head -= self.size;
        }
    }
}

/// A completion queue: posting moves the tail, the host moves the head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletionQueue {
    pub exists: bool,
    /// How many queues have had this number.
    pub created: u32,
    pub address: u64,
    pub size: u32,
    pub head: u32,
    pub tail: u32,
    /// The phase tag of the entries being written.
    pub phase: bool,
    /// The interrupt vector, if interrupts are enabled.
    pub vector: Option<u16>,
    /// Submission queues that complete here.
    pub attached: u16,
    /// Finished commands that wait because the queue is full: first and last of a list linked through the
    /// slots.
    pub stalled: (u16, u16),
}

impl Default for CompletionQueue {
    fn default() -> Self {
        CompletionQueue {
            exists: false,
            created: 0,
            address: 0,
            size: 0,
            head: 0,
            tail: 0,
            phase: true,
            vector: None,
            attached: 0,
            stalled: (NO_SLOT, NO_SLOT),
        }
    }
}

impl CompletionQueue {
    pub fn create(&mut self, address: u64, size: u32, vector: Option<u16>) {
        let created = self.created.wrapping_add(1);
        *self = CompletionQueue { exists: true, created, address, size, vector, ..Default::default() };
    }
    #[inline]
    pub const fn is_full(&self) -> bool {
        distance(self.head, self.tail, self.size) == self.size - 1
    }
    /// Handles a write of the head doorbell.
    #[inline]
    pub fn ring(&mut self, head: u32) -> Result<(), InvalidDoorbell> {
        if head >= self.size {
            return Err(InvalidDoorbell);
        }
        let taken = distance(self.head, head, self.size);
        if taken == 0 || taken > distance(self.head, self.tail, self.size) {
            return Err(InvalidDoorbell);
        }
        self.head = head;
        Ok(())
    }
    /// Takes the next entry: its index and phase tag.
    #[inline]
    pub fn take(&mut self) -> (u32, bool) {
        let entry = (self.tail, self.phase);
        self.tail += 1;
        if self.tail == self.size {
            self.tail = 0;
            self.phase = !self.phase;
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_queue_refuses_more_entries_than_it_has_room_for() {
        let mut queue = SubmissionQueue::default();
        queue.create(0x1000, 4, 0);
        assert_eq!(queue.ring(4), Err(InvalidDoorbell));
        assert_eq!(queue.ring(0), Err(InvalidDoorbell));
        assert_eq!(queue.ring(3), Ok(()));
        assert_eq!((queue.waiting(), queue.contiguous()), (3, 3));
        assert_eq!(queue.ring(0), Err(InvalidDoorbell), "a fourth entry would overrun the head");
        queue.advance(2);
        assert_eq!(queue.ring(1), Ok(()));
        assert_eq!((queue.waiting(), queue.contiguous()), (3, 2));
        queue.advance(2);
        assert_eq!((queue.head, queue.waiting()), (0, 1));
    }

    #[test]
    fn the_phase_tag_inverts_at_each_wrap_and_the_host_takes_only_what_is_there() {
        let mut queue = CompletionQueue::default();
        queue.create(0x1000, 2, None);
        assert_eq!(queue.ring(1), Err(InvalidDoorbell));
        assert_eq!(queue.take(), (0, true));
        assert!(queue.is_full());
        assert_eq!(queue.ring(1), Ok(()));
        assert_eq!(queue.take(), (1, true));
        assert_eq!(queue.ring(0), Ok(()));
        assert_eq!(queue.take(), (0, false));
    }

    /// What the host may overwrite is bounded by the head, so it stays before an entry that isn't there yet.
    #[test]
    fn the_head_waits_for_the_oldest_entry_however_many_behind_it_have_landed() {
        let mut queue = SubmissionQueue::default();
        queue.create(0x1000, 8, 1);
        // The window wraps: it begins at entry 6.
        (queue.head, queue.tail) = (6, 6);
        assert_eq!(queue.take_entry(), None);
        assert_eq!(queue.ring(2), Ok(()));
        let taken: alloc::vec::Vec<_> = (0..5).map(|_| queue.take_entry()).collect();
        assert_eq!(taken, [Some(6), Some(7), Some(0), Some(1), None]);
        for index in [1, 0, 7] {
            queue.entry_landed(index);
            assert_eq!((queue.head, queue.waiting()), (6, 4), "entry 6 is still on its way");
        }
        queue.entry_landed(6);
        assert_eq!((queue.head, queue.waiting(), queue.ahead, queue.landed), (2, 0, 0, 0));
    }

    #[test]
    fn no_more_entries_are_on_their_way_than_there_are_bits_for() {
        let mut queue = SubmissionQueue::default();
        queue.create(0x1000, 256, 1);
        assert_eq!(queue.ring(200), Ok(()));
        assert_eq!((0..200).map_while(|_| queue.take_entry()).count(), 64);
        (1..64).for_each(|index| queue.entry_landed(index));
        assert_eq!((queue.head, queue.take_entry()), (0, None));
        queue.entry_landed(0);
        assert_eq!((queue.head, queue.take_entry()), (64, Some(64)));
    }
}
