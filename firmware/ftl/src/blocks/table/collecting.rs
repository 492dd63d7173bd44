//! Which block is collected next, and what becomes of it.

use super::{Blocks, NO_VICTIM};
use crate::blocks::outbox::LogEntry;
use crate::terms::block::{BlockIndex, BlockState, Stream};
use crate::terms::sizes::PAGES_PER_WORD_LINE_MAX;
use aster_parties::ClosedBlocks;
use aster_units::{LunIndex, Ppa, Upa};

/// Blocks that a search for a page to copy passes over at most: each page of a word line may be of a block of
/// its own, and so may be what another is waiting for.
const PASSED_MAX: usize = 2 * PAGES_PER_WORD_LINE_MAX;

impl Blocks {
    pub(crate) fn free(&self, lun: LunIndex) -> usize {
        self.luns[lun.index()].free.len()
    }
    pub(crate) fn has_failing(&self, lun: LunIndex) -> bool {
        let lun = &self.luns[lun.index()];
        self.evacuates && !(lun.failing.is_empty() && lun.torn.is_empty())
    }
    /// Lets data stay in blocks in which a program failed.
    pub(crate) fn stop_evacuating(&mut self) {
        self.evacuates = false;
    }
    /// A page with units that still count in the blocks that would be collected next, and that is not `taken`
    /// already. Blocks without such a page are passed over.
    ///
    /// It is the page of its block with the most of them, the first of several. Whoever programs it alone
    /// leaves as many slots empty as it has stale units, so that completing a word line costs no more than a
    /// page's share of what the next victim gains.
    pub(crate) fn page_to_copy(&mut self, lun: LunIndex, taken: impl Fn(Ppa) -> bool) -> Option<Ppa> {
        let mut passed = [(BlockIndex(0), NO_VICTIM); PASSED_MAX];
        let mut count = 0;
        let found = loop {
            let Some(block) = self.best_victim(lun) else { break None };
            let first = block.0 * self.pages_per_block;
            let pages = (first..first + self.pages_per_block).map(Ppa);
            let page = self.fullest(pages.filter(|&ppa| !taken(ppa)));
            if page.is_some() || count == PASSED_MAX {
                break page;
            }
            let valid = core::mem::replace(&mut self.victims[block.at()], NO_VICTIM);
            passed[count] = (block, valid);
            count += 1;
        };
        for &(block, valid) in &passed[..count] {
            self.victims[block.at()] = valid;
        }
        found
    }
    /// The page with the most units that still count, the first of several.
    fn fullest(&self, pages: impl Iterator<Item = Ppa>) -> Option<Ppa> {
        let mut most = (0, None);
        for ppa in pages {
            let slots = 0..self.shape.per_page();
            let count = slots.filter(|&slot| self.counts(self.shape.at(ppa, slot))).count() as u32;
            if count > most.0 {
                most = (count, Some(ppa));
            }
            if count == self.shape.per_page() {
                break;
            }
        }
        most.1
    }
    /// Whether a unit is to be copied before its block is erased: it is neither stale nor replaced.
    #[inline]
    pub(crate) fn counts(&self, at: Upa) -> bool {
        self.is_valid(at) && !self.is_replaced(at)
    }
    /// Whether any unit of a page is.
    pub(crate) fn counts_in(&self, page: Ppa) -> bool {
        (0..self.shape.per_page()).any(|slot| self.counts(self.shape.at(page, slot)))
    }
    /// The oldest block that holds nothing, else the one that the policy chooses. `None` when nothing would
    /// be gained.
    fn best_victim(&mut self, lun: LunIndex) -> Option<BlockIndex> {
        let start = (lun.0 * self.blocks_per_lun) as usize;
        let range = start..start + self.blocks_per_lun as usize;
        let of = (&self.victims[range.clone()], &self.closed_at[range.clone()], &self.erases[range]);
        let closed = ClosedBlocks::new(lun, self.units_per_block(), self.closings, of)?;
        if closed.fewest_valid() == 0 {
            return Some(self.block_index(lun, closed.oldest_of_fewest_valid()));
        }
        let block = self.policy.choose(&closed);
        assert!(closed.offers(block), "{:?} chose {block:?} of {lun:?}, which was not offered", self.policy);
        Some(self.block_index(lun, block))
    }
    /// A closed block is to be collected soon, whatever it holds: the power went while it was written.
    pub(crate) fn evacuate(&mut self, block: BlockIndex) {
        let lun = self.lun_of(block).index();
        if self.states[block.at()] == BlockState::Closed {
            self.luns[lun].torn.push_back(block);
        }
    }
    /// Takes the next block to collect out of the candidates: one that holds nothing, else one that is going
    /// bad, else the closed block that the victim policy chooses. `None` when nothing would be gained.
    pub(crate) fn take_victim(&mut self, lun: LunIndex) -> Option<BlockIndex> {
        // What can be erased at once comes first: evacuating may take a free block.
        if let Some(empty) = self.take_empty_of(lun) {
            return Some(empty);
        }
        if self.evacuates {
            if let Some(block) = self.luns[lun.index()].failing.pop_front() {
                return Some(block);
            }
            while let Some(block) = self.luns[lun.index()].torn.pop_front() {
                if self.victims[block.at()] != NO_VICTIM {
                    self.victims[block.at()] = NO_VICTIM;
                    return Some(block);
                }
            }
        }
        let block = self.best_victim(lun)?;
        self.victims[block.at()] = NO_VICTIM;
        Some(block)
    }
    /// True when [`Blocks::take_victim`] would find one.
    pub(crate) fn has_victim(&self, lun: LunIndex) -> bool {
        let start = (lun.0 * self.blocks_per_lun) as usize;
        let victims = &self.victims[start..start + self.blocks_per_lun as usize];
        self.has_failing(lun) || victims.iter().any(|&valid| valid < self.units_per_block())
    }
    /// True when a closed block of the LUN holds nothing any more.
    pub(crate) fn has_empty(&self, lun: LunIndex) -> bool {
        let start = (lun.0 * self.blocks_per_lun) as usize;
        self.victims[start..start + self.blocks_per_lun as usize].contains(&0)
    }
    /// Whether any closed block of the drive may hold nothing, since that was last forgotten.
    pub(crate) fn may_be_emptied(&self) -> bool {
        self.emptied
    }
    /// All blocks that hold nothing are known.
    pub(crate) fn forget_emptied(&mut self) {
        self.emptied = false;
    }
    /// A closed block of the LUN that holds nothing is to be looked for again.
    pub(crate) fn note_emptied(&mut self, lun: LunIndex) {
        self.emptied = self.emptied || self.has_empty(lun);
    }
    /// Takes the LUN's oldest block that holds nothing any more out of the candidates.
    pub(crate) fn take_empty_of(&mut self, lun: LunIndex) -> Option<BlockIndex> {
        if !self.has_empty(lun) {
            return None;
        }
        let empty = self.best_victim(lun)?;
        self.victims[empty.at()] = NO_VICTIM;
        Some(empty)
    }
    /// Puts a victim back that could not be emptied.
    pub(crate) fn return_victim(&mut self, block: BlockIndex) {
        self.offer(block);
    }
    /// A block has been erased.
    pub(crate) fn erased(&mut self, block: BlockIndex) {
        assert_eq!(self.valid[block.at()], 0, "an erased block had valid units");
        self.count_erase(block);
        self.forget_refresh(block);
        self.forget_collected(block);
        self.states[block.at()] = BlockState::Free;
        let lun = self.lun_of(block).index();
        self.make_free(block);
        self.keep_for_map(self.lun_of(block));
        let before = core::mem::replace(&mut self.luns[lun].full, false);
        self.full -= u32::from(before);
    }
    /// A block of the log has been erased.
    pub(crate) fn log_erased(&mut self, block: BlockIndex) {
        self.count_erase(block);
    }
    /// A block has gone bad.
    pub(crate) fn retire(&mut self, block: BlockIndex) {
        assert_eq!(self.valid[block.at()], 0, "a retired block had valid units");
        self.states[block.at()] = BlockState::Retired;
        self.pending.push(LogEntry::Retired(block));
        let lun = self.lun_of(block).index();
        self.luns[lun].good -= 1;
    }
    /// The LUN's good blocks, without those that are about to go bad, also while garbage collection empties
    /// them.
    pub(crate) fn good(&self, lun: LunIndex) -> u32 {
        let start = (lun.0 * self.blocks_per_lun) as usize;
        let states = &self.states[start..start + self.blocks_per_lun as usize];
        let failing = states.iter().filter(|&&state| state == BlockState::Failing).count();
        self.luns[lun.index()].good - failing as u32
    }
    /// The LUN's blocks that came good from the factory.
    pub(crate) fn factory_good(&self, lun: LunIndex) -> u32 {
        self.blocks_per_lun - self.luns[lun.index()].factory_bad
    }
    /// True when neither waiting nor collecting can bring room for the host: nothing is in flight and nothing
    /// to gain.
    pub(crate) fn is_stuck(&self, lun: LunIndex) -> bool {
        let l = &self.luns[lun.index()];
        let at_rest = l.programs == 0 && l.erasing == 0;
        at_rest
            && !self.has_failing(lun)
            && l.open[0].is_none()
            && l.free.len() <= self.kept_from(Stream::Host)
    }
    /// Garbage collection may open another block.
    pub(crate) fn has_room_for_copies(&self, lun: LunIndex) -> bool {
        self.free(lun) > self.kept_from(Stream::Gc)
    }
    /// A translation page may be programmed in the LUN.
    pub(crate) fn has_room_for_mapping(&self, lun: LunIndex) -> bool {
        let at = &self.luns[lun.index()];
        let may_open = at.free.len() > self.kept_in(lun, Stream::Mapping);
        at.open[Stream::Mapping as usize].is_some()
            || may_open && (at.journaled_free > 0 || self.is_logged)
            || !may_open && self.lent_by_collector(lun).is_some()
    }
    pub(crate) fn set_full(&mut self, lun: LunIndex) {
        let before = core::mem::replace(&mut self.luns[lun.index()].full, true);
        self.full += u32::from(!before);
    }
    pub(crate) fn is_full(&self, lun: LunIndex) -> bool {
        self.luns[lun.index()].full
    }
    pub(crate) fn any_full(&self) -> bool {
        self.full > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::block::BlockEntry;
    use crate::tests::bench::config;
    use alloc::boxed::Box;
    use alloc::rc::Rc;
    use aster_parties::VictimPolicy;
    use aster_units::{BlockAddr, Content};
    use core::cell::Cell;

    const LUN: LunIndex = LunIndex(0);

    /// Greedy, and counts how often it was asked.
    #[derive(Debug)]
    struct Asked(Rc<Cell<u32>>);
    impl VictimPolicy for Asked {
        fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
            self.0.set(self.0.get() + 1);
            closed.oldest_of_fewest_valid()
        }
    }

    /// A block without valid units goes first, then one in which a program has failed; the policy is asked
    /// for neither.
    #[test]
    fn a_policy_is_asked_only_where_it_decides() {
        let asked = Rc::new(Cell::new(0));
        let policy = Box::new(Asked(Rc::clone(&asked)));
        let mut blocks = Blocks::of(&config(Content::Fingerprint)).collected_by(policy);
        let [full, failing, empty] = [4, 7, 9].map(BlockIndex);
        let states =
            [(full, BlockState::Closed), (failing, BlockState::Failing), (empty, BlockState::Closed)];
        for (block, state) in states {
            let entry = BlockEntry { state, stream: Stream::Host, next: 0, erases: 0, unverified: false };
            blocks.adopt(block, entry).unwrap();
            if block != empty {
                let first = blocks.shape.first_in(blocks.first_page(block));
                blocks.set_valid(first);
            }
        }
        let taken: alloc::vec::Vec<_> = (0..4).map(|_| (blocks.take_victim(LUN), asked.get())).collect();
        assert_eq!(taken, [(Some(empty), 0), (Some(failing), 0), (Some(full), 1), (None, 1)]);
    }

    /// With the page that has few units left, which an earlier victim's last page had taken the rest of, each
    /// victim gained the next one nothing.
    #[test]
    fn the_page_that_completes_a_word_line_is_the_fullest_of_its_block() {
        let mut config = config(Content::Fingerprint);
        config.mapping_unit_bytes = config.geometry.page_bytes / 4;
        let mut blocks = Blocks::of(&config);
        let block = BlockIndex(4);
        let entry = BlockEntry {
            state: BlockState::Closed,
            stream: Stream::Host,
            next: 0,
            erases: 0,
            unverified: false,
        };
        blocks.adopt(block, entry).unwrap();
        let first = blocks.first_page(block).0;
        let pages = [1, 3, 4, 2].map(|units| (units, Ppa(first + units - 1)));
        for (units, page) in pages {
            (0..units).for_each(|slot| blocks.set_valid(blocks.shape.at(page, slot)));
        }
        let mut taken = alloc::vec::Vec::new();
        while let Some(page) = blocks.page_to_copy(LUN, |page| taken.contains(&page)) {
            taken.push(page);
        }
        assert_eq!(taken, [4, 3, 2, 1].map(|units| Ppa(first + units - 1)));
    }
}
