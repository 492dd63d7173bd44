//! How often blocks were erased.
//!
//! Wear levelling goes by it. *Dynamic* levelling chooses among free blocks (see [`super::free`]): the host's
//! data, much of which will be stale soon, goes to the least worn, what garbage collection copies to the most
//! worn. Blocks whose data never changes don't become free that way. *Static* levelling moves that data once
//! such a block is too many erases behind.

use crate::space::layout::BlockLayout;
use crate::terms::bits::cells;
use crate::terms::block::BlockIndex;
use crate::terms::config::WearLevelling;
use alloc::boxed::Box;
use alloc::vec;
use aster_units::LunIndex;
use core::cell::{Cell, RefCell};

/// A block that was erased more often is no block's: half of what the table's 32 bits hold, so that none
/// overflows in use.
pub(crate) const ERASES_MAX: u32 = 1 << 31;

/// While a LUN is short of room, one block in so many that it empties may be one that makes none.
const BACKGROUND_SHARE: u32 = 8;

/// The erase counts of all blocks.
pub(crate) struct Wear {
    layout: BlockLayout,
    levelling: WearLevelling,
    erases: RefCell<Box<[u32]>>,
    // Of each LUN: the most times that a block of it, but for the log's, was erased.
    most: Box<[Cell<u32>]>,
    // Of each LUN: blocks erased since the last one that was collected for wear or refresh.
    since: Box<[Cell<u32>]>,
}

impl Wear {
    pub(crate) fn new(layout: BlockLayout, levelling: WearLevelling) -> Self {
        let luns = layout.total_luns();
        Wear {
            layout,
            levelling,
            erases: RefCell::new(vec![0; layout.total() as usize].into()),
            most: cells(luns, 0),
            since: cells(luns, 0),
        }
    }
    pub(crate) fn forget(&self) {
        self.erases.borrow_mut().fill(0);
        self.most.iter().chain(&self.since).for_each(|count| count.set(0));
    }
    pub(crate) fn levelling(&self) -> WearLevelling {
        self.levelling
    }
    /// Times that a block was erased.
    pub(crate) fn of(&self, block: BlockIndex) -> u32 {
        self.erases.borrow()[block.at()]
    }
    /// The most times that a block of the LUN was erased, but for the log's.
    pub(crate) fn most(&self, lun: LunIndex) -> u32 {
        self.most[lun.index()].get()
    }
    /// Calls `with` with the counts of a LUN's blocks.
    pub(crate) fn with_lun<T>(&self, lun: LunIndex, with: impl FnOnce(&[u32]) -> T) -> T {
        with(&self.erases.borrow()[self.layout.blocks_of(lun)])
    }
    /// A block is found erased so often. Blocks that are the log's, or bad, say nothing of how worn others
    /// should be: those are not `levelled`.
    pub(crate) fn adopt(&self, block: BlockIndex, erases: u32, levelled: bool) {
        assert!(erases <= ERASES_MAX, "{block:?} can't have been erased {erases} times");
        self.erases.borrow_mut()[block.at()] = erases;
        if levelled {
            self.raise_most(block, erases);
        }
    }
    /// Counts an erase. Gives how many it were.
    pub(crate) fn count(&self, block: BlockIndex, levelled: bool) -> u32 {
        let erases = {
            let erases = &mut self.erases.borrow_mut()[block.at()];
            *erases += 1;
            *erases
        };
        if levelled {
            self.raise_most(block, erases);
            let since = &self.since[self.layout.lun_of(block).index()];
            since.set(since.get().saturating_add(1));
        }
        erases
    }
    fn raise_most(&self, block: BlockIndex, erases: u32) {
        let most = &self.most[self.layout.lun_of(block).index()];
        most.set(erases.max(most.get()));
    }
    /// Whether a LUN that is short of room may empty a block that makes none.
    pub(crate) fn background_is_due(&self, lun: LunIndex) -> bool {
        self.since[lun.index()].get() >= BACKGROUND_SHARE
    }
    /// A block is being emptied that makes no room.
    pub(crate) fn works_ahead(&self, lun: LunIndex) {
        self.since[lun.index()].set(0);
    }
}
