//! The log as other parts see it: what it has, whether it has room, and whether it has ended.

use crate::blocks::pool::BlockPool;
use crate::durability::outbox::LogEntry;
use crate::journal::own_pages::OwnPages;
use crate::journal::slots::Log;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_parties::DriveState;
use core::cell::{Cell, RefCell};

/// Where the log stands. The parts of the journal that write it, or wait for it, use its slots directly.
pub(crate) struct LogState {
    pub(super) runtime: Rc<Runtime>,
    pub(super) blocks: Rc<BlockPool>,
    pub(super) own: Rc<OwnPages>,
    pub(super) state: RefCell<Log>,
    // The drive was read-only when its power went.
    pub(super) was_read_only: Cell<bool>,
}

impl LogState {
    pub(crate) fn new(runtime: &Rc<Runtime>, blocks: &Rc<BlockPool>, own: &Rc<OwnPages>) -> Self {
        LogState {
            runtime: Rc::clone(runtime),
            blocks: Rc::clone(blocks),
            own: Rc::clone(own),
            state: RefCell::default(),
            was_read_only: Cell::new(false),
        }
    }
    /// Each loss of power may cost a slot. Before they run out, a map is stored, which frees the other slots.
    pub(crate) fn is_half_full(&self) -> bool {
        let log = self.state.borrow();
        log.free_lines() < log.lines() / 2
    }
    /// Whether no log page can be written any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.borrow().ended
    }
    /// Whether the log has this many entries since power-on.
    pub(crate) fn has_logged(&self, entries: u64) -> bool {
        self.state.borrow().logged >= entries
    }
    pub(crate) fn has_room(&self) -> bool {
        self.state.borrow().has_room()
    }
    /// Whether there are fewer than two good slots: one is in use, and without a spare one even a stored map
    /// makes no room.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.state.borrow().good_slots() < 2
    }
    /// The log page that names the stored map.
    pub(crate) fn naming_page(&self) -> u64 {
        self.state.borrow().map.commit
    }
    /// The `nth` line that recovery needs, by its slot.
    pub(crate) fn needed_line(&self, nth: usize) -> Option<(usize, u32)> {
        self.state.borrow().needed_lines().nth(nth)
    }
    /// For a map kept on flash: the entries logged since the last call.
    pub(crate) fn take_told(&self) -> Vec<LogEntry> {
        core::mem::take(&mut self.state.borrow_mut().told)
    }
    /// Whether the drive is read-only, or will be after boot because it was when its power went.
    pub(crate) fn takes_no_writes(&self) -> bool {
        self.was_read_only.get() || self.runtime.state() == DriveState::ReadOnly
    }

    // ---- for tests ----

    #[cfg(test)]
    pub(crate) fn state(&self) -> core::cell::Ref<'_, Log> {
        self.state.borrow()
    }
}
