//! Recovery from a sudden loss of power, out of what stands on NAND.
//!
//! | step | reads |
//! |---|---|
//! | find the log | the first line of each of its slots; none when NVRAM says where it is |
//! | read the log back to the page that names the stored map | the slots that are in use |
//! | load the stored map | its pages |
//! | replay the log | nothing |
//! | look where the log does not reach | the blocks that its last page names, to their first erased page |
//! | weigh what was found there | the pages that the map has in their place, where numbers don't tell |
//!
//! Nothing is written, so that recovery may be cut off and begin anew. Of several versions of a logical page the one with
//! the greatest sequence number counts; a page that was being programmed when the power went is none. What can't be
//! programmed further without risk, the blocks that were being written, is closed, and evacuated if a page of it is torn.

use crate::blocks::{BlockEntry, BlockIndex, BlockState};
use crate::boot::BootError;
use crate::drive::Drive;
use crate::flash::Cause;
use crate::log_page::{Entry, Header, StoredMap};
use crate::oob::{OobRecord, PageKind};
use crate::root::LogPlace;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::flash::{FlashStatus, Outcome};
use aster_units::{BufferId, Lpn, Ppa};

/// Lines of the log read ahead.
const LINES_AHEAD: usize = 8;

/// Pages of a block that can't be read, from its first on, after which no more are looked at.
const PAGES_UNREADABLE: u32 = 4;

/// What a page was found to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Nothing was programmed.
    Erased,
    /// What was being programmed, or erased, when the power went; or what nobody can read any more.
    Torn,
    /// A page with this record.
    Page(OobRecord),
}

/// A version of a logical page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Version {
    pub(crate) lpn: Lpn,
    pub(crate) sequence: u64,
    pub(crate) ppa: Ppa,
}

/// The log as far as recovery needs it, oldest page first.
struct LogRead {
    pages: VecDeque<(Header, Vec<Entry>)>,
    stored: StoredMap,
    /// The slots read, newest first, with the number of their last page and the first erased line.
    slots: Vec<(usize, u64, u32)>,
}

/// Blocks looked into, and what was there.
#[derive(Default)]
pub(crate) struct Look {
    pub(crate) versions: Vec<Version>,
    /// Blocks in which something was programmed.
    pub(crate) used: BTreeSet<u32>,
    /// Blocks with a torn page.
    pub(crate) torn: BTreeSet<u32>,
    /// Blocks with a page that can be read.
    pub(crate) readable: BTreeSet<u32>,
    /// The greatest sequence number met, and the same of log pages and of stored maps.
    pub(crate) sequence: u64,
    pub(crate) log_number: u64,
    pub(crate) generation: u64,
}

/// Why there is nothing to recover from.
pub(crate) enum NoRecovery {
    /// No slot holds a log page: a drive from the factory, or one whose log is lost.
    NoLog,
    /// The log or the map it names can't be read.
    Unreadable,
    /// It belongs to another drive.
    Other(BootError),
}

impl Drive {
    /// Recovers from the log and the stored map. `hint` is where NVRAM says that the log is.
    pub(crate) async fn recover(&self, hint: Option<&LogPlace>) -> Result<(), NoRecovery> {
        let log = self.read_log(hint).await?;
        let mut table = match self.load_map(&log.stored).await {
            Ok(table) => table,
            Err(_) => return Err(NoRecovery::Unreadable),
        };
        let Some((last, _)) = log.pages.back() else { return Err(NoRecovery::Unreadable) };
        let last = last.clone();
        let trims = self.replay(&log.pages, &mut table).ok_or(NoRecovery::Unreadable)?;
        let ranges: Vec<_> =
            last.ranges.iter().copied().chain(last.usable.iter().map(|&block| (block, 0))).collect();
        let look = self.look_into(&ranges).await;
        self.take_over_log(&log, &last);
        self.sequence.set(last.sequence.max(look.sequence));
        let newer = self.weigh(&look.versions, last.sequence, &trims).await;
        for version in newer {
            self.map.borrow_mut().set(version.lpn, version.ppa);
            let entry = Entry::Map { lpn: version.lpn, ppa: version.ppa };
            self.blocks.borrow_mut().pending.push(entry);
        }
        self.settle_states(&mut table, &last, &log.stored, &look);
        self.stored.replace(log.stored);
        let adopted = self.adopt_table(&table).and_then(|()| self.count_valid_pages());
        adopted.map_err(|_| NoRecovery::Unreadable)?;
        let mut blocks = self.blocks.borrow_mut();
        let total = blocks.total();
        let is_known = |block: &u32| last.usable.contains(&BlockIndex(*block));
        for block in (0..total).filter(|block| !is_known(block)).map(BlockIndex) {
            if blocks.state(block) == BlockState::Free {
                blocks.suspect(block);
            }
        }
        for &block in &look.torn {
            blocks.evacuate(BlockIndex(block));
        }
        Ok(())
    }

    // ---- the log ----

    async fn read_log(&self, hint: Option<&LogPlace>) -> Result<LogRead, NoRecovery> {
        let mut slots = match hint.and_then(|hint| self.slots_by_hint(hint)) {
            Some(slots) => slots,
            None => self.find_slots().await?,
        };
        let mut pages: VecDeque<(Header, Vec<Entry>)> = VecDeque::new();
        let mut read = Vec::new();
        while let Some(slot) = slots.pop() {
            let (here, erased) = self.read_slot(slot).await;
            let Some((header, _)) = here.last() else { continue };
            if header.shape != self.shape() {
                return Err(NoRecovery::Other(BootError::OtherDrive));
            }
            read.push((slot, header.number, erased));
            here.into_iter().rev().for_each(|page| pages.push_front(page));
            let (Some((oldest, _)), Some((last, _))) = (pages.front(), pages.back()) else { continue };
            let wanted = last.replay_from.min(last.commit);
            if oldest.number <= wanted {
                break;
            }
        }
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
    /// The slots in use, oldest first, as NVRAM has them.
    fn slots_by_hint(&self, hint: &LogPlace) -> Option<Vec<usize>> {
        let current = hint.at?.0 as usize;
        let log = self.log.borrow();
        if hint.slots.len() != log.slots.len() || current >= hint.slots.len() {
            return None;
        }
        let wanted = hint.replay_from.min(hint.commit);
        let in_use = |&slot: &usize| slot != current && hint.slots[slot] >= wanted;
        let mut slots: Vec<usize> = (0..hint.slots.len()).filter(in_use).collect();
        slots.sort_by_key(|&slot| hint.slots[slot]);
        slots.push(current);
        Some(slots)
    }
    /// The slots with log pages, by the number of their first.
    async fn find_slots(&self) -> Result<Vec<usize>, NoRecovery> {
        let slots: Vec<BlockIndex> = self.log.borrow().slots.iter().map(|slot| slot.block).collect();
        let luns = self.geometry.total_luns() as usize;
        let mut found = Vec::new();
        // A slot a LUN: those of one round are read side by side.
        for (round, blocks) in slots.chunks(luns).enumerate() {
            let mut tags = Vec::with_capacity(luns);
            for (n, &block) in blocks.iter().enumerate() {
                let first = self.blocks.borrow().first_page(block);
                tags.push(self.begin_read(first, self.whole(), self.look_buffer(n), Cause::Metadata).await);
            }
            for (n, tag) in tags.into_iter().enumerate() {
                let outcome = self.flash_done(tag).await;
                let slot = round * luns + n;
                let mut page = self.log_page_in(&outcome, self.look_buffer(n));
                if page.is_none() && !outcome.erased {
                    page = self.read_line(slots[slot], 0, 1).await;
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
        Ok(found.into_iter().map(|(_, slot)| slot).collect())
    }
    /// All pages of a slot, and its first erased line. Lines that were being written when the power went are left out.
    async fn read_slot(&self, slot: usize) -> (Vec<(Header, Vec<Entry>)>, u32) {
        let block = self.log.borrow().slots[slot].block;
        let first = self.blocks.borrow().first_page(block);
        let copies = self.log_copies();
        let lines = u32::from(self.geometry.pages_per_block) / copies;
        let ahead = LINES_AHEAD.min(self.geometry.total_luns() as usize);
        let (mut pages, mut in_flight, mut next, mut erased) = (Vec::new(), VecDeque::new(), 0, lines);
        loop {
            while next < lines && in_flight.len() < ahead && erased == lines {
                let buffer = self.look_buffer(next as usize % ahead);
                let at = Ppa(first.0 + next * copies);
                in_flight.push_back((next, self.begin_read(at, self.whole(), buffer, Cause::Metadata).await));
                next += 1;
            }
            let Some((line, tag)) = in_flight.pop_front() else { return (pages, erased) };
            let outcome = self.flash_done(tag).await;
            if outcome.erased {
                erased = erased.min(line);
            }
            if erased < lines {
                continue;
            }
            let page = match self.log_page_in(&outcome, self.look_buffer(line as usize % ahead)) {
                Some(page) => Some(page),
                None => self.read_line(block, line, 1).await,
            };
            pages.extend(page);
        }
    }
    /// Reads a line's copies from the `from`th on until one is whole.
    #[cold]
    async fn read_line(&self, block: BlockIndex, line: u32, from: u32) -> Option<(Header, Vec<Entry>)> {
        let buffer = self.dram.borrow().metadata_buffer(self.config.scratch_buffer());
        let first = self.blocks.borrow().first_page(block);
        for copy in from..self.log_copies() {
            let at = Ppa(first.0 + line * self.log_copies() + copy);
            let outcome = self.read(at, self.whole(), buffer, Cause::Metadata).await;
            let page = self.log_page_in(&outcome, buffer);
            if page.is_some() {
                return page;
            }
        }
        None
    }
    fn log_page_in(&self, outcome: &Outcome, buffer: BufferId) -> Option<(Header, Vec<Entry>)> {
        let dram = self.dram.borrow();
        let record = OobRecord::decode(dram.oob(buffer))?;
        let whole = outcome.status == FlashStatus::Done && !outcome.erased;
        if !whole || record.kind != PageKind::Log {
            return None;
        }
        Header::decode(dram.page(buffer)).filter(|(header, _)| header.number == record.sequence)
    }
    /// Goes on behind the last page, in another slot: this one may have a torn line.
    fn take_over_log(&self, read: &LogRead, last: &Header) {
        let mut log = self.log.borrow_mut();
        (log.number, log.commit, log.replay_from) = (last.number, last.commit, last.replay_from);
        (log.at, log.recovered) = (None, true);
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

    // ---- replaying ----

    /// Brings map and table to where the log ends; gives its trims. `None` when it says what can't be.
    fn replay(&self, pages: &VecDeque<(Header, Vec<Entry>)>, table: &mut [BlockEntry]) -> Option<Vec<Entry>> {
        let mut trims = Vec::new();
        let mut map = self.map.borrow_mut();
        let entries = pages.iter().flat_map(|(_, entries)| entries);
        for &entry in entries {
            self.core.charge(self.config.costs.replay);
            match entry {
                Entry::Map { lpn, ppa } => {
                    if lpn.0 >= map.len() || u64::from(ppa.0) >= self.geometry.total_pages() {
                        return None;
                    }
                    map.set(lpn, ppa);
                }
                Entry::Trim { first, count, .. } => {
                    let end = first.0.checked_add(count).filter(|&end| end <= map.len())?;
                    for lpn in first.0..end {
                        map.set(Lpn(lpn), Ppa::NONE);
                    }
                    trims.push(entry);
                }
                Entry::Opened(block) => table.get_mut(block.0 as usize)?.state = BlockState::Closed,
                Entry::Erased(block) => {
                    let entry = table.get_mut(block.0 as usize)?;
                    (entry.state, entry.erases) = (BlockState::Free, entry.erases.saturating_add(1));
                }
                Entry::Retired(block) => table.get_mut(block.0 as usize)?.state = BlockState::Retired,
            }
        }
        let known = pages.iter().flat_map(|(header, _)| &header.ranges).map(|(block, _)| block);
        let known = known.chain(pages.iter().flat_map(|(header, _)| &header.usable));
        known.into_iter().all(|block| (block.0 as usize) < table.len()).then_some(trims)
    }
    /// The state of each block, with what was found.
    fn settle_states(&self, table: &mut [BlockEntry], last: &Header, stored: &StoredMap, look: &Look) {
        let log_blocks: BTreeSet<u32> = self.log.borrow().slots.iter().map(|slot| slot.block.0).collect();
        let active: BTreeSet<u32> = last.ranges.iter().map(|(block, _)| block.0).collect();
        let usable: BTreeSet<u32> = last.usable.iter().map(|block| block.0).collect();
        let of_map: BTreeSet<u32> = stored.blocks.iter().map(|block| block.0).collect();
        for (block, entry) in (0..).zip(table.iter_mut()) {
            let before = entry.state;
            entry.state = match before {
                BlockState::Bad | BlockState::Retired | BlockState::Failing => before,
                _ if log_blocks.contains(&block) => BlockState::Log,
                _ if of_map.contains(&block) => BlockState::Map,
                _ if active.contains(&block) => BlockState::Closed,
                _ if usable.contains(&block) && look.used.contains(&block) => BlockState::Closed,
                _ if usable.contains(&block) => BlockState::Free,
                BlockState::Open | BlockState::Map | BlockState::Log => BlockState::Closed,
                BlockState::Free | BlockState::Closed => before,
            };
            let written = usable.contains(&block) && entry.state == BlockState::Closed;
            if written {
                self.blocks.borrow_mut().pending.push(Entry::Opened(BlockIndex(block)));
            }
        }
        let mut log = self.log.borrow_mut();
        for slot in &mut log.slots {
            let state = table.get(slot.block.0 as usize).map(|entry| entry.state);
            slot.good = state == Some(BlockState::Log);
        }
    }

    // ---- looking into blocks ----

    pub(crate) fn look_buffer(&self, n: usize) -> BufferId {
        self.dram.borrow().metadata_buffer(n as u32)
    }
    // Pages of data are read into a buffer that keeps content as they do.
    pub(crate) fn data_buffer(&self, n: usize) -> BufferId {
        BufferId(self.config.gc_buffer(n as u32, 0))
    }
    /// Reads blocks from a page on to their first erased page, all LUNs side by side.
    pub(crate) async fn look_into(&self, ranges: &[(BlockIndex, u32)]) -> Look {
        let luns = self.geometry.total_luns();
        let mut todo: Vec<VecDeque<(BlockIndex, u32)>> = vec![VecDeque::new(); luns as usize];
        for &(block, page) in ranges {
            let lun = self.blocks.borrow().lun_of(block);
            todo[lun.index()].push_back((block, page));
        }
        let mut look = Look::default();
        let mut in_flight = VecDeque::with_capacity(luns as usize);
        for lun in 0..luns as usize {
            in_flight.extend(self.begin_look(lun, &mut todo[lun]).await);
        }
        while let Some((lun, tag)) = in_flight.pop_front() {
            let outcome = self.flash_done(tag).await;
            if let Some((block, page)) = todo[lun].pop_front() {
                let mut found = self.found(&outcome, self.data_buffer(lun));
                if outcome.status == FlashStatus::Error {
                    found = self.look_for_metadata(block, page).await;
                }
                if self.note(&mut look, block, page, found) {
                    todo[lun].push_front((block, page + 1));
                }
            }
            in_flight.extend(self.begin_look(lun, &mut todo[lun]).await);
        }
        look
    }
    async fn begin_look(
        &self,
        lun: usize,
        todo: &mut VecDeque<(BlockIndex, u32)>,
    ) -> Option<(usize, aster_ports::flash::Tag)> {
        while todo.front().is_some_and(|(_, page)| *page >= u32::from(self.geometry.pages_per_block)) {
            todo.pop_front();
        }
        let (block, page) = *todo.front()?;
        let at = Ppa(self.blocks.borrow().first_page(block).0 + page);
        Some((lun, self.begin_read(at, self.whole(), self.data_buffer(lun), Cause::Metadata).await))
    }
    /// A page of the log or of a stored map keeps its content in another way than data where that is fingerprints.
    #[cold]
    async fn look_for_metadata(&self, block: BlockIndex, page: u32) -> Found {
        let buffer = self.dram.borrow().metadata_buffer(self.config.scratch_buffer());
        let at = Ppa(self.blocks.borrow().first_page(block).0 + page);
        let outcome = self.read(at, self.whole(), buffer, Cause::Metadata).await;
        self.found(&outcome, buffer)
    }
    /// What a page that was read as a whole holds.
    pub(crate) fn found(&self, outcome: &Outcome, buffer: BufferId) -> Found {
        if outcome.erased && outcome.status == FlashStatus::Done {
            return Found::Erased;
        }
        // Of a page that was programmed to its end some sector can be read, unless the medium has lost all of it.
        let all = self.whole().mask();
        let torn = match outcome.status {
            FlashStatus::Done => false,
            FlashStatus::Uncorrectable => outcome.oob_failed || outcome.failed_sectors & all == all,
            FlashStatus::Failed | FlashStatus::Error => true,
        };
        let record = if torn { None } else { OobRecord::decode(self.dram.borrow().oob(buffer)) };
        record.map_or(Found::Torn, Found::Page)
    }
    /// Notes a page; true when the next one of its block is to be looked at.
    fn note(&self, look: &mut Look, block: BlockIndex, page: u32, found: Found) -> bool {
        match found {
            Found::Erased => return false,
            Found::Torn => {
                look.torn.insert(block.0);
                look.used.insert(block.0);
                // A block of which nothing can be read holds nothing: bad, or half erased.
                return page + 1 != PAGES_UNREADABLE || look.readable.contains(&block.0);
            }
            Found::Page(record) => {
                look.readable.insert(block.0);
                match record.kind {
                    PageKind::Data if record.lpn < self.logical_pages => {
                        let ppa = Ppa(self.blocks.borrow().first_page(block).0 + page);
                        look.versions.push(Version { lpn: Lpn(record.lpn), sequence: record.sequence, ppa });
                        look.sequence = look.sequence.max(record.sequence);
                    }
                    PageKind::Log => look.log_number = look.log_number.max(record.sequence),
                    PageKind::Map => look.generation = look.generation.max(record.sequence),
                    PageKind::Data | PageKind::Padding => {}
                }
            }
        }
        look.used.insert(block.0);
        true
    }

    // ---- which version counts ----

    /// Those of the versions found that are newer than what the map has. `logged` is the sequence number at the log's end.
    async fn weigh(&self, versions: &[Version], logged: u64, trims: &[Entry]) -> Vec<Version> {
        let mut versions = versions.to_vec();
        versions.sort_unstable();
        // The last of each logical page is its newest.
        let newest = versions.iter().zip(versions.iter().skip(1).map(Some).chain([None]));
        let newest = newest.filter(|(a, b)| b.is_none_or(|b| a.lpn != b.lpn)).map(|(a, _)| *a);
        let (mut newer, mut unsure) = (Vec::new(), Vec::new());
        for version in newest {
            let mapped = self.map.borrow().get(version.lpn);
            if !mapped.is_some() {
                if !is_trimmed(&version, trims) {
                    newer.push(version);
                }
            } else if version.sequence > logged {
                newer.push(version);
            } else if mapped != version.ppa {
                unsure.push((version, mapped));
            }
        }
        newer.extend(self.weigh_unsure(&unsure).await);
        newer
    }
    /// Those that are newer than the pages that the map has, or in whose place it has nothing whole.
    async fn weigh_unsure(&self, unsure: &[(Version, Ppa)]) -> Vec<Version> {
        let depth = self.geometry.total_luns() as usize;
        let (mut newer, mut in_flight, mut next) = (Vec::new(), VecDeque::new(), 0);
        loop {
            while next < unsure.len() && in_flight.len() < depth {
                let buffer = self.data_buffer(next % depth);
                let tag = self.begin_read(unsure[next].1, self.whole(), buffer, Cause::Metadata).await;
                in_flight.push_back((next, tag));
                next += 1;
            }
            let Some((n, tag)) = in_flight.pop_front() else { return newer };
            let outcome = self.flash_done(tag).await;
            let (version, _) = unsure[n];
            let older = match self.found(&outcome, self.data_buffer(n % depth)) {
                Found::Page(record) => {
                    (record.kind, record.lpn) != (PageKind::Data, version.lpn.0)
                        || record.sequence < version.sequence
                }
                Found::Erased | Found::Torn => true,
            };
            if older {
                newer.push(version);
            }
        }
    }
}

/// Whether a trim that the log has came after a version.
fn is_trimmed(version: &Version, trims: &[Entry]) -> bool {
    trims.iter().rev().any(|trim| match *trim {
        Entry::Trim { first, count, sequence } => {
            sequence > version.sequence && (first.0..first.0 + count).contains(&version.lpn.0)
        }
        _ => false,
    })
}
