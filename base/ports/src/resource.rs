//! A bandwidth that several users contend for.

use alloc::rc::Rc;
use aster_units::{Duration, Instant};
use core::cell::Cell;

/// Bytes that a memory moves at once: the width of the data path.
pub const WORD_BYTES: u64 = 8;

/// A bus or memory with a rate in bytes a second, 0 for unlimited. Users reserve in the order they come; each is served
/// after those before it.
#[derive(Debug, Default)]
pub struct Bandwidth {
    bytes_per_second: u64,
    word: Duration,
    free_at: Cell<Instant>,
    moved: Cell<u64>,
    busy: Cell<Duration>,
}

/// How reserved bytes pass: one after the other at the full rate, once those reserved before have passed.
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
    /// When the first `bytes` of them have passed.
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
        let word = Duration::of_transfer(WORD_BYTES, bytes_per_second);
        Rc::new(Bandwidth { bytes_per_second, word, ..Default::default() })
    }
    /// Reserves `bytes` from `now` on and says when the last one has passed.
    #[inline]
    pub fn reserve(&self, now: Instant, bytes: u64) -> Instant {
        let (begin, takes) = self.take(now, bytes);
        begin + takes
    }
    /// Reserves `bytes` from `now` on and says how they pass.
    #[inline]
    pub fn window(&self, now: Instant, bytes: u64) -> Window {
        Window { begin: self.take(now, bytes).0, bytes_per_second: self.bytes_per_second, word: self.word }
    }
    #[inline]
    fn take(&self, now: Instant, bytes: u64) -> (Instant, Duration) {
        self.moved.set(self.moved.get() + bytes);
        if self.bytes_per_second == 0 {
            return (now, Duration::ZERO);
        }
        let takes = Duration::of_transfer(bytes, self.bytes_per_second);
        let begin = self.free_at.get().max(now);
        self.free_at.set(begin + takes);
        self.busy.set(self.busy.get() + takes);
        (begin, takes)
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
