//! The log: what recovery needs to know beyond the stored map.
//!
//! Log pages stand in blocks set aside for them, the same number in each LUN, used in turn: their slots.
//! Every page is written to a whole word line, so that a program that is cut off takes no log page along that
//! was whole before. A slot is erased and used again when the stored map knows all that its pages say.
//!
//! A log page carries the changes since the page before, and lists the free blocks that may be written before
//! the next page: recovery looks into those, and into no others. Only a writer that needs a block which isn't
//! listed waits for the log, and a trim that must be durable.

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
use crate::terms::block::Stream;
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

/// A stored map on its way into the log.
pub(crate) struct Commit<'a> {
    pub(crate) map: StoredMap,
    /// The first log page whose entries it may not know.
    pub(crate) replay_from: u64,
    /// The place from which on runs of stale units have not been written yet.
    pub(crate) stale_from: Upa,
    /// The page that names the map leaves no entry to a later one: the next power-on begins with none.
    pub(crate) leaves_none: bool,
    /// Where a logical unit is now.
    pub(crate) place_of: &'a dyn Fn(Lpn) -> Upa,
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
    /// Calls `watcher` when the log has ended: whoever waits for what can't come any more looks again.
    pub(crate) fn when_ended(&self, watcher: EndWatcher) {
        self.end_watchers.borrow_mut().push(watcher);
    }

    /// Writes a log page, one that names the stored map if there is a new one. When none can be written any
    /// more the drive takes no more writes.
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
    // `replay_from` comes with the page that names a stored map.
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

    /// Free blocks that were free when power went may hold what was begun just before: each is looked at
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
        self.pages.dram().borrow().metadata_buffer(self.runtime.config.buffers().log())
    }

    /// Puts the next log page into its buffer. One that is to name a stored map does so if all runs of stale
    /// pages fit that no page before it has; else it has as many as do. At a shutdown all entries must fit,
    /// too.
    fn encode_log_page(&self, commit: Option<&mut Commit<'_>>) -> Encoded {
        let outbox = &self.blocks.table().outbox;
        let buffer = self.log_buffer();
        let (count, whole) = outbox.read(|pending| self.encode_entries(pending, buffer, commit));
        Encoded { buffer, logged: outbox.take(count), whole, read_only: self.log.takes_no_writes() }
    }
    /// Gives how many entries are in the page, and whether it names the map that it is to name.
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
        // Fewer entries need more ranges, which leave less room for entries: begin with what surely fits.
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
                // With none at all, the page's entries make room for the next one.
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
            // An older entry of a unit that is replayed over the map would bring back what a later one of
            // those left over has replaced.
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

    /// The first page of the next line; a slot that is full makes way for another.
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
                // What is left of the slot from before lies behind this one now: recovery would not look
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
        // One copy after the other; all together where a line is programmed as a whole.
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
    /// No map can be stored, and without one the log has little room left. The drive takes no more writes;
    /// what is left of the log is for what it must know to the end.
    #[cold]
    pub(crate) fn give_up_storing(&self) {
        self.log.state.borrow_mut().uses_reserve = true;
        if self.runtime.state() == DriveState::Ready {
            self.health.set_state(DriveState::ReadOnly);
        }
        self.due.log_changed();
        self.blocks.queues.ask_flush();
    }
    /// No slot takes a page any more. What the log says stays the truth, and nothing happens any more that it
    /// would have to know: no block is opened that its last page does not list, and none is collected. A
    /// block that was empty by then, its trims journaled, may still be erased, and so may an old map's at
    /// shutdown: nothing in them counts. So nothing that was flushed is lost with the power, no trim either;
    /// what is buffered goes as far as there is room.
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
        // Those that wait for room learn that there will be none.
        (0..self.runtime.geometry.total_luns())
            .for_each(|lun| self.blocks.queues.room_changed(LunIndex(lun)));
        self.blocks.queues.tell_full();
        self.blocks.queues.ask_flush();
        self.end_watchers.borrow().iter().for_each(|watcher| watcher());
    }
    /// Says in a page among the host's data that the drive takes no more writes, so that no loss of power
    /// makes it forget that: one that recovery will look at.
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
                return self.writer.pad_line(lun, Stream::Host).await;
            }
        }
    }
}
