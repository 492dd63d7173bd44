//! What is ready at this instant, in the order in which it became so.

use crate::fifo::Fifo;
use core::cell::{Cell, RefCell};

/// What is called or polled at this instant, by the number that timed events have for it, and the token that
/// it is called with.
pub(crate) type Ready = (u32, u64);

/// Stands for nothing.
const NOTHING: u32 = u32::MAX;

/// A queue, first in first out. The first one stands in a cell before the queue: most events make one thing
/// ready, which is taken before there is another.
pub(crate) struct ReadyQueue {
    /// The first one's target, which is [`NOTHING`] when nothing is ready, and its token.
    target: Cell<u32>,
    token: Cell<u64>,
    /// How many are behind it.
    behind: Cell<u32>,
    rest: RefCell<Fifo<Ready>>,
}

impl Default for ReadyQueue {
    fn default() -> Self {
        let target = Cell::new(NOTHING);
        ReadyQueue { target, token: Cell::default(), behind: Cell::default(), rest: RefCell::default() }
    }
}

impl ReadyQueue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.target.get() == NOTHING
    }
    #[inline]
    pub(crate) fn push(&self, target: u32, token: u64) {
        if self.is_empty() {
            self.target.set(target);
            self.token.set(token);
        } else {
            self.push_behind((target, token));
        }
    }
    #[inline(never)]
    fn push_behind(&self, ready: Ready) {
        self.rest.borrow_mut().push_back(ready);
        self.behind.set(self.behind.get() + 1);
    }
    #[inline]
    pub(crate) fn pop(&self) -> Option<Ready> {
        if self.is_empty() {
            return None;
        }
        let first = (self.target.get(), self.token.get());
        if self.behind.get() == 0 {
            self.target.set(NOTHING);
        } else {
            self.move_up();
        }
        Some(first)
    }
    /// The first one of the rest takes the place before it.
    #[inline]
    fn move_up(&self) {
        self.behind.set(self.behind.get() - 1);
        let (target, token) = self.rest.borrow_mut().pop_front().unwrap_or((NOTHING, 0));
        self.target.set(target);
        self.token.set(token);
    }
    pub(crate) fn clear(&self) {
        self.target.set(NOTHING);
        self.behind.set(0);
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
                        let token = rng.below(3);
                        fast.push(number, token);
                        slow.push_back((number, token));
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
