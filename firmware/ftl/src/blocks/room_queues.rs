//! Who waits for room: writers that need pages of a pool, and the tasks that write a map kept on flash.

use crate::blocks::pacing::Pacing;
use crate::terms::block::PoolIndex;
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_exec::WaitQueue;
use core::cell::RefCell;

type FullWatcher = Box<dyn Fn()>;

/// The queues for room, of all pools.
pub(crate) struct RoomQueues {
    runtime: Rc<Runtime>,
    pacing: Rc<Pacing>,
    // Per pool: writers that wait for a block.
    waiters: Box<[WaitQueue]>,
    // The tasks that write translation pages of a map kept on flash.
    flush_waiters: WaitQueue,
    full_watchers: RefCell<Vec<FullWatcher>>,
}

impl RoomQueues {
    /// With room for `depth` writers of each of `pools` pools.
    pub(crate) fn new(runtime: &Rc<Runtime>, pacing: &Rc<Pacing>, pools: usize, depth: usize) -> Self {
        RoomQueues {
            runtime: Rc::clone(runtime),
            pacing: Rc::clone(pacing),
            waiters: (0..pools).map(|_| WaitQueue::with_capacity(depth)).collect(),
            flush_waiters: WaitQueue::with_capacity(runtime.buffers.flushes() as usize),
            full_watchers: RefCell::default(),
        }
    }
    /// Waits until the pool may have room; the caller looks again.
    pub(crate) async fn wait_room(&self, pool: PoolIndex) {
        // Garbage collection checks again once this task waits.
        self.pacing.look(pool);
        self.runtime.wait_once(&self.waiters[pool.at()], Wait::Room).await;
    }
    /// Whether a writer waits for room.
    pub(crate) fn is_room_wanted(&self, pool: PoolIndex) -> bool {
        !self.waiters[pool.at()].is_empty()
    }
    /// Wakes the writers that wait for room in the pool.
    pub(crate) fn room_changed(&self, pool: PoolIndex) {
        self.waiters[pool.at()].wake_all(self.runtime.exec());
        self.ask_flush();
    }
    /// Calls `watcher` when a pool is full, or when no pool will open another block: tasks of higher layers
    /// that wait for room learn that there will be none.
    pub(crate) fn when_full(&self, watcher: FullWatcher) {
        self.full_watchers.borrow_mut().push(watcher);
    }
    /// A pool is full, or no further block will be opened.
    pub(crate) fn tell_full(&self) {
        self.full_watchers.borrow().iter().for_each(|watcher| watcher());
    }
    /// Waits until `begin` finds something to write in a map kept on flash.
    pub(crate) async fn wait_flush<T>(&self, begin: impl FnMut() -> Option<T>) -> T {
        self.flush_waiters.wait(self.runtime.exec(), begin).await
    }
    /// Wakes the tasks that write the map.
    pub(crate) fn ask_flush(&self) {
        self.flush_waiters.wake_all(self.runtime.exec());
    }
}
