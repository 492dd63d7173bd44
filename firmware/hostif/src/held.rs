//! What waits while the disk under the drive's media is full.
//!
//! Writes that come wait before the FTL sees them: they would need room. Whatever promises that something is durable (a flush, a
//! write with FUA, a format, a shutdown) is done, and its completion waits until what it promises is true. Everything else goes on:
//! reads, trims, the admin queue. The host is told by an event, Transient Internal Error, which concerns some commands and
//! leaves the controller working (NVMe 1.4 §5.2.1). Neither a warning of SMART nor an error of a command would be true: the media are
//! as good as before, and no command fails.

use alloc::collections::VecDeque;
use aster_ports::host::{Completion, HostCommand, HostOp};
use aster_ports::medium::SharedBacklog;
use core::fmt;

/// Commands that are held back. Each is in one of its lists once, so these never outgrow the slots.
#[derive(Default)]
pub(crate) struct Held {
    backlog: Option<SharedBacklog>,
    /// Slots of writes that wait for the FTL, the first first.
    writes: VecDeque<u16>,
    /// What the FTL has done and the medium has not.
    completions: VecDeque<Completion>,
    /// The host has been told.
    told: bool,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("writes", &self.writes).field("completions", &self.completions).finish()
    }
}

impl Held {
    /// Room is short from time to time where `backlog` says so, for `slots` commands at most; there is always enough of it where it is
    /// `None`.
    pub(crate) fn hold_with(&mut self, backlog: Option<SharedBacklog>, slots: usize) {
        let slots = if backlog.is_some() { slots } else { 0 };
        self.writes.reserve(slots);
        self.completions.reserve(slots);
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
    /// Takes a command that can't go to the FTL now; true when it did.
    #[inline]
    pub(crate) fn take_write(&mut self, id: u16, command: &HostCommand) -> bool {
        let waits = self.is_full() && command.op == HostOp::Write;
        if waits {
            self.writes.push_back(id);
        }
        waits
    }
    /// Takes the completion of `command`, or of a shutdown, which has none, if it would promise too much now; true when it did.
    #[inline]
    pub(crate) fn take_completion(&mut self, completion: &Completion, command: Option<&HostCommand>) -> bool {
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
    /// A write for which there is room now.
    pub(crate) fn next_write(&mut self) -> Option<u16> {
        if self.is_full() { None } else { self.writes.pop_front() }
    }
    /// A write that waits, which then doesn't, whether there is room or not.
    pub(crate) fn pop_write(&mut self) -> Option<u16> {
        self.writes.pop_front()
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
    /// A write that waits is gone.
    pub(crate) fn forget(&mut self, id: u16) {
        self.writes.retain(|&write| write != id);
    }
}

/// Whether a command's success says that something outlasts a loss of power.
fn promises(command: &HostCommand) -> bool {
    match command.op {
        HostOp::Flush | HostOp::Format { .. } | HostOp::Shutdown => true,
        HostOp::Read | HostOp::Compare | HostOp::Write | HostOp::WriteZeroes { .. } => command.fua,
        HostOp::Deallocate => false,
    }
}
