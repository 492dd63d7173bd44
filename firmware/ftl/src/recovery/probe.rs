//! Probing: finding out what is in pages that no log page mentions.

use crate::mapping::Mapping;
use crate::recovery::log_read::LogRead;
use crate::recovery::page_read::Probed;
use crate::recovery::state::Recovery;
use crate::recovery::version::Version;
use crate::terms::block::BlockIndex;
use crate::terms::cause::Cause;
use crate::terms::oob::{PageKind, UnitRecord};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use aster_ports::flash::{FlashStatus, Tag};
use aster_units::{BufferId, Ppa, Upa};

/// Unreadable pages at the beginning of a block after which probing gives the block up.
const PAGES_UNREADABLE: u32 = 4;

/// A whole page that was read.
#[derive(Clone, Copy)]
struct PageAt {
    block: BlockIndex,
    /// Within the block.
    page: u32,
}

/// What was found in the blocks that were probed.
#[derive(Default)]
pub(super) struct Probe {
    versions: Vec<Version>,
    used: BTreeSet<u32>,
    torn: BTreeSet<u32>,
    readable: BTreeSet<u32>,
    sequence: u64,
    log_number: u64,
    generation: u64,
    log_end: bool,
    log_blocks: BTreeMap<u32, u64>,
}

impl Probe {
    /// The pages of data, in the order in which they were read.
    pub(super) fn versions(&self) -> &[Version] {
        &self.versions
    }
    /// Whether something was programmed in a block.
    pub(super) fn is_used(&self, block: BlockIndex) -> bool {
        self.used.contains(&block.0)
    }
    /// Blocks with a torn page, in ascending order.
    pub(super) fn torn(&self) -> impl Iterator<Item = BlockIndex> {
        self.torn.iter().copied().map(BlockIndex)
    }
    /// Whether a page of a block can be read.
    pub(super) fn is_readable(&self, block: BlockIndex) -> bool {
        self.readable.contains(&block.0)
    }
    /// Whether a page of any block can be read.
    pub(super) fn any_readable(&self) -> bool {
        !self.readable.is_empty()
    }
    /// The highest sequence number of data; 0 when there are none.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }
    /// The highest number of a log page; 0 when there are none.
    pub(super) fn log_number(&self) -> u64 {
        self.log_number
    }
    /// The highest generation of a stored map; 0 when there are none.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }
    /// Whether a page says that the drive takes no more writes.
    pub(super) fn log_end(&self) -> bool {
        self.log_end
    }
    /// The number of the last log page in a block; 0 when it has none.
    pub(super) fn log_number_in(&self, block: BlockIndex) -> u64 {
        self.log_blocks.get(&block.0).copied().unwrap_or(0)
    }
    /// Notes what a page holds: for a data page the units and places from `units`. Returns true if the next
    /// page of the block should be read.
    fn note(
        &mut self,
        at: PageAt,
        found: Probed,
        units: impl IntoIterator<Item = (Upa, UnitRecord)>,
    ) -> bool {
        let PageAt { block, page, .. } = at;
        match found {
            Probed::Erased => return false,
            Probed::Torn => {
                self.torn.insert(block.0);
                self.used.insert(block.0);
                // A block without a readable page is bad or half erased, and holds nothing.
                return page + 1 != PAGES_UNREADABLE || self.readable.contains(&block.0);
            }
            Probed::Page(record) => {
                self.readable.insert(block.0);
                match record.kind {
                    PageKind::Data => {
                        for (at, UnitRecord { lpn, sequence, copy }) in units {
                            self.versions.push(Version { lpn, sequence, at, copy });
                            self.sequence = self.sequence.max(sequence);
                        }
                    }
                    PageKind::Log => {
                        self.log_number = self.log_number.max(record.sequence);
                        self.log_blocks.insert(block.0, record.sequence);
                    }
                    PageKind::Map => self.generation = self.generation.max(record.sequence),
                    PageKind::LogEnd => self.log_end = true,
                    PageKind::Padding => {}
                }
            }
        }
        self.used.insert(block.0);
        true
    }
}

impl<M: Mapping> Recovery<M> {
    /// Probes the blocks in which there may be pages without an entry, according to the last log page.
    pub(super) async fn probe_unlogged(&self, log: &LogRead) -> Probe {
        let last = log.last();
        let free_list = last.free_list.iter().map(|&block| (block, 0));
        let ranges: Vec<_> = last.ranges.iter().copied().chain(free_list).collect();
        self.probe(&ranges).await
    }
    /// Reads each block from a given page to its first erased page. All LUNs work in parallel.
    pub(super) async fn probe(&self, ranges: &[(BlockIndex, u32)]) -> Probe {
        let luns = self.runtime.geometry.total_luns();
        let mut todo: Vec<VecDeque<(BlockIndex, u32)>> = vec![VecDeque::new(); luns as usize];
        for &(block, page) in ranges {
            let lun = self.blocks.table().layout.lun_of(block);
            todo[lun.index()].push_back((block, page));
        }
        let mut probe = Probe::default();
        let mut in_flight = VecDeque::with_capacity(luns as usize);
        for (lun, todo) in todo.iter_mut().enumerate() {
            in_flight.extend(self.begin_probe(lun, todo).await);
        }
        while let Some((lun, tag)) = in_flight.pop_front() {
            let outcome = self.media.done(tag).await;
            if let Some((block, page)) = todo[lun].pop_front() {
                let mut buffer = self.data_buffer(lun);
                let mut found = self.found(&outcome, buffer);
                if outcome.status == FlashStatus::Error {
                    buffer = self.scratch();
                    found = self.probe_metadata(block, page).await;
                }
                let at = PageAt { block, page };
                let units = self.units_found(self.ppa_of(block, page), found, buffer);
                if probe.note(at, found, units) {
                    todo[lun].push_front((block, page + 1));
                }
            }
            in_flight.extend(self.begin_probe(lun, &mut todo[lun]).await);
        }
        probe
    }
    /// The units of a data page that was read, with their places. Leaves out units beyond the capacity: they
    /// belong to a larger drive.
    fn units_found(
        &self,
        page: Ppa,
        found: Probed,
        buffer: BufferId,
    ) -> impl Iterator<Item = (Upa, UnitRecord)> {
        let record = if let Probed::Page(record) = found { Some(record) } else { None };
        let slots = 0..self.runtime.units.per_page();
        let units = slots.filter_map(move |slot| {
            let unit = self.unit_found(&record?, buffer, slot)?;
            Some((self.runtime.units.at(page, slot), unit))
        });
        units.filter(|(_, unit)| unit.lpn.0 < self.mapping.pages())
    }
    async fn begin_probe(&self, lun: usize, todo: &mut VecDeque<(BlockIndex, u32)>) -> Option<(usize, Tag)> {
        let end = u32::from(self.runtime.geometry.pages_per_block);
        while todo.front().is_some_and(|(_, page)| *page >= end) {
            todo.pop_front();
        }
        let (block, page) = *todo.front()?;
        let (at, into) = (self.ppa_of(block, page), self.data_buffer(lun));
        Some((lun, self.begin_whole_read(at, into).await))
    }
    /// Reads a page of the log or of a stored map. With fingerprint content such a page is still kept as
    /// bytes, which a data buffer has no room for.
    #[cold]
    async fn probe_metadata(&self, block: BlockIndex, page: u32) -> Probed {
        let buffer = self.scratch();
        let (at, whole) = (self.ppa_of(block, page), self.pages.whole());
        let outcome = self.blocks.read(at, whole, buffer, Cause::Metadata).await;
        self.found(&outcome, buffer)
    }
    fn scratch(&self) -> BufferId {
        self.pages.dram().borrow().metadata_buffer(self.runtime.buffers.scratch())
    }
    fn ppa_of(&self, block: BlockIndex, page: u32) -> Ppa {
        Ppa(self.blocks.table().layout.first_page(block).0 + page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::oob::OobRecord;
    use aster_units::Lpn;

    const BLOCK: BlockIndex = BlockIndex(7);

    fn record(kind: PageKind, lpn: u32, sequence: u64) -> Probed {
        Probed::Page(OobRecord { kind, lpn, sequence, lost_sectors: 0, copy: 3 })
    }
    fn note(probe: &mut Probe, page: u32, found: Probed) -> bool {
        let unit = match found {
            Probed::Page(OobRecord { lpn, sequence, copy, .. }) => {
                Some((Upa(700 + page), UnitRecord { lpn: Lpn(lpn), sequence, copy }))
            }
            Probed::Erased | Probed::Torn => None,
        };
        probe.note(PageAt { block: BLOCK, page }, found, unit)
    }

    #[test]
    fn a_block_is_probed_to_its_first_erased_page() {
        let mut probe = Probe::default();
        assert!(note(&mut probe, 0, record(PageKind::Data, 5, 40)));
        assert!(note(&mut probe, 1, Probed::Torn));
        assert!(!note(&mut probe, 2, Probed::Erased));
        assert_eq!(probe.versions(), [Version { lpn: Lpn(5), sequence: 40, at: Upa(700), copy: 3 }]);
        assert!(probe.is_used(BLOCK) && probe.is_readable(BLOCK) && probe.torn().eq([BLOCK]));
    }

    #[test]
    fn an_erased_block_is_not_used() {
        let mut probe = Probe::default();
        assert!(!note(&mut probe, 0, Probed::Erased));
        assert!(!probe.is_used(BLOCK) && !probe.any_readable() && probe.torn().next().is_none());
    }

    #[test]
    fn a_block_of_which_no_page_can_be_read_is_given_up_after_some_pages() {
        let mut probe = Probe::default();
        let looked_at = (0..).take_while(|&page| note(&mut probe, page, Probed::Torn)).count() as u32 + 1;
        assert_eq!(looked_at, PAGES_UNREADABLE);
        // One readable page is a reason to look for others.
        let mut probe = Probe::default();
        note(&mut probe, 0, record(PageKind::Padding, 0, 0));
        assert!((1..2 * PAGES_UNREADABLE).all(|page| note(&mut probe, page, Probed::Torn)));
    }

    #[test]
    fn each_kind_of_page_counts_its_own_numbers() {
        let mut probe = Probe::default();
        let pages = [
            record(PageKind::Data, 5, 40),
            record(PageKind::Data, 6, 30),
            record(PageKind::Log, 0, 12),
            record(PageKind::Map, 0, 3),
            record(PageKind::Padding, 0, 80),
        ];
        for (page, found) in (0..).zip(pages) {
            assert!(note(&mut probe, page, found));
        }
        assert_eq!((probe.sequence(), probe.log_number(), probe.generation()), (40, 12, 3));
        assert_eq!((probe.versions().len(), probe.log_number_in(BLOCK)), (2, 12));
        assert!(!probe.log_end());
        note(&mut probe, 5, record(PageKind::LogEnd, 0, 0));
        assert!(probe.log_end());
    }
}
