//! A bandwidth that several users contend for.

use alloc::rc::Rc;
use aster_units::{Duration, Instant};
use core::cell::Cell;

/// A bus or memory with a rate in bytes a second, 0 for unlimited. Users reserve in the order they come; each is served
/// after those before it.
#[derive(Debug, Default)]
pub struct Bandwidth {
    bytes_per_second: u64,
    free_at: Cell<Instant>,
    moved: Cell<u64>,
    busy: Cell<Duration>,
}

/// A bandwidth shared by several models.
pub type SharedBandwidth = Rc<Bandwidth>;

impl Bandwidth {
    /// A bandwidth of `bytes_per_second`; 0 is unlimited.
    pub fn new(bytes_per_second: u64) -> SharedBandwidth {
        Rc::new(Bandwidth { bytes_per_second, ..Default::default() })
    }
    /// Reserves `bytes` from `now` on and says when the last one has passed.
    #[inline]
    pub fn reserve(&self, now: Instant, bytes: u64) -> Instant {
        self.moved.set(self.moved.get() + bytes);
        if self.bytes_per_second == 0 {
            return now;
        }
        let takes = Duration::of_transfer(bytes, self.bytes_per_second);
        let end = self.free_at.get().max(now) + takes;
        self.free_at.set(end);
        self.busy.set(self.busy.get() + takes);
        end
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
