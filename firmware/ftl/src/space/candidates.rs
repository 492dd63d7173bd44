//! Candidates for collection: closed blocks without programs in flight.

use crate::space::layout::BlockLayout;
use crate::space::wear::Wear;
use crate::terms::block::{BlockIndex, PoolIndex};
use crate::terms::sizes::PAGES_PER_WORD_LINE_MAX;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use aster_parties::{ClosedBlocks, VictimPolicy};
use aster_units::{BlockAddr, Ppa};
use core::cell::{Cell, RefCell};

/// The most blocks that a search for a page to copy skips: each page of a word line may belong to a different
/// block, and so may each page that another one is waiting for.
const PASSED_MAX: usize = 2 * PAGES_PER_WORD_LINE_MAX;

// Takes the place of the number of valid units if a block is no candidate.
const NO_CANDIDATE: u32 = ClosedBlocks::NOT_OFFERED;

/// Which blocks can be collected, and which of them is next.
pub(crate) struct Candidates {
    layout: BlockLayout,
    wear: Rc<Wear>,
    // Chooses among blocks with valid units. Empty blocks are always collected first.
    policy: RefCell<Box<dyn VictimPolicy>>,
    blocks: RefCell<Facts>,
    // Blocks closed so far and, where a pool has several LUNs, victims chosen so far.
    closings: Cell<u64>,
    // Whether some candidate may be empty.
    emptied: Cell<bool>,
}

// Per block of the drive. These are arrays, since a search walks only one of them.
struct Facts {
    // The block's valid units, or NO_CANDIDATE.
    valid: Box<[u32]>,
    // How many blocks had been closed when this one was.
    closed_at: Box<[u64]>,
}

impl Candidates {
    pub(crate) fn new(layout: BlockLayout, wear: &Rc<Wear>, policy: Box<dyn VictimPolicy>) -> Self {
        let blocks = layout.total() as usize;
        Candidates {
            layout,
            wear: Rc::clone(wear),
            policy: RefCell::new(policy),
            blocks: RefCell::new(Facts {
                valid: vec![NO_CANDIDATE; blocks].into(),
                closed_at: vec![0; blocks].into(),
            }),
            closings: Cell::new(0),
            emptied: Cell::new(false),
        }
    }
    pub(crate) fn forget(&self) {
        let mut blocks = self.blocks.borrow_mut();
        blocks.valid.fill(NO_CANDIDATE);
        blocks.closed_at.fill(0);
        self.closings.set(0);
        self.emptied.set(false);
    }

    // ---- what becomes of a block ----

    /// The block takes no more pages. It is the youngest closed block now.
    pub(crate) fn closed(&self, block: BlockIndex) {
        self.closings.set(self.closings.get() + 1);
        self.blocks.borrow_mut().closed_at[block.at()] = self.closings.get();
    }
    /// So many blocks have been closed.
    pub(crate) fn set_closings(&self, closings: u64) {
        self.closings.set(closings);
    }
    /// The block was closed when so many others had been.
    pub(crate) fn was_closed(&self, block: BlockIndex, at: u64) {
        self.blocks.borrow_mut().closed_at[block.at()] = at;
    }
    /// The block can be collected. It has `valid` valid units.
    pub(crate) fn offer(&self, block: BlockIndex, valid: u32) {
        assert!(valid <= self.layout.units_per_block(), "{block:?} holds more than it can");
        debug_assert!(!self.has(block), "{block:?} is offered twice");
        self.blocks.borrow_mut().valid[block.at()] = valid;
        if valid == 0 {
            self.emptied.set(true);
        }
    }
    /// The block is no candidate, or no longer one.
    pub(crate) fn withdraw(&self, block: BlockIndex) {
        self.blocks.borrow_mut().valid[block.at()] = NO_CANDIDATE;
    }
    /// Takes a block out of the candidates. False if it isn't one.
    pub(crate) fn take(&self, block: BlockIndex) -> bool {
        let valid = core::mem::replace(&mut self.blocks.borrow_mut().valid[block.at()], NO_CANDIDATE);
        valid != NO_CANDIDATE
    }
    #[inline]
    pub(crate) fn gains_unit(&self, block: BlockIndex) {
        let valid = &mut self.blocks.borrow_mut().valid[block.at()];
        if *valid != NO_CANDIDATE {
            *valid += 1;
            debug_assert!(*valid <= self.layout.units_per_block(), "{block:?} holds more than it can");
        }
    }
    #[inline]
    pub(crate) fn loses_unit(&self, block: BlockIndex) {
        let valid = &mut self.blocks.borrow_mut().valid[block.at()];
        if *valid != NO_CANDIDATE {
            assert!(*valid > 0, "{block:?} loses a unit and has none");
            *valid -= 1;
            if *valid == 0 {
                self.emptied.set(true);
            }
        }
    }

    // ---- what there is to collect ----

    /// How many blocks have been closed, and victims been chosen, since the block was closed.
    pub(crate) fn closings_since(&self, block: BlockIndex) -> u64 {
        self.closings.get() - self.blocks.borrow().closed_at[block.at()]
    }
    pub(crate) fn has(&self, block: BlockIndex) -> bool {
        self.blocks.borrow().valid[block.at()] != NO_CANDIDATE
    }
    /// Whether collecting a block of the pool gains anything.
    pub(crate) fn has_stale(&self, pool: PoolIndex) -> bool {
        let units = self.layout.units_per_block();
        self.blocks.borrow().valid[self.layout.blocks_of_pool(pool)].iter().any(|&valid| valid < units)
    }
    /// Whether a candidate of the pool is empty.
    pub(crate) fn has_empty(&self, pool: PoolIndex) -> bool {
        self.blocks.borrow().valid[self.layout.blocks_of_pool(pool)].contains(&0)
    }
    /// Whether any candidate may have become empty since [`Candidates::forget_emptied`].
    pub(crate) fn may_be_emptied(&self) -> bool {
        self.emptied.get()
    }
    /// All empty candidates are known.
    pub(crate) fn forget_emptied(&self) {
        self.emptied.set(false);
    }
    /// Empty candidates of the pool should be looked for again.
    pub(crate) fn note_emptied(&self, pool: PoolIndex) {
        self.emptied.set(self.emptied.get() || self.has_empty(pool));
    }

    // ---- which one is next ----

    /// Takes the oldest empty candidate, else the one that the policy chooses. `None` if collecting would
    /// gain nothing.
    pub(crate) fn take_best(&self, pool: PoolIndex) -> Option<BlockIndex> {
        let block = self.best(pool)?;
        self.withdraw(block);
        if !self.layout.has_one_lun() {
            // Several victims may be chosen between two closings: a policy that draws blocks draws others.
            self.closings.set(self.closings.get() + 1);
        }
        Some(block)
    }
    fn best(&self, pool: PoolIndex) -> Option<BlockIndex> {
        let (range, blocks) = (self.layout.blocks_of_pool(pool), self.blocks.borrow());
        let chosen = self.wear.with_pool(pool, |erases| {
            let of = (&blocks.valid[range.clone()], &blocks.closed_at[range], erases);
            let lun = self.layout.first_lun(pool);
            let closed = ClosedBlocks::new(lun, self.layout.units_per_block(), self.closings.get(), of)?;
            if closed.fewest_valid() == 0 {
                return Some(closed.oldest_of_fewest_valid());
            }
            let mut policy = self.policy.borrow_mut();
            let block = policy.choose(&closed);
            assert!(closed.offers(block), "{policy:?} chose {block:?} of {pool:?}, which was not offered");
            Some(block)
        });
        Some(self.layout.block_index(self.layout.first_lun(pool), chosen?))
    }
    /// What the victim policy chooses of blocks that are not those of the table.
    pub(crate) fn choose(&self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        self.policy.borrow_mut().choose(closed)
    }
    /// Takes the pool's oldest empty candidate.
    pub(crate) fn take_empty_of(&self, pool: PoolIndex) -> Option<BlockIndex> {
        if !self.has_empty(pool) {
            return None;
        }
        self.take_best(pool)
    }
    /// Takes an empty candidate of any pool.
    pub(crate) fn take_empty(&self) -> Option<BlockIndex> {
        let block = self.blocks.borrow().valid.iter().position(|&valid| valid == 0)?;
        let block = BlockIndex(block as u32);
        self.withdraw(block);
        Some(block)
    }
    /// Takes a block if it is an empty candidate.
    pub(crate) fn take_if_empty(&self, block: BlockIndex) -> bool {
        let is_empty = self.blocks.borrow().valid[block.at()] == 0;
        if is_empty {
            self.withdraw(block);
        }
        is_empty
    }
    /// Takes the candidate with the fewest erases if it is more than `spread` erases behind the pool's most
    /// worn block; of several, the oldest.
    pub(crate) fn take_cold(&self, pool: PoolIndex, spread: u32) -> Option<BlockIndex> {
        let most = self.wear.most(pool);
        if most <= spread {
            return None;
        }
        let (range, blocks) = (self.layout.blocks_of_pool(pool), self.blocks.borrow());
        let least = self.wear.with_pool(pool, |erases| {
            let candidates = (0..erases.len()).filter(|&at| blocks.valid[range.start + at] != NO_CANDIDATE);
            let least = candidates.min_by_key(|&at| (erases[at], blocks.closed_at[range.start + at]))?;
            (most - erases[least] > spread).then_some(least)
        });
        drop(blocks);
        let block = BlockIndex((range.start + least?) as u32);
        self.withdraw(block);
        Some(block)
    }
    /// Calls `find` with candidates in the order in which they would be collected, until it finds something.
    /// The candidates are not changed.
    pub(crate) fn find_page(&self, pool: PoolIndex, find: impl Fn(BlockIndex) -> Option<Ppa>) -> Option<Ppa> {
        let mut passed = [(BlockIndex(0), NO_CANDIDATE); PASSED_MAX];
        let mut count = 0;
        let found = loop {
            let Some(block) = self.best(pool) else { break None };
            let page = find(block);
            if page.is_some() || count == PASSED_MAX {
                break page;
            }
            let valid = &mut self.blocks.borrow_mut().valid[block.at()];
            passed[count] = (block, core::mem::replace(valid, NO_CANDIDATE));
            count += 1;
        };
        for &(block, valid) in &passed[..count] {
            self.blocks.borrow_mut().valid[block.at()] = valid;
        }
        found
    }
}
