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
    stats: Cell<CoreStats>,
    pub(crate) waiting: RefCell<Fifo<TaskId>>,
    pub(crate) armed: Cell<bool>,
    /// What its tasks run on, if not on the stack of whoever polls them.
    pub(crate) carrier: OnceCell<Rc<dyn Carrier>>,
}

impl CoreState {
    pub(crate) fn new(index: u32, frequency: Frequency) -> Self {
        CoreState {
            index,
            frequency,
            period: PICOS_A_SECOND.is_multiple_of(frequency.hertz()).then(|| frequency.cycles(1)),
            busy_from: Cell::default(),
            cycles: Cell::new(0),
            stall: Cell::default(),
            free_at: Cell::default(),
            stats: Cell::default(),
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
        self.stats.get()
    }
    #[inline]
    pub(crate) fn free_at(&self) -> Instant {
        self.free_at.get()
    }
    #[inline]
    fn account(&self) {
        let cycles = self.cycles.get();
        let worked = self.period.map_or_else(|| self.frequency.cycles(cycles), |period| period * cycles);
        let busy = worked + self.stall.get();
        self.free_at.set(self.busy_from.get() + busy);
    }
    #[inline]
    pub(crate) fn is_busy(&self, now: Instant) -> bool {
        self.free_at() > now
    }
    #[inline]
    fn begin(&self, now: Instant) {
        if !self.is_busy(now) {
            self.busy_from.set(now);
            self.cycles.set(0);
            self.stall.set(Duration::ZERO);
        }
    }
    #[inline]
    pub(crate) fn charge(&self, now: Instant, cycles: u64) {
        self.begin(now);
        self.cycles.set(self.cycles.get() + cycles);
        self.account();
        let mut stats = self.stats.get();
        stats.cycles += cycles;
        self.stats.set(stats);
    }
    #[inline]
    pub(crate) fn stall(&self, now: Instant, duration: Duration) {
        self.begin(now);
        self.stall.set(self.stall.get() + duration);
        self.account();
        let mut stats = self.stats.get();
        stats.stalled += duration;
        self.stats.set(stats);
    }
}
