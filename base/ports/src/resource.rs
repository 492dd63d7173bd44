//! A bandwidth that several users share.

use alloc::rc::Rc;
use aster_units::{Duration, Instant};
use core::cell::Cell;

/// Bytes that a memory moves at once: the width of the data path.
pub const WORD_BYTES: u64 = 8;
/// Bytes of a register, and of a flag in memory.
pub const REGISTER_BYTES: u64 = 4;
/// Words per burst. After a burst, the arbiter lets another user in.
const BURST_WORDS: u64 = 16;

/// A bus or memory with a rate in bytes per second, 0 for unlimited. Users are served in the order in
/// which they reserve. Bytes on a bus that lies [behind](Bandwidth::behind) another one pass both at the
/// same time (C55).
#[derive(Debug, Default)]
pub struct Bandwidth {
    bytes_per_second: u64,
    word: Duration,
    next: Option<SharedBandwidth>,
    /// How long a burst takes on the slowest of this bus and those behind it.
    burst: Duration,
    free_at: Cell<Instant>,
    moved: Cell<u64>,
    busy: Cell<Duration>,
    /// How long bytes take that were reserved before: mostly the next are as many. What users move is data,
    /// entries and words, whose sizes are far apart, so that each size has a place of its own.
    known: [Cell<(u64, Duration)>; SIZES],
    /// How long so many registers take, from none on.
    registers: [Duration; REGISTERS],
}

/// A command that is copied out of a controller has sixteen registers' length.
const REGISTERS: usize = 17;

/// Sizes are told apart by their highest bit, modulo this number.
const SIZES: usize = 32;

/// When reserved bytes pass: one after the other at the full rate, after all those that were reserved
/// before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// When the first byte begins.
    pub begin: Instant,
    bytes_per_second: u64,
    word: Duration,
}

impl Window {
    /// How long one word of [`WORD_BYTES`] takes; zero without a limit.
    #[inline]
    pub fn word(&self) -> Duration {
        self.word
    }
    /// Both windows at once: begins when both can begin, and is as fast as the slower one.
    #[inline]
    fn and(self, other: Window) -> Window {
        let slower = if self.word >= other.word { self } else { other };
        Window { begin: self.begin.max(other.begin), ..slower }
    }
    /// When the first `bytes` of the window have passed.
    #[inline]
    pub fn passed(&self, bytes: u64) -> Instant {
        self.begin + Duration::of_transfer(bytes, self.bytes_per_second)
    }
}

/// A bandwidth shared by several models.
pub type SharedBandwidth = Rc<Bandwidth>;

impl Bandwidth {
    /// A bandwidth of `bytes_per_second`; 0 is unlimited.
    pub fn new(bytes_per_second: u64) -> SharedBandwidth {
        Rc::new(Bandwidth::alone(bytes_per_second))
    }
    /// A bus of `bytes_per_second` that leads to `next`: its bytes contend on all buses up to the memory, and
    /// pass at the rate of the slowest.
    pub fn behind(bytes_per_second: u64, next: &SharedBandwidth) -> SharedBandwidth {
        let alone = Bandwidth::alone(bytes_per_second);
        let burst = next.burst.max(alone.burst);
        Rc::new(Bandwidth { next: Some(Rc::clone(next)), burst, ..alone })
    }
    fn alone(bytes_per_second: u64) -> Self {
        let takes = |bytes| Duration::of_transfer(bytes, bytes_per_second);
        let word = takes(WORD_BYTES);
        let registers = core::array::from_fn(|count| takes(count as u64 * REGISTER_BYTES));
        Bandwidth { bytes_per_second, word, burst: word * BURST_WORDS, registers, ..Default::default() }
    }
    /// Reserves `bytes` from `now` on and says when the last one has passed.
    #[inline]
    pub fn reserve(&self, now: Instant, bytes: u64) -> Instant {
        match self.next {
            None => self.take(now, bytes) + self.takes(bytes),
            Some(_) => self.window(now, bytes).passed(bytes),
        }
    }
    /// How long `bytes` take at the full rate.
    #[inline]
    fn takes(&self, bytes: u64) -> Duration {
        let known = &self.known[bytes.leading_zeros() as usize % SIZES];
        let (of, takes) = known.get();
        if of == bytes {
            return takes;
        }
        self.work_out(known, bytes)
    }
    #[cold]
    fn work_out(&self, known: &Cell<(u64, Duration)>, bytes: u64) -> Duration {
        let takes = Duration::of_transfer(bytes, self.bytes_per_second);
        known.set((bytes, takes));
        takes
    }
    /// Reserves `bytes` from `now` on and says how they pass.
    #[inline]
    pub fn window(&self, now: Instant, bytes: u64) -> Window {
        let mut all = self.own_window(now, bytes);
        let mut next = &self.next;
        while let Some(bus) = next {
            all = all.and(bus.own_window(now, bytes));
            next = &bus.next;
        }
        all
    }
    /// The window on this bus alone.
    #[inline]
    fn own_window(&self, now: Instant, bytes: u64) -> Window {
        Window { begin: self.take(now, bytes), bytes_per_second: self.bytes_per_second, word: self.word }
    }
    /// Reserves so many registers, which pass between the bursts of others: they wait for one burst at most,
    /// whatever is reserved. Returns how long they wait.
    #[inline]
    pub fn between(&self, now: Instant, registers: u64) -> Duration {
        if registers as usize >= REGISTERS {
            return self.many_between(now, registers);
        }
        let mut begin = self.take_registers(now, registers);
        let mut next = &self.next;
        while let Some(bus) = next {
            begin = begin.max(bus.take_registers(now, registers));
            next = &bus.next;
        }
        begin.since(now).min(self.burst)
    }
    /// As [`Bandwidth::between`], for more registers than it is known of how long they take. They are seldom,
    /// and working that out would stand in the way of all others.
    #[cold]
    fn many_between(&self, now: Instant, registers: u64) -> Duration {
        self.window(now, registers * REGISTER_BYTES).begin.since(now).min(self.burst)
    }
    /// Reserves fewer than [`REGISTERS`].
    #[inline]
    fn take_registers(&self, now: Instant, registers: u64) -> Instant {
        self.take_for(now, registers * REGISTER_BYTES, self.registers[registers as usize])
    }
    #[inline]
    fn take(&self, now: Instant, bytes: u64) -> Instant {
        self.take_for(now, bytes, if self.bytes_per_second == 0 { Duration::ZERO } else { self.takes(bytes) })
    }
    /// Reserves `bytes`, which take so long.
    #[inline]
    fn take_for(&self, now: Instant, bytes: u64, takes: Duration) -> Instant {
        self.moved.set(self.moved.get() + bytes);
        if self.bytes_per_second == 0 {
            return now;
        }
        let begin = self.free_at.get().max(now);
        self.free_at.set(begin + takes);
        self.busy.set(self.busy.get() + takes);
        begin
    }
    /// Bytes moved so far.
    pub fn moved(&self) -> u64 {
        self.moved.get()
    }
    /// Time spent moving them.
    pub fn busy(&self) -> Duration {
        self.busy.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(ns)
    }

    #[test]
    fn bytes_behind_a_bus_contend_on_it_and_pass_at_the_slowest_rate() {
        let memory = Bandwidth::new(4_000_000_000);
        let shared = Bandwidth::behind(2_000_000_000, &memory);
        let (one, other) = (Bandwidth::behind(400_000_000, &shared), Bandwidth::behind(400_000_000, &shared));
        assert_eq!(one.reserve(Instant::ZERO, 4_000), at(10_000));
        // The shared bus is taken for 2 µs, the memory for 1 µs; the second begins then, on a bus of its own.
        assert_eq!(other.reserve(Instant::ZERO, 4_000), at(12_000));
        assert_eq!(memory.reserve(Instant::ZERO, 4_000), at(3_000));
        assert_eq!([memory.moved(), shared.moved(), one.moved()], [12_000, 8_000, 4_000]);
    }

    #[test]
    fn a_word_waits_for_one_burst_of_others_and_makes_them_wait() {
        let memory = Bandwidth::new(1_000_000_000);
        assert_eq!(memory.between(Instant::ZERO, 2), Duration::ZERO);
        assert_eq!(memory.reserve(Instant::ZERO, 16_384), at(16_392));
        assert_eq!(memory.between(at(10), 2), Duration::from_nanos(128));
        assert_eq!(memory.between(at(16_300), 2), Duration::from_nanos(100));
        assert_eq!(memory.reserve(at(16_300), 0), at(16_408));
    }

    /// The slow twin works out each time how long the bytes take.
    #[test]
    fn bytes_take_as_long_as_they_do_when_each_time_is_worked_out() {
        let mut rng = aster_units::Rng::new(7);
        for _ in 0..50 {
            let rate = rng.below(3) * (1 + rng.below(4_000_000_000));
            let (bus, mut free_at, mut now) = (Bandwidth::new(rate), Instant::ZERO, Instant::ZERO);
            for _ in 0..300 {
                now += Duration::from_picos(rng.below(1 << 16));
                let bytes = [0, 4, 4, 64, 4096, rng.below(20_000)][rng.below(6) as usize];
                let passed = free_at.max(now) + Duration::of_transfer(bytes, rate);
                free_at = if rate == 0 { Instant::ZERO } else { passed };
                assert_eq!(bus.reserve(now, bytes), passed, "{bytes} bytes at {rate}");
            }
        }
    }

    /// The slow twin looks at the whole window.
    #[test]
    fn registers_between_bursts_wait_as_their_window_says() {
        let mut rng = aster_units::Rng::new(3);
        for _ in 0..50 {
            let rates: [u64; 3] = core::array::from_fn(|_| rng.below(3) * (1 + rng.below(4_000_000_000)));
            let chain = || {
                let memory = Bandwidth::new(rates[0]);
                let shared = Bandwidth::behind(rates[1], &memory);
                [Bandwidth::behind(rates[2], &shared), shared, memory]
            };
            let (fast, slow, mut now) = (chain(), chain(), Instant::ZERO);
            for _ in 0..300 {
                now += Duration::from_picos(rng.below(1 << 16));
                let at = rng.below(3) as usize;
                if rng.below(4) == 0 {
                    let bytes = rng.below(9_000);
                    assert_eq!(fast[at].window(now, bytes), slow[at].window(now, bytes));
                    continue;
                }
                let registers = [1, 2, 16, rng.below(40)][rng.below(4) as usize];
                let window = slow[at].window(now, registers * REGISTER_BYTES);
                let waits = window.begin.since(now).min(window.word() * BURST_WORDS);
                assert_eq!(fast[at].between(now, registers), waits, "{registers} on {at} of {rates:?}");
            }
        }
    }

    #[test]
    fn an_unlimited_bus_adds_nothing_to_those_behind_it() {
        let memory = Bandwidth::new(1_000_000_000);
        let bus = Bandwidth::behind(0, &memory);
        assert_eq!(bus.reserve(Instant::ZERO, 500), at(500));
        assert_eq!(bus.window(at(100), 8).begin, at(500));
        assert_eq!(bus.window(at(2_000), 8).word(), Duration::from_nanos(8));
    }
}
