//! How often blocks have been erased.
//!
//! Wear levelling is based on these counts. *Dynamic* levelling chooses among free blocks (see
//! [`super::free`]): the host's data, much of which will be stale soon, goes to the least worn block, and
//! garbage collection's copies go to the most worn. This doesn't free blocks whose data never changes.
//! *Static* levelling moves that data once its block is too many erases behind.

use crate::space::layout::BlockLayout;
use crate::terms::bits::cells;
use crate::terms::block::{BlockIndex, PoolIndex};
use crate::terms::config::WearLevelling;
use alloc::boxed::Box;
use alloc::vec;
use core::cell::{Cell, RefCell};

/// A count beyond this is not a real one. It is half of what the table's 32 bits can hold, so that no count
/// overflows in use.
pub(crate) const ERASES_MAX: u32 = 1 << 31;

/// While a pool is short of room, one in this many blocks that it empties may be one that gains no room.
const BACKGROUND_SHARE: u32 = 8;

/// The erase counts of all blocks.
pub(crate) struct Wear {
    layout: BlockLayout,
    levelling: WearLevelling,
    erases: RefCell<Box<[u32]>>,
    // Per pool: the highest erase count of its blocks, except the log's.
    most: Box<[Cell<u32>]>,
    // Per pool: blocks erased since the last one that was collected for wear or refresh.
    since: Box<[Cell<u32>]>,
}

impl Wear {
    pub(crate) fn new(layout: BlockLayout, levelling: WearLevelling) -> Self {
        let pools = layout.total_pools();
        Wear {
            layout,
            levelling,
            erases: RefCell::new(vec![0; layout.total() as usize].into()),
            most: cells(pools, 0),
            since: cells(pools, 0),
        }
    }
    pub(crate) fn forget(&self) {
        self.erases.borrow_mut().fill(0);
        self.most.iter().chain(&self.since).for_each(|count| count.set(0));
    }
    pub(crate) fn levelling(&self) -> WearLevelling {
        self.levelling
    }
    /// How often a block has been erased.
    pub(crate) fn of(&self, block: BlockIndex) -> u32 {
        self.erases.borrow()[block.at()]
    }
    /// The highest erase count of the pool's blocks, except the log's.
    pub(crate) fn most(&self, pool: PoolIndex) -> u32 {
        self.most[pool.at()].get()
    }
    /// Calls `with` with the erase counts of a pool's blocks.
    pub(crate) fn with_pool<T>(&self, pool: PoolIndex, with: impl FnOnce(&[u32]) -> T) -> T {
        with(&self.erases.borrow()[self.layout.blocks_of_pool(pool)])
    }
    /// A block is found to have this erase count. Bad blocks and those of the log are not `levelled`: they
    /// say nothing about how worn others should be.
    pub(crate) fn adopt(&self, block: BlockIndex, erases: u32, levelled: bool) {
        assert!(erases <= ERASES_MAX, "{block:?} can't have been erased {erases} times");
        self.erases.borrow_mut()[block.at()] = erases;
        if levelled {
            self.raise_most(block, erases);
        }
    }
    /// Counts an erase. Returns the block's new count.
    pub(crate) fn count(&self, block: BlockIndex, levelled: bool) -> u32 {
        let erases = {
            let erases = &mut self.erases.borrow_mut()[block.at()];
            *erases += 1;
            *erases
        };
        if levelled {
            self.raise_most(block, erases);
            let since = &self.since[self.layout.pool_of_block(block).at()];
            since.set(since.get().saturating_add(1));
        }
        erases
    }
    fn raise_most(&self, block: BlockIndex, erases: u32) {
        let most = &self.most[self.layout.pool_of_block(block).at()];
        most.set(erases.max(most.get()));
    }
    /// Whether a pool that is short of room may empty a block that gains none.
    pub(crate) fn background_is_due(&self, pool: PoolIndex) -> bool {
        self.since[pool.at()].get() >= BACKGROUND_SHARE
    }
    /// A block is being emptied that gains no room.
    pub(crate) fn works_ahead(&self, pool: PoolIndex) {
        self.since[pool.at()].set(0);
    }
}
