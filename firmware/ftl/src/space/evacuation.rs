//! Blocks whose data must move no matter how much they hold: a program failed in them, or a loss of power
//! tore a page.

use crate::space::layout::BlockLayout;
use crate::space::states::States;
use crate::terms::block::{BlockIndex, BlockState, PoolIndex};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

/// The blocks to be evacuated.
pub(crate) struct Evacuation {
    layout: BlockLayout,
    states: Rc<States>,
    // A read-only drive leaves data where it can still be read: its free blocks are for buffered data and for
    // the map.
    is_on: Cell<bool>,
    pools: Box<[RefCell<OfPool>]>,
}

struct OfPool {
    failing: VecDeque<BlockIndex>,
    torn: VecDeque<BlockIndex>,
}

impl Evacuation {
    pub(crate) fn new(layout: BlockLayout, states: &Rc<States>) -> Self {
        let room = layout.blocks_per_lun() as usize;
        let pool = |_| OfPool { failing: VecDeque::with_capacity(room), torn: VecDeque::new() };
        Evacuation {
            layout,
            states: Rc::clone(states),
            is_on: Cell::new(true),
            pools: layout.all_pools().map(|at| RefCell::new(pool(at))).collect(),
        }
    }
    pub(crate) fn forget(&self) {
        self.is_on.set(true);
        for pool in &self.pools {
            let mut pool = pool.borrow_mut();
            pool.failing.clear();
            pool.torn.clear();
        }
    }
    fn pool_of(&self, block: BlockIndex) -> &RefCell<OfPool> {
        &self.pools[self.layout.pool_of_block(block).at()]
    }
    /// Whether data moves out of such blocks.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.get()
    }
    /// Stops moving data out of such blocks.
    pub(crate) fn stop(&self) {
        self.is_on.set(false);
    }
    pub(crate) fn has_any(&self, pool: PoolIndex) -> bool {
        let pool = self.pools[pool.at()].borrow();
        self.is_on() && !(pool.failing.is_empty() && pool.torn.is_empty())
    }
    /// A program failed in the block, and none is in flight there.
    pub(crate) fn fails(&self, block: BlockIndex) {
        assert_eq!(self.states.of(block), BlockState::Failing, "{block:?} moves without having failed");
        let failing = &mut self.pool_of(block).borrow_mut().failing;
        if !failing.contains(&block) {
            failing.push_back(block);
        }
    }
    /// A closed block is to be collected soon, no matter how much it holds: the power went while it was being
    /// written.
    pub(crate) fn collect_torn(&self, block: BlockIndex) {
        if self.states.of(block) == BlockState::Closed {
            self.pool_of(block).borrow_mut().torn.push_back(block);
        }
    }
    /// Takes a block in which a program failed.
    pub(crate) fn take_failing(&self, pool: PoolIndex) -> Option<BlockIndex> {
        self.pools[pool.at()].borrow_mut().failing.pop_front()
    }
    /// Takes a block with a torn page.
    pub(crate) fn take_torn(&self, pool: PoolIndex) -> Option<BlockIndex> {
        self.pools[pool.at()].borrow_mut().torn.pop_front()
    }
    /// Removes a block that is erased at once.
    pub(crate) fn leave_out(&self, block: BlockIndex) {
        self.pool_of(block).borrow_mut().failing.retain(|&failing| failing != block);
    }
}
