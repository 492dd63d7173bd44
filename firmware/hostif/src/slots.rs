//! Command slots: a fixed table, one entry for each command in the drive.
//!
//! A command either waits in its slot for something to happen, or someone is deciding what becomes of it and
//! holds its [`Permit`]. Each stage of a command is entered by spending its permit, and what the command
//! waited for brings a new one. So a command can't be in two places at once, or be forgotten.

use crate::config::ADMIN_SLOTS;
use crate::delayed::Delayed;
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_parties::ListAt;
use aster_ports::host::{CommandId, HostCommand, HostOp};
use aster_units::Instant;
use aster_wire::nvme::{Sqe, Status};
use core::ops::Index;

/// No slot: the end of a list.
const NO_SLOT: u16 = u16::MAX;

/// The duty to say what becomes of a command: that it waits for something, goes to the FTL, or ends.
///
/// It is spent by passing it to one of the methods of [`Slots`]. Builds with debug assertions note the
/// permits that are out, and [`Slots::assert_settled`] finds one that was dropped.
#[must_use = "a command waits, goes on or ends"]
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Permit {
    id: u16,
}

impl Permit {
    /// The command's slot.
    #[inline]
    pub const fn id(&self) -> u16 {
        self.id
    }
}

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
    /// The data of a feature are being fetched into scratch memory.
    Feature,
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
    /// Whether there is no command in the slot for the host.
    fn is_over(self) -> bool {
        matches!(self, CommandStage::Free | CommandStage::CompletedEarly)
    }
}

/// What an Abort does to a command.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Abort {
    /// It ends at once.
    Ends(Permit),
    /// It ends when the transfer or latency that it waits for is over, or when the firmware asks for its
    /// list.
    EndsLater,
    /// It is too late.
    No,
}

/// A command.
#[derive(Clone, Debug)]
pub(crate) struct CommandSlot {
    sqe: Sqe,
    stage: CommandStage,
    /// Its submission queue.
    queue: u16,
    /// Its queue was deleted, so it ends without a completion entry.
    orphan: bool,
    /// The host aborted it before it reached the FTL.
    abort: bool,
    /// The command as it goes to the FTL.
    command: HostCommand,
    /// The FTL has it, whether or not it has been completed.
    with_ftl: bool,
    /// Bytes of its data and metadata moved since it went to the FTL.
    moved: u64,
    /// Bytes of its metadata.
    metadata_bytes: u32,
    /// Bytes fetched into scratch memory for it.
    fetched: u16,
    /// The list that firmware has yet to ask for, and its length in bytes.
    waits_for: Option<(ListAt, u16)>,
    /// Firmware has asked for a list of the command.
    managed: bool,
    outcome: Outcome,
    /// The next slot in a completion queue's list of stalled commands.
    next: u16,
}

/// How a command ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub status: Status,
    /// Dwords 0 and 1 of its completion entry.
    pub result: u64,
    /// Where the FTL could not read, as a byte offset in the namespace.
    pub failed_at: Option<u64>,
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
            outcome: Outcome { status: Status::SUCCESS, result: 0, failed_at: None },
            next: NO_SLOT,
        }
    }
    #[inline]
    pub fn sqe(&self) -> &Sqe {
        &self.sqe
    }
    #[inline]
    pub fn stage(&self) -> CommandStage {
        self.stage
    }
    /// Its submission queue.
    #[inline]
    pub fn queue(&self) -> u16 {
        self.queue
    }
    /// Its queue was deleted, so it ends without a completion entry.
    #[inline]
    pub fn is_orphan(&self) -> bool {
        self.orphan
    }
    /// The host aborted it before it reached the FTL.
    #[inline]
    pub fn is_aborted(&self) -> bool {
        self.abort
    }
    /// The command as it goes to the FTL.
    #[inline]
    pub fn command(&self) -> &HostCommand {
        &self.command
    }
    pub fn metadata_bytes(&self) -> u32 {
        self.metadata_bytes
    }
    /// Bytes fetched into scratch memory for it.
    pub fn fetched(&self) -> u16 {
        self.fetched
    }
    /// Whether firmware has asked for a list of the command.
    pub fn is_managed(&self) -> bool {
        self.managed
    }
    #[inline]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

/// Commands in the order in which they were stalled. The list is linked through the slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StalledList {
    first: u16,
    last: u16,
}

impl Default for StalledList {
    fn default() -> Self {
        StalledList { first: NO_SLOT, last: NO_SLOT }
    }
}

impl StalledList {
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.first == NO_SLOT
    }
}

/// Free slots of one kind. A fetch reserves slots when it is sent and takes them when it arrives.
#[derive(Debug)]
struct FreeList {
    free: Vec<u16>,
    reserved: u32,
}

impl FreeList {
    fn new(ids: core::ops::Range<u16>) -> Self {
        FreeList { free: ids.rev().collect(), reserved: 0 }
    }
    #[inline]
    fn available(&self) -> u32 {
        debug_assert!(self.reserved as usize <= self.free.len(), "each reservation has a free slot");
        self.free.len() as u32 - self.reserved
    }
    #[inline]
    fn reserve(&mut self, count: u32) {
        debug_assert!(count <= self.available(), "{count} slots of {} are reserved", self.available());
        self.reserved += count;
    }
    fn release(&mut self, count: u32) {
        debug_assert!(count <= self.reserved, "{count} reservations of {} are given back", self.reserved);
        self.reserved -= count;
    }
    #[inline]
    fn take(&mut self) -> u16 {
        debug_assert!(self.reserved > 0, "a slot is reserved before it is taken");
        self.reserved -= 1;
        self.free.pop().expect("a reserved slot is free")
    }
    #[inline]
    fn give(&mut self, id: u16) {
        debug_assert!(self.free.len() < self.free.capacity(), "more slots come back than there are");
        self.free.push(id);
    }
}

/// All slots: those for I/O, then those of the admin queue.
#[derive(Debug)]
pub(crate) struct Slots {
    table: Box<[CommandSlot]>,
    io: u16,
    lists: [FreeList; 2],
    /// Commands whose fetch latency is running.
    fetched: Delayed<u16>,
    /// Commands whose completion latency is running.
    finished: Delayed<u16>,
    /// Where workers fetch: slots whose command no longer needs its worker, until the workers hear of them.
    left: Option<Vec<u16>>,
    /// Completion entries that have reached the host since power-on.
    completed: u64,
    /// The slots whose permits are out, in builds with debug assertions.
    permits: Vec<u16>,
}

impl Slots {
    /// `io` slots for I/O beside those of the admin queue. With `follow`, it notes which slots no longer need
    /// their worker.
    pub fn new(io: u16, follow: bool) -> Self {
        let count = usize::from(io + ADMIN_SLOTS);
        Slots {
            table: (0..io + ADMIN_SLOTS).map(CommandSlot::new).collect(),
            io,
            lists: [FreeList::new(io..io + ADMIN_SLOTS), FreeList::new(0..io)],
            fetched: Delayed::with_capacity(count),
            finished: Delayed::with_capacity(count),
            left: follow.then(|| Vec::with_capacity(4 * count)),
            completed: 0,
            permits: Vec::with_capacity(if cfg!(debug_assertions) { count } else { 0 }),
        }
    }
    pub fn ids(&self) -> core::ops::Range<u16> {
        0..self.table.len() as u16
    }
    /// Completion entries that have reached the host since power-on.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.completed
    }
    /// Commands that completed before the FTL was done with them, and that the FTL still has.
    pub fn completed_early(&self) -> usize {
        self.table.iter().filter(|slot| slot.with_ftl && slot.stage != CommandStage::Ftl).count()
    }
    /// Commands in slots, without Asynchronous Event Requests that wait for an event.
    pub fn in_flight(&self) -> usize {
        let is_idle =
            |slot: &&CommandSlot| matches!(slot.stage, CommandStage::Free | CommandStage::AwaitsEvent);
        self.table.len() - self.table.iter().filter(is_idle).count()
    }
    /// Whether a command of the host's is being processed. One that waits for an event isn't, nor one whose
    /// host takes no completions.
    pub fn is_working(&self) -> bool {
        let idle = |stage: CommandStage| matches!(stage, CommandStage::AwaitsEvent | CommandStage::Stalled);
        self.table.iter().any(|slot| !slot.stage.is_over() && !slot.orphan && !idle(slot.stage))
    }
    /// The slot of a command that the host names, other than `own`.
    pub fn find(&self, queue: u16, cid: u16, own: &Permit) -> Option<u16> {
        self.ids().find(|&id| {
            let slot = &self[id];
            id != own.id
                && !slot.stage.is_over()
                && !slot.orphan
                && slot.queue == queue
                && slot.sqe.cid() == cid
        })
    }

    // Permits.

    #[inline]
    fn issue(&mut self, id: u16) -> Permit {
        if cfg!(debug_assertions) {
            assert!(!self.permits.contains(&id), "command {id} has one permit");
            self.permits.push(id);
        }
        Permit { id }
    }
    /// Takes the permit back of a command that enters `stage`.
    #[inline]
    fn spend(&mut self, permit: Permit, stage: CommandStage) -> &mut CommandSlot {
        if cfg!(debug_assertions) {
            let place = self.permits.iter().rposition(|&id| id == permit.id);
            self.permits.remove(place.expect("a permit is spent once"));
        }
        let slot = &mut self.table[usize::from(permit.id)];
        debug_assert!(!slot.stage.is_over(), "the command of a permit is there");
        slot.stage = stage;
        slot
    }
    #[inline]
    fn of(&mut self, permit: &Permit) -> &mut CommandSlot {
        &mut self.table[usize::from(permit.id)]
    }
    /// What the command in slot `id` waited for in `stage` has come.
    #[inline]
    pub fn resume(&mut self, id: u16, stage: CommandStage) -> Permit {
        assert!(self[id].stage == stage, "command {id} is {:?}, not {stage:?}", self[id].stage);
        debug_assert!(!stage.is_over(), "a command that is over waits for nothing");
        self.issue(id)
    }
    /// Asserts that no permit is out: each command waits for something, or has ended.
    #[inline]
    pub fn assert_settled(&self) {
        debug_assert!(self.permits.is_empty(), "permits of commands {:?} were dropped", self.permits);
    }

    // A command comes.

    #[inline]
    fn list(&mut self, queue: u16) -> &mut FreeList {
        &mut self.lists[usize::from(queue != 0)]
    }
    /// Slots that a fetch from `queue` may still reserve.
    #[inline]
    pub fn available(&self, queue: u16) -> u32 {
        self.lists[usize::from(queue != 0)].available()
    }
    #[inline]
    pub fn reserve(&mut self, queue: u16, count: u32) {
        self.list(queue).reserve(count);
    }
    /// Gives back reservations whose commands were never fetched.
    pub fn release(&mut self, queue: u16, count: u32) {
        self.list(queue).release(count);
    }
    /// Puts an entry of `queue` into a slot that was reserved.
    #[inline]
    pub fn begin(&mut self, queue: u16, sqe: Sqe) -> Permit {
        let id = self.list(queue).take();
        let slot = &mut self.table[usize::from(id)];
        debug_assert!(slot.stage == CommandStage::Free, "slot {id} is free");
        debug_assert!(!slot.with_ftl, "the FTL has no command in slot {id}");
        slot.sqe = sqe;
        slot.stage = CommandStage::Fetched;
        slot.queue = queue;
        slot.orphan = false;
        slot.abort = false;
        (slot.metadata_bytes, slot.fetched) = (0, 0);
        (slot.waits_for, slot.managed) = (None, false);
        self.issue(id)
    }
    /// The command is decoded at `at`. Returns whether a timer is needed.
    pub fn delay_decoding(&mut self, permit: Permit, at: Instant) -> bool {
        let id = permit.id;
        debug_assert!(self[id].stage == CommandStage::Fetched, "a command is decoded once");
        self.spend(permit, CommandStage::Fetched);
        self.fetched.push(at, id)
    }
    /// Takes a command that can be decoded now.
    pub fn next_fetched(&mut self, now: Instant) -> Option<Permit> {
        let id = self.fetched.next_due(now)?;
        Some(self.resume(id, CommandStage::Fetched))
    }

    // What the holder of a command's permit learns of it.

    /// Sets the command that goes to the FTL.
    #[inline]
    pub fn set_command(&mut self, permit: &Permit, command: HostCommand) {
        let slot = self.of(permit);
        debug_assert!(command.id == slot.command.id, "a command keeps the identifier of its slot");
        debug_assert!(!slot.with_ftl, "the FTL has command {} already", permit.id);
        slot.command = command;
    }
    pub fn set_metadata_bytes(&mut self, permit: &Permit, bytes: u32) {
        self.of(permit).metadata_bytes = bytes;
    }
    #[inline]
    pub fn set_failed_at(&mut self, permit: &Permit, failed_at: Option<u64>) {
        self.of(permit).outcome.failed_at = failed_at;
    }
    #[inline]
    pub fn set_outcome(&mut self, permit: &Permit, status: Status, result: u64) {
        let outcome = &mut self.of(permit).outcome;
        (outcome.status, outcome.result) = (status, result);
    }

    // A command waits.

    /// A PRP list page of the command is being fetched.
    pub fn fetch_list_page(&mut self, permit: Permit) {
        self.spend(permit, CommandStage::List);
    }
    /// Scratch memory is being sent to the host.
    pub fn send_scratch(&mut self, permit: Permit) {
        self.spend(permit, CommandStage::Scratch);
    }
    /// `bytes` bytes are being fetched into scratch memory, behind what was fetched before. Returns where.
    pub fn fetch_into_scratch(&mut self, permit: Permit, bytes: u16) -> u16 {
        let slot = self.spend(permit, CommandStage::Fetching);
        debug_assert!(bytes > 0, "a list has entries");
        let at = slot.fetched;
        slot.fetched += bytes;
        at
    }
    /// The data of a feature are being fetched into scratch memory.
    pub fn fetch_feature(&mut self, permit: Permit) {
        self.spend(permit, CommandStage::Feature);
    }
    /// Firmware has to ask for a list of the command.
    pub fn leave_list_to_firmware(&mut self, permit: Permit, from: ListAt, bytes: u16) {
        let slot = self.spend(permit, CommandStage::ListWaits);
        debug_assert!(slot.waits_for.is_none(), "one list at a time");
        slot.waits_for = Some((from, bytes));
    }
    /// Firmware asks for the list of command `id`.
    pub fn list_asked(&mut self, id: u16) -> (Permit, ListAt, u16) {
        let slot = &mut self.table[usize::from(id)];
        assert!(slot.stage == CommandStage::ListWaits, "command {id} has no list that waits");
        let (from, bytes) = slot.waits_for.take().expect("a list that waits is somewhere");
        slot.managed = true;
        (self.resume(id, CommandStage::ListWaits), from, bytes)
    }
    /// An Asynchronous Event Request waits for an event.
    pub fn await_event(&mut self, permit: Permit) {
        let id = permit.id;
        self.spend(permit, CommandStage::AwaitsEvent);
        self.part(id);
    }
    /// A Delete I/O Submission Queue waits for the queue's DMA to end.
    pub fn await_deletion(&mut self, permit: Permit) {
        let id = permit.id;
        self.spend(permit, CommandStage::Deleting);
        self.part(id);
    }

    // A command is with the FTL.

    /// Hands the command over to the FTL.
    #[inline]
    pub fn hand_to_ftl(&mut self, permit: Permit) -> &CommandSlot {
        let slot = self.spend(permit, CommandStage::Ftl);
        debug_assert!(!slot.with_ftl, "the FTL gets a command once");
        debug_assert!(!slot.orphan, "the FTL gets no command whose queue is gone");
        (slot.with_ftl, slot.moved) = (true, 0);
        slot
    }
    /// Counts moved bytes of the data of a command that the FTL has. Returns whether the command is done with
    /// the last byte and they were the last.
    #[inline]
    pub fn count_moved(&mut self, id: u16, bytes: u32) -> bool {
        let slot = &mut self.table[usize::from(id)];
        debug_assert!(slot.with_ftl, "data of command {id} are moved, which the FTL does not have");
        slot.moved += u64::from(bytes);
        if !slot.command.ends_with_data() {
            return false;
        }
        let whole = slot.command.length + u64::from(slot.metadata_bytes);
        assert!(slot.moved <= whole, "data of command {id} were moved twice");
        slot.moved == whole
    }
    /// The FTL gives a command back. `None` if the command was completed before.
    #[inline]
    pub fn take_back(&mut self, id: u16) -> Option<Permit> {
        let slot = &mut self.table[usize::from(id)];
        assert!(slot.with_ftl, "the FTL completed command {id}, which it does not have");
        slot.with_ftl = false;
        match slot.stage {
            CommandStage::Ftl => Some(self.issue(id)),
            // Its entry has been sent.
            CommandStage::CompletedEarly => {
                slot.stage = CommandStage::Free;
                self.give(id);
                None
            }
            // Its entry is about to be sent.
            _ => None,
        }
    }

    // A command ends.

    /// The command's entry is sent at `at`. Returns whether a timer is needed.
    pub fn delay_completion(&mut self, permit: Permit, at: Instant) -> bool {
        let id = permit.id;
        self.spend(permit, CommandStage::Finished);
        self.finished.push(at, id)
    }
    /// Takes a command whose entry can be sent now.
    pub fn next_finished(&mut self, now: Instant) -> Option<Permit> {
        let id = self.finished.next_due(now)?;
        Some(self.resume(id, CommandStage::Finished))
    }
    /// The command waits behind those of `list`, since its completion queue is full.
    pub fn stall(&mut self, permit: Permit, list: &mut StalledList) {
        let id = permit.id;
        let slot = self.spend(permit, CommandStage::Stalled);
        debug_assert!(!slot.orphan, "a command without an entry waits for no room");
        slot.next = NO_SLOT;
        match list.is_empty() {
            true => list.first = id,
            false => self.table[usize::from(list.last)].next = id,
        }
        list.last = id;
    }
    /// Takes the command that has been stalled longest.
    #[inline]
    pub fn next_stalled(&mut self, list: &mut StalledList) -> Option<Permit> {
        if list.is_empty() {
            return None;
        }
        let id = list.first;
        let permit = self.resume(id, CommandStage::Stalled);
        match id == list.last {
            true => *list = StalledList::default(),
            false => list.first = self[id].next,
        }
        Some(permit)
    }
    /// The command's completion entry is being sent.
    #[inline]
    pub fn post(&mut self, permit: Permit) -> &CommandSlot {
        let slot = self.spend(permit, CommandStage::Posting);
        debug_assert!(!slot.orphan, "a command whose queue is gone has no entry");
        slot
    }
    /// The command's completion entry has reached the host.
    #[inline]
    pub fn complete(&mut self, permit: Permit) {
        debug_assert!(self[permit.id].stage == CommandStage::Posting, "its entry was on its way");
        self.completed += 1;
        self.leave(permit);
    }
    /// The command has ended for the host. Its slot is freed now, or when the FTL gives the command back.
    #[inline]
    pub fn leave(&mut self, permit: Permit) {
        let id = permit.id;
        let slot = self.spend(permit, CommandStage::Free);
        if slot.with_ftl {
            slot.stage = CommandStage::CompletedEarly;
            self.part(id);
        } else {
            self.give(id);
        }
    }
    /// Frees the slot of a command that the FTL doesn't have.
    #[inline]
    pub fn free(&mut self, permit: Permit) {
        let id = permit.id;
        debug_assert!(!self[id].with_ftl, "the FTL has command {id}");
        self.spend(permit, CommandStage::Free);
        self.give(id);
    }
    /// Gives a slot to those that are free.
    #[inline]
    fn give(&mut self, id: u16) {
        debug_assert!(self[id].stage == CommandStage::Free, "slot {id} has no command");
        self.lists[usize::from(id < self.io)].give(id);
        self.part(id);
    }

    // A command is taken away from the host, or by it.

    /// The command's queue is gone. Returns the permit if the command must end now; otherwise it ends without
    /// an entry when its current stage is over.
    pub fn disown(&mut self, id: u16) -> Option<Permit> {
        debug_assert!(!self.permits.contains(&id), "a command waits while its queue is deleted");
        let slot = &mut self.table[usize::from(id)];
        match slot.stage {
            // A command that completed early has already ended for the host.
            CommandStage::Free | CommandStage::CompletedEarly => None,
            stage @ (CommandStage::AwaitsEvent | CommandStage::Deleting) => Some(self.resume(id, stage)),
            CommandStage::Fetched
            | CommandStage::List
            | CommandStage::Scratch
            | CommandStage::ListWaits
            | CommandStage::Fetching
            | CommandStage::Feature
            | CommandStage::Ftl
            | CommandStage::Finished
            | CommandStage::Stalled
            | CommandStage::Posting => {
                slot.orphan = true;
                None
            }
        }
    }
    /// The host aborts a command.
    pub fn abort(&mut self, id: u16) -> Abort {
        let slot = &mut self.table[usize::from(id)];
        debug_assert!(!slot.stage.is_over() && !slot.orphan, "the host may name the command");
        match slot.stage {
            CommandStage::AwaitsEvent => Abort::Ends(self.resume(id, CommandStage::AwaitsEvent)),
            CommandStage::List
            | CommandStage::Fetched
            | CommandStage::ListWaits
            | CommandStage::Fetching
            | CommandStage::Feature => {
                slot.abort = true;
                Abort::EndsLater
            }
            _ => Abort::No,
        }
    }

    // Workers.

    /// A command no longer needs its worker: it waits for something that may never come, has ended, or
    /// goes on without it.
    #[inline]
    fn part(&mut self, id: u16) {
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
}

impl Index<u16> for Slots {
    type Output = CommandSlot;
    #[inline]
    fn index(&self, id: u16) -> &CommandSlot {
        &self.table[usize::from(id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(slots: &mut Slots, queue: u16) -> Permit {
        slots.reserve(queue, 1);
        slots.begin(queue, Sqe::default())
    }

    #[test]
    fn a_command_that_the_ftl_keeps_holds_its_slot_until_it_comes_back() {
        let mut slots = Slots::new(1, true);
        let permit = begun(&mut slots, 1);
        let id = permit.id();
        slots.hand_to_ftl(permit);
        assert_eq!((slots.available(1), slots.in_flight()), (0, 1));
        let early = slots.resume(id, CommandStage::Ftl);
        slots.post(early);
        let posted = slots.resume(id, CommandStage::Posting);
        slots.complete(posted);
        assert_eq!((slots.completed(), slots.completed_early(), slots.available(1)), (1, 1, 0));
        assert_eq!(slots.next_left(), Some(id), "it goes on without its worker");
        assert_eq!(slots.take_back(id), None, "it has ended for the host");
        assert_eq!((slots.available(1), slots.in_flight(), slots.next_left()), (1, 0, Some(id)));
        slots.assert_settled();
    }

    #[test]
    fn stalled_commands_come_in_their_order() {
        let (mut slots, mut list) = (Slots::new(3, false), StalledList::default());
        for _ in 0..3 {
            let permit = begun(&mut slots, 1);
            slots.stall(permit, &mut list);
        }
        for id in [0, 1, 2] {
            let permit = slots.next_stalled(&mut list).expect("three were stalled");
            assert_eq!(permit.id(), id);
            slots.free(permit);
        }
        assert!(list.is_empty() && slots.next_stalled(&mut list).is_none());
    }

    #[test]
    fn a_command_whose_queue_is_gone_ends_now_if_what_it_waits_for_may_never_come() {
        let mut slots = Slots::new(2, false);
        let (event, list) = (begun(&mut slots, 0), begun(&mut slots, 1));
        let (event_id, list_id) = (event.id(), list.id());
        slots.await_event(event);
        slots.fetch_list_page(list);
        assert_eq!(slots.disown(list_id), None);
        assert!(slots[list_id].is_orphan());
        let ends = slots.disown(event_id).expect("no event has to come any more");
        slots.leave(ends);
        assert_eq!(slots.disown(event_id), None, "it has ended");
    }

    #[test]
    #[should_panic(expected = "permits of commands [0] were dropped")]
    #[cfg(debug_assertions)]
    fn a_permit_that_is_dropped_is_found() {
        let mut slots = Slots::new(1, false);
        drop(begun(&mut slots, 1));
        slots.assert_settled();
    }

    #[test]
    #[should_panic(expected = "command 0 is Fetched, not Posting")]
    #[cfg(debug_assertions)]
    fn what_a_command_does_not_wait_for_is_refused() {
        let mut slots = Slots::new(1, false);
        let permit = begun(&mut slots, 1);
        assert!(slots.delay_decoding(permit, Instant::ZERO));
        let _ = slots.resume(0, CommandStage::Posting);
    }
}
