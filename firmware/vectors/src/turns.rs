//! Commands that name the same LUN take turns in the order of their arrival.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_exec::{Exec, WaitCell};
use aster_units::LunIndex;
use core::cell::RefCell;

/// A queue of workers per LUN.
///
/// A worker enters all queues of a command in one moment, so the order of any two commands is the same in
/// all queues that both are in, and nobody waits in a circle.
pub(crate) struct Turns {
    queues: RefCell<Box<[VecDeque<u16>]>>,
    workers: Box<[WaitCell]>,
}

impl Turns {
    pub fn new(luns: u32, workers: u16) -> Self {
        let queue = |_| VecDeque::with_capacity(workers.into());
        Turns {
            queues: RefCell::new((0..luns).map(queue).collect()),
            workers: (0..workers).map(|_| WaitCell::default()).collect(),
        }
    }
    /// Enters the queues of `luns`, each of which is named once.
    pub fn enter(&self, worker: u16, luns: &[LunIndex]) {
        let mut queues = self.queues.borrow_mut();
        luns.iter().for_each(|lun| queues[lun.index()].push_back(worker));
    }
    /// Waits until the worker is first in all of them.
    pub async fn first(&self, exec: &Exec, worker: u16, luns: &[LunIndex]) {
        let is_first = || {
            let queues = self.queues.borrow();
            luns.iter().all(|lun| queues[lun.index()].front() == Some(&worker)).then_some(())
        };
        self.workers[usize::from(worker)].wait(exec, is_first).await;
    }
    /// Leaves the queues. Those that are first now look again.
    pub fn leave(&self, exec: &Exec, worker: u16, luns: &[LunIndex]) {
        let mut queues = self.queues.borrow_mut();
        for lun in luns {
            let queue = &mut queues[lun.index()];
            assert_eq!(queue.pop_front(), Some(worker), "who leaves was first");
            if let Some(next) = queue.front() {
                self.workers[usize::from(*next)].wake(exec);
            }
        }
    }
}

/// The LUNs that a command names, each once.
pub(crate) fn distinct(luns: impl Iterator<Item = LunIndex>, into: &mut Vec<LunIndex>) {
    into.clear();
    for lun in luns {
        if !into.contains(&lun) {
            into.push(lun);
        }
    }
}
