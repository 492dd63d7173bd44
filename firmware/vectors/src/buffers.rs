//! Page buffers: a command takes all that it needs in one go, in the order of asking, so that no two
//! commands wait for each other's.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_exec::{Exec, WaitQueue};
use aster_units::BufferId;
use core::cell::RefCell;

pub(crate) struct BufferPool {
    free: RefCell<Vec<BufferId>>,
    /// How many each waiting worker wants, first come, first served.
    asked: RefCell<VecDeque<(u16, usize)>>,
    waiters: WaitQueue,
}

impl BufferPool {
    pub fn new(buffers: u32, workers: u16) -> Self {
        BufferPool {
            free: RefCell::new((0..buffers).rev().map(BufferId).collect()),
            asked: RefCell::new(VecDeque::with_capacity(workers.into())),
            waiters: WaitQueue::with_capacity(workers.into()),
        }
    }
    /// Takes `count` buffers into `into`, which must be at most as many as there are.
    pub async fn take(&self, exec: &Exec, worker: u16, count: usize, into: &mut Vec<BufferId>) {
        into.clear();
        self.asked.borrow_mut().push_back((worker, count));
        let taken = || {
            let mut free = self.free.borrow_mut();
            let mine = self.asked.borrow().front() == Some(&(worker, count));
            if !mine || free.len() < count {
                return None;
            }
            let rest = free.len() - count;
            into.extend(free.drain(rest..).rev());
            Some(())
        };
        self.waiters.wait(exec, taken).await;
        self.asked.borrow_mut().pop_front();
        self.waiters.wake_all(exec);
    }
    /// Gives buffers back.
    pub fn give(&self, exec: &Exec, buffers: &mut Vec<BufferId>) {
        self.free.borrow_mut().append(buffers);
        self.waiters.wake_all(exec);
    }
}
