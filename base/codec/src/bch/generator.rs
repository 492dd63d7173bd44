//! The generator polynomial of a binary BCH code.

use alloc::vec;
use alloc::vec::Vec;

use super::field::Field;

/// A generator polynomial g(x), without its leading term.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    /// Degree of g: parity bits.
    pub degree: usize,
    /// g(x) − x^degree, shifted up so that its coefficient of x^(degree−1) is the top bit of word 0.
    pub words: Vec<u64>,
}

impl Generator {
    /// The product of the distinct minimal polynomials of α, α^3, … α^(2t−1): the code whose words have
    /// all of α, α^2, … α^2t as roots. `None` if those roots exhaust the field, so that no data bit would
    /// be left.
    pub fn new(field: &Field, correction: usize) -> Option<Generator> {
        let order = field.order();
        let mut covered = vec![false; order];
        // Coefficients by degree.
        let mut product = vec![true];
        for root in (1..2 * correction).step_by(2) {
            if root >= order {
                return None;
            }
            if covered[root] {
                continue;
            }
            let minimal = minimal_polynomial(field, root, &mut covered);
            let mut next = vec![false; product.len() + minimal.len() - 1];
            for (i, _) in product.iter().enumerate().filter(|(_, set)| **set) {
                for (j, term) in minimal.iter().enumerate() {
                    next[i + j] ^= term;
                }
            }
            product = next;
        }
        let degree = product.len() - 1;
        let mut words = vec![0u64; degree.div_ceil(64)];
        for (i, _) in product[..degree].iter().rev().enumerate().filter(|(_, set)| **set) {
            words[i / 64] |= 1 << (63 - i % 64);
        }
        Some(Generator { degree, words })
    }
}

/// The product of (x + α^c) over the conjugates c = root·2^k, by coefficient; marks the conjugates as
/// covered.
fn minimal_polynomial(field: &Field, root: usize, covered: &mut [bool]) -> Vec<bool> {
    let mut polynomial = vec![1u16];
    let mut conjugate = root;
    while !covered[conjugate] {
        covered[conjugate] = true;
        let factor = field.alpha(conjugate);
        polynomial.push(0);
        for i in (0..polynomial.len()).rev() {
            let shifted = if i == 0 { 0 } else { polynomial[i - 1] };
            polynomial[i] = shifted ^ field.multiply(polynomial[i], factor);
        }
        conjugate = conjugate * 2 % field.order();
    }
    polynomial
        .into_iter()
        .map(|coefficient| {
            assert!(coefficient <= 1, "a minimal polynomial has binary coefficients");
            coefficient == 1
        })
        .collect()
}
