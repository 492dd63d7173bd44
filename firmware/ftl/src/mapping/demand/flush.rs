//! Writing changes into translation pages: the page with the most changes first.
//!
//! A change is written only once a log page has it. So no translation page is ever ahead of the log, and
//! recovery finds the same map as if it were all in memory. The change's row stays until no loss of power can
//! undo the translation page. Until then it is part of each stored map.

use crate::blocks::programmed::Programmed;
use crate::durability::outbox::LogEntry;
use crate::durability::unsafe_programs::{Change, Safety};
use crate::mapping::demand::state::Demand;
use crate::terms::block::Stream;
use alloc::rc::Rc;
use aster_parties::DriveState;
use aster_units::{BufferId, LunIndex, Ppa, Upa};

/// A page with this many changes is written even if nobody needs room: waiting for more would gain little,
/// and a page's rows are a list that has to be walked.
const ENOUGH: u32 = 256;

/// Work for a task that writes.
pub(super) enum Work {
    Page(u32),
    /// Make a written page safe by completing its word line.
    Pad(Ppa),
    /// Complete the host's word lines.
    PadAll,
}

/// The outcome of writing a page.
enum Outcome {
    At(Ppa),
    /// Nothing is mapped in the page any more, so it doesn't exist.
    Nowhere,
    Not,
}

/// Writes translation pages. Never ends.
pub(super) async fn run(map: Rc<Demand>, buffer: BufferId) {
    loop {
        match map.journal().blocks().queues.wait_flush(|| map.next_work()).await {
            Work::Page(page) => map.flush(page, buffer).await,
            Work::Pad(page) => map.make_safe(page).await,
            Work::PadAll => {
                for lun in (0..map.runtime().geometry.total_luns()).map(LunIndex) {
                    map.journal().writer.pad_host_lines(lun).await;
                }
            }
        }
        map.flushes.task_ends();
        map.settle();
        map.flushes.look_idle();
        map.journal().blocks().queues.ask_flush();
    }
}

impl Demand {
    /// Completes the word line of a translation page.
    async fn make_safe(&self, page: Ppa) {
        self.journal().writer.make_page_durable(page).await;
        // The page may lie in garbage collection's block.
        let (lun, safety) = {
            let blocks = self.journal().blocks().table();
            (blocks.layout.lun_of_page(page), blocks.durability.safety(page))
        };
        if safety == Safety::Open {
            self.journal().writer.pad_line(lun, Stream::Gc).await;
        }
    }
    fn next_work(&self) -> Option<Work> {
        if self.is_booting.get() || self.runtime().state() == DriveState::Booting {
            return None;
        }
        self.take_told();
        self.settle();
        let work = self.work_to_do()?;
        self.flushes.task_begins();
        Some(work)
    }
    fn work_to_do(&self) -> Option<Work> {
        let is_wanted = self.room.is_wanted();
        let blocks = self.journal().blocks();
        let pool_of = |page| self.store.pool_of(self.shape.unit_of(page));
        let may = |page: u32| {
            self.flushes.may_begin(page) && blocks.table().room.has_room_for_mapping(pool_of(page))
        };
        let fullest = self.rows.borrow().fullest(may);
        // An idle drive stays as it is.
        let is_paused = blocks.collection.is_paused();
        let is_full = |page| self.rows.borrow().flushable(page) >= ENOUGH;
        let worth = |&page: &u32| is_wanted || (!is_paused && is_full(page));
        if let Some(page) = fullest.filter(worth) {
            self.flushes.begin(page);
            return Some(Work::Page(page));
        }
        if !is_wanted || self.flushes.is_active() {
            return None;
        }
        // No page can be written now: something else has to happen first.
        if let Some(page) = self.flushes.oldest_unsafe() {
            return Some(Work::Pad(page));
        }
        let mut comes = self.flushes.wants_log() && !self.journal().log.has_ended();
        if comes {
            self.journal().due.ask_for_log();
        }
        for page in 0..self.shape.pages {
            if self.rows.borrow().flushable(page) > 0 && !self.flushes.is_lost(page) {
                let pool = pool_of(page);
                // Garbage collection that is waiting for rows itself can't make room.
                let collects = !blocks.table().room.is_full(pool)
                    && !self.room.is_awaited_by(blocks.table().layout.first_lun(pool));
                comes |= collects && !self.journal().log.has_ended();
                blocks.collection.ask(pool);
            }
        }
        if comes && blocks.collection.is_paused() && !blocks.collection.is_shut_down() {
            // Power-on has found more changes than there is room for.
            blocks.collection.resume();
        }
        if self.rows.borrow().any_unlogged() && !self.journal().log.has_ended() {
            if !blocks.table().outbox.is_empty() {
                self.journal().due.ask_for_log();
                return None;
            }
            let luns = (0..self.runtime().geometry.total_luns()).map(LunIndex);
            let is_begun = |lun: LunIndex| blocks.table().open.is_host_line_begun(lun);
            if luns.clone().any(is_begun) {
                return Some(Work::PadAll);
            }
            // All that is left are programs in flight, and copies out of a victim that is being collected.
        }
        if !comes && self.runtime().state() != DriveState::Ready {
            self.room.give_up();
        }
        None
    }
    /// Takes over which further changes have been logged.
    fn take_told(&self) {
        let mut rows = self.rows.borrow_mut();
        for entry in self.journal().log.take_told() {
            match entry {
                LogEntry::Map { lpn, at } if lpn.0 < self.shape.host_units => rows.logged(lpn, at),
                LogEntry::Trim { first, count, .. } if first.0 < self.shape.host_units => {
                    rows.logged_unmapped(first, count.min(self.shape.host_units - first.0));
                }
                _ => {}
            }
        }
    }
    /// Rows are clean once the page that has their changes is safe.
    pub(super) fn settle(&self) {
        let journal = self.journal();
        let is_safe = |page: Ppa| journal.blocks().table().durability.safety(page) == Safety::Safe;
        let is_logged = |entry: u64| journal.log.has_logged(entry);
        let mut cleaned = 0;
        self.flushes.take_safe(is_safe, is_logged, |page| cleaned += self.end_flush(page, true));
        self.room.cleaned(cleaned);
    }
    fn end_flush(&self, page: u32, is_written: bool) -> u32 {
        self.flushes.end(page);
        let cleaned = self.rows.borrow_mut().end_flush(page, is_written);
        self.count(|counts| counts.changes += u64::from(cleaned));
        cleaned
    }
    async fn flush(&self, page: u32, buffer: BufferId) {
        match self.write_page(page, buffer).await {
            Outcome::At(at) => self.flushes.written(page, at),
            // Only the log tells recovery that the page doesn't exist any more.
            Outcome::Nowhere => {
                let last = self.journal().blocks().table().outbox.last();
                self.flushes.unmapped(page, last);
            }
            Outcome::Not => {
                self.end_flush(page, false);
            }
        }
    }
    async fn write_page(&self, page: u32, buffer: BufferId) -> Outcome {
        let journal = self.journal();
        if !self.read_to_change(page, buffer).await {
            self.flushes.lose(page);
            return Outcome::Not;
        }
        let is_empty = {
            let mut dram = journal.pages().dram().borrow_mut();
            let bytes = dram.page_mut(buffer);
            self.rows.borrow_mut().begin_flush(page, |entry, at| {
                bytes[entry as usize * 4..][..4].copy_from_slice(&(!at.0).to_le_bytes());
            });
            bytes.iter().all(|&byte| byte == 0)
        };
        let unit = self.shape.unit_of(page);
        if is_empty {
            self.unmap_own(page);
            journal.due.after_program(journal.blocks().table().layout.first_lun(self.store.pool_of(unit)));
            return Outcome::Nowhere;
        }
        let moved = |programmed: Programmed| {
            let to = journal.runtime().units.first_in(programmed.page());
            let from = self.directory.borrow_mut().set(page, to);
            journal.blocks().table().durability.moved(Change { lpn: unit, from, to });
            if let Some(copy) = self.clean.borrow_mut().page_mut(page) {
                self.copy_entries(buffer, copy);
            }
            self.loads.note_stale(page, true);
            journal.blocks().line_durable(programmed);
        };
        match self.store.write(unit, buffer, moved).await {
            Some(at) => {
                self.count(|counts| counts.page_programs += 1);
                Outcome::At(at)
            }
            None => Outcome::Not,
        }
    }
    /// Gives up a page in which nothing is mapped.
    pub(super) fn unmap_own(&self, page: u32) {
        let journal = self.journal();
        let from = self.directory.borrow_mut().set(page, Upa::NONE);
        self.clean.borrow_mut().remove(page);
        self.loads.note_stale(page, true);
        if from.is_some() {
            journal.root.mark_dirty();
            let (unit, sequence) = (self.shape.unit_of(page), journal.blocks().sequence.next());
            let pool = self.store.pool_of(unit);
            journal.blocks().table().durability.unmapped(pool, unit, from, sequence);
        }
    }
    /// Puts a page into a buffer as it is on flash. Returns false if it can't be read.
    async fn read_to_change(&self, page: u32, buffer: BufferId) -> bool {
        let at = self.directory.borrow().get(page);
        let is_here = {
            let clean = self.clean.borrow();
            let here = clean.page(page);
            let mut dram = self.journal().pages().dram().borrow_mut();
            let bytes = dram.page_mut(buffer);
            bytes.fill(0);
            for (bytes, entry) in bytes.chunks_exact_mut(4).zip(here.unwrap_or_default()) {
                bytes.copy_from_slice(&entry.to_le_bytes());
            }
            here.is_some() || !at.is_some()
        };
        if is_here {
            return true;
        }
        self.count(|counts| counts.page_reads += 1);
        self.store.read(self.shape.unit_of(page), at, buffer).await
    }
}
