//! What is due: log pages, and stored maps. Whoever changes something asks here, and waits here for a page
//! that has it; `log` and the checkpoint answer.

use crate::blocks::table::Blocks;
use crate::journal::slots::Log;
use crate::journal::state::Journal;
use crate::terms::sizes::{ENTRIES_BYTES_MIN, RANGE_BYTES};
use aster_events::Wait;
use aster_parties::DriveState;
use aster_ports::host::HostStatus;
use aster_units::LunIndex;

impl Journal {
    fn data_programs(&self) -> u64 {
        let programs = self.runtime.stats().flash_programs;
        programs.host + programs.gc
    }
    /// What the log does not say yet fills its next page: each page costs the host's writes a word line of a
    /// LUN. Of that page's lists those of the last one are known; a block that was opened since comes as a
    /// range. What ends while the page is being written is for the one after it.
    fn fills_log_page(&self, blocks: &Blocks) -> bool {
        let lists = self.log.borrow().lists_bytes + RANGE_BYTES * blocks.outbox.opened();
        let room = (self.runtime.geometry.page_bytes as usize).saturating_sub(lists).max(ENTRIES_BYTES_MIN);
        blocks.outbox.bytes() >= room || blocks.opens_fast()
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
        self.log.borrow().asked && !self.log.borrow().ended && self.runtime.state() != DriveState::Booting
    }
    /// Each loss of power may cost a slot: before they run out, a map is stored that makes the others free
    /// again.
    pub(crate) fn log_is_half_full(&self) -> bool {
        let log = self.log.borrow();
        log.free_lines() < log.lines() / 2
    }
    /// No log page can be written any more.
    pub(crate) fn log_has_ended(&self) -> bool {
        self.log.borrow().ended
    }
    /// The log has so many entries since power-on.
    pub(crate) fn has_logged(&self, entries: u64) -> bool {
        self.log.borrow().logged >= entries
    }
    pub(crate) fn log_has_room(&self) -> bool {
        self.log.borrow().has_room()
    }
    /// One slot is in use, another must be spare: with fewer no map that is stored makes room.
    pub(crate) fn log_is_worn_out(&self) -> bool {
        self.log.borrow().good_slots() < 2
    }
    pub(crate) fn checkpoint_is_due(&self) -> bool {
        let log = self.log.borrow();
        let since = self.data_programs() - log.programs_then;
        // A map stored just now has made all the room there is to make, unless somebody waits for more.
        let short = log.short && (log.number > log.commit || log.asked);
        let due = log.renew || short || since >= self.checkpoint_pages();
        due && !log.ended && self.marked_dirty.get() && self.runtime.state() != DriveState::Booting
    }
    /// Has the map stored anew, which takes the place of the one before and of the log behind that.
    #[cold]
    pub(crate) fn renew_map(&self) {
        self.mark_dirty();
        self.log.borrow_mut().renew = true;
        self.ask_for_checkpoint();
    }
    /// The stored map's programs counted from here on.
    pub(crate) fn checkpoint_begins(&self) -> u64 {
        let programs = self.data_programs();
        let mut log = self.log.borrow_mut();
        (log.programs_then, log.map_begun_at) = (programs, log.at);
        log.number + 1
    }
    /// A program has begun: looks whether the log should be written, or the map stored.
    #[inline]
    pub(crate) fn after_program(&self, lun: LunIndex) {
        let due = {
            let blocks = self.blocks.table();
            let listing = blocks.free.wants_page(lun) && !self.log.borrow().short;
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
        self.log.borrow_mut().asked = true;
        self.log_wanted.wake(self.runtime.exec());
    }
    /// Waits until another log page has been written, or none can be.
    pub(crate) async fn next_log_page(&self) {
        let before = self.log.borrow().number;
        self.ask_for_log();
        let done = || {
            let log = self.log.borrow();
            (log.number > before || log.ended).then_some(())
        };
        self.runtime.waiting(Wait::LogPage, self.log_waiters.wait(self.runtime.exec(), done)).await;
    }
    /// Waits until the log knows all trims so far.
    ///
    /// # Errors
    /// When it never will: a loss of power may bring back what was trimmed.
    pub(crate) async fn log_trims(&self) -> Result<(), HostStatus> {
        let last = self.blocks.table().outbox.last_trim();
        loop {
            let (logged, ended) = {
                let log = self.log.borrow();
                (log.logged >= last, log.ended)
            };
            match (logged, ended) {
                (true, _) => return Ok(()),
                (false, true) => return Err(HostStatus::ReadOnly),
                (false, false) => self.next_log_page().await,
            }
        }
    }
    /// As [`Journal::log_trims`] while a map is being stored: false when the log has no room for them before
    /// that is done, or none at all.
    pub(crate) async fn log_trims_if_room(&self) -> bool {
        let last = self.blocks.table().outbox.last_trim();
        let full = |log: &Log| !log.writing && !log.has_room();
        loop {
            let before = {
                let log = self.log.borrow();
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
                let log = self.log.borrow();
                (log.number > before || log.ended || full(&log)).then_some(())
            };
            self.log_waiters.wait(self.runtime.exec(), done).await;
        }
    }
}
