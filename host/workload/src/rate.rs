//! Limits the rate of requests: when a request with a rate is due.

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
    /// The mean gap and the next due time, both in picoseconds.
    Poisson {
        gap: f64,
        due: f64,
        rng: Rng,
    },
}

impl Schedule {
    /// A schedule of requests or bytes per second, never both. Under `poisson` the gaps are random and follow
    /// from `seed`; a rate in bytes counts in requests of `smallest` bytes then, as in fio.
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

    /// False when requests may go at any time.
    pub(crate) fn is_limited(&self) -> bool {
        !matches!(self.limit, Limit::None)
    }

    /// When the next request is due, counted from the start; `None` when it may go at any time. The first one
    /// is due at once.
    #[inline]
    pub(crate) fn due(&self) -> Option<Duration> {
        let even = |done: u128, rate: u64| {
            let picos = done.saturating_mul(PICOS_PER_SECOND) / u128::from(rate);
            Duration::from_picos(u64::try_from(picos).unwrap_or(u64::MAX))
        };
        match &self.limit {
            Limit::None => None,
            Limit::Requests(rate) => Some(even(self.requests.into(), *rate)),
            Limit::Bytes(rate) => Some(even(self.bytes, *rate)),
            Limit::Poisson { due, .. } => Some(Duration::from_picos(*due as u64)),
        }
    }

    /// Takes the next request, of `length` bytes, and returns when it is due, as [`Schedule::due`].
    #[inline]
    pub(crate) fn next(&mut self, length: u32) -> Option<Duration> {
        let at = self.due();
        if let Limit::Poisson { gap, due, rng } = &mut self.limit {
            // A draw is below 1, so the logarithm is of something above 0.
            *due += -libm::log(1.0 - rng.unit_f64()) * *gap;
        }
        self.requests += 1;
        self.bytes += u128::from(length);
        at
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
}
