//! Victims in work: the blocks that garbage collection is emptying.

use crate::space::layout::BlockLayout;
use crate::terms::block::{BlockIndex, PoolIndex};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::RefCell;

/// The victims in work of each pool: one per LUN at most.
pub(crate) struct VictimsInWork {
    layout: BlockLayout,
    pools: Box<[RefCell<Vec<BlockIndex>>]>,
}

impl VictimsInWork {
    pub(crate) fn new(layout: BlockLayout) -> Self {
        let collectors = layout.total_luns() / layout.total_pools();
        let pools = layout.all_pools().map(|_| RefCell::new(Vec::with_capacity(collectors))).collect();
        VictimsInWork { layout, pools }
    }
    pub(crate) fn forget(&self) {
        self.pools.iter().for_each(|victims| victims.borrow_mut().clear());
    }
    /// A block is being emptied from now on.
    pub(crate) fn begin(&self, victim: BlockIndex) {
        self.pools[self.layout.pool_of_block(victim).at()].borrow_mut().push(victim);
    }
    /// A block is not being emptied any more.
    pub(crate) fn end(&self, victim: BlockIndex) {
        let mut victims = self.pools[self.layout.pool_of_block(victim).at()].borrow_mut();
        let at = victims.iter().position(|&of| of == victim).expect("a victim ends that has begun");
        victims.swap_remove(at);
    }
    /// How many there are in a pool.
    pub(crate) fn count(&self, pool: PoolIndex) -> usize {
        self.pools[pool.at()].borrow().len()
    }
    /// The sum of `of` over those of a pool.
    pub(crate) fn sum(&self, pool: PoolIndex, of: impl FnMut(BlockIndex) -> u64) -> u64 {
        self.pools[pool.at()].borrow().iter().copied().map(of).sum()
    }
}
