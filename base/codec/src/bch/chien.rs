//! Chien's search: finds the positions where the locator is zero.

use alloc::vec::Vec;

use super::Backend;
#[cfg(target_arch = "x86_64")]
use super::chien_avx512;
use super::chien_sliced;
use super::field::Field;

/// The search on one backend. All backends walk the positions in order and multiply each term of the
/// locator by a fixed factor per step, as the hardware does. They differ in the number of positions per
/// step and in how they multiply.
#[derive(Clone, Debug)]
pub(super) enum Chien {
    Sliced(chien_sliced::Steps),
    #[cfg(target_arch = "x86_64")]
    Avx512(chien_avx512::Steps),
}

/// Working space of a search, allocated once.
#[derive(Clone, Debug)]
pub(super) enum ChienSpace {
    Sliced(Vec<chien_sliced::Slices>),
    #[cfg(target_arch = "x86_64")]
    Avx512(Vec<chien_avx512::Values>),
}

impl Chien {
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "there is one search to choose from")
    )]
    pub fn new(field: &Field, correction: usize, backend: Backend) -> Chien {
        #[cfg(target_arch = "x86_64")]
        if let Some(steps) = chien_avx512::Steps::new(field, correction, backend) {
            return Chien::Avx512(steps);
        }
        Chien::Sliced(chien_sliced::Steps::new(field, correction))
    }

    /// Working space for words of `length` bits.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "only the vector search's space grows with the word")
    )]
    pub fn space(&self, length: usize) -> ChienSpace {
        match self {
            Chien::Sliced(steps) => ChienSpace::Sliced(steps.space()),
            #[cfg(target_arch = "x86_64")]
            Chien::Avx512(_) => ChienSpace::Avx512(chien_avx512::values(length)),
        }
    }

    /// Writes to `positions` the exponents p below `length` with Λ(α^−p) = 0, ascending, and returns how many
    /// there are.
    ///
    /// `locator` holds Λ_0 … Λ_v, lowest first, v ≤ `positions.len()`. Roots outside 0..`length` are in
    /// the zeroes that shortening leaves out, and aren't found: a count below v means that the word
    /// cannot be corrected.
    ///
    /// # Panics
    /// If `space` is that of another code.
    pub fn roots(
        &self,
        field: &Field,
        locator: &[u16],
        length: usize,
        space: &mut ChienSpace,
        positions: &mut [u32],
    ) -> usize {
        match (self, space) {
            (Chien::Sliced(steps), ChienSpace::Sliced(terms)) => {
                steps.search(field, locator, length, terms, positions)
            }
            #[cfg(target_arch = "x86_64")]
            (Chien::Avx512(steps), ChienSpace::Avx512(values)) => {
                steps.search(field, locator, length, values, positions)
            }
            #[cfg(target_arch = "x86_64")]
            _ => panic!("the scratch is that of another backend"),
        }
    }
}
