//! Recovery from a sudden loss of power, out of what stands on NAND.
//!
//! | step | reads |
//! |---|---|
//! | find the log | the first line of each of its slots; none when NVRAM says where it is |
//! | read the log back to the page that names the stored map | the slots that are in use |
//! | load the stored map | its pages |
//! | replay the log | nothing |
//! | probe where the log does not reach | the blocks that its last page names, to their first erased page |
//! | choose the versions that count | the pages that the map has in their place, where numbers don't tell |
//!
//! Nothing is written, so that recovery may be cut off and begin anew. Of several versions of a logical page
//! the one with the greatest sequence number counts; a page that was being programmed when the power went is
//! none. What can't be programmed further without risk, the blocks that were being written, is closed, and
//! evacuated if a page of it is torn.

use crate::blocks::outbox::Entry;
use crate::checkpoint::error::BootError;
use crate::checkpoint::state::Checkpoint;
use crate::journal::log_page::{Header, StoredMap};
use crate::journal::root::LogPlace;
use crate::terms::block::{BlockEntry, BlockIndex, BlockState};
use crate::terms::cause::Cause;
use crate::terms::oob::{COPIES, COUNT_MAX, OobRecord, PageKind};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Function;
use aster_ports::flash::{FlashStatus, Outcome};
use aster_units::{BufferId, Lpn, Ppa};

/// Pages of a block that can't be read, from its first on, after which no more are looked at.
const PAGES_UNREADABLE: u32 = 4;

/// What a page was found to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Probed {
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
    /// Of those with the same number, which is a copy of which: see [`OobRecord::copy`].
    pub(crate) copy: u8,
}

impl Version {
    /// Whether it was copied, over some steps, out of one with this count.
    fn comes_after(&self, copy: u8) -> bool {
        (1..COPIES / 2).contains(&(self.copy.wrapping_sub(copy) % COPIES))
    }
}

/// The runs of void pages that the log names, as far as they have not been written anew since.
pub(crate) struct StalePages(Vec<(Ppa, u32)>);

impl StalePages {
    fn has(&self, ppa: Ppa) -> bool {
        let behind = self.0.partition_point(|(first, _)| *first <= ppa);
        let run = behind.checked_sub(1).and_then(|at| self.0.get(at));
        run.is_some_and(|(first, count)| ppa.0 - first.0 < *count)
    }
}

/// Blocks looked into, and what was there.
#[derive(Default)]
pub(crate) struct Probe {
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
    /// A page says that the drive takes no more writes.
    pub(crate) log_end: bool,
    /// The greatest number of a log page in each block that has any.
    pub(crate) log_blocks: BTreeMap<u32, u64>,
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

/// Whether a trim that the log has came after a version.
fn is_trimmed(version: &Version, trims: &[Entry]) -> bool {
    trims.iter().rev().any(|trim| match *trim {
        Entry::Trim { first, count, sequence } => {
            sequence > version.sequence && (first.0..first.0 + count).contains(&version.lpn.0)
        }
        _ => false,
    })
}

impl Checkpoint {
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
        let probe = self.probe(&ranges).await;
        self.journal.was_read_only.set(self.journal.was_read_only.get() || last.read_only || probe.log_end);
        self.take_over_log(&log, &last);
        self.journal.blocks.set_sequence(last.sequence.max(probe.sequence));
        let void = self.void(&log.pages);
        let found: Vec<_> = probe.versions.iter().copied().filter(|version| !void.has(version.ppa)).collect();
        let newer = self.choose_versions(found, &last, &trims).await;
        for version in newer {
            self.mapping.restore(version.lpn, version.ppa);
            let entry = Entry::Map { lpn: version.lpn, ppa: version.ppa };
            self.journal.blocks.borrow_mut().pending.push(entry);
        }
        self.settle_states(&mut table, &last, &log.stored, &probe);
        self.journal.stored.replace(log.stored);
        let adopted = self.adopt_table(&table).and_then(|()| self.count_valid_pages());
        adopted.map_err(|_| NoRecovery::Unreadable)?;
        let mut blocks = self.journal.blocks.borrow_mut();
        let total = blocks.total();
        let is_known = |block: &u32| last.usable.contains(&BlockIndex(*block));
        for block in (0..total).filter(|block| !is_known(block)).map(BlockIndex) {
            if blocks.state(block) == BlockState::Free {
                blocks.suspect(block);
            }
        }
        let unused = |block: &BlockIndex| blocks.state(*block) == BlockState::Free;
        let named: Vec<_> = last.usable.iter().copied().filter(unused).collect();
        blocks.named_at_power_on(named.into_iter());
        for &block in &probe.torn {
            blocks.evacuate(BlockIndex(block));
        }
        Ok(())
    }
    /// Brings map and table to where the log ends; gives its trims. `None` when it says what can't be.
    fn replay(&self, pages: &VecDeque<(Header, Vec<Entry>)>, table: &mut [BlockEntry]) -> Option<Vec<Entry>> {
        let mut trims = Vec::new();
        let entries = pages.iter().flat_map(|(_, entries)| entries);
        for &entry in entries {
            self.journal.spend(Function::Recovery, self.journal.config.costs.replay);
            match entry {
                Entry::Map { lpn, ppa } => {
                    if lpn.0 >= self.mapping.pages()
                        || u64::from(ppa.0) >= self.journal.geometry.total_pages()
                    {
                        return None;
                    }
                    self.mapping.restore(lpn, ppa);
                }
                Entry::Trim { first, count, .. } => {
                    let end = first.0.checked_add(count).filter(|&end| end <= self.mapping.pages())?;
                    for lpn in first.0..end {
                        self.mapping.restore(Lpn(lpn), Ppa::NONE);
                    }
                    trims.push(entry);
                }
                // A block that is about to go bad is neither erased nor opened again: a table that has it as
                // that is newer.
                Entry::Opened(block) => {
                    let entry = table.get_mut(block.0 as usize)?;
                    if entry.state != BlockState::Failing {
                        entry.state = BlockState::Closed;
                    }
                }
                Entry::Erased { block, erases } => {
                    let entry = table.get_mut(block.0 as usize)?;
                    entry.erases = erases;
                    if entry.state != BlockState::Failing {
                        entry.state = BlockState::Free;
                    }
                }
                Entry::Retired(block) => table.get_mut(block.0 as usize)?.state = BlockState::Retired,
            }
        }
        let known = pages.iter().flat_map(|(header, _)| &header.ranges).map(|(block, _)| block);
        let known = known.chain(pages.iter().flat_map(|(header, _)| &header.usable));
        known.into_iter().all(|block| (block.0 as usize) < table.len()).then_some(trims)
    }
    /// What was void when a map was stored. A block that a later page names as erased was erased since.
    fn void(&self, pages: &VecDeque<(Header, Vec<Entry>)>) -> StalePages {
        let mut usable: BTreeMap<u32, u64> = BTreeMap::new();
        for (header, _) in pages {
            usable.extend(header.usable.iter().map(|block| (block.0, header.number)));
        }
        let blocks = self.journal.blocks.borrow();
        let mut void = Vec::new();
        for (header, _) in pages {
            let erased = |ppa| usable.get(&blocks.block_of(ppa).0).is_some_and(|&page| page > header.number);
            void.extend(header.void.iter().filter(|(first, _)| !erased(*first)));
        }
        void.sort_unstable();
        StalePages(void)
    }
    /// The state of each block, with what was found.
    fn settle_states(&self, table: &mut [BlockEntry], last: &Header, stored: &StoredMap, probe: &Probe) {
        let log_blocks: BTreeSet<u32> =
            self.journal.log.borrow().slots.iter().map(|slot| slot.block.0).collect();
        let active: BTreeSet<u32> = last.ranges.iter().map(|(block, _)| block.0).collect();
        let usable: BTreeSet<u32> = last.usable.iter().map(|block| block.0).collect();
        let of_map: BTreeSet<u32> = stored.blocks.iter().map(|block| block.0).collect();
        for (block, entry) in (0..).zip(table.iter_mut()) {
            let before = entry.state;
            entry.suspect = false;
            entry.state = match before {
                BlockState::Bad | BlockState::Retired | BlockState::Failing => before,
                _ if log_blocks.contains(&block) => BlockState::Log,
                _ if of_map.contains(&block) => BlockState::Map,
                _ if active.contains(&block) => BlockState::Closed,
                _ if usable.contains(&block) && probe.used.contains(&block) => BlockState::Closed,
                _ if usable.contains(&block) => BlockState::Free,
                BlockState::Open | BlockState::Map | BlockState::Log => BlockState::Closed,
                BlockState::Free | BlockState::Closed => before,
            };
            let written = usable.contains(&block) && entry.state == BlockState::Closed;
            if written {
                self.journal.blocks.borrow_mut().pending.push(Entry::Opened(BlockIndex(block)));
            }
        }
        let mut log = self.journal.log.borrow_mut();
        for slot in &mut log.slots {
            let state = table.get(slot.block.0 as usize).map(|entry| entry.state);
            slot.good = state == Some(BlockState::Log);
        }
    }
    pub(crate) fn probe_buffer(&self, n: usize) -> BufferId {
        self.journal.pages.dram().borrow().metadata_buffer(n as u32)
    }
    // Pages of data are read into a buffer that keeps content as they do.
    pub(crate) fn data_buffer(&self, n: usize) -> BufferId {
        BufferId(self.journal.config.gc_buffer(n as u32, 0))
    }
    /// Reads blocks from a page on to their first erased page, all LUNs side by side.
    pub(crate) async fn probe(&self, ranges: &[(BlockIndex, u32)]) -> Probe {
        let luns = self.journal.geometry.total_luns();
        let mut todo: Vec<VecDeque<(BlockIndex, u32)>> = vec![VecDeque::new(); luns as usize];
        for &(block, page) in ranges {
            let lun = self.journal.blocks.borrow().lun_of(block);
            todo[lun.index()].push_back((block, page));
        }
        let mut probe = Probe::default();
        let mut in_flight = VecDeque::with_capacity(luns as usize);
        for (lun, todo) in todo.iter_mut().enumerate() {
            in_flight.extend(self.begin_probe(lun, todo).await);
        }
        while let Some((lun, tag)) = in_flight.pop_front() {
            let outcome = self.journal.media.done(tag).await;
            if let Some((block, page)) = todo[lun].pop_front() {
                let mut found = self.found(&outcome, self.data_buffer(lun));
                if outcome.status == FlashStatus::Error {
                    found = self.probe_metadata(block, page).await;
                }
                if self.note(&mut probe, block, page, found) {
                    todo[lun].push_front((block, page + 1));
                }
            }
            in_flight.extend(self.begin_probe(lun, &mut todo[lun]).await);
        }
        probe
    }
    async fn begin_probe(
        &self,
        lun: usize,
        todo: &mut VecDeque<(BlockIndex, u32)>,
    ) -> Option<(usize, aster_ports::flash::Tag)> {
        while todo.front().is_some_and(|(_, page)| *page >= u32::from(self.journal.geometry.pages_per_block))
        {
            todo.pop_front();
        }
        let (block, page) = *todo.front()?;
        let at = Ppa(self.journal.blocks.borrow().first_page(block).0 + page);
        Some((
            lun,
            self.journal
                .blocks
                .begin_read(at, self.journal.pages.whole(), self.data_buffer(lun), Cause::Metadata)
                .await,
        ))
    }
    /// A page of the log or of a stored map keeps its content in another way than data where that is
    /// fingerprints.
    #[cold]
    async fn probe_metadata(&self, block: BlockIndex, page: u32) -> Probed {
        let buffer = self.journal.pages.dram().borrow().metadata_buffer(self.journal.config.scratch_buffer());
        let at = Ppa(self.journal.blocks.borrow().first_page(block).0 + page);
        let outcome = self.journal.blocks.read(at, self.journal.pages.whole(), buffer, Cause::Metadata).await;
        self.found(&outcome, buffer)
    }
    /// What a page that was read as a whole holds.
    pub(crate) fn found(&self, outcome: &Outcome, buffer: BufferId) -> Probed {
        if outcome.erased && outcome.status == FlashStatus::Done {
            return Probed::Erased;
        }
        // Of a page that was programmed to its end some sector can be read, unless the medium has lost all of
        // it.
        let all = self.journal.pages.whole().mask();
        let torn = match outcome.status {
            FlashStatus::Done => false,
            FlashStatus::Uncorrectable => outcome.oob_failed || outcome.failed_sectors & all == all,
            FlashStatus::Failed | FlashStatus::Error => true,
        };
        let record =
            if torn { None } else { OobRecord::decode(self.journal.pages.dram().borrow().oob(buffer)) };
        // A number that leaves no room for greater ones is none that a drive has given out.
        record.filter(|record| record.sequence <= COUNT_MAX).map_or(Probed::Torn, Probed::Page)
    }
    /// Notes a page; true when the next one of its block is to be looked at.
    fn note(&self, probe: &mut Probe, block: BlockIndex, page: u32, found: Probed) -> bool {
        match found {
            Probed::Erased => return false,
            Probed::Torn => {
                probe.torn.insert(block.0);
                probe.used.insert(block.0);
                // A block of which nothing can be read holds nothing: bad, or half erased.
                return page + 1 != PAGES_UNREADABLE || probe.readable.contains(&block.0);
            }
            Probed::Page(record) => {
                probe.readable.insert(block.0);
                match record.kind {
                    PageKind::Data if record.lpn < self.journal.logical_pages => {
                        let ppa = Ppa(self.journal.blocks.borrow().first_page(block).0 + page);
                        let (lpn, sequence, copy) = (Lpn(record.lpn), record.sequence, record.copy);
                        probe.versions.push(Version { lpn, sequence, ppa, copy });
                        probe.sequence = probe.sequence.max(record.sequence);
                    }
                    PageKind::Log => {
                        probe.log_number = probe.log_number.max(record.sequence);
                        probe.log_blocks.insert(block.0, record.sequence);
                    }
                    PageKind::Map => probe.generation = probe.generation.max(record.sequence),
                    PageKind::LogEnd => probe.log_end = true,
                    PageKind::Data | PageKind::Padding => {}
                }
            }
        }
        probe.used.insert(block.0);
        true
    }
    /// Those of the versions found that are newer than what the map has. `last` is the log's last page.
    async fn choose_versions(
        &self,
        mut versions: Vec<Version>,
        last: &Header,
        trims: &[Entry],
    ) -> Vec<Version> {
        versions.sort_unstable();
        let (mut newer, mut unsure) = (Vec::new(), Vec::new());
        for of_page in versions.chunk_by(|a, b| a.lpn == b.lpn) {
            let Some(&Version { lpn, sequence, .. }) = of_page.last() else { continue };
            let older = of_page.partition_point(|version| version.sequence < sequence);
            let newest = &of_page[older..];
            let mapped = self.mapping.get(lpn);
            // Which of several copies it is matters to the block that is being emptied: they count all, or
            // none of them.
            let first = self.first_of(newest, |_| true);
            let chosen = first.map(|first| self.follow(first, newest, &last.emptied));
            if !mapped.is_some() {
                newer.extend(chosen.filter(|version| !is_trimmed(version, trims)));
            } else if sequence > last.sequence {
                newer.extend(chosen);
            } else if let Some(here) = newest.iter().find(|version| version.ppa == mapped) {
                let to = self.follow(*here, newest, &last.emptied);
                newer.extend((to.ppa != mapped).then_some(to));
            } else {
                unsure.push((newest, chosen, mapped));
            }
        }
        newer.extend(self.choose_among_unsure(&unsure, &last.emptied).await);
        newer
    }
    /// The first in the order of copying.
    fn first_of(&self, versions: &[Version], counts: impl Fn(&Version) -> bool) -> Option<Version> {
        let counting = versions.iter().copied().filter(counts);
        counting.reduce(|first, other| if first.comes_after(other.copy) { other } else { first })
    }
    /// The copy that counts in place of a version: where all has been moved out of its block, the next one.
    fn follow(&self, from: Version, versions: &[Version], emptied: &[BlockIndex]) -> Version {
        let mut at = from;
        while emptied.contains(&self.journal.blocks.borrow().block_of(at.ppa))
            && let Some(next) = self.first_of(versions, |version| version.comes_after(at.copy))
        {
            at = next;
        }
        at
    }
    /// Those that are newer than the pages that the map has, or in whose place it has nothing whole.
    async fn choose_among_unsure(
        &self,
        unsure: &[(&[Version], Option<Version>, Ppa)],
        emptied: &[BlockIndex],
    ) -> Vec<Version> {
        let depth = self.journal.geometry.total_luns() as usize;
        let (mut newer, mut in_flight, mut next) = (Vec::new(), VecDeque::new(), 0);
        loop {
            while next < unsure.len() && in_flight.len() < depth {
                let buffer = self.data_buffer(next % depth);
                let tag = self
                    .journal
                    .blocks
                    .begin_read(unsure[next].2, self.journal.pages.whole(), buffer, Cause::Metadata)
                    .await;
                in_flight.push_back((next, tag));
                next += 1;
            }
            let Some((n, tag)) = in_flight.pop_front() else { return newer };
            let outcome = self.journal.media.done(tag).await;
            let (versions, chosen, mapped) = unsure[n];
            let Some(chosen) = chosen else { continue };
            let record = match self.found(&outcome, self.data_buffer(n % depth)) {
                Probed::Page(record) if (record.kind, record.lpn) == (PageKind::Data, chosen.lpn.0) => record,
                Probed::Page(_) | Probed::Erased | Probed::Torn => {
                    newer.push(chosen);
                    continue;
                }
            };
            let Version { lpn, sequence, .. } = chosen;
            if record.sequence < sequence {
                newer.push(chosen);
            } else if record.sequence == sequence {
                let here = Version { lpn, sequence, ppa: mapped, copy: record.copy };
                let to = self.follow(here, versions, emptied);
                newer.extend((to.ppa != mapped).then_some(to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::block::Stream;
    use crate::tests::bench::{Bench, config};
    use aster_units::Content;

    /// Copies of a page that have one sequence number, each in a block of its own: the counts of copies are a
    /// ring.
    #[test]
    fn of_equal_numbers_the_count_of_copies_tells_which_came_out_of_which() {
        let bench = Bench::fresh(config(Content::Full));
        let checkpoint = &bench.ftl.parts().checkpoint;
        let pages = u32::from(bench.config.geometry.pages_per_block);
        let version = |block: u32, copy| Version { lpn: Lpn(3), sequence: 70, ppa: Ppa(block * pages), copy };
        for first in 0..COPIES {
            let [one, two, three] = [7, 4, 9].map(BlockIndex);
            let versions =
                [(9, 2), (7, 0), (4, 1)].map(|(block, nth)| version(block, (first + nth) % COPIES));
            let [last, origin, middle] = versions;
            assert_eq!(checkpoint.first_of(&versions, |_| true), Some(origin));
            assert_eq!(checkpoint.first_of(&versions, |version| *version != origin), Some(middle));
            // All that was in an emptied block counts where it was copied to, nothing that was copied out of
            // another.
            for (emptied, counts) in [
                (&[][..], origin),
                (&[one], middle),
                (&[one, two], last),
                (&[one, two, three], last),
                (&[two, three], origin),
            ] {
                assert_eq!(checkpoint.follow(origin, &versions, emptied), counts, "{first} {emptied:?}");
            }
        }
    }

    /// A map may be stored when a block was about to go bad, and the log be replayed from before it was
    /// opened.
    #[test]
    fn replaying_leaves_a_block_that_is_about_to_go_bad_as_the_table_has_it() {
        let bench = Bench::fresh(config(Content::Full));
        let checkpoint = &bench.ftl.parts().checkpoint;
        let [failing, other] = [7, 9].map(BlockIndex);
        let before = |state| BlockEntry { state, stream: Stream::Host, next: 0, erases: 1, suspect: false };
        let replay = |entries: &[Entry]| {
            let mut table =
                vec![before(BlockState::Closed); checkpoint.journal.blocks.borrow().total() as usize];
            table[failing.0 as usize].state = BlockState::Failing;
            let pages = VecDeque::from([(Header::default(), entries.to_vec())]);
            assert!(checkpoint.replay(&pages, &mut table).is_some());
            [failing, other].map(|block| (table[block.0 as usize].state, table[block.0 as usize].erases))
        };
        let erased = [failing, other].map(|block| Entry::Erased { block, erases: 2 });
        let opened = [failing, other].map(Entry::Opened);
        assert_eq!(replay(&erased), [(BlockState::Failing, 2), (BlockState::Free, 2)]);
        assert_eq!(replay(&opened), [(BlockState::Failing, 1), (BlockState::Closed, 1)]);
        let all = [&erased[..], &opened].concat();
        assert_eq!(replay(&all), [(BlockState::Failing, 2), (BlockState::Closed, 2)]);
        let all = [&all[..], &[Entry::Retired(failing)]].concat();
        assert_eq!(replay(&all)[0], (BlockState::Retired, 2));
    }
}
