//! Reading the log back after a loss of power.

use crate::checkpoint::error::BootError;
use crate::durability::outbox::LogEntry;
use crate::journal::log_page::{Header, StoredMap};
use crate::journal::power_on::SlotRead;
use crate::journal::root::LogPlace;
use crate::mapping::Mapping;
use crate::recovery::state::Recovery;
use crate::terms::block::BlockIndex;
use crate::terms::cause::Cause;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_units::Ppa;

/// Lines of the log read ahead.
const LINES_AHEAD: usize = 8;

/// Why there is nothing to recover from.
pub(super) enum NoRecovery {
    /// No slot holds a log page: the drive comes from the factory, or its log is lost.
    NoLog,
    /// The log or the map that it names can't be read.
    Unreadable,
    /// The log belongs to another drive.
    Other(BootError),
}

/// The part of the log that recovery needs.
pub(super) struct LogRead {
    // Oldest first, including the last one.
    pages: VecDeque<(Header, Vec<LogEntry>)>,
    last: Header,
    stored: StoredMap,
    slots: Vec<SlotRead>,
}

impl LogRead {
    /// What the last log page says apart from its entries.
    pub(super) fn last(&self) -> &Header {
        &self.last
    }
    /// What each log page says apart from its entries, oldest first.
    pub(super) fn headers(&self) -> impl Iterator<Item = &Header> + Clone {
        self.pages.iter().map(|(header, _)| header)
    }
    /// The entries to be replayed, oldest first.
    pub(super) fn entries(&self) -> impl Iterator<Item = LogEntry> {
        self.pages.iter().flat_map(|(_, entries)| entries).copied()
    }
    /// The slots that were read, starting with the newest page's.
    pub(super) fn slots(&self) -> &[SlotRead] {
        &self.slots
    }
    /// The stored map that the log continues from.
    pub(super) fn stored(&self) -> &StoredMap {
        &self.stored
    }
}

impl<M: Mapping> Recovery<M> {
    /// Finds the log and reads it back to the page that names the stored map. `hint` is where NVRAM says that
    /// the log is.
    pub(super) async fn read_log(&self, hint: Option<&LogPlace>) -> Result<LogRead, NoRecovery> {
        let mut slots = match hint.and_then(|hint| self.slots_by_hint(hint)) {
            Some(slots) => slots,
            None => self.find_slots().await?,
        };
        let mut pages: VecDeque<(Header, Vec<LogEntry>)> = VecDeque::new();
        let mut read = Vec::new();
        while let Some((_, slot)) = slots.pop() {
            let (here, erased) = self.read_slot(slot).await;
            let Some((header, _)) = here.last() else { continue };
            if header.shape != self.journal.own.shape() {
                return Err(NoRecovery::Other(BootError::OtherDrive));
            }
            let first = here.first().map_or(0, |(first, _)| first.number);
            read.push((header.number, first, slot, erased));
            here.into_iter().rev().for_each(|page| pages.push_front(page));
            let (Some((oldest, _)), Some((last, _))) = (pages.front(), pages.back()) else { continue };
            let wanted = last.replay_from.min(last.commit);
            // A page whose program failed is written again to the next slot. So two slots may begin with the
            // same page, and both are read.
            let overlaps = slots.last().is_some_and(|&(next, _)| next >= oldest.number);
            if oldest.number <= wanted && !overlaps {
                break;
            }
        }
        read.sort_unstable_by_key(|&(last, first, ..)| core::cmp::Reverse((last, first)));
        let slots = read.into_iter().map(|(last, _, slot, erased)| SlotRead { slot, last, erased }).collect();
        pages.make_contiguous().sort_by_key(|(header, _)| header.number);
        let mut before = None;
        pages.retain(|(header, _)| before.replace(header.number) != Some(header.number));
        let (Some((oldest, _)), Some((last, _))) = (pages.front(), pages.back()) else {
            return Err(NoRecovery::NoLog);
        };
        let (commit, replay_from) = (last.commit, last.replay_from);
        let contiguous =
            pages.iter().zip(pages.iter().skip(1)).all(|((a, _), (b, _))| a.number + 1 == b.number);
        if oldest.number > replay_from.min(commit) || !contiguous {
            return Err(NoRecovery::Unreadable);
        }
        let stored = pages.iter().find(|(header, _)| header.number == commit);
        let stored = stored.and_then(|(header, _)| header.stored.clone()).ok_or(NoRecovery::Unreadable)?;
        pages.retain(|(header, _)| header.number >= replay_from);
        let last = pages.back().map(|(last, _)| last.clone()).ok_or(NoRecovery::Unreadable)?;
        Ok(LogRead { pages, last, stored, slots })
    }
    /// The slots in use according to NVRAM, oldest first, each with the number of its last page.
    fn slots_by_hint(&self, hint: &LogPlace) -> Option<Vec<(u64, usize)>> {
        let current = hint.at?.0 as usize;
        if hint.slots.len() != self.journal.log.slot_count() || current >= hint.slots.len() {
            return None;
        }
        let wanted = hint.replay_from.min(hint.commit);
        let in_use = |&slot: &usize| slot != current && hint.slots[slot] >= wanted;
        let with_last = |slot: usize| (hint.slots[slot], slot);
        let mut slots: Vec<_> = (0..hint.slots.len()).filter(in_use).map(with_last).collect();
        slots.sort_unstable();
        slots.push(with_last(current));
        Some(slots)
    }
    /// The slots that have log pages, each with the number of its first page, sorted by that number.
    async fn find_slots(&self) -> Result<Vec<(u64, usize)>, NoRecovery> {
        let slots = self.journal.log.slot_blocks();
        let luns = self.runtime.geometry.total_luns() as usize;
        let mut found = Vec::new();
        // One slot per LUN makes a round. The slots of a round are read side by side.
        for (round, blocks) in slots.chunks(luns).enumerate() {
            let mut tags = Vec::with_capacity(luns);
            for (n, &block) in blocks.iter().enumerate() {
                let first = self.journal.own.log_line(block, 0);
                tags.push(self.begin_whole_read(first, self.probe_buffer(n)).await);
            }
            for (n, tag) in tags.into_iter().enumerate() {
                let outcome = self.media.done(tag).await;
                let slot = round * luns + n;
                let mut page = self.journal.own.log_page_in(&outcome, self.probe_buffer(n));
                if page.is_none() && !outcome.erased {
                    page = self.read_line(slots[slot], 0, 1).await;
                    // If a loss of power tore this line, it is the slot's last. If another line follows, this
                    // one was intact once. Reading the slot then shows which pages are missing.
                    let lines =
                        u32::from(self.runtime.geometry.pages_per_block) / self.journal.own.log_copies();
                    if page.is_none() && lines > 1 {
                        page = self.read_line(slots[slot], 1, 0).await;
                    }
                }
                if let Some((header, _)) = page {
                    found.push((header.number, slot));
                }
            }
        }
        if found.is_empty() {
            return Err(NoRecovery::NoLog);
        }
        found.sort_unstable();
        Ok(found)
    }
    /// All pages of a slot, and its first erased line. Torn lines are left out.
    async fn read_slot(&self, slot: usize) -> (Vec<(Header, Vec<LogEntry>)>, u32) {
        let block = self.journal.log.slot_block(slot);
        let lines = u32::from(self.runtime.geometry.pages_per_block) / self.journal.own.log_copies();
        let ahead = LINES_AHEAD.min(self.runtime.geometry.total_luns() as usize);
        let (mut pages, mut in_flight, mut next, mut erased) = (Vec::new(), VecDeque::new(), 0, lines);
        loop {
            while next < lines && in_flight.len() < ahead && erased == lines {
                let buffer = self.probe_buffer(next as usize % ahead);
                let at = self.journal.own.log_line(block, next);
                in_flight.push_back((next, self.begin_whole_read(at, buffer).await));
                next += 1;
            }
            let Some((line, tag)) = in_flight.pop_front() else { return (pages, erased) };
            let outcome = self.media.done(tag).await;
            if outcome.erased {
                erased = erased.min(line);
            }
            if erased < lines {
                continue;
            }
            let page = match self.journal.own.log_page_in(&outcome, self.probe_buffer(line as usize % ahead))
            {
                Some(page) => Some(page),
                None => self.read_line(block, line, 1).await,
            };
            pages.extend(page);
        }
    }
    /// Reads the copies on a line, from copy `from` on, until one is intact.
    #[cold]
    async fn read_line(&self, block: BlockIndex, line: u32, from: u32) -> Option<(Header, Vec<LogEntry>)> {
        let buffer = self.pages.dram().borrow().metadata_buffer(self.runtime.buffers.scratch());
        let first = self.journal.own.log_line(block, line);
        for copy in from..self.journal.own.log_copies() {
            let at = Ppa(first.0 + copy);
            let outcome = self.blocks.read(at, self.pages.whole(), buffer, Cause::Metadata).await;
            let page = self.journal.own.log_page_in(&outcome, buffer);
            if page.is_some() {
                return page;
            }
        }
        None
    }
}
