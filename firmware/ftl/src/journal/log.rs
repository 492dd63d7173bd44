//! The log: what recovery needs to know beyond the stored map.
//!
//! Log pages stand in blocks set aside for them, the same number in each LUN, used in turn: their slots.
//! Every page is written to a whole word line, so that a program that is cut off takes no log page along that
//! was whole before. A slot is erased and used again when the stored map knows all that its pages say.
//!
//! A log page carries the changes since the page before, and lists the free blocks that may be written before
//! the next page: recovery looks into those, and into no others. Only a writer that needs a block which isn't
//! listed waits for the log, and a trim that must be durable.

use crate::blocks::table::Blocks;
use crate::journal::log_page::{Header, StoredMap};
use crate::journal::slots::{Log, LogSlot};
use crate::journal::state::Journal;
use crate::terms::block::{BlockIndex, Stream};
use crate::terms::cause::Cause;
use crate::terms::oob::{OobRecord, PageKind};
use crate::terms::sizes::SLOTS_MAX;
use crate::terms::sizes::{BLOCK_BYTES, ENTRIES_BYTES_MIN, HEADER_BYTES, RANGE_BYTES};
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_parties::DriveState;
use aster_ports::flash::FlashStatus;
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Lpn, LunIndex, Ppa};

/// A stored map on its way into the log.
pub(crate) struct Commit<'a> {
    pub(crate) map: StoredMap,
    /// The first log page whose entries it may not know.
    pub(crate) replay_from: u64,
    /// The page from which on runs of stale pages have not been written yet.
    pub(crate) stale_from: Ppa,
    /// Where a logical page is now.
    pub(crate) place_of: &'a dyn Fn(Lpn) -> Ppa,
}

/// What came of writing a log page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// It could not be, nor can any other.
    No,
    /// It has a part of what comes with a stored map, and does not name it yet.
    Part,
    /// It has all.
    All,
}

/// A log page in its buffer.
struct Encoded {
    buffer: BufferId,
    /// Entries that the log has with it, since power-on.
    logged: u64,
    /// It says all that was asked for: names the stored map, if there is one to be named.
    whole: bool,
    /// It says that the drive takes no more writes.
    read_only: bool,
}

/// Writes log pages whenever one is due, for ever.
pub(crate) async fn run(drive: Rc<Journal>) {
    loop {
        drive.log_wanted.wait(drive.exec(), || drive.log_is_due().then_some(())).await;
        drive.write_log(None).await;
    }
}

impl Journal {
    /// Copies of a log page, one word line in all.
    pub(crate) fn log_copies(&self) -> u32 {
        self.config.log_copies()
    }
    /// The blocks set aside for the log, in the order of their use; whether each is good is `good`'s to say.
    pub(crate) fn lay_out_log(&self, good: impl Fn(BlockIndex) -> bool) {
        let luns = self.geometry.total_luns();
        let blocks = self.blocks.borrow();
        let slot = |n: u32| {
            let block = blocks.block_index(LunIndex(n % luns), aster_units::BlockAddr(n / luns));
            LogSlot { block, last: 0, good: good(block) }
        };
        let slots = (luns * self.config.log_blocks_per_lun() as u32).min(SLOTS_MAX as u32);
        let mut log = self.log.borrow_mut();
        log.slots = (0..slots).map(slot).collect();
        log.turn = log.slots.len() - 1;
        log.lines_per_slot = u32::from(self.geometry.pages_per_block) / self.log_copies();
        log.lists_bytes = HEADER_BYTES + BLOCK_BYTES * luns as usize * self.config.free_list_max();
    }
    fn data_programs(&self) -> u64 {
        let programs = self.stats().flash_programs;
        programs.host + programs.gc
    }
    /// What the log does not say yet fills its next page: each page costs the host's writes a word line of a
    /// LUN. Of that page's lists those of the last one are known; a block that was opened since comes as a
    /// range. What ends while the page is being written is for the one after it.
    fn fills_log_page(&self, blocks: &Blocks) -> bool {
        let pending = &blocks.pending;
        let lists = self.log.borrow().lists_bytes + RANGE_BYTES * pending.opened();
        let room = (self.geometry.page_bytes as usize).saturating_sub(lists).max(ENTRIES_BYTES_MIN);
        pending.bytes() >= room || blocks.opens_fast()
    }
    fn log_is_due(&self) -> bool {
        self.log.borrow().asked && !self.log.borrow().ended && self.state() != DriveState::Booting
    }
    /// Each loss of power may cost a slot: before they run out, a map is stored that makes the others free
    /// again.
    pub(crate) fn log_is_half_full(&self) -> bool {
        let log = self.log.borrow();
        log.free_lines() < log.lines() / 2
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
        due && !log.ended && self.marked_dirty.get() && self.state() != DriveState::Booting
    }
    /// Has the map stored anew, which takes the place of the one before and of the log behind that.
    #[cold]
    pub(crate) fn renew_map(&self) {
        self.mark_dirty();
        self.log.borrow_mut().renew = true;
        self.checkpoint_wanted.wake(self.exec());
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
            let blocks = self.blocks.borrow();
            let listing = blocks.wants_free_list(lun) && !self.log.borrow().short;
            listing || self.fills_log_page(&blocks)
        };
        if due {
            self.ask_for_log();
        }
        if self.checkpoint_is_due() {
            self.checkpoint_wanted.wake(self.exec());
        }
    }
    /// Has a log page written as soon as there is room for one.
    pub(crate) fn ask_for_log(&self) {
        self.log.borrow_mut().asked = true;
        self.log_wanted.wake(self.exec());
    }
    /// Waits until another log page has been written, or none can be.
    pub(crate) async fn next_log_page(&self) {
        let before = self.log.borrow().number;
        self.ask_for_log();
        let done = || {
            let log = self.log.borrow();
            (log.number > before || log.ended).then_some(())
        };
        self.waiting(Wait::LogPage, self.log_waiters.wait(self.exec(), done)).await;
    }
    /// Waits until the log knows all trims so far.
    ///
    /// # Errors
    /// When it never will: a loss of power may bring back what was trimmed.
    pub(crate) async fn log_trims(&self) -> Result<(), HostStatus> {
        let last = self.blocks.borrow().pending.last_trim();
        loop {
            let (logged, dead) = {
                let log = self.log.borrow();
                (log.logged >= last, log.ended)
            };
            match (logged, dead) {
                (true, _) => return Ok(()),
                (false, true) => return Err(HostStatus::ReadOnly),
                (false, false) => self.next_log_page().await,
            }
        }
    }
    /// As [`Journal::log_trims`] while a map is being stored: false when the log has no room for them before
    /// that is done, or none at all.
    pub(crate) async fn log_trims_if_room(&self) -> bool {
        let last = self.blocks.borrow().pending.last_trim();
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
            self.log_waiters.wait(self.exec(), done).await;
        }
    }

    /// Writes a log page, one that names the stored map if there is a new one. When none can be written any
    /// more the drive takes no more writes.
    pub(crate) async fn write_log(&self, mut commit: Option<&mut Commit<'_>>) -> Written {
        let ready = self.log_waiters.wait(self.exec(), || self.begin_log_page(commit.is_some())).await;
        if !ready {
            return Written::No;
        }
        self.look_at_unverified().await;
        let Encoded { buffer, logged, whole, read_only } = self.encode_log_page(commit.as_deref_mut());
        let written = loop {
            let Some(line) = self.next_log_line().await else { break false };
            if self.program_log_line(line, buffer).await {
                break true;
            }
        };
        if written {
            self.log.borrow_mut().says_read_only |= read_only;
            self.end_log_page(commit.filter(|_| whole).map(|commit| commit.replay_from), logged);
        } else {
            self.end_log().await;
        }
        self.log_waiters.wake_all(self.exec());
        match written {
            false => Written::No,
            true if whole => Written::All,
            true => Written::Part,
        }
    }
    fn begin_log_page(&self, commit: bool) -> Option<bool> {
        let mut log = self.log.borrow_mut();
        if log.ended {
            return Some(false);
        }
        if log.writing {
            return None;
        }
        if !commit && !log.has_room() {
            log.asked = true;
            self.checkpoint_wanted.wake(self.exec());
            self.map_room.wake(self.exec());
            self.media.ask_again();
            return None;
        }
        (log.writing, log.asked) = (true, false);
        Some(true)
    }
    // `replay_from` comes with the page that names a stored map.
    fn end_log_page(&self, replay_from: Option<u64>, logged: u64) {
        let mut log = self.log.borrow_mut();
        log.writing = false;
        log.number += 1;
        log.logged = logged;
        if let Some(replay_from) = replay_from {
            (log.commit, log.replay_from) = (log.number, replay_from);
            log.needed_from = log.map_begun_at;
            log.renew = false;
        }
        self.count(|s| s.log_pages += 1);
        if let Some((slot, line)) = log.at.as_mut() {
            *line += 1;
            let (slot, number) = (*slot, log.number);
            log.slots[slot].last = number;
        }
        log.note_slots();
        let mut blocks = self.blocks.borrow_mut();
        blocks.free_listed();
        blocks.log_knows(logged);
    }

    /// Free blocks that were free when power went may hold what was begun just before: each is looked at
    /// before it is listed.
    async fn look_at_unverified(&self) {
        let buffer = self.log_buffer();
        for lun in (0..self.geometry.total_luns()).map(LunIndex) {
            self.blocks.borrow_mut().choose_free_to_list(lun, self.config.free_list_max());
            loop {
                let unverified = self.blocks.borrow().first_unverified(lun, self.config.free_list_max());
                let Some(block) = unverified else { break };
                let first = self.blocks.borrow().first_page(block);
                let outcome = self.blocks.read(first, self.pages.one_sector(), buffer, Cause::Metadata).await;
                let erased = outcome.status == FlashStatus::Done && outcome.erased;
                self.blocks.borrow_mut().clear_unverified(block, erased);
            }
        }
    }
    fn log_buffer(&self) -> BufferId {
        self.pages.dram().borrow().metadata_buffer(self.config.log_buffer())
    }

    /// Puts the next log page into its buffer. One that is to name a stored map does so if all runs of void
    /// pages fit that no page before it has; else it has as many as do.
    fn encode_log_page(&self, commit: Option<&mut Commit<'_>>) -> Encoded {
        let buffer = self.log_buffer();
        let mut blocks = self.blocks.borrow_mut();
        let mut log = self.log.borrow_mut();
        let mut header = Header {
            shape: self.shape(),
            number: log.number + 1,
            sequence: self.blocks.last_sequence(),
            commit: log.commit,
            replay_from: log.replay_from,
            stored: None,
            ranges: Vec::new(),
            free_list: Vec::new(),
            stale: Vec::new(),
            collected: blocks.collected().collect(),
            read_only: self.takes_no_writes(),
        };
        let page_bytes = self.geometry.page_bytes as usize;
        let left = |header: &Header| page_bytes.saturating_sub(header.bytes() + ENTRIES_BYTES_MIN);
        // Fewer entries need more ranges, which leave less room for entries: begin with what surely fits.
        header.ranges = blocks.ranges(blocks.pending.entries().iter());
        if left(&header) == 0 {
            let some = blocks.pending.fitting(ENTRIES_BYTES_MIN);
            header.ranges = blocks.ranges(blocks.pending.entries().iter().skip(some));
        }
        let mut whole = true;
        if let Some(commit) = commit {
            // Runs of stale pages can wait for another page; a writer that needs a listed block can't.
            let named = self.geometry.total_luns() as usize * self.config.free_list_max();
            let lists = BLOCK_BYTES * (commit.map.blocks.len() + named);
            let room = left(&header).saturating_sub(lists) / RANGE_BYTES;
            header.stale = blocks.stale_runs(&header.ranges, commit.stale_from, |lpn| (commit.place_of)(lpn));
            whole = header.stale.len() <= room;
            if whole {
                (header.commit, header.replay_from) = (header.number, commit.replay_from);
                header.stored = Some(commit.map.clone());
            } else {
                header.stale.truncate(room);
                // With none at all, the page's entries make room for the next one.
                if let Some(last) = header.stale.last() {
                    commit.stale_from = Ppa(last.0.0 + last.1);
                }
            }
        }
        let luns = self.geometry.total_luns();
        let most = (left(&header) / (BLOCK_BYTES * luns as usize)).min(self.config.free_list_max());
        header.free_list.reserve_exact(most * luns as usize);
        for lun in (0..luns).map(LunIndex) {
            header.free_list.extend(blocks.list_free(lun, most));
        }
        let room = page_bytes.saturating_sub(header.bytes());
        assert!(
            room >= ENTRIES_BYTES_MIN,
            "the lists of a log page have outgrown it: {} bytes",
            header.bytes()
        );
        let count = blocks.pending.fitting(room);
        header.ranges = blocks.ranges(blocks.pending.entries().iter().skip(count));
        log.lists_bytes = header.bytes_of_any();
        let mut dram = self.pages.dram().borrow_mut();
        let (content, oob) = dram.page_and_oob_mut(buffer);
        header.encode(&blocks.pending, count, content);
        let number = header.number;
        OobRecord { kind: PageKind::Log, lpn: 0, sequence: number, lost_sectors: 0, copy: 0 }.encode(oob);
        Encoded { buffer, logged: blocks.pending.take(count), whole, read_only: header.read_only }
    }

    /// The first page of the next line; a slot that is full makes way for another.
    async fn next_log_line(&self) -> Option<Ppa> {
        loop {
            let (current, next) = {
                let log = self.log.borrow();
                let current =
                    log.at.filter(|&(slot, line)| log.slots[slot].good && line < log.lines_per_slot);
                (current.map(|(slot, line)| (log.slots[slot].block, line)), log.next_spare())
            };
            if let Some((block, line)) = current {
                return Some(Ppa(self.blocks.borrow().first_page(block).0 + line * self.log_copies()));
            }
            let Some(slot) = next else {
                let mut log = self.log.borrow_mut();
                let rest =
                    log.rest.take().filter(|&(slot, line)| log.slots[slot].good && line < log.lines_per_slot);
                log.at = Some(rest?);
                continue;
            };
            let block = self.log.borrow().slots[slot].block;
            let (lun, addr) = {
                let blocks = self.blocks.borrow();
                (blocks.lun_of(block), blocks.block_addr(block))
            };
            let tag = self.begin_erase(lun, addr, self.log_buffer(), Cause::Metadata).await;
            let erased = self.media.done(tag).await.status == FlashStatus::Done;
            {
                let mut log = self.log.borrow_mut();
                // What is left of the slot from before lies behind this one now: recovery would not look
                // there for newer pages.
                (log.at, log.turn, log.rest) = (Some((slot, 0)), slot, None);
                log.slots[slot].last = 0;
            }
            self.store_root(false);
            if erased {
                self.blocks.borrow_mut().log_erased(block);
            } else {
                self.fail_slot();
            }
        }
    }
    fn fail_slot(&self) {
        let failed = {
            let mut log = self.log.borrow_mut();
            let Some((slot, _)) = log.at.take() else { return };
            log.slots[slot].good = false;
            log.note_slots();
            log.slots[slot].block
        };
        let lun = self.blocks.borrow().lun_of(failed);
        self.retire(lun, failed);
    }
    async fn program_log_line(&self, line: Ppa, buffer: BufferId) -> bool {
        let written = self.program_copies(line, buffer).await;
        if !written {
            self.fail_slot();
        }
        written
    }
    async fn program_copies(&self, line: Ppa, buffer: BufferId) -> bool {
        let (copies, mut in_flight, mut written) = (self.log_copies(), VecDeque::new(), true);
        // One copy after the other; all together where a line is programmed as a whole.
        for copy in 0..copies {
            in_flight.push_back(self.begin_map_program(Ppa(line.0 + copy), buffer, Cause::Metadata).await);
            if self.config.whole_lines && copy + 1 < copies {
                continue;
            }
            while let Some(tag) = in_flight.pop_front() {
                written &= self.media.done(tag).await.status == FlashStatus::Done;
            }
            if !written {
                return false;
            }
        }
        true
    }
    /// No map can be stored, and without one the log has little room left. The drive takes no more writes;
    /// what is left of the log is for what it must know to the end.
    #[cold]
    pub(crate) fn give_up_storing(&self) {
        self.log.borrow_mut().uses_reserve = true;
        if self.state() == DriveState::Ready {
            self.set_state(DriveState::ReadOnly);
        }
        self.log_waiters.wake_all(self.exec());
    }
    /// No slot takes a page any more. What the log says stays the truth, and nothing happens any more that it
    /// would have to know: no block is opened that its last page does not list, and none is collected. A
    /// block that was empty by then, its trims journaled, may still be erased, and so may an old map's at
    /// shutdown: nothing in them counts. So nothing that was flushed is lost with the power, no trim either;
    /// what is buffered goes as far as there is room.
    #[cold]
    async fn end_log(&self) {
        let said = self.log.borrow().says_read_only;
        if !said {
            self.mark_read_only().await;
        }
        {
            let mut log = self.log.borrow_mut();
            (log.writing, log.ended, log.short) = (false, true, true);
        }
        self.blocks.borrow_mut().end_free_list();
        if self.state() == DriveState::Ready {
            self.set_state(DriveState::ReadOnly);
        }
        self.store_root(false);
        // Those that wait for room learn that there will be none.
        (0..self.geometry.total_luns()).for_each(|lun| self.blocks.room_changed(LunIndex(lun)));
        self.pool_waiters.wake_all(self.exec());
        self.gc_idle.wake(self.exec());
    }
    /// Says in a page among the host's data that the drive takes no more writes, so that no loss of power
    /// makes it forget that: one that recovery will look at.
    async fn mark_read_only(&self) {
        let buffer = self.log_buffer();
        {
            let mut dram = self.pages.dram().borrow_mut();
            let (content, oob) = dram.page_and_oob_mut(buffer);
            content.fill(0);
            OobRecord { kind: PageKind::LogEnd, ..OobRecord::padding() }.encode(oob);
        }
        for lun in (0..self.geometry.total_luns()).map(LunIndex) {
            self.blocks.borrow_mut().open_listed_at_power_on(lun);
            let Some(programs) = self.begin_in_listed_block(lun, buffer).await else { continue };
            let (ppa, tag) = programs.first();
            let marked = self.program_done(ppa, tag).await;
            if marked {
                self.blocks.line_durable(ppa);
            }
            self.padded(programs.padding()).await;
            if marked {
                return self.pad_line(lun, Stream::Host).await;
            }
        }
    }
}
