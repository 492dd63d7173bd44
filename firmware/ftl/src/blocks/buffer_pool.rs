//! A pool of page buffers. No waiting task is overtaken, no matter how many buffers it waits for. A guard
//! returns the buffers to the pool when it is dropped.

use crate::blocks::turns::Turns;
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::Wait;
use aster_exec::{Exec, WaitQueue};
use aster_units::BufferId;
use core::cell::RefCell;

/// The free buffers of a pool, and the tasks that wait for some.
pub(crate) struct Pool {
    runtime: Rc<Runtime>,
    buffers: FairPool,
}

impl Pool {
    /// A pool of these buffers, for at most `bound` tasks.
    pub(crate) fn new(runtime: &Rc<Runtime>, buffers: impl Iterator<Item = BufferId>, bound: usize) -> Self {
        Pool { runtime: Rc::clone(runtime), buffers: FairPool::new(buffers, bound) }
    }
    /// Takes a buffer.
    pub(crate) async fn take_one(&self) -> HeldBuffer<'_> {
        let mut buffer = [BufferId(0)];
        self.wait_for(&mut buffer).await;
        HeldBuffer { pool: self, buffer: buffer[0] }
    }
    /// Takes as many buffers as `of` has room for at once: nobody waits for one while it has another.
    pub(crate) async fn take<'a>(&'a self, of: &'a mut [BufferId]) -> HeldBuffers<'a> {
        if !of.is_empty() {
            self.wait_for(of).await;
        }
        HeldBuffers { pool: self, buffers: of }
    }
    /// Takes all that are free, if nobody waits for some.
    pub(crate) fn take_free(&self) -> impl Iterator<Item = HeldBuffer<'_>> {
        core::iter::from_fn(|| {
            let mut buffer = [BufferId(0)];
            let is_taken = self.buffers.turns.is_empty() && self.buffers.try_take(&mut buffer);
            is_taken.then(|| HeldBuffer { pool: self, buffer: buffer[0] })
        })
    }
    async fn wait_for(&self, of: &mut [BufferId]) {
        let taken = self.buffers.take(self.runtime.exec(), of);
        self.runtime.waiting(Wait::MergeBuffer, taken).await;
    }
    fn give(&self, buffer: BufferId) {
        self.buffers.give(self.runtime.exec(), buffer);
    }
}

/// A buffer of a pool.
pub(crate) struct HeldBuffer<'a> {
    pool: &'a Pool,
    buffer: BufferId,
}

impl HeldBuffer<'_> {
    pub(crate) fn id(&self) -> BufferId {
        self.buffer
    }
}

impl Drop for HeldBuffer<'_> {
    fn drop(&mut self) {
        self.pool.give(self.buffer);
    }
}

/// Buffers of a pool that were taken together.
pub(crate) struct HeldBuffers<'a> {
    pool: &'a Pool,
    buffers: &'a mut [BufferId],
}

impl<'a> HeldBuffers<'a> {
    pub(crate) fn ids(&self) -> &[BufferId] {
        self.buffers
    }
    /// Gives one back before the others.
    pub(crate) fn give(&mut self, buffer: BufferId) {
        let at = self.buffers.iter().position(|&held| held == buffer).expect("it is one of them");
        let buffers = core::mem::take(&mut self.buffers);
        let last = buffers.len() - 1;
        buffers.copy_within(at + 1.., at);
        self.buffers = &mut buffers[..last];
        self.pool.give(buffer);
    }
}

impl Drop for HeldBuffers<'_> {
    fn drop(&mut self) {
        self.buffers.iter().for_each(|&buffer| self.pool.give(buffer));
    }
}

/// Buffers that tasks take in the order in which they ask for them.
struct FairPool {
    free: RefCell<Vec<BufferId>>,
    turns: Turns,
    // The first in turn sleeps here.
    freed: WaitQueue,
}

impl FairPool {
    fn new(buffers: impl Iterator<Item = BufferId>, bound: usize) -> Self {
        FairPool {
            free: RefCell::new(buffers.collect()),
            turns: Turns::with_capacity(bound),
            freed: WaitQueue::with_capacity(1),
        }
    }
    async fn take(&self, exec: &Exec, of: &mut [BufferId]) {
        if self.turns.is_empty() && self.try_take(of) {
            return;
        }
        let turn = self.turns.join();
        self.turns.wait_first(exec, turn).await;
        self.freed.wait(exec, || self.try_take(of).then_some(())).await;
        self.turns.leave(exec, turn);
    }
    fn try_take(&self, of: &mut [BufferId]) -> bool {
        let mut free = self.free.borrow_mut();
        let Some(left) = free.len().checked_sub(of.len()) else { return false };
        of.copy_from_slice(&free[left..]);
        free.truncate(left);
        true
    }
    fn give(&self, exec: &Exec, buffer: BufferId) {
        let mut free = self.free.borrow_mut();
        debug_assert!(!free.contains(&buffer), "{buffer:?} is given back twice");
        free.push(buffer);
        self.freed.wake_one(exec);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::{Duration, Instant, Rng};
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A task that waits for several buffers is served before a later one that wants only one.
    #[test]
    fn nobody_is_overtaken_however_many_buffers_he_waits_for() {
        let exec = Exec::new();
        let pool = Rc::new(FairPool::new((10..14).map(BufferId), 40));
        let served: Rc<RefCell<Vec<usize>>> = Rc::default();
        let mut random = Rng::new(3);
        for task in 0..40 {
            let (mine, from, done) = (exec.clone(), Rc::clone(&pool), Rc::clone(&served));
            let (count, micros) = (1 + random.below(4) as usize, random.below(9));
            exec.spawn(async move {
                let mut taken = [BufferId(0); 4];
                let taken = &mut taken[..count];
                from.take(&mine, taken).await;
                done.borrow_mut().push(task);
                assert!(taken.iter().all(|buffer| (10..14).contains(&buffer.0)));
                mine.sleep(Duration::from_micros(micros)).await;
                taken.iter().for_each(|&buffer| from.give(&mine, buffer));
            });
        }
        exec.advance_to(Instant::ZERO + Duration::from_millis(1));
        assert!(served.borrow().iter().copied().eq(0..40), "{served:?}");
        let mut free: Vec<u32> = pool.free.borrow().iter().map(|buffer| buffer.0).collect();
        free.sort_unstable();
        assert_eq!(free, [10, 11, 12, 13], "each is given back once");
    }
}
