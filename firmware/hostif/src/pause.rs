//! A pause: the disk under the drive's media is full.
//!
//! Writes would need room, so they are parked before the FTL sees them, outside of the command slots: reads,
//! trims and flushes find free slots for as long as their host sends them, also behind writes in the same
//! queue. Parked writes go on in their order when there is room, side by side with what the host sends then.
//!
//! Whatever promises that something is durable (a flush, a write with FUA, a format, a shutdown) is done, and
//! its completion is deferred until what it promises is true. Everything else goes on.
//!
//! The host is told by an event, Transient Internal Error, which concerns some commands and leaves the
//! controller working (NVMe 1.4 §5.2.1). Neither a warning of SMART nor an error of a command would be true:
//! the media are as good as before, and no command fails.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use aster_ports::host::{Completion, HostCommand, HostOp};
use aster_ports::medium::SharedBacklog;
use aster_wire::nvme::{Sqe, Status};
use core::fmt;

/// A write that was fetched and has no slot.
#[derive(Clone, Copy)]
pub(crate) struct ParkedWrite {
    /// Its place in the order of all writes that were ever parked.
    ticket: u64,
    /// Its submission queue.
    pub queue: u16,
    pub sqe: Sqe,
    /// How it ends without having been with the FTL; `None` for one that goes on when there is room.
    pub end: Option<Status>,
}

/// Writes that are parked, and completions that are deferred.
///
/// A queue is fetched from while fewer of its writes are parked than it has entries, so what is parked is
/// bounded by the queues' entries and the command slots.
#[derive(Default)]
pub(crate) struct Pause {
    backlog: Option<SharedBacklog>,
    /// By ticket.
    writes: VecDeque<ParkedWrite>,
    /// Parked writes that end as soon as there are slots for their completion entries.
    ended: VecDeque<ParkedWrite>,
    /// The last ticket.
    tickets: u64,
    /// By slot: the ticket of a write that was parked and isn't with the FTL yet, else 0.
    resumed: Box<[u64]>,
    /// Whose turn it is where one slot is free: a parked write's.
    turn: bool,
    /// What the FTL has done and the medium has not, for each slot once at most.
    completions: VecDeque<Completion>,
    /// The host has been told.
    told: bool,
}

impl fmt::Debug for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pause").field("parked", &self.parked()).field("deferred", &self.completions).finish()
    }
}

impl Pause {
    /// Room is short from time to time where `backlog` says so, for a controller of `slots` slots; there is
    /// always enough of it where it is `None`.
    pub(crate) fn follow(&mut self, backlog: Option<SharedBacklog>, slots: usize) {
        if backlog.is_some() {
            self.completions.reserve(slots);
            self.resumed = vec![0; slots].into_boxed_slice();
        }
        self.backlog = backlog;
    }
    #[inline]
    fn is_full(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| backlog.is_full())
    }
    #[inline]
    fn owes(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| backlog.owed() > 0)
    }
    /// Writes without a slot.
    pub(crate) fn parked(&self) -> usize {
        self.writes.len() + self.ended.len()
    }
    #[inline]
    pub(crate) fn has_parked(&self) -> bool {
        (self.writes.len() | self.ended.len()) != 0
    }

    /// Whether the command in slot `id` must be parked: it is a write, and there is no room or others wait
    /// before it.
    #[inline]
    pub(crate) fn parks(&mut self, id: u16, command: &HostCommand) -> bool {
        let writes = matches!(command.op, HostOp::Write | HostOp::VectorWrite | HostOp::VectorCopy);
        let may_park = self.backlog.is_some() && writes;
        // Without a pause so far there is nothing else to look at.
        may_park && (self.tickets > 0 || self.is_full()) && self.parks_write(id)
    }
    #[cold]
    fn parks_write(&mut self, id: u16) -> bool {
        let has_turn = self.resumed[usize::from(id)] != 0 || self.writes.is_empty();
        if !has_turn || self.is_full() {
            return true;
        }
        self.resumed[usize::from(id)] = 0;
        false
    }
    /// Parks the write that is in slot `id`: where it was before, if it was parked before.
    pub(crate) fn park(&mut self, id: u16, queue: u16, sqe: Sqe) {
        let before = core::mem::take(&mut self.resumed[usize::from(id)]);
        let ticket = if before == 0 { self.tickets + 1 } else { before };
        self.tickets = self.tickets.max(ticket);
        let place = self.writes.partition_point(|write| write.ticket < ticket);
        self.writes.insert(place, ParkedWrite { ticket, queue, sqe, end: None });
    }
    /// The write that now has slot `id` goes on, in its old place if it has to be parked again.
    pub(crate) fn resume(&mut self, id: u16, write: &ParkedWrite) {
        self.resumed[usize::from(id)] = write.ticket;
    }
    /// The write in slot `id`, if it was parked, has come to an end: the next one there was not.
    pub(crate) fn leave(&mut self, id: u16) {
        if let Some(ticket) = self.resumed.get_mut(usize::from(id)) {
            *ticket = 0;
        }
    }
    /// A parked write that may have a slot now.
    pub(crate) fn next_write(&mut self) -> Option<ParkedWrite> {
        let next = match self.ended.pop_front() {
            None if self.is_full() => None,
            None => self.writes.pop_front(),
            ended => ended,
        };
        if !self.has_parked() {
            self.give_memory_back();
        }
        next
    }
    /// How many of `free` slots parked writes may have before others get the rest: half of them, in turns.
    pub(crate) fn share(&mut self, free: u32) -> u32 {
        self.turn ^= !free.is_multiple_of(2);
        (free + u32::from(self.turn)) / 2
    }
    /// Parked writes that `which` chooses end with `status`; how many those are.
    fn end(&mut self, status: Status, which: impl Fn(u16, &Sqe) -> bool) -> usize {
        let before = self.ended.len();
        let chosen = self.writes.iter().filter(|write| which(write.queue, &write.sqe));
        self.ended.extend(chosen.map(|&write| ParkedWrite { end: Some(status), ..write }));
        self.writes.retain(|write| !which(write.queue, &write.sqe));
        self.ended.len() - before
    }
    /// An aborted command is asked to end; false when it isn't parked.
    pub(crate) fn abort(&mut self, queue: u16, cid: u16) -> bool {
        self.end(Status::ABORT_REQUESTED, |of, sqe| of == queue && sqe.cid() == cid) > 0
    }
    /// The blocks that parked writes name are others now.
    pub(crate) fn end_for_format(&mut self) {
        self.end(Status::FORMAT_IN_PROGRESS, |_, _| true);
    }
    /// The parked writes of a queue that is gone are, too.
    pub(crate) fn forget_queue(&mut self, queue: u16) {
        self.writes.retain(|write| write.queue != queue);
        self.ended.retain(|write| write.queue != queue);
    }
    /// No write is parked any more.
    pub(crate) fn forget_all(&mut self) {
        self.writes.clear();
        self.ended.clear();
        self.give_memory_back();
    }
    fn give_memory_back(&mut self) {
        (self.writes, self.ended) = Default::default();
    }

    /// Defers the completion of `command`, or of a shutdown, which has none, if it would promise too much
    /// now; true when it did.
    #[inline]
    pub(crate) fn defer(&mut self, completion: &Completion, command: Option<&HostCommand>) -> bool {
        let waits = self.owes() && command.is_none_or(promises);
        if waits {
            self.completions.push_back(*completion);
        }
        waits
    }
    /// A completion that may be told now.
    pub(crate) fn next_completion(&mut self) -> Option<Completion> {
        if self.owes() { None } else { self.completions.pop_front() }
    }
    /// True when the host must hear now that there is no room.
    pub(crate) fn is_news(&mut self) -> bool {
        let full = self.is_full();
        let told = core::mem::replace(&mut self.told, full);
        full && !told
    }
    /// The host knows nothing of it any more.
    pub(crate) fn tell_again(&mut self) {
        self.told = false;
    }
}

/// Whether a command's success says that something outlasts a loss of power.
fn promises(command: &HostCommand) -> bool {
    match command.op {
        HostOp::Flush | HostOp::Format { .. } | HostOp::Shutdown => true,
        HostOp::Read | HostOp::Compare | HostOp::Write | HostOp::WriteZeroes { .. } => command.fua,
        HostOp::Deallocate | HostOp::VectorRead | HostOp::Report(_) => false,
        // What a vector has done is on flash.
        HostOp::VectorWrite | HostOp::VectorErase | HostOp::VectorCopy | HostOp::SetBlockState(_) => true,
    }
}
