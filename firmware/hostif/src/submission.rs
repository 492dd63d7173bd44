//! A submission queue (NVMe 1.4 §4.1): the host adds entries, the arbiter or workers fetch them.

use crate::ring::{InvalidDoorbell, Ring};
use aster_wire::nvme::sqe::SQE_BYTES;

/// Entries from the head on that workers fetch, each at its own time.
#[derive(Clone, Copy, Default, Debug)]
struct Window {
    /// Entries that workers have taken.
    taken: u32,
    /// Which of these have been fetched, one bit each.
    landed: u64,
}

/// Entries that are about to be fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entries {
    /// Where they are in host memory.
    pub address: u64,
    pub count: u32,
}

/// A submission queue.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct SubmissionQueue {
    /// Created and not deleted.
    exists: bool,
    /// How many queues have had this number.
    created: u32,
    address: u64,
    ring: Ring,
    /// The number of its completion queue.
    completion: u16,
    /// Entries of the fetch in flight, if the arbiter fetches.
    fetching: u32,
    window: Window,
    /// The workers have yet to hear that it has entries.
    woken: bool,
    /// Writes that were fetched and are parked.
    parked: u32,
    /// Link operations in flight for this queue or its commands, also after the queue is deleted.
    in_flight: u32,
    /// The slot of the Delete command that waits for `in_flight` to fall to zero.
    deletion: Option<u16>,
}

impl SubmissionQueue {
    pub fn create(&mut self, address: u64, size: u32, completion: u16) {
        assert!(!self.is_taken(), "the number of a queue is free");
        assert!(self.in_flight == 0, "no operation of the number's last queue is in flight");
        let created = self.created.wrapping_add(1);
        let ring = Ring::new(size);
        *self = SubmissionQueue { exists: true, created, address, ring, completion, ..Default::default() };
    }
    #[inline]
    pub const fn exists(&self) -> bool {
        self.exists
    }
    /// Whether the number belongs to a queue, or to one whose deletion hasn't ended.
    pub const fn is_taken(&self) -> bool {
        self.exists || self.deletion.is_some()
    }
    pub const fn created(&self) -> u32 {
        self.created
    }
    #[inline]
    pub const fn completion(&self) -> u16 {
        self.completion
    }
    #[inline]
    pub const fn head(&self) -> u32 {
        self.ring.head()
    }
    pub const fn tail(&self) -> u32 {
        self.ring.tail()
    }
    /// Whether there are entries that haven't been fetched.
    #[inline]
    pub const fn has_waiting(&self) -> bool {
        !self.ring.is_empty()
    }
    /// Whether another write may be parked: at most as many as the queue holds entries.
    #[inline]
    pub const fn may_park(&self) -> bool {
        self.parked < self.ring.capacity()
    }
    /// Whether there is something to fetch, and no fetch of this queue in flight.
    #[inline]
    pub const fn may_fetch(&self) -> bool {
        self.exists && self.fetching == 0 && self.ring.used() > 0
    }
    /// Whether there are entries that no worker has taken.
    pub const fn has_untaken(&self) -> bool {
        self.exists && self.ring.used() > self.window.taken
    }
    /// The host has written the tail doorbell.
    #[inline]
    pub fn ring(&mut self, tail: u32) -> Result<(), InvalidDoorbell> {
        debug_assert!(self.exists, "a doorbell of a queue");
        self.ring.move_tail(tail)
    }

    const fn address_of(&self, index: u32) -> u64 {
        self.address + index as u64 * SQE_BYTES as u64
    }
    /// Begins to fetch up to `most` entries that are contiguous in host memory. There may be none.
    #[inline]
    pub fn begin_fetch(&mut self, most: u32) -> Option<Entries> {
        debug_assert!(self.exists && self.fetching == 0, "a queue has one fetch in flight");
        let count = self.ring.contiguous().min(most);
        if count == 0 {
            return None;
        }
        self.fetching = count;
        Some(Entries { address: self.address_of(self.ring.head()), count })
    }
    /// The fetch has ended. Returns the entries that it was for.
    #[inline]
    pub fn end_fetch(&mut self) -> u32 {
        debug_assert!(self.fetching > 0, "a fetch was in flight");
        core::mem::take(&mut self.fetching)
    }
    /// A fetch has brought these entries: the head moves.
    #[inline]
    pub fn take(&mut self, entries: u32) {
        debug_assert!(self.exists && self.fetching == 0, "the fetch of a queue has ended");
        self.ring.take(entries);
    }
    /// Takes the next entry for a worker and returns its index and its address. There is none if all have
    /// been taken, or if as many as there are bits wait for an older one.
    pub fn take_entry(&mut self) -> Option<(u32, u64)> {
        debug_assert!(self.exists && self.fetching == 0, "either workers fetch or the arbiter");
        let taken = self.window.taken;
        if taken == self.ring.used() || taken == u64::BITS {
            return None;
        }
        self.window.taken += 1;
        let index = self.ring.index(taken);
        Some((index, self.address_of(index)))
    }
    /// A worker has fetched the entry at `index`. The head moves to the oldest one that isn't there yet.
    pub fn entry_landed(&mut self, index: u32) {
        let (place, window) = (self.ring.place(index), &mut self.window);
        let was_fetched = place < window.taken && window.landed >> place & 1 == 0;
        assert!(was_fetched, "entry {index} was not on its way");
        window.landed |= 1 << place;
        let whole = window.landed.trailing_ones();
        window.landed = window.landed.checked_shr(whole).unwrap_or(0);
        window.taken -= whole;
        self.ring.take(whole);
        debug_assert!(self.window.landed & 1 == 0, "the head is an entry that isn't there yet");
    }
    /// Notes that workers must hear of its entries. Returns whether they don't know already.
    pub fn wake(&mut self) -> bool {
        self.has_untaken() && !core::mem::replace(&mut self.woken, true)
    }
    /// The workers have heard of it. They hear of a queue twice if it was created anew in the meantime.
    pub fn heard(&mut self) {
        self.woken = false;
    }

    /// One of its writes is parked.
    pub fn park(&mut self) {
        debug_assert!(self.exists, "writes of a deleted queue end");
        self.parked += 1;
    }
    /// One of its parked writes has got a slot.
    pub fn resume(&mut self) {
        debug_assert!(self.exists, "parked writes of a deleted queue are dropped");
        debug_assert!(self.parked > 0, "a write was parked");
        self.parked -= 1;
    }

    /// A link operation for this queue or one of its commands has begun.
    #[inline]
    pub fn operation_began(&mut self) {
        self.in_flight += 1;
    }
    #[inline]
    pub fn operation_ended(&mut self) {
        debug_assert!(self.in_flight > 0, "an operation of the queue was in flight");
        self.in_flight -= 1;
    }

    /// Deletes the queue for the command in `slot`, which ends when no operation is in flight.
    pub fn delete(&mut self, slot: u16) {
        assert!(self.exists, "a queue is deleted once");
        assert!(self.deletion.is_none(), "by one command");
        (self.exists, self.deletion) = (false, Some(slot));
    }
    /// Takes the slot of the Delete command that can end now.
    #[inline]
    pub fn end_deletion(&mut self) -> Option<u16> {
        let slot = if self.in_flight == 0 { self.deletion.take() } else { None };
        debug_assert!(slot.is_none() || !self.exists, "a deleted queue is gone");
        slot
    }
    /// A reset takes the queue away, and with it a Delete command that waits.
    pub fn reset(&mut self) {
        debug_assert!(!self.exists || self.deletion.is_none(), "a queue that is being deleted is gone");
        (self.exists, self.deletion) = (false, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(size: u32) -> SubmissionQueue {
        let mut queue = SubmissionQueue::default();
        queue.create(0x1000, size, 1);
        queue
    }

    #[test]
    fn a_fetch_takes_what_is_contiguous_and_the_head_follows_when_it_has_ended() {
        let mut queue = queue(4);
        assert_eq!(queue.ring(3), Ok(()));
        assert_eq!(queue.begin_fetch(2), Some(Entries { address: 0x1000, count: 2 }));
        assert!(!queue.may_fetch() && queue.head() == 0);
        let count = queue.end_fetch();
        queue.take(count);
        assert_eq!((queue.head(), queue.may_fetch()), (2, true));
        assert_eq!(queue.ring(1), Ok(()));
        assert_eq!(queue.begin_fetch(9), Some(Entries { address: 0x1080, count: 2 }), "up to the wrap");
    }

    /// What the host may overwrite is bounded by the head, so it stays before an entry that isn't there yet.
    #[test]
    fn the_head_waits_for_the_oldest_entry_however_many_behind_it_have_landed() {
        let mut queue = queue(8);
        // The window wraps: it begins at entry 6.
        assert_eq!(queue.ring(6), Ok(()));
        (0..6)
            .for_each(|index| assert_eq!(queue.take_entry(), Some((index, 0x1000 + 64 * u64::from(index)))));
        (0..6).for_each(|index| queue.entry_landed(index));
        assert_eq!(queue.take_entry(), None);
        assert_eq!(queue.ring(2), Ok(()));
        let taken: alloc::vec::Vec<_> = (0..5).map(|_| queue.take_entry().map(|taken| taken.0)).collect();
        assert_eq!(taken, [Some(6), Some(7), Some(0), Some(1), None]);
        for index in [1, 0, 7] {
            queue.entry_landed(index);
            assert_eq!((queue.head(), queue.ring.used()), (6, 4), "entry 6 is still on its way");
        }
        queue.entry_landed(6);
        assert_eq!((queue.head(), queue.has_waiting()), (2, false));
        assert_eq!((queue.window.taken, queue.window.landed), (0, 0));
    }

    #[test]
    fn no_more_entries_are_on_their_way_than_there_are_bits_for() {
        let mut queue = queue(256);
        assert_eq!(queue.ring(200), Ok(()));
        assert_eq!((0..200).map_while(|_| queue.take_entry()).count(), 64);
        (1..64).for_each(|index| queue.entry_landed(index));
        assert_eq!((queue.head(), queue.take_entry()), (0, None));
        queue.entry_landed(0);
        assert_eq!((queue.head(), queue.take_entry().map(|taken| taken.0)), (64, Some(64)));
    }

    #[test]
    fn a_deletion_ends_with_the_last_operation_and_only_then_is_the_number_free() {
        let mut queue = queue(4);
        queue.operation_began();
        queue.delete(7);
        assert!(!queue.exists() && queue.is_taken());
        assert_eq!(queue.end_deletion(), None);
        queue.operation_ended();
        assert_eq!((queue.end_deletion(), queue.is_taken()), (Some(7), false));
        assert_eq!(queue.end_deletion(), None, "it ends once");
        queue.create(0x2000, 2, 1);
        assert_eq!(queue.created(), 2);
    }
}
