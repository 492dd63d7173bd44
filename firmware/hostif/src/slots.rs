//! Command slots: a fixed table, one entry for each command in the drive.

use crate::config::ADMIN_SLOTS;
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_parties::ListAt;
use aster_ports::host::{CommandId, HostCommand, HostOp};
use aster_wire::nvme::prp::PrpWalk;
use aster_wire::nvme::{Sqe, Status};
use core::ops::{Index, IndexMut};

/// No slot: the end of a list.
pub(crate) const NO_SLOT: u16 = u16::MAX;

/// Where a command is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CommandStage {
    /// The slot is free.
    Free,
    /// Fetched; the fetch latency is running.
    Fetched,
    /// A PRP list page is being fetched.
    List,
    /// Scratch memory is being sent to the host.
    Scratch,
    /// Firmware has yet to ask for a list of addresses.
    ListWaits,
    /// Ranges or addresses are being fetched into scratch memory.
    Fetching,
    /// With the FTL.
    Ftl,
    /// An Asynchronous Event Request that waits for an event.
    AwaitsEvent,
    /// A Delete I/O Submission Queue that waits for the queue's DMA to end.
    Deleting,
    /// Ended; the completion latency is running.
    Finished,
    /// Ended; the completion queue is full.
    Stalled,
    /// The completion entry is being sent.
    Posting,
    /// Completed or dropped, but the FTL still has it. The host may have used its identifier again.
    CompletedEarly,
}

impl CommandStage {
    /// Whether the command can't go on without a list of the host's.
    pub fn fetches_list(self) -> bool {
        matches!(self, CommandStage::List | CommandStage::ListWaits | CommandStage::Fetching)
    }
}

/// A command.
#[derive(Clone, Debug)]
pub(crate) struct CommandSlot {
    pub sqe: Sqe,
    pub stage: CommandStage,
    /// Its submission queue.
    pub queue: u16,
    /// Its queue was deleted, so it ends without a completion entry.
    pub orphan: bool,
    /// The host aborted it before it reached the FTL.
    pub abort: bool,
    /// The command as it goes to the FTL.
    pub command: HostCommand,
    /// The FTL has it, whether or not it has been completed.
    pub with_ftl: bool,
    /// Bytes of its data and metadata moved since it went to the FTL.
    pub moved: u64,
    /// Bytes of its metadata.
    pub metadata_bytes: u32,
    /// Bytes fetched into scratch memory for it.
    pub fetched: u16,
    /// The list that firmware has yet to ask for, and its length in bytes.
    pub waits_for: Option<(ListAt, u16)>,
    /// Firmware has asked for a list of the command.
    pub managed: bool,
    pub walk: Option<PrpWalk>,
    /// Pages that the walk has found.
    pub pages: u32,
    pub status: Status,
    pub result: u64,
    /// Where the FTL could not read, as a byte offset in the namespace.
    pub failed_at: Option<u64>,
    /// The next slot in a completion queue's list of stalled commands.
    pub next: u16,
}

impl CommandSlot {
    fn new(id: u16) -> Self {
        let command = HostCommand { id: CommandId(id), op: HostOp::Flush, offset: 0, length: 0, fua: false };
        CommandSlot {
            sqe: Sqe::default(),
            stage: CommandStage::Free,
            queue: 0,
            orphan: false,
            abort: false,
            command,
            with_ftl: false,
            moved: 0,
            metadata_bytes: 0,
            fetched: 0,
            waits_for: None,
            managed: false,
            walk: None,
            pages: 0,
            status: Status::SUCCESS,
            result: 0,
            failed_at: None,
            next: NO_SLOT,
        }
    }
    /// Puts an entry of `queue` into the slot.
    #[inline]
    pub fn begin(&mut self, sqe: Sqe, queue: u16) {
        self.sqe = sqe;
        self.stage = CommandStage::Fetched;
        self.queue = queue;
        self.orphan = false;
        self.abort = false;
        (self.metadata_bytes, self.fetched) = (0, 0);
        (self.waits_for, self.managed) = (None, false);
    }
}

/// Free slots of one kind. A fetch reserves slots when it is sent and takes them when it arrives.
#[derive(Debug)]
struct FreeList {
    free: Vec<u16>,
    reserved: u32,
}

/// All slots: those for I/O, then those of the admin queue.
#[derive(Debug)]
pub(crate) struct Slots {
    table: Box<[CommandSlot]>,
    io: u16,
    lists: [FreeList; 2],
    /// Where workers fetch: slots whose command no longer needs its worker, until the workers hear of them.
    left: Option<Vec<u16>>,
}

impl Slots {
    pub fn new(io: u16) -> Self {
        let list = |ids: core::ops::Range<u16>| FreeList { free: ids.rev().collect(), reserved: 0 };
        Slots {
            table: (0..io + ADMIN_SLOTS).map(CommandSlot::new).collect(),
            io,
            lists: [list(io..io + ADMIN_SLOTS), list(0..io)],
            left: None,
        }
    }
    /// From now on notes which slots no longer need their worker.
    pub fn follow(&mut self) {
        self.left = Some(Vec::with_capacity(4 * self.table.len()));
    }
    /// A command no longer needs its worker: it waits for something that may never come, has ended, or
    /// goes on without it.
    #[inline]
    pub fn part(&mut self, id: u16) {
        if let Some(left) = &mut self.left {
            left.push(id);
        }
    }
    /// Takes a slot that no longer needs its worker, the oldest first.
    pub fn next_left(&mut self) -> Option<u16> {
        let left = self.left.as_mut()?;
        (!left.is_empty()).then(|| left.remove(0))
    }
    #[inline]
    pub fn has_left(&self) -> bool {
        self.left.as_ref().is_some_and(|left| !left.is_empty())
    }
    fn list(&mut self, queue: u16) -> &mut FreeList {
        &mut self.lists[usize::from(queue != 0)]
    }
    /// Slots that a fetch from `queue` may still reserve.
    #[inline]
    pub fn available(&self, queue: u16) -> u32 {
        let list = &self.lists[usize::from(queue != 0)];
        list.free.len() as u32 - list.reserved
    }
    #[inline]
    pub fn reserve(&mut self, queue: u16, count: u32) {
        self.list(queue).reserved += count;
    }
    /// Gives back reservations whose commands were never fetched.
    pub fn release(&mut self, queue: u16, count: u32) {
        self.list(queue).reserved -= count;
    }
    /// Turns one reservation into a slot.
    #[inline]
    pub fn take(&mut self, queue: u16) -> u16 {
        let list = self.list(queue);
        list.reserved -= 1;
        list.free.pop().expect("a reserved slot is free")
    }
    /// The command has ended for the host. Its slot is freed now, or when the FTL gives the command back.
    pub fn leave(&mut self, id: u16) {
        if self[id].with_ftl {
            self[id].stage = CommandStage::CompletedEarly;
            self.part(id);
        } else {
            self.free(id);
        }
    }
    /// Frees a slot.
    #[inline]
    pub fn free(&mut self, id: u16) {
        let slot = &mut self.table[usize::from(id)];
        assert!(slot.stage != CommandStage::Free, "slot {id} is freed twice");
        slot.stage = CommandStage::Free;
        slot.walk = None;
        let kind = usize::from(id < self.io);
        self.lists[kind].free.push(id);
        self.part(id);
    }
    pub fn ids(&self) -> core::ops::Range<u16> {
        0..self.table.len() as u16
    }
}

impl Index<u16> for Slots {
    type Output = CommandSlot;
    #[inline]
    fn index(&self, id: u16) -> &CommandSlot {
        &self.table[usize::from(id)]
    }
}
impl IndexMut<u16> for Slots {
    #[inline]
    fn index_mut(&mut self, id: u16) -> &mut CommandSlot {
        &mut self.table[usize::from(id)]
    }
}
