//! What is ready at this instant, in the order in which it became so.

use crate::fifo::Fifo;
use core::cell::{Cell, RefCell};

/// Something to be done at this instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ready {
    /// A task to be polled.
    Task(u32),
    /// A handler's call, with its token.
    Post(u32, u64),
}

/// A queue, first in first out. What becomes ready while nothing else is stands in a cell before the queue:
/// most events make one thing ready, which is taken before there is another.
#[derive(Default)]
pub(crate) struct ReadyQueue {
    first: Cell<Option<Ready>>,
    /// What comes behind it. When it has been taken, the first of these comes next.
    rest: RefCell<Fifo<Ready>>,
}

impl ReadyQueue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.get().is_none() && self.rest.borrow().is_empty()
    }
    #[inline]
    pub(crate) fn push(&self, ready: Ready) {
        if self.is_empty() {
            self.first.set(Some(ready));
        } else {
            self.rest.borrow_mut().push_back(ready);
        }
    }
    #[inline]
    pub(crate) fn pop(&self) -> Option<Ready> {
        match self.first.take() {
            // Nothing is ready after most events.
            None if self.rest.borrow().is_empty() => None,
            None => self.rest.borrow_mut().pop_front(),
            first => first,
        }
    }
    pub(crate) fn clear(&self) {
        self.first.set(None);
        self.rest.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use aster_units::Rng;

    /// The slow twin is the standard library's queue.
    #[test]
    fn things_come_in_the_order_in_which_they_became_ready() {
        for seed in 0..200 {
            let (fast, mut slow) = (ReadyQueue::default(), VecDeque::new());
            let mut rng = Rng::new(seed);
            for number in 0..400 {
                match rng.below(5) {
                    0 | 1 => {
                        let ready = match rng.below(2) {
                            0 => Ready::Task(number),
                            _ => Ready::Post(number, 7),
                        };
                        fast.push(ready);
                        slow.push_back(ready);
                    }
                    2 if rng.below(30) == 0 => {
                        fast.clear();
                        slow.clear();
                    }
                    _ => assert_eq!(fast.pop(), slow.pop_front(), "seed {seed}"),
                }
                assert_eq!(fast.is_empty(), slow.is_empty(), "seed {seed}");
            }
        }
    }
}
