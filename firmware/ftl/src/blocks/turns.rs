//! A queue of tasks that wait for the same thing, in the order of arrival.

use alloc::collections::VecDeque;
use aster_exec::{Exec, WaitQueue};
use core::cell::{Cell, RefCell};

/// A place in a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Turn(u64);

/// A queue in which nobody is overtaken. A woken task that has to wait again keeps its place; in a
/// [`WaitQueue`] it would go to the end.
pub(crate) struct Turns {
    waiting: RefCell<VecDeque<Turn>>,
    last: Cell<u64>,
    asleep: WaitQueue,
}

impl Turns {
    /// An empty queue. Allocates room for `bound` waiters.
    pub(crate) fn with_capacity(bound: usize) -> Self {
        Turns {
            waiting: RefCell::new(VecDeque::with_capacity(bound)),
            last: Cell::new(0),
            asleep: WaitQueue::with_capacity(bound),
        }
    }
    /// Takes a place at the end.
    pub(crate) fn join(&self) -> Turn {
        self.last.set(self.last.get() + 1);
        let turn = Turn(self.last.get());
        self.waiting.borrow_mut().push_back(turn);
        turn
    }
    /// The first in the queue.
    pub(crate) fn first(&self) -> Option<Turn> {
        self.waiting.borrow().front().copied()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }
    /// Whether a task with this place would be next. `None` stands for a task without a place.
    pub(crate) fn is_next(&self, turn: Option<Turn>) -> bool {
        self.first().is_none_or(|first| Some(first) == turn)
    }
    /// Whether this place has not been left.
    pub(crate) fn holds(&self, turn: Turn) -> bool {
        self.waiting.borrow().binary_search(&turn).is_ok()
    }
    /// Waits until `turn` is the first.
    pub(crate) async fn wait_first(&self, exec: &Exec, turn: Turn) {
        self.asleep.wait(exec, || self.is_next(Some(turn)).then_some(())).await;
    }
    /// Gives up a place and wakes the task that is first then. Returns false if the place was given up
    /// before.
    pub(crate) fn leave(&self, exec: &Exec, turn: Turn) -> bool {
        let at = self.waiting.borrow().binary_search(&turn);
        if let Ok(at) = at {
            self.waiting.borrow_mut().remove(at);
            // Tasks fall asleep in the order of their turns, so the one that is first now is woken.
            if at == 0 {
                self.asleep.wake_one(exec);
            }
        }
        at.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Instant;
    use std::rc::Rc;
    use std::vec::Vec;

    #[test]
    fn whoever_comes_later_is_not_served_before() {
        let exec = Exec::new();
        let turns = Rc::new(Turns::with_capacity(2));
        let holder = turns.join();
        let served: Rc<RefCell<Vec<u32>>> = Rc::default();
        for task in 0..3 {
            let (mine, in_turn, done) = (exec.clone(), Rc::clone(&turns), Rc::clone(&served));
            exec.spawn(async move {
                let turn = in_turn.join();
                in_turn.wait_first(&mine, turn).await;
                done.borrow_mut().push(task);
                mine.sleep(aster_units::Duration::from_micros(1)).await;
                assert!(in_turn.leave(&mine, turn));
            });
        }
        exec.advance_to(Instant::ZERO);
        assert!(served.borrow().is_empty() && !turns.is_next(None) && turns.holds(holder));
        assert!(turns.leave(&exec, holder) && !turns.leave(&exec, holder));
        exec.advance_to(Instant::ZERO);
        assert_eq!(*served.borrow(), [0]);
        exec.advance_to(Instant::ZERO + aster_units::Duration::from_micros(5));
        assert_eq!(*served.borrow(), [0, 1, 2]);
        assert!(turns.is_empty() && turns.is_next(None));
    }
}
