//! The set of units that a trace touches, with each one's place among them.

use std::collections::BTreeMap;

/// Units of a chunk, a bit each.
const CHUNK_WORDS: usize = 64;
const CHUNK_UNITS: u64 = CHUNK_WORDS as u64 * 64;

/// Units of a device that are touched.
#[derive(Default)]
pub(super) struct Touched {
    chunks: BTreeMap<u64, Box<[u64; CHUNK_WORDS]>>,
}

impl Touched {
    /// Adds the units from `first` to `last`.
    pub(super) fn add(&mut self, first: u64, last: u64) {
        for chunk in first / CHUNK_UNITS..=last / CHUNK_UNITS {
            let words = self.chunks.entry(chunk).or_insert_with(|| Box::new([0; CHUNK_WORDS]));
            let from = first.max(chunk * CHUNK_UNITS) - chunk * CHUNK_UNITS;
            let to = last.min(chunk * CHUNK_UNITS + (CHUNK_UNITS - 1)) - chunk * CHUNK_UNITS;
            for word in from / 64..=to / 64 {
                let low = from.max(word * 64) - word * 64;
                let high = to.min(word * 64 + 63) - word * 64;
                words[word as usize] |= (u64::MAX >> (63 - (high - low))) << low;
            }
        }
    }

    /// Sums them up.
    pub(super) fn ranked(self) -> Ranked {
        let mut before = 0;
        let chunks = self.chunks.into_iter().map(|(chunk, words)| {
            let held = before;
            before += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            (chunk, held, words)
        });
        let chunks = chunks.collect();
        Ranked { chunks, units: before }
    }
}

/// Touched units that can be counted quickly.
pub(super) struct Ranked {
    /// Each chunk with the units before it, in ascending order.
    chunks: Vec<(u64, u64, Box<[u64; CHUNK_WORDS]>)>,
    units: u64,
}

impl Ranked {
    /// How many units there are.
    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// How many units are before `unit`, and whether it is one of them.
    pub(super) fn before(&self, unit: u64) -> (u64, bool) {
        let chunk = unit / CHUNK_UNITS;
        match self.chunks.binary_search_by_key(&chunk, |(chunk, ..)| *chunk) {
            Err(at) => (self.chunks.get(at).map_or(self.units, |(_, before, _)| *before), false),
            Ok(at) => {
                let (_, before, words) = &self.chunks[at];
                let within = unit % CHUNK_UNITS;
                let (word, bit) = ((within / 64) as usize, within % 64);
                let whole: u32 = words[..word].iter().map(|word| word.count_ones()).sum();
                let part = (words[word] & ((1 << bit) - 1)).count_ones();
                (before + u64::from(whole + part), words[word] >> bit & 1 == 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_unit_has_as_many_before_it_as_there_are(
            ranges in proptest::collection::vec((0u64..40_000, 0u64..9_000), 0..12),
            asked in proptest::collection::vec(0u64..60_000, 1..40),
        ) {
            let (mut touched, mut bare) = (Touched::default(), BTreeSet::new());
            for (first, more) in ranges {
                touched.add(first, first + more);
                bare.extend(first..=first + more);
            }
            let ranked = touched.ranked();
            prop_assert_eq!(ranked.units(), bare.len() as u64);
            for unit in asked {
                let before = bare.range(..unit).count() as u64;
                prop_assert_eq!(ranked.before(unit), (before, bare.contains(&unit)));
            }
        }
    }

    #[test]
    fn the_last_unit_of_all_is_one() {
        let mut touched = Touched::default();
        touched.add(u64::MAX - 1, u64::MAX);
        let ranked = touched.ranked();
        assert_eq!((ranked.before(0), ranked.before(u64::MAX)), ((0, false), (1, true)));
    }
}
