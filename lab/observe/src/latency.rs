use aster_events::Histogram;
use aster_units::Duration;
use core::fmt;

/// A histogram of durations, to three significant digits from 1 ps to 1,125 s, with their exact ends and
/// mean.
#[derive(Clone, PartialEq, Eq)]
pub struct LatencyHistogram {
    picos: Histogram,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        LatencyHistogram { picos: Histogram::default(), sum: 0, min: u64::MAX, max: 0 }
    }
}

impl LatencyHistogram {
    /// Adds a duration.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        let picos = latency.as_picos();
        self.picos.record(picos, 1);
        self.sum += u128::from(picos);
        self.min = self.min.min(picos);
        self.max = self.max.max(picos);
    }

    /// Adds all that another histogram holds.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        self.picos.merge(&other.picos);
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Clears the histogram and keeps its memory.
    pub fn clear(&mut self) {
        self.picos.clear();
        (self.sum, self.min, self.max) = (0, u64::MAX, 0);
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.picos.count()
    }
    /// The shortest duration, exactly; zero if there is none.
    pub fn min(&self) -> Duration {
        Duration::from_picos(if self.count() == 0 { 0 } else { self.min })
    }
    /// The longest duration, exactly; zero if there is none.
    pub fn max(&self) -> Duration {
        Duration::from_picos(self.max)
    }
    /// The mean, rounded down to the picosecond; zero if there is none.
    pub fn mean(&self) -> Duration {
        Duration::from_picos((self.sum / u128::from(self.count().max(1))) as u64)
    }

    /// The duration that `parts` out of `of` recorded ones don't exceed, as [`Histogram::quantile`]; never
    /// longer than the longest.
    pub fn quantile(&self, parts: u64, of: u64) -> Duration {
        Duration::from_picos(self.picos.quantile(parts, of).min(self.max))
    }
}

impl fmt::Debug for LatencyHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LatencyHistogram")
            .field("count", &self.count())
            .field("min", &self.min())
            .field("mean", &self.mean())
            .field("p99", &self.quantile(99, 100))
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::default();
        values.iter().for_each(|&v| histogram.record(Duration::from_picos(v)));
        histogram
    }

    #[test]
    fn an_empty_histogram_answers_with_zero() {
        let h = of(&[]);
        assert_eq!((h.count(), h.min(), h.mean(), h.max(), h.quantile(99, 100)), Default::default());
    }

    #[test]
    fn what_is_too_long_for_a_bucket_keeps_its_place_at_the_top() {
        let h = of(&[10, u64::MAX, u64::MAX - 1]);
        assert_eq!(h.quantile(1, 3).as_picos(), 10);
        assert_eq!(h.quantile(1, 1), h.max());
        assert_eq!(h.max().as_picos(), u64::MAX);
    }

    #[test]
    fn a_cleared_histogram_is_a_new_one() {
        let mut h = of(&[5, 5_000_000]);
        h.clear();
        assert_eq!(h, of(&[]));
    }

    /// Durations of all magnitudes that have a bucket.
    fn durations() -> impl Strategy<Value = Vec<u64>> {
        let one = (0..50u32).prop_flat_map(|bits| 0..(2u64 << bits).min(1 << 50));
        prop::collection::vec(one, 1..300)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn quantiles_are_those_of_the_sorted_values_to_three_digits(
            values in durations(), parts in 0u64..=1_000,
        ) {
            let h = of(&values);
            let mut sorted = values;
            sorted.sort_unstable();
            let rank = (sorted.len() as u64 * parts).div_ceil(1_000).max(1);
            let exact = sorted[rank as usize - 1];
            let found = h.quantile(parts, 1_000).as_picos();
            prop_assert!(exact <= found && found <= exact + exact / 1_024, "{exact} as {found}");
            prop_assert_eq!(h.min().as_picos(), sorted[0]);
            prop_assert_eq!(h.max().as_picos(), sorted[sorted.len() - 1]);
            let sum: u128 = sorted.iter().map(|&v| u128::from(v)).sum();
            prop_assert_eq!(u128::from(h.mean().as_picos()), sum / sorted.len() as u128);
        }

        #[test]
        fn merged_histograms_are_the_histogram_of_all(a in durations(), b in durations()) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
