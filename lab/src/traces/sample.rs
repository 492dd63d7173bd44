//! Which blocks a trace touches how often, in bounded memory: a sample of the blocks, chosen by a hash of
//! their addresses, of which every access counts (Waldspurger et al., FAST '15). As long as all blocks fit
//! the bound, they are the sample, and all figures are exact.

use aster_events::Histogram;
use aster_units::mix64;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Addresses are told apart by blocks of this size.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// The most blocks in the sample. With [`SLOTS`] they take some 70 MB.
pub(super) const BLOCKS_MAX: usize = 1 << 20;
/// Accesses between two renumberings, in units of the blocks that there can be.
const SLOTS_PER_BLOCK: usize = 4;

/// A key that is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are 64-bit numbers");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn finish(&self) -> u64 {
        // The table looks at the highest and the lowest bits; those of a sample's keys begin alike.
        self.0.rotate_left(32)
    }
}

/// A block of the sample.
#[derive(Clone, Copy, Default)]
struct Touched {
    reads: u32,
    writes: u32,
    /// The slot of its latest access.
    latest: u32,
}

/// Counts of set slots before each, as a Fenwick tree.
struct Slots {
    tree: Vec<u32>,
    next: u32,
}

impl Slots {
    fn new(slots: usize) -> Self {
        Slots { tree: vec![0; slots + 1], next: 0 }
    }
    fn change(&mut self, slot: u32, by: i32) {
        let mut at = slot as usize + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
    }
    /// Set slots up to and including this one.
    fn until(&self, slot: u32) -> u32 {
        let (mut at, mut sum) = (slot as usize + 1, 0u32);
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at &= at - 1;
        }
        sum
    }
    /// Clears it, and sets the first so many slots.
    fn refill(&mut self, set: usize) {
        let slots = self.tree.len();
        self.tree.fill(0);
        for at in 1..slots {
            self.tree[at] += u32::from(at <= set);
            let up = at + (at & at.wrapping_neg());
            if up < slots {
                self.tree[up] += self.tree[at];
            }
        }
        self.next = set as u32;
    }
}

/// The blocks of a trace, sampled where there are many.
pub(super) struct Sample {
    blocks: HashMap<u64, Touched, BuildHasherDefault<Hashed>>,
    blocks_max: usize,
    /// Blocks whose hash begins with so many zero bits are in the sample.
    zeros: u32,
    slots: Slots,
    distances: Histogram,
    /// Accesses to blocks, of which each stands for those that the sample leaves out.
    reused: u64,
}

/// What a sample tells.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    /// One in so many blocks is in the sample.
    pub(super) one_in: u64,
    /// Distinct blocks: all, those read, those written, and those of which both is so.
    pub(super) blocks: [u64; 4],
    /// Accesses to each block of the sample, most first: all, reads, writes.
    pub(super) counts: [Vec<u64>; 3],
}

impl Sample {
    pub(super) fn new(blocks_max: usize) -> Self {
        Sample {
            blocks: HashMap::default(),
            blocks_max,
            zeros: 0,
            slots: Slots::new(blocks_max * SLOTS_PER_BLOCK),
            distances: Histogram::default(),
            reused: 0,
        }
    }

    /// A request touches a block.
    pub(super) fn touch(&mut self, device: usize, block: u64, is_write: bool) {
        let key = mix64(block.wrapping_add(mix64(device as u64 + 1)));
        if key.leading_zeros() < self.zeros {
            return;
        }
        if self.slots.next as usize + 1 == self.slots.tree.len() {
            self.renumber();
        }
        let slot = self.slots.next;
        self.slots.next += 1;
        let held = self.blocks.len();
        let touched = self.blocks.entry(key).or_default();
        if touched.reads != 0 || touched.writes != 0 {
            // Each block has one slot set: blocks whose latest access is later than this one's.
            let between = held as u64 - u64::from(self.slots.until(touched.latest));
            self.distances.record(between << self.zeros, 1 << self.zeros);
            self.reused += 1 << self.zeros;
            self.slots.change(touched.latest, -1);
        }
        let count = if is_write { &mut touched.writes } else { &mut touched.reads };
        *count = count.saturating_add(1);
        touched.latest = slot;
        self.slots.change(slot, 1);
        if self.blocks.len() > self.blocks_max {
            self.thin();
        }
    }

    /// Leaves half of the blocks out.
    fn thin(&mut self) {
        while self.blocks.len() > self.blocks_max {
            self.zeros += 1;
            let zeros = self.zeros;
            self.blocks.retain(|key, _| key.leading_zeros() >= zeros);
        }
        self.renumber();
    }

    /// Gives the blocks the first slots, in the order of their latest accesses.
    fn renumber(&mut self) {
        let mut order: Vec<&mut Touched> = self.blocks.values_mut().collect();
        order.sort_unstable_by_key(|touched| touched.latest);
        for (slot, touched) in order.iter_mut().enumerate() {
            touched.latest = slot as u32;
        }
        let set = order.len();
        self.slots.refill(set);
    }

    /// Share of the accesses after the first of a block that an LRU cache of so many blocks would have found,
    /// as a number of accesses.
    pub(super) fn found_by_lru(&self, blocks: u64) -> u64 {
        let within = self.distances.buckets().take_while(|(distance, _)| *distance.end() < blocks);
        within.map(|(_, count)| count).sum()
    }

    /// How many distinct blocks are accessed between two accesses to one, as a quantile in percent; `None` if
    /// none is accessed twice.
    pub(super) fn distance(&self, percent: u64) -> Option<u64> {
        (self.reused > 0).then(|| self.distances.quantile(percent, 100))
    }

    /// What it tells at the end.
    pub(super) fn told(&self) -> Told {
        let all = || self.blocks.values();
        let counts = |of: fn(&Touched) -> u64| {
            let mut counts: Vec<u64> = all().map(of).filter(|count| *count > 0).collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            counts
        };
        let read = |of: &Touched| u64::from(of.reads);
        let written = |of: &Touched| u64::from(of.writes);
        let counts = [counts(|of| u64::from(of.reads) + u64::from(of.writes)), counts(read), counts(written)];
        let both = all().filter(|of| of.reads > 0 && of.writes > 0).count();
        let [n, reads, writes] = [0, 1, 2].map(|at: usize| counts[at].len());
        let blocks = [n, reads, writes, both].map(|n| (n as u64) << self.zeros);
        Told { one_in: 1 << self.zeros, blocks, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;

    /// Distances counted as they are defined.
    fn bare(accesses: &[u64]) -> Vec<u64> {
        let distance = |at: usize, before: usize| {
            let mut between = accesses[before + 1..at].to_vec();
            between.sort_unstable();
            between.dedup();
            between.len() as u64
        };
        let before = |at: usize| accesses[..at].iter().rposition(|block| *block == accesses[at]);
        (0..accesses.len()).filter_map(|at| Some(distance(at, before(at)?))).collect()
    }

    #[test]
    fn distances_are_the_distinct_blocks_between_through_renumberings() {
        let mut rng = Rng::new(7);
        let accesses: Vec<u64> = (0..2_000).map(|_| rng.below(60)).collect();
        let mut sample = Sample::new(64);
        accesses.iter().for_each(|&block| sample.touch(0, block, block % 2 == 0));
        let expected = bare(&accesses);
        assert_eq!(sample.reused, expected.len() as u64);
        for cache in [0, 1, 2, 10, 30, 59, 60, 1_000] {
            let found = expected.iter().filter(|distance| **distance < cache).count();
            assert_eq!(sample.found_by_lru(cache), found as u64, "{cache}");
        }
        let told = sample.told();
        assert_eq!((told.one_in, told.blocks), (1, [60, 30, 30, 0]));
        assert_eq!(told.counts[0].iter().sum::<u64>(), 2_000);
        assert!(told.counts[0].is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn beyond_the_bound_it_is_a_sample_that_tells_about_the_same() {
        // A quarter of the blocks gets half of the accesses.
        let mut rng = Rng::new(1);
        let block = |rng: &mut Rng| if rng.below(2) == 0 { rng.below(10_000) } else { rng.below(40_000) };
        let accesses: Vec<u64> = (0..400_000).map(|_| block(&mut rng)).collect();
        let [mut small, mut large] = [2_048, 1 << 16].map(Sample::new);
        for &block in &accesses {
            small.touch(3, block, false);
            large.touch(3, block, false);
        }
        let (few, all) = (small.told(), large.told());
        assert_eq!(all.one_in, 1);
        assert!(few.one_in >= 16 && few.counts[0].len() <= 2_048, "{}", few.one_in);
        let near = |estimate: u64, truth: u64| (estimate as f64 / truth as f64 - 1.0).abs() < 0.1;
        assert!(near(few.blocks[0], all.blocks[0]), "{:?} {:?}", few.blocks, all.blocks);
        let hottest = |counts: &[u64]| {
            let of = &counts[..counts.len() / 4];
            of.iter().sum::<u64>() * 1_000_000 / counts.iter().sum::<u64>()
        };
        assert!(near(hottest(&few.counts[0]), hottest(&all.counts[0])));
        for share in [4, 2, 1] {
            let cache = 40_000 / share;
            assert!(near(small.found_by_lru(cache), large.found_by_lru(cache)), "1/{share}");
        }
        assert!(near(small.distance(50).unwrap(), large.distance(50).unwrap()));
    }
}
