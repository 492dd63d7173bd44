//! A completion queue (NVMe 1.4 §4.1, §4.6): the controller posts entries, the host takes them.

use crate::ring::{InvalidDoorbell, Ring};
use crate::slots::StalledList;
use aster_wire::nvme::cqe::CQE_BYTES;

/// Where an entry goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// In host memory.
    pub address: u64,
    /// The entry's phase tag.
    pub phase: bool,
    /// The interrupt vector that announces it, if interrupts are enabled.
    pub vector: Option<u16>,
}

/// A completion queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletionQueue {
    exists: bool,
    /// How many queues have had this number.
    created: u32,
    address: u64,
    ring: Ring,
    /// The phase tag of the entries being written.
    phase: bool,
    vector: Option<u16>,
    /// Submission queues that complete here.
    attached: u16,
    /// Finished commands that wait because the queue is full.
    stalled: StalledList,
}

impl Default for CompletionQueue {
    fn default() -> Self {
        CompletionQueue {
            exists: false,
            created: 0,
            address: 0,
            ring: Ring::default(),
            phase: true,
            vector: None,
            attached: 0,
            stalled: StalledList::default(),
        }
    }
}

impl CompletionQueue {
    pub fn create(&mut self, address: u64, size: u32, vector: Option<u16>) {
        assert!(!self.exists, "the number of a queue is free");
        assert!(self.stalled.is_empty(), "no command of the number's last queue is stalled");
        let created = self.created.wrapping_add(1);
        let ring = Ring::new(size);
        *self = CompletionQueue { exists: true, created, address, ring, vector, ..Default::default() };
    }
    #[inline]
    pub const fn exists(&self) -> bool {
        self.exists
    }
    pub const fn created(&self) -> u32 {
        self.created
    }
    pub const fn head(&self) -> u32 {
        self.ring.head()
    }
    #[inline]
    pub const fn is_full(&self) -> bool {
        self.ring.is_full()
    }
    /// Whether a command that ends now may have its entry at once: there is room, and none has waited longer.
    #[inline]
    pub const fn may_post(&self) -> bool {
        !self.is_full() && self.stalled.is_empty()
    }
    /// The host has written the head doorbell.
    #[inline]
    pub fn ring(&mut self, head: u32) -> Result<(), InvalidDoorbell> {
        debug_assert!(self.exists, "a doorbell of a queue");
        self.ring.move_head(head)
    }
    /// Takes the place of the next entry. The phase tag inverts with each round.
    #[inline]
    pub fn post(&mut self) -> Place {
        debug_assert!(self.exists, "an entry goes to a queue");
        let index = self.ring.add();
        let phase = self.phase;
        self.phase ^= self.ring.tail() == 0;
        Place { address: self.address + u64::from(index) * CQE_BYTES as u64, phase, vector: self.vector }
    }

    /// A submission queue completes here from now on.
    pub fn attach(&mut self) {
        debug_assert!(self.exists, "a submission queue completes to a queue");
        self.attached += 1;
    }
    /// A submission queue that completed here is gone.
    pub fn detach(&mut self) {
        debug_assert!(self.attached > 0, "a submission queue completed here");
        self.attached -= 1;
    }
    pub const fn is_attached(&self) -> bool {
        self.attached > 0
    }
    /// Deletes the queue. Commands that are stalled still have to be taken.
    pub fn delete(&mut self) {
        assert!(self.exists, "a queue is deleted once");
        assert!(!self.is_attached(), "no submission queue completes to a deleted queue");
        self.exists = false;
    }
    /// A reset takes the queue away. No command is stalled any more.
    pub fn reset(&mut self) {
        debug_assert!(self.stalled.is_empty(), "stalled commands were dropped");
        self.exists = false;
    }

    /// The stalled commands, which the slots put in and take out.
    pub fn stalled(&mut self) -> &mut StalledList {
        &mut self.stalled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_tag_inverts_at_each_wrap_and_the_host_takes_only_what_is_there() {
        let mut queue = CompletionQueue::default();
        queue.create(0x1000, 2, None);
        assert_eq!(queue.ring(1), Err(InvalidDoorbell));
        assert_eq!(queue.post(), Place { address: 0x1000, phase: true, vector: None });
        assert!(queue.is_full() && !queue.may_post());
        assert_eq!(queue.ring(1), Ok(()));
        assert_eq!(queue.post(), Place { address: 0x1010, phase: true, vector: None });
        assert_eq!(queue.ring(0), Ok(()));
        assert_eq!(queue.post(), Place { address: 0x1000, phase: false, vector: None });
    }

    #[test]
    #[should_panic(expected = "no submission queue completes to a deleted queue")]
    fn a_queue_to_which_another_completes_is_not_deleted() {
        let mut queue = CompletionQueue::default();
        queue.create(0x1000, 2, Some(1));
        queue.attach();
        queue.delete();
    }
}
