use aster_units::mix64;

/// Rounds of multiply, shift and add; each is a bijection on the power of two above the length.
const ROUNDS: usize = 4;

/// A seeded permutation of `0..len` in constant memory: the random map of a random workload, which visits
/// every block once per pass without a bitmap.
///
/// The numbers are mixed inside the next power of two; those that land outside `0..len` are mixed again until
/// they land inside (cycle walking), under two steps on average.
#[derive(Clone, Debug)]
pub struct Permutation {
    len: u64,
    mask: u64,
    shift: u32,
    multipliers: [u64; ROUNDS],
    addends: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..len` that belongs to `seed`. `len` is from 1 to 2⁶³.
    pub fn new(len: u64, seed: u64) -> Self {
        assert!((1..=1 << 63).contains(&len), "a permutation has 1 to 2^63 members, not {len}");
        let mask = len.next_power_of_two() - 1;
        let key = |i: u64| mix64(seed.wrapping_add(mix64(i.wrapping_add(0x9e37_79b9_7f4a_7c15))));
        Permutation {
            len,
            mask,
            shift: (mask.count_ones() / 2).max(1),
            multipliers: core::array::from_fn(|i| key(2 * i as u64) | 1),
            addends: core::array::from_fn(|i| key(2 * i as u64 + 1)),
        }
    }

    /// Members.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Always false: a permutation has at least one member.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The image of `index`, which is below [`Permutation::len`].
    pub fn at(&self, index: u64) -> u64 {
        assert!(index < self.len, "index {index} is outside a permutation of {}", self.len);
        let mut x = index;
        loop {
            for (multiplier, addend) in self.multipliers.iter().zip(&self.addends) {
                x = x.wrapping_mul(*multiplier).wrapping_add(*addend) & self.mask;
                x ^= x >> self.shift;
            }
            if x < self.len {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_member_appears_once(len in 1u64..5_000, seed: u64) {
            let p = Permutation::new(len, seed);
            let mut seen = vec![false; len as usize];
            for i in 0..len {
                let to = p.at(i) as usize;
                prop_assert!(!seen[to]);
                seen[to] = true;
            }
        }
    }

    #[test]
    fn neighbours_are_scattered_and_seeds_differ() {
        let len = 1 << 16;
        let p = Permutation::new(len, 1);
        let near = (1..len).filter(|&i| p.at(i).abs_diff(p.at(i - 1)) < len / 64).count();
        // A uniform permutation puts about 2/64 of all neighbours that close together.
        assert!((1_500..2_700).contains(&near), "{near}");
        let q = Permutation::new(len, 2);
        assert!((0..len).filter(|&i| p.at(i) == q.at(i)).count() < 20);
    }
}
