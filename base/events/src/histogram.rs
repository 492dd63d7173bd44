use alloc::boxed::Box;
use alloc::vec;
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

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
}
