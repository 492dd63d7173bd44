//! The key equation solver: Berlekamp–Massey for binary codes.

use alloc::vec;
use alloc::vec::Vec;

use super::field::Field;

/// The polynomials of the solver: each of t + 1 coefficients, lowest first.
#[derive(Clone, Debug)]
pub(super) struct Solver {
    /// Λ(x), with Λ_0 = 1: its roots are the inverses of the error locations.
    pub locator: Vec<u16>,
    previous: Vec<u16>,
    saved: Vec<u16>,
}

impl Solver {
    pub fn new(correction: usize) -> Solver {
        let zero = vec![0; correction + 1];
        Solver { locator: zero.clone(), previous: zero.clone(), saved: zero }
    }

    /// Finds the shortest recurrence Λ that generates `syndromes` (S_1 … S_2t) and returns its degree, or
    /// `None` if it takes more than `limit` errors. Every second discrepancy of a binary code is 0, so t
    /// iterations suffice.
    pub fn solve(&mut self, field: &Field, syndromes: &[u16], limit: usize) -> Option<usize> {
        let Solver { locator, previous, saved } = self;
        locator.fill(0);
        previous.fill(0);
        locator[0] = 1;
        previous[0] = 1;
        let (mut length, mut previous_length) = (0usize, 0usize);
        let (mut previous_discrepancy, mut shift) = (1u16, 1usize);
        for n in (0..syndromes.len()).step_by(2) {
            let recent = syndromes[n - length..=n].iter().rev();
            let discrepancy =
                locator[..=length].iter().zip(recent).fold(0, |sum, (l, s)| sum ^ field.multiply(*l, *s));
            if discrepancy != 0 {
                let grown = n + 1 - length;
                let grows = 2 * length <= n;
                if grows {
                    if grown > limit {
                        return None;
                    }
                    saved[..=length].copy_from_slice(&locator[..=length]);
                    saved[length + 1..].fill(0);
                }
                let factor = field.divide(discrepancy, previous_discrepancy);
                // A term beyond the end would make the locator longer than its number of errors.
                for i in 0..=previous_length {
                    let term = field.multiply(factor, previous[i]);
                    if term != 0 {
                        locator[i + shift] ^= term;
                    }
                }
                if grows {
                    core::mem::swap(previous, saved);
                    previous_length = length;
                    length = grown;
                    previous_discrepancy = discrepancy;
                    shift = 0;
                }
            }
            shift += 2;
        }
        // If a recurrence is longer than its polynomial's degree, no set of that many errors has these
        // syndromes.
        (length <= limit && locator[length] != 0).then_some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All syndromes of a code for three errors over GF(2^5), most of which no set of three errors has.
    #[test]
    fn a_locator_generates_its_syndromes_and_has_full_degree() {
        let field = Field::new(5).unwrap();
        let mut solver = Solver::new(3);
        let mut refused = 0;
        for word in 0..1u16 << 15 {
            let mut syndromes = [word & 31, 0, word >> 5 & 31, 0, word >> 10, 0];
            for j in 1..=3 {
                syndromes[2 * j - 1] = field.square(syndromes[j - 1]);
            }
            let Some(degree) = solver.solve(&field, &syndromes, 3) else {
                refused += 1;
                continue;
            };
            assert_ne!(solver.locator[degree], 0, "{syndromes:?}");
            assert!(solver.locator[degree + 1..].iter().all(|coefficient| *coefficient == 0));
            for n in degree..6 {
                let sum =
                    (0..=degree).fold(0, |sum, i| sum ^ field.multiply(solver.locator[i], syndromes[n - i]));
                assert_eq!(sum, 0, "{syndromes:?} at S_{}", n + 1);
            }
        }
        assert!(refused > 0);
    }

    #[test]
    fn a_recurrence_that_starts_at_the_last_syndrome_is_too_long() {
        let field = Field::new(12).unwrap();
        let mut syndromes = [0; 28];
        syndromes[26] = 1;
        assert_eq!(Solver::new(14).solve(&field, &syndromes, 14), None);
    }
}
