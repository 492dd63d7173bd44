//! Which log pages and stored maps are due. Whoever changes something asks here for a log page and waits here
//! until it is written. `log` and the checkpoint do the work.

use crate::blocks::pool::BlockPool;
use crate::blocks::table::Blocks;
use crate::journal::log_state::LogState;
use crate::journal::own_pages::OwnPages;
use crate::journal::record::RootRecord;
use crate::journal::slots::Log;
use crate::terms::runtime::Runtime;
use crate::terms::sizes::{ENTRIES_BYTES_MIN, RANGE_BYTES};
use alloc::rc::Rc;
use aster_events::Wait;
use aster_exec::{WaitCell, WaitQueue};
use aster_parties::DriveState;
use aster_ports::host::HostStatus;
use aster_units::LunIndex;
use core::cell::Cell;

/// Who waits for a log page, for room in the log, and for a map to be stored.
pub(crate) struct Due {
    runtime: Rc<Runtime>,
    blocks: Rc<BlockPool>,
    own: Rc<OwnPages>,
    log: Rc<LogState>,
    root: Rc<RootRecord>,
    log_wanted: WaitCell,
    checkpoint_wanted: WaitCell,
    // The task that found no room to store the map: it waits for an erased block, or for the log to fill up.
    map_room: WaitCell,
    // Tasks that wait for a log page, or until a map has been stored.
    log_waiters: WaitQueue,
    // Whether a map is being stored.
    storing: Cell<bool>,
}

impl Due {
    pub(crate) fn new(
        runtime: &Rc<Runtime>,
        blocks: &Rc<BlockPool>,
        own: &Rc<OwnPages>,
        log: &Rc<LogState>,
        root: &Rc<RootRecord>,
    ) -> Self {
        let workers = usize::from(runtime.config.host.slice_workers);
        let luns = runtime.geometry.total_luns() as usize;
        Due {
            runtime: Rc::clone(runtime),
            blocks: Rc::clone(blocks),
            own: Rc::clone(own),
            log: Rc::clone(log),
            root: Rc::clone(root),
            log_wanted: WaitCell::default(),
            checkpoint_wanted: WaitCell::default(),
            map_room: WaitCell::default(),
            log_waiters: WaitQueue::with_capacity(workers + luns + 3),
            storing: Cell::new(false),
        }
    }
    /// Waits until `begin` finds that a log page can be written, or that none can.
    pub(super) async fn wait_log<T>(&self, begin: impl FnMut() -> Option<T>) -> T {
        self.log_waiters.wait(self.runtime.exec(), begin).await
    }
    /// The log has changed: wakes the tasks that wait for it.
    pub(super) fn log_changed(&self) {
        self.log_waiters.wake_all(self.runtime.exec());
    }
    fn data_programs(&self) -> u64 {
        let programs = self.runtime.stats().flash_programs;
        programs.host + programs.gc
    }
    /// Whether the pending entries fill the next log page. They should, since each page costs a word line of
    /// a LUN. The next page's lists are assumed to take as much room as the last one's, plus a range for each
    /// block opened since. Changes that are completed while the page is being written go to the page after
    /// it.
    #[inline]
    fn fills_log_page(&self, blocks: &Blocks) -> bool {
        let lists = self.log.state.borrow().page.lists_bytes + RANGE_BYTES * blocks.outbox.opened();
        let room = (self.runtime.geometry.page_bytes as usize).saturating_sub(lists).max(ENTRIES_BYTES_MIN);
        blocks.outbox.bytes() >= room || blocks.outbox.falls_behind()
    }
    /// Waits until a log page is due.
    pub(super) async fn log_due(&self) {
        self.log_wanted.wait(self.runtime.exec(), || self.log_is_due().then_some(())).await;
    }
    /// Waits until the map is to be stored.
    pub(crate) async fn checkpoint_due(&self) {
        self.checkpoint_wanted.wait(self.runtime.exec(), || self.checkpoint_is_due().then_some(())).await;
    }
    fn log_is_due(&self) -> bool {
        self.log.state.borrow().page.asked
            && !self.log.state.borrow().ended
            && self.runtime.state() != DriveState::Booting
    }
    #[inline]
    pub(crate) fn checkpoint_is_due(&self) -> bool {
        let log = self.log.state.borrow();
        let since = self.data_programs() - log.map.programs_then;
        // A map that was stored just now has already made all possible room. Another is due only if somebody
        // waits for more.
        let short = log.short && (log.number > log.map.commit || log.page.asked);
        let due = log.map.renew || short || since >= self.own.checkpoint_pages();
        due && !log.ended && !self.root.is_as_shut_down() && self.runtime.state() != DriveState::Booting
    }
    /// Has the map stored anew, which replaces the stored map and the log since then.
    #[cold]
    pub(crate) fn renew_map(&self) {
        self.root.mark_dirty();
        self.log.state.borrow_mut().map.renew = true;
        self.ask_for_checkpoint();
    }
    /// Begins to store a map: programs are counted from here on. Returns the number of the next log page.
    pub(crate) fn checkpoint_begins(&self) -> u64 {
        let programs = self.data_programs();
        let mut log = self.log.state.borrow_mut();
        (log.map.programs_then, log.map.begun_at) = (programs, log.at);
        log.number + 1
    }
    /// A program has begun: checks whether the log should be written or the map stored.
    #[inline]
    pub(crate) fn after_program(&self, lun: LunIndex) {
        let due = {
            let blocks = self.blocks.table();
            let listing = blocks.free.wants_page(lun) && !self.log.state.borrow().short;
            listing || self.fills_log_page(blocks)
        };
        if due {
            self.ask_for_log();
        }
        if self.checkpoint_is_due() {
            self.ask_for_checkpoint();
        }
    }
    /// Has the map stored if that is due.
    pub(crate) fn ask_for_checkpoint(&self) {
        self.checkpoint_wanted.wake(self.runtime.exec());
    }
    /// Has a log page written as soon as there is room for one.
    pub(crate) fn ask_for_log(&self) {
        self.log.state.borrow_mut().page.asked = true;
        self.log_wanted.wake(self.runtime.exec());
    }
    /// Waits until another log page has been written, or none can be.
    pub(crate) async fn next_log_page(&self) {
        let before = self.log.state.borrow().number;
        self.ask_for_log();
        let done = || {
            let log = self.log.state.borrow();
            (log.number > before || log.ended).then_some(())
        };
        self.runtime.waiting(Wait::LogPage, self.log_waiters.wait(self.runtime.exec(), done)).await;
    }
    /// Waits until all trims so far are in the log.
    ///
    /// # Errors
    /// If they never will be: a loss of power may bring back trimmed data.
    pub(crate) async fn log_trims(&self) -> Result<(), HostStatus> {
        let last = self.blocks.table().outbox.last_trim();
        loop {
            let (logged, ended) = {
                let log = self.log.state.borrow();
                (log.logged >= last, log.ended)
            };
            match (logged, ended) {
                (true, _) => return Ok(()),
                (false, true) => return Err(HostStatus::ReadOnly),
                (false, false) => self.next_log_page().await,
            }
        }
    }
    /// As [`Due::log_trims`] while a map is being stored. Returns false if the log has no room for the trims
    /// before the map is stored, or none at all.
    pub(crate) async fn log_trims_if_room(&self) -> bool {
        let last = self.blocks.table().outbox.last_trim();
        let full = |log: &Log| !log.page.writing && !log.has_room();
        loop {
            let before = {
                let log = self.log.state.borrow();
                if log.logged >= last {
                    return true;
                }
                if log.ended || full(&log) {
                    return false;
                }
                log.number
            };
            self.ask_for_log();
            let done = || {
                let log = self.log.state.borrow();
                (log.number > before || log.ended || full(&log)).then_some(())
            };
            self.log_waiters.wait(self.runtime.exec(), done).await;
        }
    }

    // ---- a map that is being stored ----

    /// Whether a map is being stored.
    pub(crate) fn is_storing(&self) -> bool {
        self.storing.get()
    }
    /// Waits until no other map is being stored, and prevents that one is until [`Due::unlock_storing`].
    pub(crate) async fn lock_storing(&self) {
        let lock = || (!self.storing.replace(true)).then_some(());
        self.log_waiters.wait(self.runtime.exec(), lock).await;
        self.blocks.pacing.look_all();
    }
    /// The next map may be stored.
    pub(crate) fn unlock_storing(&self) {
        assert!(self.storing.get(), "the storing of a map ends that has not begun");
        self.storing.set(false);
        self.log_waiters.wake_all(self.runtime.exec());
    }
    /// Waits for room for a stored map: until a block has been erased, or the log is full.
    pub(crate) async fn room_for_map(&self) {
        let mut waited = false;
        self.map_room.wait(self.runtime.exec(), || core::mem::replace(&mut waited, true).then_some(())).await;
    }
    /// A block was erased: a task that wants to store a map may be waiting for it.
    pub(crate) fn room_for_map_changed(&self) {
        self.map_room.wake(self.runtime.exec());
    }
    /// Whether somebody waits for a log page, or until a map has been stored.
    #[cfg(test)]
    pub(crate) fn log_is_wanted(&self) -> bool {
        !self.log_waiters.is_empty()
    }
}
