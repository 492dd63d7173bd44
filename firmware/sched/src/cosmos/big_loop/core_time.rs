//! The core's time: what is charged to it, what it is spent on, and the counters of it.

use crate::cosmos::LoopConfig;
use crate::loop_stats::{LoopPart, LoopStats, PARTS};
use alloc::rc::Rc;
use aster_events::{Event, Function, Recorder};
use aster_exec::{Core, Exec};
use aster_parties::CoreBuses;
use aster_ports::resource::SharedBandwidth;
use aster_units::{Duration, Instant};
use core::cell::RefCell;

/// What the core accesses word by word: the bus to it, and how long a word takes that nobody delays.
struct Words {
    bus: SharedBandwidth,
    each: Duration,
}

/// The core that runs the loop, what it accesses, and where its time goes.
pub(super) struct CoreTime {
    core: Core,
    host: Words,
    channels: Words,
    memory: Words,
    recorder: Recorder,
    stats: Rc<RefCell<LoopStats>>,
    /// Time of the current pass, by part.
    parts: [Duration; PARTS],
    /// The instant up to which the pass has been accounted.
    since: Instant,
}

impl CoreTime {
    pub fn new(core: &Core, config: &LoopConfig, buses: CoreBuses, recorder: &Recorder) -> Self {
        CoreTime {
            core: core.clone(),
            host: Words { bus: buses.host, each: config.register_access },
            channels: Words { bus: buses.channels, each: config.register_access },
            memory: Words { bus: buses.memory, each: config.memory_access },
            recorder: recorder.clone(),
            stats: Rc::default(),
            parts: [Duration::ZERO; PARTS],
            since: Instant::ZERO,
        }
    }

    /// The counters, to read while the loop runs.
    pub fn stats(&self) -> Rc<RefCell<LoopStats>> {
        Rc::clone(&self.stats)
    }
    #[inline]
    pub fn count(&self, change: impl FnOnce(&mut LoopStats)) {
        change(&mut self.stats.borrow_mut());
    }
    /// Tells an observer of something that the loop does now.
    #[inline]
    pub fn emit(&self, event: impl FnOnce() -> Event) {
        self.recorder.emit(self.core.now(), event);
    }

    /// The core's time, which is ahead of the clock by what has been charged.
    #[inline]
    pub fn now(&self) -> Instant {
        self.core.now()
    }
    #[inline]
    pub fn exec(&self) -> &Exec {
        self.core.exec()
    }
    /// Waits until the clock has come to the core's time.
    #[inline]
    pub fn settle(&self) -> impl Future<Output = ()> {
        self.core.settle()
    }
    /// Lets the core's other tasks run that have been woken.
    #[inline]
    pub fn yield_now(&self) -> impl Future<Output = ()> {
        self.core.yield_now()
    }

    /// A pass begins now.
    #[inline]
    pub fn begin_pass(&mut self) {
        (self.parts, self.since) = ([Duration::ZERO; PARTS], self.core.now());
    }
    /// Charges the core's time since the last call to `part`.
    #[inline]
    pub fn account(&mut self, part: LoopPart) {
        let now = self.core.now();
        self.parts[part as usize] += now.since(self.since);
        self.since = now;
    }
    /// Counts `times` passes like the current one.
    #[inline]
    pub fn count_passes(&self, times: u64) {
        let mut stats = self.stats.borrow_mut();
        stats.passes += times;
        for (sum, time) in stats.parts.iter_mut().zip(self.parts) {
            *sum += time * times;
        }
    }
    /// Passes like the current one, which ended at `ended` and took `takes`, have not been run since then.
    /// They are counted as if they had been, and the core works until the last of them ends.
    pub fn skip_passes(&self, ended: Instant, takes: Duration) {
        let now = self.core.exec().now();
        if now <= ended || takes.is_zero() {
            return;
        }
        let passes = now.since(ended).as_picos().div_ceil(takes.as_picos());
        self.count_passes(passes);
        self.count(|s| s.idle_passes += passes);
        self.core.stall((ended + takes * passes).since(now));
    }

    /// Spends `cycles` of the core on `function`.
    #[inline]
    pub fn spend(&self, function: Function, cycles: u64) {
        self.work(function, |core| core.charge(cycles));
    }
    /// Accesses registers of the host interface controller. An access stalls the core until each word has
    /// crossed the buses and its response is back. The board maps registers strongly ordered, so a write
    /// waits for its response like a read.
    #[inline]
    pub fn access_host(&self, function: Function, words: u64) {
        self.cross(function, &self.host, words);
    }
    /// The same for registers of the channel controllers.
    #[inline]
    pub fn access_channels(&self, function: Function, words: u64) {
        self.cross(function, &self.channels, words);
    }
    /// Accesses to words that controllers read or write in memory and that are therefore uncached: completion
    /// flags, reports, error counts.
    #[inline]
    pub fn access_memory(&self, function: Function, words: u64) {
        self.cross(function, &self.memory, words);
    }
    fn cross(&self, function: Function, Words { bus, each }: &Words, words: u64) {
        if each.is_zero() {
            return;
        }
        // The bus is taken from now on, although the core may be ahead of the clock: transfers that others
        // send in between must not wait for it.
        let takes = bus.between(self.core.exec().now(), words) + *each * words;
        self.work(function, move |core| core.stall(takes));
    }
    #[inline]
    fn work(&self, function: Function, work: impl FnOnce(&Core)) {
        self.recorder.account(function, || self.core.stands(), || work(&self.core));
    }
}
