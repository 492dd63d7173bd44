//! What each block is used for.

use crate::space::layout::BlockLayout;
use crate::terms::bits::cells;
use crate::terms::block::{BlockIndex, BlockState, PoolIndex};
use alloc::boxed::Box;
use aster_units::{BlockAddr, LunIndex};
use core::cell::Cell;

/// The states of all blocks.
pub(crate) struct States {
    layout: BlockLayout,
    states: Box<[Cell<BlockState>]>,
    // Per LUN: blocks that have not gone bad, and those that were bad from the factory.
    good: Box<[Cell<u32>]>,
    factory_bad: Box<[Cell<u32>]>,
}

impl BlockState {
    /// Whether a block may change from this state to `next`.
    fn may_become(self, next: BlockState) -> bool {
        use BlockState::{Bad, Closed, Failing, Free, Log, Map, Open, Retired};
        match self {
            // A free block that turns out not to be erased is collected.
            Free => matches!(next, Open | Map | Closed),
            // A format erases blocks as they are.
            Open => matches!(next, Closed | Failing | Free | Retired),
            // The last programs of a block may fail when it has no page left.
            Closed => matches!(next, Failing | Free | Retired),
            Failing => matches!(next, Failing | Retired),
            Map => matches!(next, Closed | Failing),
            Log => matches!(next, Retired),
            Bad | Retired => false,
        }
    }
}

impl States {
    /// All blocks are bad until [`States::adopt`] sets their states.
    pub(crate) fn new(layout: BlockLayout) -> Self {
        let luns = layout.total_luns();
        States {
            layout,
            states: cells(layout.total() as usize, BlockState::Bad),
            good: cells(luns, 0),
            factory_bad: cells(luns, 0),
        }
    }
    pub(crate) fn forget(&self) {
        self.states.iter().for_each(|state| state.set(BlockState::Bad));
        self.good.iter().chain(&self.factory_bad).for_each(|count| count.set(0));
    }
    /// A block is found in this state.
    pub(crate) fn adopt(&self, block: BlockIndex, state: BlockState) {
        assert_eq!(self.of(block), BlockState::Bad, "{block:?} is adopted twice");
        self.states[block.at()].set(state);
        let lun = self.layout.lun_of(block).index();
        let count = match state {
            BlockState::Bad => &self.factory_bad[lun],
            BlockState::Retired => return,
            _ => &self.good[lun],
        };
        count.set(count.get() + 1);
        assert!(count.get() <= self.layout.blocks_per_lun(), "more blocks than the LUN has");
    }
    #[inline]
    pub(crate) fn of(&self, block: BlockIndex) -> BlockState {
        self.states[block.at()].get()
    }
    /// The block's state changes.
    pub(crate) fn set(&self, block: BlockIndex, next: BlockState) {
        let state = &self.states[block.at()];
        assert!(state.get().may_become(next), "{block:?} is {:?} and can't become {next:?}", state.get());
        state.set(next);
    }
    /// The block has gone bad.
    pub(crate) fn retire(&self, block: BlockIndex) {
        self.set(block, BlockState::Retired);
        let good = &self.good[self.layout.lun_of(block).index()];
        assert!(good.get() > 0, "{block:?} was not counted as good");
        good.set(good.get() - 1);
    }
    /// Whether the block may hold data of the host or of the map that may stay there.
    pub(crate) fn holds_data(&self, block: BlockIndex) -> bool {
        matches!(self.of(block), BlockState::Open | BlockState::Closed)
    }
    /// The LUN's good blocks. Blocks that are about to go bad don't count, even while garbage collection is
    /// emptying them.
    pub(crate) fn good(&self, lun: LunIndex) -> u32 {
        let states = &self.states[self.layout.blocks_of(lun)];
        let failing = states.iter().filter(|state| state.get() == BlockState::Failing).count();
        self.good[lun.index()].get() - failing as u32
    }
    /// As [`States::good`], of all LUNs of a pool.
    pub(crate) fn good_in(&self, pool: PoolIndex) -> u32 {
        self.layout.luns_of(pool).map(|lun| self.good(lun)).sum()
    }
    /// As [`States::factory_good`], of all LUNs of a pool.
    pub(crate) fn factory_good_in(&self, pool: PoolIndex) -> u32 {
        self.layout.luns_of(pool).map(|lun| self.factory_good(lun)).sum()
    }
    /// The LUN's blocks that were good when it left the factory.
    pub(crate) fn factory_good(&self, lun: LunIndex) -> u32 {
        self.layout.blocks_per_lun() - self.factory_bad[lun.index()].get()
    }
    /// The LUN's next block from `first` on that may hold data of the host. The data may be unmapped, and the
    /// block may be bad.
    pub(crate) fn next_used(&self, lun: LunIndex, first: BlockAddr) -> Option<BlockIndex> {
        let is_used = |&block: &BlockIndex| {
            !matches!(self.of(block), BlockState::Free | BlockState::Map | BlockState::Log | BlockState::Bad)
        };
        let blocks = first.0..self.layout.blocks_per_lun();
        blocks.map(|block| self.layout.block_index(lun, BlockAddr(block))).find(is_used)
    }
}
