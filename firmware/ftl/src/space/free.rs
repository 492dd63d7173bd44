//! Free blocks, and which of them are listed in log pages.
//!
//! A block is written only after a log page has listed it, so that recovery looks into it. The first of a
//! LUN's free blocks are the listed ones. If wear is levelled, the others follow in the order of their wear.

use crate::space::layout::BlockLayout;
use crate::space::wear::Wear;
use crate::terms::bits::{Bits, cells};
use crate::terms::block::{BlockIndex, PoolIndex, Stream};
use crate::terms::config::WearLevelling;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_units::LunIndex;
use core::cell::{Cell, RefCell};

/// A LUN asks for another log page when fewer of its free blocks are listed.
const LISTED_MIN: usize = 1;

/// The free blocks of all LUNs.
pub(crate) struct FreeLists {
    layout: BlockLayout,
    wear: Rc<Wear>,
    luns: Box<[RefCell<LunFree>]>,
    // Free blocks per pool.
    in_pool: Box<[Cell<u32>]>,
    // Blocks that recovery has not verified as erased.
    unverified: Bits,
    // Blocks listed by the last log page before a loss of power.
    at_power_on: RefCell<Vec<BlockIndex>>,
    // The log has not ended and will list further blocks. No block is written before it is listed.
    is_logged: Cell<bool>,
}

struct LunFree {
    blocks: VecDeque<BlockIndex>,
    // How many blocks at the front are listed by the last log page.
    listed: usize,
    // How many will be listed once the log page in progress is written.
    listing: usize,
}

impl LunFree {
    /// How many blocks at the front keep their places.
    fn named(&self) -> usize {
        self.listed.max(self.listing)
    }
    fn remove(&mut self, at: usize) -> Option<BlockIndex> {
        let block = self.blocks.remove(at)?;
        (self.listed, self.listing) = (self.listed.min(at), self.listing.min(at));
        Some(block)
    }
}

impl FreeLists {
    pub(crate) fn new(layout: BlockLayout, wear: &Rc<Wear>) -> Self {
        let room = layout.blocks_per_lun() as usize;
        let lun = |_| LunFree { blocks: VecDeque::with_capacity(room), listed: 0, listing: 0 };
        FreeLists {
            layout,
            wear: Rc::clone(wear),
            luns: layout.all_luns().map(|at| RefCell::new(lun(at))).collect(),
            in_pool: cells(layout.total_pools(), 0),
            unverified: Bits::new(layout.total() as usize),
            at_power_on: RefCell::default(),
            is_logged: Cell::new(true),
        }
    }
    pub(crate) fn forget(&self) {
        for lun in &self.luns {
            let mut lun = lun.borrow_mut();
            lun.blocks.clear();
            (lun.listed, lun.listing) = (0, 0);
        }
        self.in_pool.iter().for_each(|count| count.set(0));
        self.unverified.clear_all();
        self.at_power_on.borrow_mut().clear();
        self.is_logged.set(true);
    }
    fn lun(&self, lun: LunIndex) -> &RefCell<LunFree> {
        &self.luns[lun.index()]
    }
    /// Free blocks of a LUN.
    #[inline]
    pub(crate) fn len(&self, lun: LunIndex) -> usize {
        self.lun(lun).borrow().blocks.len()
    }

    /// Free blocks of a pool.
    #[inline]
    pub(crate) fn in_pool(&self, pool: PoolIndex) -> usize {
        self.in_pool[pool.at()].get() as usize
    }
    /// Free blocks of a pool that the last log page lists.
    pub(crate) fn listed_in(&self, pool: PoolIndex) -> usize {
        self.layout.luns_of(pool).map(|lun| self.listed(lun)).sum()
    }
    fn leaves(&self, block: BlockIndex) -> BlockIndex {
        let count = &self.in_pool[self.layout.pool_of_block(block).at()];
        count.set(count.get() - 1);
        block
    }

    // ---- blocks come and go ----

    /// Puts an erased block among the free ones. Blocks that a log page lists, or is about to list, stay at
    /// the front; the others follow in the order of their wear.
    pub(crate) fn put(&self, block: BlockIndex) {
        let count = &self.in_pool[self.layout.pool_of_block(block).at()];
        count.set(count.get() + 1);
        let mut lun = self.lun(self.layout.lun_of(block)).borrow_mut();
        debug_assert!(!lun.blocks.contains(&block), "{block:?} is free already");
        assert!((lun.blocks.len() as u32) < self.layout.blocks_per_lun(), "more free blocks than a LUN has");
        if self.wear.levelling() == WearLevelling::None {
            return lun.blocks.push_back(block);
        }
        let erases = self.wear.of(block);
        let (mut at, mut end) = (lun.named().min(lun.blocks.len()), lun.blocks.len());
        while at < end {
            let middle = at.midpoint(end);
            match self.wear.of(lun.blocks[middle]) <= erases {
                true => at = middle + 1,
                false => end = middle,
            }
        }
        lun.blocks.insert(at, block);
    }
    /// Takes a listed free block for a stream to write.
    pub(crate) fn take(&self, lun: LunIndex, stream: Stream) -> Option<BlockIndex> {
        let mut lun = self.lun(lun).borrow_mut();
        let wear = |&at: &usize| self.wear.of(lun.blocks[at]);
        let at = match (self.wear.levelling(), stream) {
            (WearLevelling::None, _) => Some(0),
            (_, Stream::Host(_) | Stream::Mapping) => (0..lun.listed).min_by_key(wear),
            (_, Stream::Gc) => (0..lun.listed).rev().max_by_key(wear),
        };
        let block = lun.blocks.remove(at?)?;
        lun.listed = lun.listed.saturating_sub(1);
        lun.listing = lun.listing.saturating_sub(1);
        assert!(lun.named() <= lun.blocks.len(), "more blocks are listed than there are");
        Some(self.leaves(block))
    }
    /// Takes a free block that is known to be erased: the least worn unlisted one, else the last one.
    pub(crate) fn take_unlisted(&self, lun: LunIndex) -> Option<BlockIndex> {
        let mut lun = self.lun(lun).borrow_mut();
        let is_known = |block: &BlockIndex| !self.is_unverified(*block);
        let blocks = &lun.blocks;
        let unlisted = (lun.named()..blocks.len()).rev().filter(|&at| is_known(&blocks[at]));
        let unlisted = unlisted.min_by_key(|&at| self.wear.of(blocks[at]));
        let at = unlisted.or_else(|| blocks.iter().rposition(is_known))?;
        lun.remove(at).map(|block| self.leaves(block))
    }

    // ---- what log pages list ----

    /// Free blocks of the LUN that the last log page lists.
    pub(crate) fn listed(&self, lun: LunIndex) -> usize {
        self.lun(lun).borrow().listed
    }
    /// Whether the log will list further blocks.
    pub(crate) fn is_logged(&self) -> bool {
        self.is_logged.get()
    }
    /// The log has ended and lists no further blocks: the listed ones are the last that can be written.
    pub(crate) fn end(&self) {
        self.is_logged.set(false);
    }
    /// Whether the LUN is about to run out of listed free blocks and has unlisted ones.
    pub(crate) fn wants_page(&self, lun: LunIndex) -> bool {
        if !self.layout.has_one_lun() {
            return self.is_logged() && self.wants_page_in(self.layout.pool_of(lun));
        }
        let lun = self.lun(lun).borrow();
        self.is_logged() && lun.listed < LISTED_MIN && lun.blocks.len() > lun.listed
    }
    /// As [`FreeLists::wants_page`], of several LUNs: whether most of those that have free blocks have none
    /// that is listed.
    fn wants_page_in(&self, pool: PoolIndex) -> bool {
        let (mut listed, mut unlisted) = (0, 0);
        for lun in self.layout.luns_of(pool) {
            let lun = self.lun(lun).borrow();
            listed += u32::from(lun.listed >= LISTED_MIN);
            unlisted += u32::from(lun.listed < LISTED_MIN && !lun.blocks.is_empty());
        }
        unlisted > listed
    }
    /// Orders the LUN's first `most` free blocks before a log page lists them. Newly listed blocks are the
    /// least worn ones, for the host. One of them is instead the most worn, for garbage collection's copies,
    /// unless such a block is listed already.
    pub(crate) fn choose(&self, lun: LunIndex, most: usize) {
        let mut lun = self.lun(lun).borrow_mut();
        let named = lun.named();
        let wear = |block: &BlockIndex| self.wear.of(*block);
        let (Some(least), Some(most_worn)) = (lun.blocks.get(named).map(wear), lun.blocks.back().map(wear))
        else {
            return;
        };
        let is_worn = |block: &BlockIndex| wear(block) > least.midpoint(most_worn);
        let (begin, end) = (named, lun.blocks.len().min(most));
        let waits = lun.blocks.iter().take(end).any(is_worn);
        if self.wear.levelling() == WearLevelling::None || waits || most_worn <= least || end < begin + 2 {
            return;
        }
        if let Some(block) = lun.blocks.pop_back() {
            lun.blocks.insert(end - 1, block);
        }
    }
    /// Appends the LUN's first `most` free blocks to `into`, for a log page to list. Recovery looks only at
    /// the last page, and this page may become the last one at any time. So from now on a block that is
    /// listed only by the page before must not be used.
    pub(crate) fn list(&self, lun: LunIndex, most: usize, into: &mut Vec<BlockIndex>) {
        let mut lun = self.lun(lun).borrow_mut();
        lun.listing = lun.blocks.len().min(most);
        lun.listed = lun.listed.min(lun.listing);
        into.extend(lun.blocks.iter().take(most));
    }
    /// The log page with the blocks from [`FreeLists::list`] has been written.
    pub(crate) fn page_is_written(&self) {
        self.at_power_on.borrow_mut().clear();
        for lun in &self.luns {
            let mut lun = lun.borrow_mut();
            assert!(lun.listing <= lun.blocks.len(), "a log page lists blocks that aren't free");
            lun.listed = lun.listing;
        }
    }

    // ---- after power-on ----

    /// These blocks are listed by the last log page that recovery has found, and are still empty. Until
    /// another log page is written, the next recovery will look into them again.
    pub(crate) fn listed_at_power_on(&self, blocks: impl Iterator<Item = BlockIndex>) {
        *self.at_power_on.borrow_mut() = blocks.collect();
    }
    /// Takes a block listed by the last log page before the loss of power, in a LUN for which the log has
    /// listed none since power-on. A log page that has failed since then may nevertheless be intact, so it
    /// must list the block as well.
    pub(crate) fn take_listed_at_power_on(&self, lun: LunIndex) -> Option<BlockIndex> {
        let mut lun = self.lun(lun).borrow_mut();
        if lun.listed > 0 {
            return None;
        }
        let listed = self.at_power_on.borrow();
        let place = lun.blocks.iter().take(lun.listing).position(|block| listed.contains(block))?;
        let block = lun.blocks.remove(place)?;
        lun.listing -= 1;
        Some(self.leaves(block))
    }
    /// Marks a free block as unverified: since the last loss of power it is unknown whether it is erased.
    pub(crate) fn set_unverified(&self, block: BlockIndex) {
        self.unverified.set(block.at());
    }
    pub(crate) fn is_unverified(&self, block: BlockIndex) -> bool {
        self.unverified.is_set(block.at())
    }
    /// An unverified block among the LUN's first `most` free ones.
    pub(crate) fn first_unverified(&self, lun: LunIndex, most: usize) -> Option<BlockIndex> {
        let lun = self.lun(lun).borrow();
        lun.blocks.iter().copied().take(most).find(|&block| self.is_unverified(block))
    }
    /// A block has been verified. If it isn't erased, removes it from the free blocks and returns true.
    pub(crate) fn verified(&self, block: BlockIndex, erased: bool) -> bool {
        self.unverified.clear(block.at());
        if erased {
            return false;
        }
        let mut lun = self.lun(self.layout.lun_of(block)).borrow_mut();
        let at = lun.blocks.iter().position(|&free| free == block);
        at.and_then(|at| lun.remove(at)).map(|block| self.leaves(block)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bench::config;
    use aster_units::Content;

    const LUN: LunIndex = LunIndex(0);

    /// A LUN's free blocks with these erase counts, from block 0 on. A log page lists the first `listed` of
    /// them.
    fn free(levelling: WearLevelling, erases: &[u32], listed: usize) -> FreeLists {
        let layout = BlockLayout::of(&config(Content::Fingerprint));
        let wear = Rc::new(Wear::new(layout, levelling));
        let free = FreeLists::new(layout, &wear);
        for (block, &erases) in (0..).map(BlockIndex).zip(erases) {
            wear.adopt(block, erases, true);
            free.put(block);
        }
        list(&free, listed);
        free
    }
    fn list(free: &FreeLists, most: usize) -> Vec<u32> {
        let mut listed = Vec::new();
        free.list(LUN, most, &mut listed);
        free.page_is_written();
        listed.into_iter().map(|block| free.wear.of(block)).collect()
    }
    fn taken(free: &FreeLists, streams: &[Stream]) -> Vec<u32> {
        let take = |&stream| free.take(LUN, stream).map(|block| free.wear.of(block));
        streams.iter().map_while(take).collect()
    }
    fn in_order(free: &FreeLists) -> Vec<u32> {
        free.lun(LUN).borrow().blocks.iter().map(|&block| free.wear.of(block)).collect()
    }

    #[test]
    fn the_host_gets_the_least_worn_block_and_what_is_copied_the_most_worn() {
        use Stream::Gc;
        const HOST: Stream = Stream::Host(0);
        let erases = [5, 1, 9, 3, 7, 1, 8];
        for levelling in [WearLevelling::Dynamic, WearLevelling::Static { spread: 20 }] {
            let all = |streams: &[Stream]| taken(&free(levelling, &erases, 7), streams);
            assert_eq!(all(&[HOST; 8]), [1, 1, 3, 5, 7, 8, 9]);
            assert_eq!(all(&[Gc; 8]), [9, 8, 7, 5, 3, 1, 1]);
            assert_eq!(all(&[HOST, Gc, HOST, Gc]), [1, 9, 1, 8]);
        }
        let in_turn = taken(&free(WearLevelling::None, &erases, 7), &[HOST, Gc, HOST, Gc]);
        assert_eq!(in_turn, [5, 1, 9, 3], "without levelling, as they come");
    }

    #[test]
    fn one_of_the_blocks_that_the_log_lists_is_worn_and_what_is_copied_goes_there() {
        use Stream::Gc;
        const HOST: Stream = Stream::Host(0);
        let erases = [40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 39, 41];
        for levelling in [WearLevelling::Dynamic, WearLevelling::Static { spread: 20 }] {
            let free = free(levelling, &erases, 0);
            let choose = || {
                free.choose(LUN, 4);
                list(&free, 4)
            };
            assert_eq!(choose(), [1, 2, 3, 41]);
            assert_eq!(taken(&free, &[HOST, HOST]), [1, 2]);
            assert_eq!(choose(), [3, 41, 4, 5], "one is enough");
            assert_eq!(taken(&free, &[Gc, HOST]), [41, 3]);
            assert_eq!(choose(), [4, 5, 6, 40]);
        }
        let free = free(WearLevelling::None, &erases, 0);
        free.choose(LUN, 4);
        assert_eq!(in_order(&free), erases, "without levelling, as they come");
    }

    #[test]
    fn a_block_that_becomes_free_takes_its_place_behind_those_that_the_log_lists() {
        let free = free(WearLevelling::Dynamic, &[4, 6, 8, 10, 12], 2);
        // Blocks with their earlier erase counts; each is erased once more now.
        for (block, erases) in [(5, 10), (6, 0), (7, 20)] {
            free.wear.adopt(BlockIndex(block), erases, true);
            free.wear.count(BlockIndex(block), true);
            free.put(BlockIndex(block));
        }
        let order = in_order(&free);
        assert!(order[free.listed(LUN)..].is_sorted() && order.len() == 8, "{order:?}");
        assert_eq!(taken(&free, &[Stream::Gc; 2]), [6, 4], "only those that the log lists");
    }
}
