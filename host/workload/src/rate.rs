//! How fast requests go: when a rated one is due, and whether a job keeps up with the least that is asked of it.

use crate::{PerDirection, RateFloor, RequestKind};
use aster_units::{Duration, Rng, mix64};

const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

/// The schedule of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    limit: Limit,
    /// Requests and bytes given so far.
    requests: u64,
    bytes: u128,
}

#[derive(Clone, Debug)]
enum Limit {
    None,
    Requests(u64),
    Bytes(u64),
    /// With the mean gap and the time that is due next, both in picoseconds.
    Poisson {
        gap: f64,
        due: f64,
        rng: Rng,
    },
}

impl Schedule {
    /// So many requests or bytes a second, never both. Under `poisson` the gaps are random and follow from `seed`; a rate in bytes counts in
    /// requests of `smallest` bytes then, as in fio.
    pub(crate) fn new(iops: Option<u64>, rate: Option<u64>, poisson: bool, smallest: u32, seed: u64) -> Self {
        let requests_a_second =
            iops.map(|n| n as f64).or(rate.map(|n| n as f64 / f64::from(smallest.max(1))));
        let limit = match (requests_a_second, iops, rate) {
            (Some(mean), ..) if poisson => {
                Limit::Poisson { gap: PICOS_PER_SECOND as f64 / mean, due: 0.0, rng: Rng::new(mix64(seed)) }
            }
            (_, Some(iops), _) => Limit::Requests(iops),
            (_, None, Some(rate)) => Limit::Bytes(rate),
            (_, None, None) => Limit::None,
        };
        Schedule { limit, requests: 0, bytes: 0 }
    }

    /// When the next request, of `length` bytes, is due, counted from the start; `None` when it may go at any time. The first one is due at
    /// once.
    pub(crate) fn next(&mut self, length: u32) -> Option<Duration> {
        let even = |done: u128, rate: u64| {
            let picos = done.saturating_mul(PICOS_PER_SECOND) / u128::from(rate);
            Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
        };
        let at = match &mut self.limit {
            Limit::None => None,
            Limit::Requests(rate) => Some(even(self.requests.into(), *rate)),
            Limit::Bytes(rate) => Some(even(self.bytes, *rate)),
            Limit::Poisson { gap, due, rng } => {
                let now = *due;
                // A draw is below 1, so the logarithm is of something above 0.
                *due += -libm::log(1.0 - rng.unit_f64()) * *gap;
                Some(Duration::from_picos(now as u64))
            }
        };
        self.requests += 1;
        self.bytes += u128::from(length);
        at
    }
}

/// A job came to less than the least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{option} is {least} a second, but there were {got}")]
pub struct FloorMissed {
    /// The option that says the least, in fio's words.
    pub option: &'static str,
    /// The least.
    pub least: u64,
    /// What it came to in a cycle.
    pub got: u64,
}

/// Nothing is judged before: a job may settle.
const SETTLED: Duration = Duration::from_secs(2);

/// Watches one direction of a job.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    bytes: u64,
    requests: u64,
    /// The counts and the time at the last look.
    before: Option<(u64, u64, Duration)>,
}

/// Watches a job against its [`RateFloor`].
#[derive(Clone, Debug)]
pub(crate) struct FloorWatch {
    floor: RateFloor,
    directions: PerDirection<Watched>,
}

impl FloorWatch {
    /// `None` when there is no floor.
    pub(crate) fn new(floor: RateFloor) -> Option<Self> {
        let any =
            |of: &PerDirection<Option<u64>>| [of.read, of.write, of.trim].into_iter().any(|n| n.is_some());
        (any(&floor.bytes) || any(&floor.requests))
            .then(|| FloorWatch { floor, directions: PerDirection::all(Watched::default()) })
    }

    /// A request has completed at `elapsed`, counted from the start.
    ///
    /// # Errors
    /// The cycle that ends with it came to less than the least.
    pub(crate) fn completed(
        &mut self,
        kind: RequestKind,
        bytes: u32,
        elapsed: Duration,
    ) -> Result<(), FloorMissed> {
        let RateFloor { bytes: least_bytes, requests: least_requests, cycle } = self.floor;
        let (watched, least_bytes, least_requests) = match kind {
            RequestKind::Read => (&mut self.directions.read, least_bytes.read, least_requests.read),
            RequestKind::Trim => (&mut self.directions.trim, least_bytes.trim, least_requests.trim),
            RequestKind::Write | RequestKind::WriteZeroes => {
                (&mut self.directions.write, least_bytes.write, least_requests.write)
            }
            RequestKind::Flush => return Ok(()),
        };
        watched.bytes += u64::from(bytes);
        watched.requests += 1;
        if elapsed < SETTLED {
            return Ok(());
        }
        let (bytes_then, requests_then, then) = match watched.before {
            Some(before) if elapsed.saturating_sub(before.2) < cycle => return Ok(()),
            Some(before) => before,
            None => {
                watched.before = Some((watched.bytes, watched.requests, elapsed));
                return Ok(());
            }
        };
        let spent = u128::from(elapsed.saturating_sub(then).as_picos().max(1));
        watched.before = Some((watched.bytes, watched.requests, elapsed));
        let judge = |option, done: u64, least: Option<u64>| {
            let got = u64::try_from(u128::from(done) * PICOS_PER_SECOND / spent).unwrap_or(u64::MAX);
            match least {
                Some(least) if got < least => Err(FloorMissed { option, least, got }),
                _ => Ok(()),
            }
        };
        judge("rate_min", watched.bytes - bytes_then, least_bytes)?;
        judge("rate_iops_min", watched.requests - requests_then, least_requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_spaced_by_their_number_without_drift() {
        let mut schedule = Schedule::new(None, Some(1 << 20), false, 4096, 1);
        let due: [u64; 4] = [65_536, 65_536, 4096, 4096].map(|n| schedule.next(n).unwrap().as_nanos());
        assert_eq!(due, [0, 62_500_000, 125_000_000, 128_906_250]);
    }

    #[test]
    fn poisson_gaps_have_the_rates_mean_and_as_large_a_deviation() {
        for (iops, rate) in [(Some(1_000), None), (None, Some(4_096_000))] {
            let mut schedule = Schedule::new(iops, rate, true, 4096, 7);
            assert_eq!(schedule.next(4096), Some(Duration::ZERO));
            let (mut before, mut sum, mut squares) = (0.0, 0.0, 0.0);
            let draws = 20_000;
            for _ in 0..draws {
                let at = schedule.next(4096).unwrap().as_secs_f64();
                let gap = at - before;
                assert!(gap >= 0.0);
                (before, sum, squares) = (at, sum + gap, squares + gap * gap);
            }
            let mean = sum / f64::from(draws);
            let deviation = libm::sqrt(squares / f64::from(draws) - mean * mean);
            assert!((0.00097..0.00103).contains(&mean), "{mean}");
            assert!((0.95..1.05).contains(&(deviation / mean)), "{deviation} of {mean}");
        }
    }

    #[test]
    fn a_job_that_slows_down_is_told_after_the_cycle_and_none_before_it_has_settled() {
        let floor = RateFloor { requests: PerDirection::all(Some(100)), ..RateFloor::default() };
        let mut watch = FloorWatch::new(floor).unwrap();
        let ms = Duration::from_millis;
        // Slow at first: nobody minds.
        assert_eq!(watch.completed(RequestKind::Read, 4096, ms(1_900)), Ok(()));
        for i in 0..=110 {
            assert_eq!(watch.completed(RequestKind::Read, 4096, ms(2_000 + 10 * i)), Ok(()), "{i}");
        }
        for i in 1..10 {
            assert_eq!(watch.completed(RequestKind::Read, 4096, ms(3_100 + 90 * i)), Ok(()), "{i}");
        }
        let missed = watch.completed(RequestKind::Read, 4096, ms(4_100)).unwrap_err();
        assert_eq!((missed.option, missed.least), ("rate_iops_min", 100));
        assert!(missed.got < 50, "{missed}");
        assert!(FloorWatch::new(RateFloor::default()).is_none());
    }
}
