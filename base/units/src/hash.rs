/// A 64-bit finaliser with full avalanche (the MurmurHash3 `fmix64` constants): equal inputs give equal
/// outputs on every machine. Seeded models derive all their random numbers from it.
pub const fn mix64(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// A small seeded generator (SplitMix64). Deterministic; no cryptographic use.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator whose whole sequence is a function of `seed`.
    pub const fn new(seed: u64) -> Self {
        Rng(mix64(seed ^ 0x9e37_79b9_7f4a_7c15))
    }
    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number in `0..bound` (multiply-shift; the bias is below 2⁻³² for bounds under 2³²). `bound` must not
    /// be 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }
    /// A number in `[0, 1)` with 53 random bits.
    pub const fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}
