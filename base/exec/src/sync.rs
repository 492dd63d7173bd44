use crate::exec::Exec;
use crate::fifo::Fifo;
use crate::ids::TaskId;
use crate::stack::pend;
use alloc::collections::VecDeque;
use core::cell::{Cell, RefCell};
use core::future::Future;

/// A place where at most one task waits for a condition.
pub struct WaitCell(Cell<TaskId>);

impl Default for WaitCell {
    fn default() -> Self {
        WaitCell(Cell::new(TaskId::NONE))
    }
}

impl WaitCell {
    /// Wakes the waiting task, if there is one.
    #[inline]
    pub fn wake(&self, exec: &Exec) {
        let task = self.0.replace(TaskId::NONE);
        if task != TaskId::NONE {
            exec.wake(task);
        }
    }

    /// Wakes the waiting task at `at`, if there is one.
    #[inline]
    pub fn wake_at(&self, exec: &Exec, at: aster_units::Instant) {
        let task = self.0.replace(TaskId::NONE);
        if task != TaskId::NONE {
            exec.wake_at(at, task);
        }
    }

    /// Waits until `ready` returns a value. Calls it at once and after each wake.
    #[inline]
    pub fn wait<T>(&self, exec: &Exec, ready: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
        pend(ready, move || {
            let me = exec.current();
            let other = self.0.replace(me);
            assert!(other == TaskId::NONE || other == me, "two tasks wait on one WaitCell");
            exec.suspend()
        })
    }
}

/// Tasks waiting for one condition, served first come, first served.
#[derive(Default)]
pub struct WaitQueue(RefCell<Fifo<TaskId>>);

impl WaitQueue {
    /// A queue whose room for `bound` waiters is allocated now.
    pub fn with_capacity(bound: usize) -> Self {
        WaitQueue(RefCell::new(Fifo::with_capacity(bound)))
    }

    /// Wakes the task that has waited longest.
    #[inline]
    pub fn wake_one(&self, exec: &Exec) {
        let task = self.0.borrow_mut().pop_front();
        if let Some(task) = task {
            exec.wake(task);
        }
    }

    /// Wakes every waiting task, in the order of their arrival.
    #[inline]
    pub fn wake_all(&self, exec: &Exec) {
        // Conditions change far more often than tasks wait for them, so this checks first.
        if !self.is_empty() {
            self.wake_each(exec);
        }
    }
    fn wake_each(&self, exec: &Exec) {
        let mut waiting = self.0.borrow_mut();
        while let Some(task) = waiting.pop_front() {
            exec.wake(task);
        }
    }

    /// True when no task waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Waits until `ready` returns a value. Calls it at once and after each wake.
    #[inline]
    pub fn wait<T>(&self, exec: &Exec, ready: impl FnMut() -> Option<T>) -> impl Future<Output = T> {
        pend(ready, move || {
            let me = exec.current();
            let mut waiting = self.0.borrow_mut();
            if waiting.iter().all(|other| *other != me) {
                waiting.push_back(me);
            }
            drop(waiting);
            exec.suspend()
        })
    }
}

/// A bounded first-in-first-out ring with a wait queue at each end: the shape of every port.
pub struct Ring<T> {
    items: RefCell<VecDeque<T>>,
    bound: usize,
    consumers: WaitQueue,
    producers: WaitQueue,
}

impl<T> Ring<T> {
    /// A ring of at most `bound` items. All its memory is allocated now.
    pub fn new(bound: usize) -> Self {
        Ring {
            items: RefCell::new(VecDeque::with_capacity(bound)),
            bound,
            consumers: WaitQueue::default(),
            producers: WaitQueue::default(),
        }
    }

    /// Adds an item.
    ///
    /// # Errors
    /// Gives the item back when the ring is full.
    #[inline]
    pub fn try_push(&self, exec: &Exec, item: T) -> Result<(), T> {
        {
            let mut items = self.items.borrow_mut();
            if items.len() == self.bound {
                return Err(item);
            }
            items.push_back(item);
        }
        self.consumers.wake_one(exec);
        Ok(())
    }

    /// Adds an item, waiting for room.
    #[inline]
    pub fn push(&self, exec: &Exec, item: T) -> impl Future<Output = ()> {
        let mut item = Some(item);
        self.producers.wait(exec, move || match self.try_push(exec, item.take()?) {
            Ok(()) => Some(()),
            Err(back) => {
                item = Some(back);
                None
            }
        })
    }

    /// Takes the oldest item.
    #[inline]
    pub fn try_pop(&self, exec: &Exec) -> Option<T> {
        let item = self.items.borrow_mut().pop_front()?;
        self.producers.wake_one(exec);
        Some(item)
    }

    /// Takes the oldest item, waiting for one.
    #[inline]
    pub fn pop(&self, exec: &Exec) -> impl Future<Output = T> {
        self.consumers.wait(exec, move || self.try_pop(exec))
    }

    /// As [`Ring::pop`], where `pop` is what takes the item ([`Ring::try_pop`]).
    #[inline]
    pub fn pop_by<U>(&self, exec: &Exec, pop: impl FnMut() -> Option<U>) -> impl Future<Output = U> {
        self.consumers.wait(exec, pop)
    }

    /// Items in the ring.
    pub fn len(&self) -> usize {
        self.items.borrow().len()
    }

    /// True when the ring holds nothing.
    pub fn is_empty(&self) -> bool {
        self.items.borrow().is_empty()
    }

    /// True when no item fits.
    pub fn is_full(&self) -> bool {
        self.len() == self.bound
    }
}
