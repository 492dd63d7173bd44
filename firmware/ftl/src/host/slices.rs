//! The ring of slices, between the intake and the workers that carry them out.

use crate::cache::buffer::EntryId;
use crate::terms::units::Frame;
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_exec::{Exec, Fifo, WaitCell};
use aster_ports::host::CommandId;
use core::cell::{Cell, RefCell};
use core::future::Future;

/// What a slice does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SliceWork {
    /// With force unit access dirty data is written to flash first (NVMe 1.4 §6.9).
    Read {
        fua: bool,
    },
    Write {
        fua: bool,
    },
    /// Force unit access means the same as for a read.
    Compare {
        fua: bool,
    },
    /// Writes zeroes over part of a page.
    Zero {
        fua: bool,
    },
    /// Unmaps whole frames, or whole units of one frame if the slice names bytes.
    Unmap {
        pages: u32,
        fua: bool,
    },
    /// Evicts an entry if it still holds the slice's page and is dirty.
    Evict {
        entry: EntryId,
    },
    /// The end of a flush: makes durable what its other slices, and all earlier ones, have programmed.
    MakeDurable,
}

/// A part of a command within one frame (except [`SliceWork::Unmap`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slice {
    pub(crate) command: CommandId,
    pub(crate) work: SliceWork,
    pub(crate) frame: Frame,
    /// First byte in the page.
    pub(crate) start: u32,
    pub(crate) bytes: u32,
    /// Offset into the command's data.
    pub(crate) data_offset: u32,
}

/// The slice ring. A worker that finds it empty waits in a cell of its own, so handing over a slice costs
/// the same no matter how many workers wait.
pub(crate) struct Slices {
    ring: RefCell<Fifo<Slice>>,
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
            ring: RefCell::new(Fifo::with_capacity(bound)),
            bound,
            room: WaitCell::default(),
            idle: RefCell::new(Vec::with_capacity(bound)),
            workers: (0..workers).map(|_| WaitCell::default()).collect(),
            given: (0..workers).map(|_| Cell::new(None)).collect(),
            ended: WaitCell::default(),
        }
    }
    /// Waits for room in the ring and queues a slice that no worker was idle for ([`Slices::give`]).
    pub(crate) async fn push(&self, exec: &Exec, slice: Slice) {
        self.room.wait(exec, || (self.ring.borrow().len() < self.bound).then_some(())).await;
        // A worker may have found the ring empty meanwhile and now waits.
        if !self.give(exec, &slice) {
            self.ring.borrow_mut().push_back(slice);
        }
    }
    /// Whether a worker is idle.
    #[inline]
    pub(crate) fn has_idle(&self) -> bool {
        !self.idle.borrow().is_empty()
    }
    /// Hands a slice to an idle worker, if there is one.
    #[inline]
    pub(crate) fn give(&self, exec: &Exec, slice: &Slice) -> bool {
        let Some(worker) = self.idle.borrow_mut().pop() else { return false };
        self.given[usize::from(worker)].set(Some(*slice));
        self.workers[usize::from(worker)].wake(exec);
        true
    }
    #[inline]
    pub(super) fn next(&self, exec: &Exec, worker: u16) -> impl Future<Output = Slice> {
        let mut is_idle = false;
        let number = usize::from(worker);
        self.workers[number].wait(exec, move || {
            if is_idle {
                return self.given[number].take();
            }
            let first = self.ring.borrow_mut().pop_front();
            match first {
                Some(_) => self.room.wake(exec),
                None => {
                    self.idle.borrow_mut().push(worker);
                    is_idle = true;
                }
            }
            first
        })
    }
    /// Waits until `done` returns `Some`; it is called whenever a slice has ended.
    pub(crate) async fn drained(&self, exec: &Exec, done: impl FnMut() -> Option<()>) {
        self.ended.wait(exec, done).await;
    }
    #[cfg(test)]
    pub(crate) fn queued(&self) -> usize {
        self.ring.borrow().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Instant;
    use std::rc::Rc;
    use std::vec;

    const WORKERS: u16 = 3;

    /// A ring without an FTL, and which worker has taken which slice.
    struct Bench {
        exec: Exec,
        slices: Rc<Slices>,
        taken: Rc<RefCell<Vec<(u16, u32)>>>,
    }

    impl Bench {
        fn new(workers: u16) -> Self {
            Bench { exec: Exec::new(), slices: Rc::new(Slices::new(workers)), taken: Rc::default() }
        }
        /// Pushes slices for these pages one after the other. Returns a count of those that have been
        /// pushed.
        fn push(&self, pages: core::ops::Range<u32>) -> Rc<Cell<u32>> {
            let (exec, slices, pushed) =
                (self.exec.clone(), Rc::clone(&self.slices), Rc::<Cell<u32>>::default());
            let counted = Rc::clone(&pushed);
            self.exec.spawn(async move {
                for page in pages {
                    let work = SliceWork::Read { fua: false };
                    let (command, frame) = (CommandId(0), Frame(page));
                    let slice = Slice { command, work, frame, start: 0, bytes: 512, data_offset: 0 };
                    slices.push(&exec, slice).await;
                    counted.set(counted.get() + 1);
                }
            });
            self.run();
            pushed
        }
        /// Has a worker take `count` slices.
        fn take(&self, worker: u16, count: u32) {
            let (exec, slices, taken) = (self.exec.clone(), Rc::clone(&self.slices), Rc::clone(&self.taken));
            self.exec.spawn(async move {
                for _ in 0..count {
                    let slice = slices.next(&exec, worker).await;
                    taken.borrow_mut().push((worker, slice.frame.0));
                }
            });
            self.run();
        }
        fn run(&self) {
            self.exec.advance_to(Instant::ZERO);
        }
    }

    #[test]
    fn a_full_ring_makes_the_intake_wait_until_a_worker_takes_a_slice() {
        let bench = Bench::new(WORKERS);
        let pushed = bench.push(0..5);
        assert_eq!((pushed.get(), bench.slices.queued()), (3, 3));
        bench.take(0, 1);
        assert_eq!((pushed.get(), bench.slices.queued()), (4, 3));
        bench.take(0, 1);
        assert_eq!((pushed.get(), bench.slices.queued()), (5, 3));
    }

    #[test]
    fn slices_are_taken_in_the_order_in_which_they_came() {
        let bench = Bench::new(WORKERS);
        bench.push(0..7);
        for worker in [2, 0, 1, 1, 2, 0, 0] {
            bench.take(worker, 1);
        }
        assert_eq!(*bench.taken.borrow(), [(2, 0), (0, 1), (1, 2), (1, 3), (2, 4), (0, 5), (0, 6)]);
    }

    #[test]
    fn a_slice_wakes_one_of_the_workers_that_wait() {
        let bench = Bench::new(WORKERS);
        (0..WORKERS).for_each(|worker| bench.take(worker, 1));
        for page in 0..3 {
            bench.push(page..page + 1);
            assert_eq!(bench.taken.borrow().len() as u32, page + 1);
            assert_eq!(bench.slices.queued(), 0);
        }
        // The worker that became idle last gets the first slice.
        assert_eq!(*bench.taken.borrow(), [(2, 0), (1, 1), (0, 2)]);
    }

    /// The worker takes the ring's only slice and waits for the next one before the intake, which waits for
    /// room, goes on.
    #[test]
    fn a_worker_that_found_the_ring_empty_gets_the_slice_that_waited_for_room() {
        let bench = Bench::new(1);
        let pushed = bench.push(0..2);
        assert_eq!(pushed.get(), 1);
        bench.take(0, 2);
        assert_eq!((pushed.get(), bench.slices.queued()), (2, 0));
        assert_eq!(*bench.taken.borrow(), [(0, 0), (0, 1)]);
    }

    #[test]
    fn whoever_waits_for_slices_to_end_looks_again_with_each_that_ends() {
        let bench = Bench::new(WORKERS);
        let (exec, slices) = (bench.exec.clone(), Rc::clone(&bench.slices));
        let left = Rc::new(Cell::new(2));
        let (ends, drained) = (Rc::clone(&left), Rc::<Cell<bool>>::default());
        let done = Rc::clone(&drained);
        bench.exec.spawn(async move {
            slices.drained(&exec, || (ends.get() == 0).then_some(())).await;
            done.set(true);
        });
        let mut seen = vec![];
        for ended in 0..=2 {
            if ended > 0 {
                left.set(left.get() - 1);
                bench.slices.ended.wake(&bench.exec);
            }
            bench.run();
            seen.push(drained.get());
        }
        assert_eq!(seen, [false, false, true]);
    }
}
