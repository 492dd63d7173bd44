//! The log: what recovery needs to know in addition to the stored map.
//!
//! Log pages lie in *slots*: blocks set aside for them, the same number in each LUN, used in turn. Every page
//! takes a whole word line, so that a program that is cut off can't destroy an earlier log page. A slot is
//! erased and used again once the stored map covers everything that its pages say.
//!
//! A log page carries the changes since the page before it. It also lists the free blocks that may be written
//! before the next page: recovery looks into those and into no others. The log is waited for only by writers
//! that need a block that isn't listed, and by trims that must be durable.

use crate::blocks::pool::BlockPool;
use crate::durability::outbox::PendingEntries;
use crate::journal::append::Writer;
use crate::journal::due::Due;
use crate::journal::health::Health;
use crate::journal::log_page::{Header, StoredMap};
use crate::journal::log_state::LogState;
use crate::journal::own_pages::OwnPages;
use crate::journal::record::RootRecord;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::terms::cause::Cause;
use crate::terms::oob::{OobRecord, PageKind};
use crate::terms::runtime::Runtime;
use crate::terms::sizes::{BLOCK_BYTES, ENTRIES_BYTES_MIN, RANGE_BYTES};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_parties::DriveState;
use aster_ports::flash::FlashStatus;
use aster_units::{BufferId, Lpn, LunIndex, Ppa, Upa};
use core::cell::RefCell;

/// A stored map that the log is to name.
pub(crate) struct Commit<'a> {
    pub(crate) map: StoredMap,
    /// The first log page whose entries the map may lack.
    pub(crate) replay_from: u64,
    /// The place from which runs of stale units have yet to be written.
    pub(crate) stale_from: Upa,
    /// The page that names the map must leave no entries to a later page: the next power-on begins without
    /// any.
    pub(crate) leaves_none: bool,
    /// Where a logical unit is now.
    pub(crate) place_of: &'a dyn Fn(Lpn) -> Upa,
}

/// The result of writing a log page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// It could not be written, nor can any other.
    No,
    /// It has a part of what belongs to a stored map, and doesn't name the map yet.
    Part,
    /// It has everything.
    All,
}

/// A log page in its buffer.
struct Encoded {
    buffer: BufferId,
    /// Entries logged since power-on, this page's included.
    logged: u64,
    /// It says all that was asked for: if there is a stored map to be named, it names that.
    whole: bool,
    /// It says that the drive takes no more writes.
    read_only: bool,
}

/// Writes a log page whenever one is due. Never ends.
pub(crate) async fn run(log: Rc<LogWriter>) {
    loop {
        log.due.log_due().await;
        log.write_log(None).await;
    }
}

type EndWatcher = Box<dyn Fn()>;

/// Writes the log.
pub(crate) struct LogWriter {
    pub(super) runtime: Rc<Runtime>,
    pub(super) pages: Rc<PageBuffers>,
    pub(super) media: Rc<Media>,
    pub(super) blocks: Rc<BlockPool>,
    pub(super) own: Rc<OwnPages>,
    pub(super) log: Rc<LogState>,
    pub(super) root: Rc<RootRecord>,
    pub(super) due: Rc<Due>,
    pub(super) health: Rc<Health>,
    pub(super) writer: Rc<Writer>,
    pub(super) end_watchers: RefCell<Vec<EndWatcher>>,
}

impl LogWriter {
    /// Calls `watcher` when the log has ended, so that tasks that wait in vain check again.
    pub(crate) fn when_ended(&self, watcher: EndWatcher) {
        self.end_watchers.borrow_mut().push(watcher);
    }

    /// Writes a log page. If there is a new stored map, the page names it. If no page can be written any
    /// more, the drive becomes read-only.
    pub(crate) async fn write_log(&self, mut commit: Option<&mut Commit<'_>>) -> Written {
        let ready = self.due.wait_log(|| self.begin_log_page(commit.is_some())).await;
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
            self.log.state.borrow_mut().page.says_read_only |= read_only;
            self.end_log_page(commit.filter(|_| whole).map(|commit| commit.replay_from), logged);
        } else {
            self.end_log().await;
        }
        self.due.log_changed();
        match written {
            false => Written::No,
            true if whole => Written::All,
            true => Written::Part,
        }
    }
    fn begin_log_page(&self, commit: bool) -> Option<bool> {
        let mut log = self.log.state.borrow_mut();
        if log.ended {
            return Some(false);
        }
        if log.page.writing {
            return None;
        }
        if !commit && !log.has_room() {
            log.page.asked = true;
            self.due.ask_for_checkpoint();
            self.due.room_for_map_changed();
            self.media.ask_again();
            return None;
        }
        (log.page.writing, log.page.asked) = (true, false);
        Some(true)
    }
    // `replay_from` is given for the page that names a stored map.
    fn end_log_page(&self, replay_from: Option<u64>, logged: u64) {
        let mut log = self.log.state.borrow_mut();
        assert!(log.page.writing, "a log page ends that has not begun");
        assert!(logged >= log.logged, "the log forgets entries");
        log.page.writing = false;
        log.number += 1;
        log.logged = logged;
        let of_page = core::mem::take(&mut log.page.entries);
        log.told.extend(of_page);
        if let Some(replay_from) = replay_from {
            (log.map.commit, log.map.replay_from) = (log.number, replay_from);
            log.map.needed_from = log.map.begun_at;
            log.map.renew = false;
        }
        self.runtime.count(|s| s.log_pages += 1);
        if let Some((slot, line)) = log.at {
            assert!(line < log.lines_per_slot, "a slot has {} lines", log.lines_per_slot);
            log.at = Some((slot, line + 1));
            log.slots[slot].last = log.number;
        }
        log.note_slots();
        let blocks = self.blocks.table();
        blocks.free.page_is_written();
        blocks.durability.log_knows(logged);
        drop(log);
        self.blocks.queues.ask_flush();
    }

    /// Blocks that were free when the power went may hold a program that had just begun: each is checked
    /// before it is listed.
    async fn look_at_unverified(&self) {
        let buffer = self.log_buffer();
        for lun in (0..self.runtime.geometry.total_luns()).map(LunIndex) {
            self.blocks.table().free.choose(lun, self.runtime.config.areas().free_list_max());
            loop {
                let unverified = self
                    .blocks
                    .table()
                    .free
                    .first_unverified(lun, self.runtime.config.areas().free_list_max());
                let Some(block) = unverified else { break };
                let first = self.blocks.table().layout.first_page(block);
                let outcome = self.blocks.read(first, self.pages.one_sector(), buffer, Cause::Metadata).await;
                let erased = outcome.status == FlashStatus::Done && outcome.erased;
                self.blocks.table().verified(block, erased);
            }
        }
    }
    fn log_buffer(&self) -> BufferId {
        self.pages.dram().borrow().metadata_buffer(self.runtime.buffers.log())
    }

    /// Puts the next log page into its buffer. If there is a stored map to be named, the page names it
    /// provided that all remaining runs of stale pages fit. Otherwise it takes as many runs as fit. At a
    /// shutdown all entries must fit as well.
    fn encode_log_page(&self, commit: Option<&mut Commit<'_>>) -> Encoded {
        let outbox = &self.blocks.table().outbox;
        let buffer = self.log_buffer();
        let (count, whole) = outbox.read(|pending| self.encode_entries(pending, buffer, commit));
        Encoded { buffer, logged: outbox.take(count), whole, read_only: self.log.takes_no_writes() }
    }
    /// Returns how many entries are in the page, and whether it names the map that it should name.
    fn encode_entries(
        &self,
        pending: &PendingEntries,
        buffer: BufferId,
        mut commit: Option<&mut Commit<'_>>,
    ) -> (usize, bool) {
        let blocks = self.blocks.table();
        let mut log = self.log.state.borrow_mut();
        let mut header = Header {
            shape: self.own.shape(),
            number: log.number + 1,
            sequence: self.blocks.sequence.last(),
            commit: log.map.commit,
            replay_from: log.map.replay_from,
            stored: None,
            ranges: Vec::new(),
            free_list: Vec::new(),
            stale: Vec::new(),
            collected: blocks.durability.collected(),
            read_only: self.log.takes_no_writes(),
        };
        let page_bytes = self.runtime.geometry.page_bytes as usize;
        let left = |header: &Header| page_bytes.saturating_sub(header.bytes() + ENTRIES_BYTES_MIN);
        // Entries that don't fit need ranges, which leave less room for entries: begin with what certainly
        // fits.
        header.ranges = blocks.durability.ranges(pending.entries().iter());
        if left(&header) == 0 {
            let some = pending.fitting(ENTRIES_BYTES_MIN);
            header.ranges = blocks.durability.ranges(pending.entries().iter().skip(some));
        }
        let mut whole = true;
        if let Some(commit) = &mut commit {
            // Runs of stale pages can wait for another page; a writer that needs a listed block can't.
            let named =
                self.runtime.geometry.total_luns() as usize * self.runtime.config.areas().free_list_max();
            let lists = BLOCK_BYTES * (commit.map.blocks.len() + named);
            let room = left(&header).saturating_sub(lists) / RANGE_BYTES;
            header.stale =
                blocks.durability.stale_runs(&header.ranges, commit.stale_from, |lpn| (commit.place_of)(lpn));
            whole = header.stale.len() <= room;
            if whole {
                (header.commit, header.replay_from) = (header.number, commit.replay_from);
                header.stored = Some(commit.map.clone());
            } else {
                header.stale.truncate(room);
                // If no run fits at all, logging the page's entries makes room in the next page.
                if let Some(last) = header.stale.last() {
                    commit.stale_from = Upa(last.0.0 + last.1);
                }
            }
        }
        let luns = self.runtime.geometry.total_luns();
        let most =
            (left(&header) / (BLOCK_BYTES * luns as usize)).min(self.runtime.config.areas().free_list_max());
        header.free_list.reserve_exact(most * luns as usize);
        for lun in (0..luns).map(LunIndex) {
            blocks.free.list(lun, most, &mut header.free_list);
        }
        let room = page_bytes.saturating_sub(header.bytes());
        assert!(
            room >= ENTRIES_BYTES_MIN,
            "the lists of a log page have outgrown it: {} bytes",
            header.bytes()
        );
        let count = pending.fitting(room);
        if let Some(commit) = commit.filter(|commit| commit.leaves_none && whole)
            && count < pending.entries().len()
        {
            // If an older entry of a unit were replayed over the map, it would bring back what a later,
            // left-over entry has replaced.
            (header.commit, header.replay_from, header.stored) = (log.map.commit, log.map.replay_from, None);
            (commit.stale_from, whole) = (Upa::NONE, false);
        }
        header.ranges = blocks.durability.ranges(pending.entries().iter().skip(count));
        log.page.lists_bytes = header.bytes_of_any();
        if self.runtime.config.map_cache().is_some() {
            log.page.entries.clear();
            log.page.entries.extend(pending.entries().iter().take(count));
        }
        let mut dram = self.pages.dram().borrow_mut();
        let (content, oob) = dram.page_and_oob_mut(buffer);
        header.encode(pending, count, content);
        let number = header.number;
        OobRecord { kind: PageKind::Log, lpn: 0, sequence: number, lost_sectors: 0, copy: 0 }
            .encode_as(self.runtime.units, oob);
        (count, whole)
    }

    /// The first page of the next line. Goes on to another slot if this one is full.
    async fn next_log_line(&self) -> Option<Ppa> {
        loop {
            let (current, next) = {
                let log = self.log.state.borrow();
                let current =
                    log.at.filter(|&(slot, line)| log.slots[slot].good && line < log.lines_per_slot);
                (current.map(|(slot, line)| (log.slots[slot].block, line)), log.next_spare())
            };
            if let Some((block, line)) = current {
                return Some(Ppa(
                    self.blocks.table().layout.first_page(block).0 + line * self.own.log_copies()
                ));
            }
            let Some(slot) = next else {
                let mut log = self.log.state.borrow_mut();
                let rest =
                    log.rest.take().filter(|&(slot, line)| log.slots[slot].good && line < log.lines_per_slot);
                log.at = Some(rest?);
                continue;
            };
            let block = self.log.state.borrow().slots[slot].block;
            let layout = &self.blocks.table().layout;
            let (lun, addr) = (layout.lun_of(block), layout.block_addr(block));
            let tag = self.writer.begin_erase(lun, addr, self.log_buffer(), Cause::Metadata).await;
            let erased = self.media.done(tag).await.status == FlashStatus::Done;
            {
                let mut log = self.log.state.borrow_mut();
                // The rest of the previous slot counts as older than this slot now: recovery would not look
                // there for newer pages.
                (log.at, log.turn, log.rest) = (Some((slot, 0)), slot, None);
                log.slots[slot].last = 0;
            }
            self.root.store(false);
            if erased {
                self.blocks.table().log_erased(block);
            } else {
                self.fail_slot();
            }
        }
    }
    fn fail_slot(&self) {
        let failed = {
            let mut log = self.log.state.borrow_mut();
            let Some((slot, _)) = log.at.take() else { return };
            assert!(log.slots[slot].good, "a slot goes bad twice");
            log.slots[slot].good = false;
            log.note_slots();
            log.slots[slot].block
        };
        let lun = self.blocks.table().layout.lun_of(failed);
        self.health.retire(lun, failed);
    }
    async fn program_log_line(&self, line: Ppa, buffer: BufferId) -> bool {
        let written = self.program_copies(line, buffer).await;
        if !written {
            self.fail_slot();
        }
        written
    }
    async fn program_copies(&self, line: Ppa, buffer: BufferId) -> bool {
        let (copies, mut in_flight, mut written) = (self.own.log_copies(), VecDeque::new(), true);
        // One copy after the other, or all together if whole lines are programmed.
        for copy in 0..copies {
            in_flight
                .push_back(self.writer.begin_map_program(Ppa(line.0 + copy), buffer, Cause::Metadata).await);
            if self.runtime.config.lines.whole && copy + 1 < copies {
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
    /// No map can be stored, and without one the log has little room left. The drive becomes read-only. The
    /// rest of the log is kept for entries that must still be written.
    #[cold]
    pub(crate) fn give_up_storing(&self) {
        self.log.state.borrow_mut().uses_reserve = true;
        if self.runtime.state() == DriveState::Ready {
            self.health.set_state(DriveState::ReadOnly);
        }
        self.due.log_changed();
        self.blocks.queues.ask_flush();
    }
    /// No slot takes a page any more. What the log says stays true, since nothing happens any more that would
    /// have to be logged: no block is opened that the last page doesn't list, and none is collected. A block
    /// that was already empty, with its trims journaled, may still be erased, and so may an old map's block
    /// at shutdown: nothing in them counts. So no loss of power undoes flushed data or trims. Buffered data
    /// is written as far as there is room.
    #[cold]
    async fn end_log(&self) {
        let said = self.log.state.borrow().page.says_read_only;
        if !said {
            self.mark_read_only().await;
        }
        {
            let mut log = self.log.state.borrow_mut();
            (log.page.writing, log.ended, log.short) = (false, true, true);
        }
        self.blocks.table().free.end();
        if self.runtime.state() == DriveState::Ready {
            self.health.set_state(DriveState::ReadOnly);
        }
        self.root.store(false);
        // Tasks that wait for room learn that there will be none.
        self.blocks.table().layout.all_pools().for_each(|pool| self.blocks.queues.room_changed(pool));
        self.blocks.queues.tell_full();
        self.blocks.queues.ask_flush();
        self.end_watchers.borrow().iter().for_each(|watcher| watcher());
    }
    /// Records in a page among the host's data that the drive is read-only, so that this survives a loss of
    /// power. The page is one that recovery will look at.
    async fn mark_read_only(&self) {
        let buffer = self.log_buffer();
        {
            let mut dram = self.pages.dram().borrow_mut();
            let (content, oob) = dram.page_and_oob_mut(buffer);
            content.fill(0);
            OobRecord { kind: PageKind::LogEnd, ..OobRecord::padding() }.encode_as(self.runtime.units, oob);
        }
        for lun in (0..self.runtime.geometry.total_luns()).map(LunIndex) {
            self.blocks.table().open_listed_at_power_on(lun);
            let Some(programs) = self.writer.begin_in_listed_block(lun, buffer).await else { continue };
            let (ppa, tag) = programs.first();
            let done = self.writer.program_done(ppa, tag).await;
            let marked = done.map(|programmed| self.blocks.line_durable(programmed)).is_some();
            self.writer.padded(programs.padding()).await;
            if marked {
                return self.writer.pad_host_lines(lun).await;
            }
        }
    }
}
