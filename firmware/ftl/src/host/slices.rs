//! The ring of slices, between the intake and the workers that carry them out.

use crate::cache::buffer::EntryId;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_exec::{Exec, WaitCell};
use aster_ports::host::CommandId;
use aster_units::Lpn;
use core::cell::{Cell, RefCell};

/// What a slice does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SliceWork {
    /// With force unit access what is dirty goes to flash first (NVMe 1.4 §6.9).
    Read {
        fua: bool,
    },
    Write {
        fua: bool,
    },
    /// With force unit access as a read.
    Compare {
        fua: bool,
    },
    /// Writes zeroes over part of a page.
    Zero {
        fua: bool,
    },
    /// Unmaps whole pages.
    Unmap {
        pages: u32,
        fua: bool,
    },
    /// Brings an entry to flash if it still holds the slice's page and is dirty.
    Evict {
        entry: EntryId,
    },
    /// The end of a flush: what its other slices, and all before, brought to flash is made safe.
    MakeDurable,
}

/// A part of a command within one mapping unit (but for [`SliceWork::Unmap`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slice {
    pub(crate) command: CommandId,
    pub(crate) work: SliceWork,
    pub(crate) lpn: Lpn,
    /// First byte in the page.
    pub(crate) start: u32,
    pub(crate) bytes: u32,
    /// Offset into the command's data.
    pub(crate) data_offset: u32,
}

/// The slice ring. A worker that finds it empty waits in a cell of its own, so that handing over costs the
/// same however many wait.
pub(crate) struct Slices {
    ring: RefCell<VecDeque<Slice>>,
    bound: usize,
    room: WaitCell,
    idle: RefCell<Vec<u16>>,
    workers: Box<[WaitCell]>,
    given: Box<[Cell<Option<Slice>>]>,
    pub(super) ended: WaitCell,
}

impl Slices {
    pub(crate) fn new(workers: u16) -> Self {
        let bound = usize::from(workers);
        Slices {
            ring: RefCell::new(VecDeque::with_capacity(bound)),
            bound,
            room: WaitCell::default(),
            idle: RefCell::new(Vec::with_capacity(bound)),
            workers: (0..workers).map(|_| WaitCell::default()).collect(),
            given: (0..workers).map(|_| Cell::new(None)).collect(),
            ended: WaitCell::default(),
        }
    }
    /// Hands a slice to an idle worker, or queues it, waiting for room.
    pub(crate) async fn push(&self, exec: &Exec, slice: Slice) {
        let idle = self.idle.borrow_mut().pop();
        if let Some(worker) = idle {
            self.given[usize::from(worker)].set(Some(slice));
            self.workers[usize::from(worker)].wake(exec);
            return;
        }
        self.room.wait(exec, || (self.ring.borrow().len() < self.bound).then_some(())).await;
        // A worker that became idle meanwhile has looked into the ring and found it empty.
        let idle = self.idle.borrow_mut().pop();
        match idle {
            Some(worker) => {
                self.given[usize::from(worker)].set(Some(slice));
                self.workers[usize::from(worker)].wake(exec);
            }
            None => self.ring.borrow_mut().push_back(slice),
        }
    }
    pub(super) async fn next(&self, exec: &Exec, worker: u16) -> Slice {
        let first = self.ring.borrow_mut().pop_front();
        if let Some(slice) = first {
            self.room.wake(exec);
            return slice;
        }
        self.idle.borrow_mut().push(worker);
        let given = &self.given[usize::from(worker)];
        self.workers[usize::from(worker)].wait(exec, || given.take()).await
    }
    /// Waits until `done`; asked whenever a slice has ended.
    pub(crate) async fn drained(&self, exec: &Exec, done: impl FnMut() -> Option<()>) {
        self.ended.wait(exec, done).await;
    }
    #[cfg(test)]
    pub(crate) fn queued(&self) -> usize {
        self.ring.borrow().len()
    }
}
