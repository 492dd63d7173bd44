//! Fetching by workers: firmware takes submission queue entries one by one (S18).
//!
//! Several workers of a queue have fetches in flight, and a later one may end first. The queue's head is the
//! oldest entry that isn't there yet, and completion entries tell the host that head: what lies behind it
//! stays the drive's until it has been fetched.

use crate::controller::Controller;
use crate::ports::ControllerPorts;
use aster_ports::link::BadAddress;
use aster_wire::nvme::Sqe;
use aster_wire::nvme::sqe::SQE_BYTES;
use zerocopy::FromBytes;

/// An entry that a worker has taken and fetches.
#[derive(Debug)]
pub(crate) struct EntryTaken {
    queue: u16,
    index: u32,
    epoch: u32,
    /// Where it is in host memory.
    pub address: u64,
    /// Where in the SRAM it has to land.
    pub landing: u32,
}

impl EntryTaken {
    /// Whether a reset has taken the host's memory away since it was taken.
    pub fn is_stale(&self, epoch: u32) -> bool {
        self.epoch != epoch
    }
}

impl Controller {
    /// Takes the next entry of `queue` for its worker `number`, if there is one and a free slot for its
    /// command. The worker fetches it and calls [`Controller::entry_fetched`].
    pub(crate) fn next_entry(&mut self, epoch: u32, queue: u16, number: u16) -> Option<EntryTaken> {
        if !self.lifecycle.takes_commands() || self.slots.available(queue) == 0 {
            return None;
        }
        let (index, address) = self.queues.take_entry(queue)?;
        self.queues.operation_began(queue);
        self.dma.began();
        self.slots.reserve(queue, 1);
        let landing = self.dma.layout().landing(queue) + usize::from(number) * SQE_BYTES;
        Some(EntryTaken { queue, index, epoch, address, landing: landing as u32 })
    }
    /// Whether `queue` has an entry for a worker, if there is a slot.
    pub(crate) fn has_entry(&self, queue: u16) -> bool {
        self.lifecycle.takes_commands() && self.queues.has_entry(queue)
    }
    /// Whether there is a slot for a command of `queue`.
    pub(crate) fn has_slot(&self, queue: u16) -> bool {
        self.slots.available(queue) > 0
    }

    /// A worker's entry has been fetched, or couldn't be. Starts its command, and returns the slot that the
    /// command has got.
    pub(crate) fn entry_fetched(
        &mut self,
        ports: &mut ControllerPorts,
        entry: EntryTaken,
        result: Result<(), BadAddress>,
    ) -> Option<u16> {
        let queue = entry.queue;
        self.dma.ended();
        self.queues.operation_ended(queue);
        let slot = self.start_fetched(ports, &entry, result);
        self.check_deletion(ports, queue);
        self.check_reset();
        self.pump(ports);
        slot
    }
    fn start_fetched(
        &mut self,
        ports: &mut ControllerPorts,
        entry: &EntryTaken,
        result: Result<(), BadAddress>,
    ) -> Option<u16> {
        let queue = entry.queue;
        if entry.is_stale(ports.link.epoch()) || !self.queues.submission(queue).exists() {
            self.slots.release(queue, 1);
            return None;
        }
        if result.is_err() {
            // A command that can't be read can't be completed either (NVMe 1.4 §9.5).
            self.slots.release(queue, 1);
            self.lifecycle.fail();
            return None;
        }
        self.queues.entry_landed(queue, entry.index);
        let at = entry.landing as usize;
        let sqe = Sqe::read_from_bytes(&ports.sram[at..at + SQE_BYTES]).expect("64 bytes");
        let permit = self.slots.begin(queue, sqe);
        let id = permit.id();
        self.begin_decoding(ports, permit);
        Some(id)
    }

    /// Takes a queue that may have entries for its workers since it was asked about last.
    pub(crate) fn next_woken(&mut self) -> Option<u16> {
        self.queues.next_woken()
    }
    /// Whether there is something that the workers must hear of.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.queues.has_news() || self.slots.has_left()
    }
    /// As [`Controller::has_news`]. They are told now.
    pub(crate) fn take_news(&mut self) -> bool {
        let has_news = self.has_news();
        if has_news {
            self.queues.tell_news();
        }
        has_news
    }
}
