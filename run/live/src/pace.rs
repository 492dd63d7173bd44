//! How the drive's time goes with the wall's.

use aster_units::{Duration, Instant};
use std::time::Instant as Wall;

/// How fast the drive's time goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// As the wall clock does: commands take as long as the model says.
    Real,
    /// As fast as the machine can: commands are answered as soon as they are computed.
    Fast,
}

/// The last time that a drive's clock may show while somebody is served: an hour before it has no more
/// picoseconds.
pub(crate) const CLOCK_END: Instant = Instant::from_picos(u64::MAX - 3_600 * 1_000_000_000_000);

/// The wall clock in the drive's time.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pace: Pace,
    began: Wall,
    at: Instant,
}

impl Clock {
    /// From now on; the drive's clock shows `at`.
    pub(crate) fn start(pace: Pace, at: Instant) -> Self {
        Clock { pace, began: Wall::now(), at }
    }
    /// What the drive's clock should show, if the wall has a say in it.
    #[inline]
    pub(crate) fn target(&self) -> Option<Instant> {
        match self.pace {
            Pace::Real => Some(self.at + of_wall(self.began.elapsed())),
            Pace::Fast => None,
        }
    }
    /// Whether the wall has a say in what the drive's clock shows.
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

/// A length of wall time as the drive counts it: it has gone for 213 days when there are no more picoseconds,
/// and a server ends before.
fn of_wall(elapsed: std::time::Duration) -> Duration {
    let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    Duration::from_nanos(nanos.min(u64::MAX / 1000))
}
