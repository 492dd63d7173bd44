use alloc::boxed::Box;
use alloc::vec;
use aster_units::Duration;
use core::fmt;
use core::ops::RangeInclusive;

/// Buckets per power of two. A bucket is at most 1/1024 of its values wide, which gives three significant
/// digits.
const PER_OCTAVE_BITS: u32 = 10;
const PER_OCTAVE: usize = 1 << PER_OCTAVE_BITS;
/// Values of 2⁵⁰ and more share the last bucket: durations of 1,125 s, in picoseconds.
const HIGHEST_BITS: u32 = 50;
const BUCKETS: usize = ((HIGHEST_BITS - PER_OCTAVE_BITS) as usize + 1) * PER_OCTAVE;

/// A histogram of integers below 2⁵⁰, to three significant digits, in memory that is allocated once
/// (328 KiB). Buckets are logarithmic in powers of two and linear within each. They are exact below 2,048.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    buckets: Box<[u64]>,
    count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: vec![0; BUCKETS].into_boxed_slice(), count: 0 }
    }
}

const fn bucket_of(value: u64) -> usize {
    if value >> HIGHEST_BITS != 0 {
        return BUCKETS - 1;
    }
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(PER_OCTAVE_BITS + 1);
    shift as usize * PER_OCTAVE + (value >> shift) as usize
}

/// The largest value that falls into a bucket.
const fn top_of(bucket: usize) -> u64 {
    if bucket == BUCKETS - 1 {
        return u64::MAX;
    }
    let shift = (bucket / PER_OCTAVE).saturating_sub(1);
    let within = (bucket - shift * PER_OCTAVE) as u64;
    ((within + 1) << shift) - 1
}

impl Histogram {
    /// Adds a value `times` times.
    #[inline]
    pub fn record(&mut self, value: u64, times: u64) {
        self.buckets[bucket_of(value)] += times;
        self.count += times;
    }
    /// Adds all that another histogram holds.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
    }
    /// Clears the histogram and keeps its memory.
    pub fn clear(&mut self) {
        self.buckets.fill(0);
        self.count = 0;
    }
    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// The buckets that hold something, in ascending order: which values fall into each, and how many did.
    pub fn buckets(&self) -> impl Iterator<Item = (RangeInclusive<u64>, u64)> {
        let held = self.buckets.iter().enumerate().filter(|&(_, &count)| count > 0);
        held.map(|(bucket, &count)| {
            (bucket.checked_sub(1).map_or(0, |below| top_of(below) + 1)..=top_of(bucket), count)
        })
    }
    /// A bound of `parts` out of `of` recorded values, by less than 1/1024 too large, which is the end of a
    /// bucket: `quantile(50, 100)` is the median, `quantile(999, 1000)` the 99.9th percentile. The arguments
    /// are integers, so that the result is the same on every machine. Zero if nothing was recorded, and
    /// `u64::MAX` beyond the values that have a bucket. `of` must not be 0, nor `parts` beyond it.
    pub fn quantile(&self, parts: u64, of: u64) -> u64 {
        assert!(of > 0 && parts <= of, "{parts} parts of {of}");
        let rank = (u128::from(self.count) * u128::from(parts)).div_ceil(u128::from(of)).max(1);
        let mut below = 0;
        for (bucket, &n) in self.buckets.iter().enumerate() {
            below += u128::from(n);
            if below >= rank {
                return top_of(bucket);
            }
        }
        0
    }
}

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
        self.picos.count
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
    fn buckets_follow_each_other_without_gap() {
        assert_eq!(
            (bucket_of(0), bucket_of(2_047), bucket_of(2_048), bucket_of(2_049)),
            (0, 2_047, 2_048, 2_048)
        );
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(top_of(bucket)), bucket);
            assert_eq!(bucket_of(top_of(bucket).saturating_add(1)), (bucket + 1).min(BUCKETS - 1));
        }
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

    #[test]
    fn buckets_are_told_with_their_ends() {
        let mut histogram = Histogram::default();
        [(0, 1), (2_047, 2), (4_097, 3), (4_098, 4), (1 << 50, 5), (u64::MAX, 6)]
            .into_iter()
            .for_each(|(value, times)| histogram.record(value, times));
        let last = (1 << 50) - (1 << 39)..=u64::MAX;
        let expected = [(0..=0, 1), (2_047..=2_047, 2), (4_096..=4_099, 7), (last, 11)];
        assert!(histogram.buckets().eq(expected), "{:?}", histogram.buckets().collect::<Vec<_>>());
        assert_eq!(
            (histogram.count(), histogram.quantile(10, 21), histogram.quantile(1, 1)),
            (21, 4_099, u64::MAX)
        );
    }

    /// Durations of all magnitudes that have a bucket.
    fn durations() -> impl Strategy<Value = Vec<u64>> {
        let one = (0..HIGHEST_BITS).prop_flat_map(|bits| 0..(2u64 << bits).min(1 << HIGHEST_BITS));
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
