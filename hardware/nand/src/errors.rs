//! Bit errors of the cells: seeded, repeatable, and monotone in stress.
//!
//! A page's flips are the arrivals of a unit-rate Poisson process that a seed fixes for as long as the page isn't erased:
//! the k-th bit flips once the expected number of errors passes the k-th arrival. Reading again gives the same
//! flips; wear, age and reads only add. An undisturbed page costs one hash and one comparison.

use alloc::vec::Vec;
use aster_units::{PageType, mix64};

/// How the raw bit error rate grows, each rate in errors per bit.
///
/// The shape follows what public characterisation of planar and 3D MLC and TLC parts agrees on: a floor when fresh; growth with
/// program/erase cycles that is more than linear; retention loss about logarithmic in time and, like read disturb (linear
/// in the block's reads since erase), worse the more the block is worn; the upper bits of a cell worse than the
/// lower. Rates of 0 switch an influence off.
///
/// `rate = type · (fresh + c·cycle + c²·cycle_squared + (1 + c)·(ln(1 + hours)·retention + reads·read))`, with `c` in
/// thousands of cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ErrorModel {
    /// At no wear, no age and no reads.
    pub fresh: f64,
    /// Per thousand program/erase cycles.
    pub cycle: f64,
    /// Per squared thousand program/erase cycles.
    pub cycle_squared: f64,
    /// Per unit of `ln(1 + hours since the block was first programmed)`.
    pub retention: f64,
    /// Per read of the block since its erase.
    pub read: f64,
    /// What a CSB page's rate is multiplied by.
    pub csb_factor: f64,
    /// What an MSB page's rate is multiplied by.
    pub msb_factor: f64,
}

impl ErrorModel {
    /// No bit ever flips.
    pub const NONE: ErrorModel = ErrorModel {
        fresh: 0.0,
        cycle: 0.0,
        cycle_squared: 0.0,
        retention: 0.0,
        read: 0.0,
        csb_factor: 1.0,
        msb_factor: 1.0,
    };

    /// True when no influence has a rate.
    pub fn is_off(&self) -> bool {
        [self.fresh, self.cycle, self.cycle_squared, self.retention, self.read].iter().all(|r| *r == 0.0)
    }

    /// The name of the first field that is no finite number of at least zero.
    pub(crate) fn bad_field(&self) -> Option<&'static str> {
        let fields = [
            ("errors.fresh", self.fresh),
            ("errors.cycle", self.cycle),
            ("errors.cycle_squared", self.cycle_squared),
            ("errors.retention", self.retention),
            ("errors.read", self.read),
            ("errors.csb_factor", self.csb_factor),
            ("errors.msb_factor", self.msb_factor),
        ];
        fields.into_iter().find(|(_, v)| !v.is_finite() || *v < 0.0).map(|(name, _)| name)
    }

    /// Expected errors per bit.
    #[inline]
    pub fn rate(&self, kind: PageType, stress: Stress) -> f64 {
        let c = f64::from(stress.erases) * 1e-3;
        let aged =
            if stress.hours == 0 { 0.0 } else { libm::log1p(f64::from(stress.hours)) * self.retention };
        let growing = (1.0 + c) * (aged + f64::from(stress.reads) * self.read);
        let factor = match kind {
            PageType::Lsb => 1.0,
            PageType::Csb => self.csb_factor,
            PageType::Msb => self.msb_factor,
        };
        factor * (self.fresh + c * (self.cycle + c * self.cycle_squared) + growing)
    }
}

/// What a block has been through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stress {
    /// Program/erase cycles.
    pub erases: u32,
    /// Hours since the block was first programmed after its erase.
    pub hours: u32,
    /// Reads since the erase.
    pub reads: u32,
}

/// The share of a torn page's bits that read wrong: beyond every code that a spare area has room for.
pub(crate) const TORN_RATE: f64 = 0.02;
/// Above this share a page is noise; the process is cut off there.
const RATE_MAX: f64 = 0.1;

#[inline]
fn unit(hash: u64) -> f64 {
    // In (0, 1]: a logarithm of it is finite.
    ((hash >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Appends to `flips` the bits out of `bits` that have flipped in the page of `page_seed` when `rate` errors a bit are expected.
/// The order is that of arrival; positions may repeat.
#[inline]
pub(crate) fn arrivals(page_seed: u64, rate: f64, bits: u32, flips: &mut Vec<u32>) {
    let expected = rate.min(RATE_MAX) * f64::from(bits);
    let first = unit(mix64(page_seed));
    // 1 - x <= exp(-x): when the first arrival's survival exceeds even that, nothing has flipped, without a logarithm.
    if first < 1.0 - expected {
        return;
    }
    grow(page_seed, first, expected, bits, flips);
}

#[cold]
#[inline(never)]
fn grow(page_seed: u64, first: f64, expected: f64, bits: u32, flips: &mut Vec<u32>) {
    let mut arrival = -libm::log(first);
    let mut k = 0u64;
    while arrival < expected {
        k += 1;
        let hash = mix64(page_seed.wrapping_add(k.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        flips.push(((u128::from(mix64(hash ^ 0x5bd1_e995)) * u128::from(bits)) >> 64) as u32);
        arrival -= libm::log(unit(hash));
    }
}

/// Puts flips in ascending order, each once.
#[inline]
pub(crate) fn settle_order(flips: &mut Vec<u32>) {
    if flips.len() > 1 {
        flips.sort_unstable();
        flips.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    const MODEL: ErrorModel = ErrorModel {
        fresh: 1e-6,
        cycle: 2e-6,
        cycle_squared: 1e-6,
        retention: 3e-6,
        read: 1e-9,
        csb_factor: 1.5,
        msb_factor: 2.0,
    };
    const BITS: u32 = 144_384;

    fn flips(seed: u64, rate: f64) -> BTreeSet<u32> {
        let mut flips = Vec::new();
        arrivals(seed, rate, BITS, &mut flips);
        flips.into_iter().collect()
    }

    #[test]
    fn no_rate_no_flip() {
        for seed in 0..10_000 {
            assert!(flips(seed, 0.0).is_empty());
        }
    }

    #[test]
    fn more_stress_only_adds() {
        for seed in 0..200 {
            let mut before = BTreeSet::new();
            for step in 0..20 {
                let now = flips(seed, 1e-6 * f64::from(step * step));
                assert!(before.is_subset(&now), "seed {seed} step {step}");
                before = now;
            }
        }
    }

    #[test]
    fn the_mean_is_what_the_rate_says() {
        for rate in [1e-7, 1e-6, 1e-5, 1e-4] {
            let pages = 4_000;
            let mut all = Vec::new();
            for seed in 0..pages {
                arrivals(mix64(seed), rate, BITS, &mut all);
            }
            let expected = rate * f64::from(BITS) * pages as f64;
            let off = (all.len() as f64 - expected).abs();
            assert!(off < 4.5 * expected.sqrt(), "rate {rate}: {} for {expected}", all.len());
            assert!(all.iter().all(|p| *p < BITS));
        }
    }

    #[test]
    fn every_influence_raises_the_rate() {
        let rest = MODEL.rate(PageType::Lsb, Stress::default());
        for stress in [
            Stress { erases: 1_000, ..Stress::default() },
            Stress { hours: 24, ..Stress::default() },
            Stress { reads: 10_000, ..Stress::default() },
        ] {
            assert!(MODEL.rate(PageType::Lsb, stress) > rest, "{stress:?}");
        }
        assert!(MODEL.rate(PageType::Csb, Stress::default()) > rest);
        assert!(MODEL.rate(PageType::Msb, Stress::default()) > MODEL.rate(PageType::Csb, Stress::default()));
        assert!(ErrorModel::NONE.is_off() && !MODEL.is_off());
    }
}
