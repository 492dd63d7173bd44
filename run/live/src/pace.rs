//! How the drive's time follows the wall clock.

use aster_units::{Duration, Instant};
use std::time::Instant as Wall;

/// How fast the drive's time passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// As fast as the wall clock: commands take as long as in the model.
    Real,
    /// As fast as the machine can: commands complete as soon as they are computed.
    Fast,
}

/// The last time that a drive's clock may show while serving: an hour before the picoseconds overflow.
pub(crate) const CLOCK_END: Instant = Instant::from_picos(u64::MAX - 3_600 * 1_000_000_000_000);

/// The wall clock in the drive's time.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pace: Pace,
    began: Wall,
    at: Instant,
}

impl Clock {
    /// Starts now, when the drive's clock shows `at`.
    pub(crate) fn start(pace: Pace, at: Instant) -> Self {
        Clock { pace, began: Wall::now(), at }
    }
    /// What the drive's clock should show, if it follows the wall clock.
    #[inline]
    pub(crate) fn target(&self) -> Option<Instant> {
        match self.pace {
            Pace::Real => Some(self.at + of_wall(self.began.elapsed())),
            Pace::Fast => None,
        }
    }
    /// Whether the drive's clock follows the wall clock.
    pub(crate) fn is_real(&self) -> bool {
        self.pace == Pace::Real
    }
    /// Wall time until the drive's clock should show `at`.
    pub(crate) fn until(&self, at: Instant) -> std::time::Duration {
        match self.target() {
            Some(now) => std::time::Duration::from_nanos(at.since(now).as_picos() / 1000),
            None => std::time::Duration::ZERO,
        }
    }
}

/// A wall-clock duration in the drive's units. Picoseconds last for 213 days; a server ends before that.
fn of_wall(elapsed: std::time::Duration) -> Duration {
    let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(nanos.min(u64::MAX / 1000))
}
