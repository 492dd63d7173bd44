//! Reading the log back after a loss of power.

use crate::blocks::outbox::Entry;
use crate::checkpoint::error::BootError;
use crate::checkpoint::recover::NoRecovery;
use crate::checkpoint::state::Checkpoint;
use crate::journal::log_page::{Header, StoredMap};
use crate::journal::root::LogPlace;
use crate::terms::block::BlockIndex;
use crate::terms::cause::Cause;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_units::Ppa;

/// Lines of the log read ahead.
const LINES_AHEAD: usize = 8;

/// The log as far as recovery needs it, oldest page first.
pub(crate) struct LogRead {
    pub(crate) pages: VecDeque<(Header, Vec<Entry>)>,
    pub(crate) stored: StoredMap,
    /// The slots read, that of the newest page first, with the number of their last page and the first erased
    /// line.
    pub(crate) slots: Vec<(usize, u64, u32)>,
}

impl Checkpoint {
    pub(crate) async fn read_log(&self, hint: Option<&LogPlace>) -> Result<LogRead, NoRecovery> {
        let mut slots = match hint.and_then(|hint| self.slots_by_hint(hint)) {
            Some(slots) => slots,
            None => self.find_slots().await?,
        };
        let mut pages: VecDeque<(Header, Vec<Entry>)> = VecDeque::new();
        let mut read = Vec::new();
        while let Some((_, slot)) = slots.pop() {
            let (here, erased) = self.read_slot(slot).await;
            let Some((header, _)) = here.last() else { continue };
            if header.shape != self.journal.shape() {
                return Err(NoRecovery::Other(BootError::OtherDrive));
            }
            let first = here.first().map_or(0, |(first, _)| first.number);
            read.push((header.number, first, slot, erased));
            here.into_iter().rev().for_each(|page| pages.push_front(page));
            let (Some((oldest, _)), Some((last, _))) = (pages.front(), pages.back()) else { continue };
            let wanted = last.replay_from.min(last.commit);
            // A page that was not written well stands in the next slot as well: two may begin with the same
            // one.
            let overlaps = slots.last().is_some_and(|&(next, _)| next >= oldest.number);
            if oldest.number <= wanted && !overlaps {
                break;
            }
        }
        read.sort_unstable_by_key(|&(last, first, ..)| core::cmp::Reverse((last, first)));
        let read = read.into_iter().map(|(last, _, slot, erased)| (slot, last, erased)).collect();
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
        Ok(LogRead { pages, stored, slots: read })
    }
    /// The slots in use, oldest first, as NVRAM has them, each with the number of its last page.
    fn slots_by_hint(&self, hint: &LogPlace) -> Option<Vec<(u64, usize)>> {
        let current = hint.at?.0 as usize;
        let log = self.journal.log.borrow();
        if hint.slots.len() != log.slots.len() || current >= hint.slots.len() {
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
    /// The slots with log pages, each with the number of its first, in the order of these.
    async fn find_slots(&self) -> Result<Vec<(u64, usize)>, NoRecovery> {
        let slots: Vec<BlockIndex> = self.journal.log.borrow().slots.iter().map(|slot| slot.block).collect();
        let luns = self.journal.geometry.total_luns() as usize;
        let mut found = Vec::new();
        // A slot a LUN: those of one round are read side by side.
        for (round, blocks) in slots.chunks(luns).enumerate() {
            let mut tags = Vec::with_capacity(luns);
            for (n, &block) in blocks.iter().enumerate() {
                let first = self.journal.blocks.borrow().first_page(block);
                tags.push(
                    self.journal
                        .blocks
                        .begin_read(first, self.journal.pages.whole(), self.probe_buffer(n), Cause::Metadata)
                        .await,
                );
            }
            for (n, tag) in tags.into_iter().enumerate() {
                let outcome = self.journal.media.done(tag).await;
                let slot = round * luns + n;
                let mut page = self.journal.log_page_in(&outcome, self.probe_buffer(n));
                if page.is_none() && !outcome.erased {
                    page = self.read_line(slots[slot], 0, 1).await;
                    // One that was being written when the power went is the last of its slot. Where others
                    // follow it was whole, and what is missed is found out when the slot is read.
                    let lines = u32::from(self.journal.geometry.pages_per_block) / self.journal.log_copies();
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
    /// All pages of a slot, and its first erased line. Lines that were being written when the power went are
    /// left out.
    async fn read_slot(&self, slot: usize) -> (Vec<(Header, Vec<Entry>)>, u32) {
        let block = self.journal.log.borrow().slots[slot].block;
        let first = self.journal.blocks.borrow().first_page(block);
        let copies = self.journal.log_copies();
        let lines = u32::from(self.journal.geometry.pages_per_block) / copies;
        let ahead = LINES_AHEAD.min(self.journal.geometry.total_luns() as usize);
        let (mut pages, mut in_flight, mut next, mut erased) = (Vec::new(), VecDeque::new(), 0, lines);
        loop {
            while next < lines && in_flight.len() < ahead && erased == lines {
                let buffer = self.probe_buffer(next as usize % ahead);
                let at = Ppa(first.0 + next * copies);
                in_flight.push_back((
                    next,
                    self.journal
                        .blocks
                        .begin_read(at, self.journal.pages.whole(), buffer, Cause::Metadata)
                        .await,
                ));
                next += 1;
            }
            let Some((line, tag)) = in_flight.pop_front() else { return (pages, erased) };
            let outcome = self.journal.media.done(tag).await;
            if outcome.erased {
                erased = erased.min(line);
            }
            if erased < lines {
                continue;
            }
            let page = match self.journal.log_page_in(&outcome, self.probe_buffer(line as usize % ahead)) {
                Some(page) => Some(page),
                None => self.read_line(block, line, 1).await,
            };
            pages.extend(page);
        }
    }
    /// Reads a line's copies from the `from`th on until one is whole.
    #[cold]
    async fn read_line(&self, block: BlockIndex, line: u32, from: u32) -> Option<(Header, Vec<Entry>)> {
        let buffer = self.journal.pages.dram().borrow().metadata_buffer(self.journal.config.scratch_buffer());
        let first = self.journal.blocks.borrow().first_page(block);
        for copy in from..self.journal.log_copies() {
            let at = Ppa(first.0 + line * self.journal.log_copies() + copy);
            let outcome =
                self.journal.blocks.read(at, self.journal.pages.whole(), buffer, Cause::Metadata).await;
            let page = self.journal.log_page_in(&outcome, buffer);
            if page.is_some() {
                return page;
            }
        }
        None
    }
    /// Goes on behind the last page, in another slot: this one may have a torn line.
    pub(crate) fn take_over_log(&self, read: &LogRead, last: &Header) {
        let mut log = self.journal.log.borrow_mut();
        (log.number, log.commit, log.replay_from) = (last.number, last.commit, last.replay_from);
        (log.at, log.renew) = (None, true);
        for slot in &mut log.slots {
            slot.last = 0;
        }
        for (n, &(slot, number, erased)) in read.slots.iter().enumerate() {
            log.slots[slot].last = number;
            if n == 0 {
                (log.turn, log.rest) = (slot, Some((slot, erased)));
            }
        }
    }
}
