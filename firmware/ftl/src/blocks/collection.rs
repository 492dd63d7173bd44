//! When garbage collection looks for something to do.

use crate::terms::block::PoolIndex;
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_exec::WaitQueue;
use core::cell::Cell;

/// Where the garbage collection of each pool waits, and whether it rests.
pub(crate) struct Collection {
    runtime: Rc<Runtime>,
    // Per pool: its collectors without work.
    pools: Box<[WaitQueue]>,
    // No victim is begun while the map is being stored. After that, and after boot, none is begun until the
    // host changes something, so that the root record of an idle drive stays valid.
    paused: Cell<bool>,
    // The pause has lasted since power-on and has no other reason.
    paused_since_boot: Cell<bool>,
}

impl Collection {
    /// With `pools` pools, whose collectors are `collectors` in each.
    pub(crate) fn new(runtime: &Rc<Runtime>, pools: usize, collectors: usize) -> Self {
        Collection {
            runtime: Rc::clone(runtime),
            pools: (0..pools).map(|_| WaitQueue::with_capacity(collectors)).collect(),
            paused: Cell::new(true),
            paused_since_boot: Cell::new(true),
        }
    }
    /// Whether collection has been paused since power-on and for no other reason.
    pub(crate) fn rests_since_boot(&self) -> bool {
        self.paused_since_boot.get()
    }
    /// Waits until `begin` finds something to do for a collector of the pool.
    pub(crate) async fn wait<T>(&self, pool: PoolIndex, begin: impl FnMut() -> Option<T>) -> T {
        self.pools[pool.at()].wait(self.runtime.exec(), begin).await
    }
    /// The collector of the pool that has been without work longest looks for something to do.
    pub(crate) fn ask(&self, pool: PoolIndex) {
        self.pools[pool.at()].wake_one(self.runtime.exec());
    }
    /// Whether collection is paused: no victim may be begun.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.get()
    }
    /// Lets no victim begin.
    pub(crate) fn pause(&self) {
        self.paused.set(true);
        self.paused_since_boot.set(false);
    }
    /// Lets victims begin again.
    pub(crate) fn resume(&self) {
        self.paused.set(false);
        self.paused_since_boot.set(false);
        for waiting in &self.pools {
            waiting.wake_all(self.runtime.exec());
        }
    }
    /// Whether the drive has been shut down and nothing has changed since.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.paused.get() && !self.paused_since_boot.get()
    }
}
