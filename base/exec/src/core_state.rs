//! A core as the executor sees it: busy until some time, with tasks that wait.

use crate::fifo::Fifo;
use crate::ids::TaskId;
use crate::stack::Carrier;
use alloc::rc::Rc;
use aster_units::{Duration, Frequency, Instant, PICOS_A_SECOND};
use core::cell::{Cell, OnceCell, RefCell};

/// What a core has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreStats {
    /// Cycles charged.
    pub cycles: u64,
    /// Time spent waiting for register and bus accesses.
    pub stalled: Duration,
}

/// Until when a core is busy, and the tasks that wait for it.
pub(crate) struct CoreState {
    /// Its number among those of its executor.
    pub(crate) index: u32,
    /// One of its tasks, by which the executor finds it.
    pub(crate) a_task: Cell<TaskId>,
    frequency: Frequency,
    // The duration of a cycle, if it is a whole number of picoseconds.
    period: Option<Duration>,
    // The core is busy from `busy_from`, for `cycles` cycles and `stall`; cycles are converted as one count
    // so that clocks that don't divide never drift.
    busy_from: Cell<Instant>,
    cycles: Cell<u64>,
    stall: Cell<Duration>,
    // The time that these three add up to. It is kept since it is read far more often than it changes.
    free_at: Cell<Instant>,
    charged: Cell<u64>,
    stalled: Cell<Duration>,
    /// The task that keeps the core until it is free, and goes before all that wait.
    pub(crate) keeper: Cell<TaskId>,
    /// The others.
    pub(crate) waiting: RefCell<Fifo<TaskId>>,
    pub(crate) armed: Cell<bool>,
    /// What its tasks run on, if not on the stack of whoever polls them.
    pub(crate) carrier: OnceCell<Rc<dyn Carrier>>,
}

impl CoreState {
    pub(crate) fn new(index: u32, frequency: Frequency) -> Self {
        CoreState {
            index,
            a_task: Cell::new(TaskId::NONE),
            frequency,
            period: PICOS_A_SECOND.is_multiple_of(frequency.hertz()).then(|| frequency.cycles(1)),
            busy_from: Cell::default(),
            cycles: Cell::new(0),
            stall: Cell::default(),
            free_at: Cell::default(),
            charged: Cell::new(0),
            stalled: Cell::default(),
            keeper: Cell::new(TaskId::NONE),
            waiting: RefCell::default(),
            armed: Cell::new(false),
            carrier: OnceCell::new(),
        }
    }
    #[inline]
    pub(crate) fn frequency(&self) -> Frequency {
        self.frequency
    }
    #[inline]
    pub(crate) fn stats(&self) -> CoreStats {
        CoreStats { cycles: self.charged.get(), stalled: self.stalled.get() }
    }
    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at.get()
    }
    #[inline]
    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        self.free_at() > now
    }
    /// An idle core begins to work now.
    #[inline]
    fn begin(&self, now: Instant) {
        if !self.is_busy(now) {
            self.free_at.set(now);
            self.busy_from.set(now);
            self.cycles.set(0);
            self.stall.set(Duration::ZERO);
        }
    }
    #[inline]
    pub(crate) fn charge(&self, now: Instant, cycles: u64) {
        self.begin(now);
        self.cycles.set(self.cycles.get() + cycles);
        self.free_at.set(match self.period {
            Some(period) => self.free_at.get() + period * cycles,
            None => self.worked_out(),
        });
        self.charged.set(self.charged.get() + cycles);
    }
    #[inline]
    pub(crate) fn stall(&self, now: Instant, duration: Duration) {
        self.begin(now);
        self.stall.set(self.stall.get() + duration);
        self.free_at.set(self.free_at.get() + duration);
        self.stalled.set(self.stalled.get() + duration);
    }
    /// Whether tasks wait for it.
    #[inline]
    pub(crate) fn is_waited_for(&self) -> bool {
        self.keeper.get() != TaskId::NONE || !self.waiting.borrow().is_empty()
    }
    /// The task that is polled next, which waits no longer.
    #[inline]
    pub(crate) fn next_waiting(&self) -> Option<TaskId> {
        match self.keeper.replace(TaskId::NONE) {
            TaskId::NONE => self.waiting.borrow_mut().pop_front(),
            keeper => Some(keeper),
        }
    }
    /// `task` keeps the core. False if it waits before all others already.
    pub(crate) fn keep_before_others(&self, task: TaskId) -> bool {
        let keeper = self.keeper.get();
        let mut waiting = self.waiting.borrow_mut();
        if keeper == task || keeper == TaskId::NONE && waiting.front() == Some(&task) {
            return false;
        }
        if keeper != TaskId::NONE {
            waiting.push_front(keeper);
        }
        self.keeper.set(task);
        true
    }
    /// Until when the core is busy, by all that it has been charged with since it was idle.
    fn worked_out(&self) -> Instant {
        self.busy_from.get() + self.frequency.cycles(self.cycles.get()) + self.stall.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;

    /// The slow twin has one queue for who keeps the core and who waits for it.
    #[test]
    fn who_keeps_the_core_goes_before_who_waits_for_it() {
        let mut rng = Rng::new(1);
        let core = CoreState::new(0, Frequency::from_hertz(1).unwrap());
        let mut slow = alloc::collections::VecDeque::new();
        for _ in 0..5_000 {
            let task = TaskId(rng.below(3) as u32);
            match rng.below(4) {
                0 => {
                    core.waiting.borrow_mut().push_back(task);
                    slow.push_back(task);
                }
                1 => {
                    let is_first = slow.front() == Some(&task);
                    assert_eq!(core.keep_before_others(task), !is_first);
                    if !is_first {
                        slow.push_front(task);
                    }
                }
                _ => assert_eq!(core.next_waiting(), slow.pop_front()),
            }
            assert_eq!(core.is_waited_for(), !slow.is_empty());
        }
    }

    /// The slow twin works out from all charges when the core is free.
    #[test]
    fn a_core_is_free_when_all_that_it_was_charged_with_is_done() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let hertz = [100_000_000, 1_000_000_000, 333_000_000, 1 + rng.below(2_000_000_000)];
            let core = CoreState::new(0, Frequency::from_hertz(hertz[seed as usize % 4]).unwrap());
            let mut now = Instant::ZERO;
            for _ in 0..200 {
                match rng.below(3) {
                    0 => now += Duration::from_picos(rng.below(1 << 20)),
                    1 => core.charge(now, 1 + rng.below(500)),
                    _ => core.stall(now, Duration::from_picos(1 + rng.below(1 << 18))),
                }
                assert_eq!(core.free_at(), core.worked_out(), "seed {seed}");
            }
        }
    }
}
