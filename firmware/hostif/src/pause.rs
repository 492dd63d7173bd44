//! The pause that begins when the disk under the drive's media is full.
//!
//! Writes need room, so they are parked before the FTL sees them, outside of the command slots. Reads,
//! trims and flushes therefore find free slots as long as the host sends them, even behind writes in the
//! same queue. When there is room again, parked writes resume in their order, alongside the host's new
//! commands.
//!
//! A command that promises durability (a flush, a write with FUA, a format, a shutdown) is carried out,
//! and its completion is deferred until the promise holds. All other commands go on as usual.
//!
//! The host gets the event Transient Internal Error, which concerns some commands and leaves the
//! controller working (NVMe 1.4 §5.2.1). A SMART warning or a failed command would be false: the media are
//! as good as before, and no command fails.

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
    /// Its position in the order of all writes ever parked.
    ticket: u64,
    /// Its submission queue.
    pub queue: u16,
    pub sqe: Sqe,
    /// The status to end it with, without sending it to the FTL; `None` if it resumes when there is room.
    pub end: Option<Status>,
}

/// Parked writes and deferred completions.
///
/// A queue is fetched from only while fewer of its writes are parked than it has entries. So the number of
/// parked writes is bounded by the queues' entries and the command slots.
#[derive(Default)]
pub(crate) struct Pause {
    backlog: Option<SharedBacklog>,
    /// Ordered by ticket.
    writes: VecDeque<ParkedWrite>,
    /// Parked writes that end as soon as there are slots for them.
    ended: VecDeque<ParkedWrite>,
    /// The last ticket.
    tickets: u64,
    /// Per slot: the ticket of a write that was parked and hasn't reached the FTL yet, else 0.
    resumed: Box<[u64]>,
    /// Whether the last odd slot went to a parked write.
    turn: bool,
    /// Commands that the FTL has done but the disk has not, at most one per slot.
    completions: VecDeque<Completion>,
    /// Whether the host has been told of the pause.
    told: bool,
}

impl fmt::Debug for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pause").field("parked", &self.parked()).field("deferred", &self.completions).finish()
    }
}

impl Pause {
    /// Makes `backlog` say whether there is room, for a controller of `slots` slots. With `None` there is
    /// always room.
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
    /// Parked writes, including those about to end.
    pub(crate) fn parked(&self) -> usize {
        self.writes.len() + self.ended.len()
    }
    #[inline]
    pub(crate) fn has_parked(&self) -> bool {
        (self.writes.len() | self.ended.len()) != 0
    }

    /// Whether the command in slot `id` must be parked: it is a write, and either there is no room or
    /// parked writes come before it.
    #[inline]
    pub(crate) fn parks(&mut self, id: u16, command: &HostCommand) -> bool {
        let writes = matches!(command.op, HostOp::Write | HostOp::VectorWrite(_) | HostOp::VectorCopy);
        let may_park = self.backlog.is_some() && writes;
        // Before the first pause there is nothing else to check.
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
    /// Parks the write in slot `id`. A write that was parked before gets its old position back.
    pub(crate) fn park(&mut self, id: u16, queue: u16, sqe: Sqe) {
        let before = core::mem::take(&mut self.resumed[usize::from(id)]);
        let ticket = if before == 0 { self.tickets + 1 } else { before };
        self.tickets = self.tickets.max(ticket);
        let place = self.writes.partition_point(|write| write.ticket < ticket);
        self.writes.insert(place, ParkedWrite { ticket, queue, sqe, end: None });
    }
    /// Notes that `write` resumes in slot `id`. If it has to be parked again, it keeps its position.
    pub(crate) fn resume(&mut self, id: u16, write: &ParkedWrite) {
        self.resumed[usize::from(id)] = write.ticket;
    }
    /// Forgets that the write in slot `id` was parked, so that the slot's next command starts afresh.
    pub(crate) fn leave(&mut self, id: u16) {
        if let Some(ticket) = self.resumed.get_mut(usize::from(id)) {
            *ticket = 0;
        }
    }
    /// Takes the next parked write that may have a slot now.
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
    /// How many of `free` slots parked writes may take before other commands get the rest: half, with the
    /// odd slot alternating.
    pub(crate) fn share(&mut self, free: u32) -> u32 {
        self.turn ^= !free.is_multiple_of(2);
        (free + u32::from(self.turn)) / 2
    }
    /// Ends the parked writes that `which` chooses with `status`. Returns their number.
    fn end(&mut self, status: Status, which: impl Fn(u16, &Sqe) -> bool) -> usize {
        let before = self.ended.len();
        let chosen = self.writes.iter().filter(|write| which(write.queue, &write.sqe));
        self.ended.extend(chosen.map(|&write| ParkedWrite { end: Some(status), ..write }));
        self.writes.retain(|write| !which(write.queue, &write.sqe));
        self.ended.len() - before
    }
    /// Ends an aborted write. Returns false if it isn't parked.
    pub(crate) fn abort(&mut self, queue: u16, cid: u16) -> bool {
        self.end(Status::ABORT_REQUESTED, |of, sqe| of == queue && sqe.cid() == cid) > 0
    }
    /// Ends all parked writes, since a format has replaced the blocks that they name.
    pub(crate) fn end_for_format(&mut self) {
        self.end(Status::FORMAT_IN_PROGRESS, |_, _| true);
    }
    /// Drops the parked writes of a deleted queue.
    pub(crate) fn forget_queue(&mut self, queue: u16) {
        self.writes.retain(|write| write.queue != queue);
        self.ended.retain(|write| write.queue != queue);
    }
    /// Drops all parked writes.
    pub(crate) fn forget_all(&mut self) {
        self.writes.clear();
        self.ended.clear();
        self.give_memory_back();
    }
    fn give_memory_back(&mut self) {
        (self.writes, self.ended) = Default::default();
    }

    /// Defers the completion of `command` if it would now promise too much. A shutdown has no command.
    /// Returns whether the completion was deferred.
    #[inline]
    pub(crate) fn defer(&mut self, completion: &Completion, command: Option<&HostCommand>) -> bool {
        let waits = self.owes() && command.is_none_or(promises);
        if waits {
            self.completions.push_back(*completion);
        }
        waits
    }
    /// Takes a deferred completion that may be sent now.
    pub(crate) fn next_completion(&mut self) -> Option<Completion> {
        if self.owes() { None } else { self.completions.pop_front() }
    }
    /// Whether the host must be told now that there is no room.
    pub(crate) fn is_news(&mut self) -> bool {
        let full = self.is_full();
        let told = core::mem::replace(&mut self.told, full);
        full && !told
    }
    /// Forgets that the host was told, so that it will be told again.
    pub(crate) fn tell_again(&mut self) {
        self.told = false;
    }
}

/// Whether a command's success promises that something survives a loss of power.
fn promises(command: &HostCommand) -> bool {
    match command.op {
        HostOp::Flush | HostOp::Format { .. } | HostOp::Shutdown => true,
        HostOp::Read | HostOp::Compare | HostOp::Write | HostOp::WriteZeroes { .. } => command.fua,
        HostOp::Deallocate | HostOp::VectorRead(_) | HostOp::Report(_) => false,
        // The effect of a vector command is on flash when it completes.
        HostOp::VectorWrite(_) | HostOp::VectorErase(_) | HostOp::VectorCopy | HostOp::SetBlockState(_) => {
            true
        }
    }
}
