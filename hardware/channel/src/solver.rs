//! A key equation solver that several channels share (C21, C22, Fig 19).

use alloc::rc::Rc;
use aster_units::{Duration, Instant};
use core::cell::Cell;

/// Solves the key equations of damaged chunks, one after the other. In the meantime the channel
/// continues: the page's data wait, not the bus. A page's chunks arrive at the page's end, and wait for
/// those of pages that ended before.
#[derive(Debug)]
pub struct KeySolver {
    each: Duration,
    free_at: Cell<Instant>,
}

/// A solver that several channels share.
pub type SharedSolver = Rc<KeySolver>;

impl KeySolver {
    /// A solver that takes `each` per chunk.
    pub fn new(each: Duration) -> SharedSolver {
        Rc::new(KeySolver { each, free_at: Cell::default() })
    }
    /// When `chunks` chunks that arrive at `now` have been solved.
    pub(crate) fn solve(&self, now: Instant, chunks: u64) -> Instant {
        let solved = self.free_at.get().max(now) + self.each * chunks;
        self.free_at.set(solved);
        solved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_wait_for_one_another_only_while_the_solver_works() {
        let at = |ns| Instant::ZERO + Duration::from_nanos(ns);
        let solver = KeySolver::new(Duration::from_nanos(280));
        assert_eq!(solver.solve(at(1_000), 2), at(1_560));
        assert_eq!(solver.solve(at(1_100), 1), at(1_840), "behind the other channel's two");
        assert_eq!(solver.solve(at(5_000), 1), at(5_280), "it is free again");
    }
}
