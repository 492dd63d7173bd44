//! Whether the code can correct the bit errors that a profile gives its cells.

use crate::configure::{self, BuildError};
use crate::profile::Profile;
use aster_nand::{Sensing, Stress};
use aster_units::{CellMode, Content, PageType};

/// The share of wrong bits from which on the model treats a page as noise.
const NOISE: f64 = 0.1;

/// The errors that the code has to correct in the worst pages of a fresh block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FreshErrors {
    /// Bits of a code word: a chunk and its parity.
    pub bits: u32,
    /// Wrong bits per code word that the code corrects.
    pub corrected: usize,
    /// Expected wrong bits per code word.
    pub expected: f64,
    /// Probability that a code word has more wrong bits than the code corrects.
    pub lost: f64,
}

impl FreshErrors {
    /// The errors of `profile`'s cells at no wear, no age and no reads, next to a scrambled page.
    ///
    /// # Errors
    /// When the profile doesn't describe a working drive.
    pub fn of(profile: &Profile) -> Result<Self, BuildError> {
        let model = configure::nand(profile, Content::Full)?.errors;
        let kinds: &[PageType] = match CellMode::from(profile.package.cells) {
            CellMode::Slc => &[PageType::Lsb],
            CellMode::Mlc => &[PageType::Lsb, PageType::Msb],
            CellMode::Tlc => &[PageType::Lsb, PageType::Csb, PageType::Msb],
        };
        let level = profile.package.retry.as_ref().and_then(|retry| retry.levels_mv.first());
        let sensing =
            Sensing { slc: false, level_mv: level.map_or(0.0, |&mv| mv.into()), neighbour_share: 0.5 };
        let rate = kinds.iter().map(|&kind| model.rate(kind, Stress::default(), sensing)).fold(0.0, f64::max);
        let (rate, corrected) = (rate.min(NOISE), profile.ecc.corrected);
        let bits = 8 * u32::from(profile.ecc.chunk_bytes) + profile.ecc.field * profile.ecc.designed as u32;
        Ok(FreshErrors {
            bits,
            corrected,
            expected: rate * f64::from(bits),
            lost: more_than(corrected, bits, rate),
        })
    }
}

/// The probability that more than `most` of `bits` independent bits flip, each with probability `rate` below
/// ½.
fn more_than(most: usize, bits: u32, rate: f64) -> f64 {
    if rate <= 0.0 {
        return 0.0;
    }
    // Summed up term by term: one minus the lower tail would lose small values.
    let odds = (rate / (1.0 - rate)).ln();
    let mut term = f64::from(bits) * (-rate).ln_1p();
    let mut tail = 0.0;
    for flipped in 1..=bits {
        term += f64::from(bits - flipped + 1).ln() - f64::from(flipped).ln() + odds;
        if flipped as usize > most {
            tail += term.exp();
        }
    }
    f64::min(tail, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_the_binomial_distribution() {
        // Three or more of four coins: 5 of 16 outcomes.
        assert!((more_than(2, 4, 0.5) - 5.0 / 16.0).abs() < 1e-12);
        assert_eq!(more_than(4, 4, 0.5), 0.0);
        // More than one of a thousand, at a tiny rate: 499,500 · p² to first order.
        assert!((more_than(1, 1_000, 1e-9) / (499_500.0 * 1e-18) - 1.0).abs() < 1e-5);
        assert_eq!(more_than(13, 2_216, 0.0), 0.0);
    }

    #[test]
    fn every_shipped_profile_carries_its_fresh_cells() {
        for (name, _) in crate::profile::SHIPPED {
            let profile = crate::profile::shipped(name).unwrap();
            let fresh = FreshErrors::of(&profile).unwrap();
            assert!(fresh.lost < 1e-9, "{name}: {fresh:?}");
        }
    }

    #[test]
    fn the_worst_page_counts() {
        let mut profile = crate::profile::shipped("tiny").unwrap();
        let plain = FreshErrors::of(&profile).unwrap();
        // MSB pages have twice the rate.
        assert!((plain.expected - 2e-5 * f64::from(plain.bits)).abs() < 1e-9, "{plain:?}");
        profile.package.errors.msb_factor = 20.0;
        assert!((FreshErrors::of(&profile).unwrap().expected / plain.expected - 10.0).abs() < 1e-9);
    }
}
