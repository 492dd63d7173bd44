//! Chien's search for 64 positions per step, with multiplications by constants as bit-matrix products
//! (GFNI).

use alloc::vec;
use alloc::vec::Vec;
use core::arch::x86_64::*;

use super::Backend;
use super::avx512::Proof;
use super::field::Field;

/// Positions in a step.
const STEP: usize = 64;

/// The low and high bytes of one field element per position.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Values {
    low: [u8; STEP],
    high: [u8; STEP],
}

/// Working space for words of `bits`.
pub(super) fn values(bits: usize) -> Vec<Values> {
    vec![Values { low: [0; STEP], high: [0; STEP] }; bits.div_ceil(STEP)]
}

/// Multiplication by a constant as four 8 × 8 bit matrices, one for each pair of a byte of the factor and
/// a byte of the product.
#[derive(Clone, Copy, Debug)]
struct Matrix {
    low_to_low: u64,
    high_to_low: u64,
    low_to_high: u64,
    high_to_high: u64,
}

impl Matrix {
    fn of_constant(field: &Field, constant: u16) -> Matrix {
        let quarter = |output: u32, input: u32| {
            let mut rows = 0u64;
            for column in input..(input + 8).min(field.degree()) {
                let product = field.multiply(constant, 1 << column) >> output;
                for row in 0..8 {
                    // GF2P8AFFINEQB keeps the row of the lowest output bit in the highest byte.
                    rows |= u64::from(product >> row & 1) << (8 * (7 - row) + (column - input));
                }
            }
            rows
        };
        Matrix {
            low_to_low: quarter(0, 0),
            high_to_low: quarter(0, 8),
            low_to_high: quarter(8, 0),
            high_to_high: quarter(8, 8),
        }
    }
}

/// Multiplication by α^−64j for each term j of a locator, which advances it by 64 positions.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    proof: Proof,
    /// The matrix of term j is at j − 1.
    matrices: Vec<Matrix>,
}

impl Steps {
    /// `None` unless `backend` is [`Backend::Avx512`] and the processor has it.
    pub fn new(field: &Field, correction: usize, backend: Backend) -> Option<Steps> {
        let proof = Proof::of_support().filter(|_| backend == Backend::Avx512)?;
        let order = field.order();
        let matrices = (1..=correction)
            .map(|j| Matrix::of_constant(field, field.alpha(order - STEP * j % order)))
            .collect();
        Some(Steps { proof, matrices })
    }

    /// As [`super::chien::Chien::roots`]; `values` is working space from [`values`].
    pub fn search(
        &self,
        field: &Field,
        locator: &[u16],
        length: usize,
        values: &mut [Values],
        positions: &mut [u32],
    ) -> usize {
        assert_eq!(values.len(), length.div_ceil(STEP), "scratch of this code");
        // Λ_0 is 1 at every position.
        for value in values.iter_mut() {
            *value = Values { low: [locator[0] as u8; STEP], high: [(locator[0] >> 8) as u8; STEP] };
        }
        let degree = locator.len() - 1;
        for first in (1..=degree).step_by(TERMS) {
            let mut terms = [Values { low: [0; STEP], high: [0; STEP] }; TERMS];
            let mut matrices = [self.matrices[0]; TERMS];
            for (slot, j) in (first..=degree.min(first + TERMS - 1)).enumerate() {
                matrices[slot] = self.matrices[j - 1];
                if locator[j] != 0 {
                    terms[slot] = first_step(field, locator[j], j);
                }
            }
            let Proof { .. } = self.proof;
            add_terms(self.proof, &terms, &matrices, values);
        }
        let mut found = 0;
        for (step, value) in values.iter().enumerate() {
            let mut zeroes = zeroes(self.proof, value);
            while zeroes != 0 {
                let position = step * STEP + zeroes.trailing_zeros() as usize;
                zeroes &= zeroes - 1;
                if position < length {
                    positions[found] = position as u32;
                    found += 1;
                }
            }
        }
        found
    }
}

/// Terms that are advanced together, so that one's latency hides behind the others'.
const TERMS: usize = 4;

/// coefficient · α^−jp for the positions p of the first step.
fn first_step(field: &Field, coefficient: u16, j: usize) -> Values {
    let order = field.order();
    let mut values = Values { low: [0; STEP], high: [0; STEP] };
    let mut exponent = field.log(coefficient);
    for p in 0..STEP {
        let element = field.alpha_reduced(exponent);
        values.low[p] = element as u8;
        values.high[p] = (element >> 8) as u8;
        exponent += order - j;
        if exponent >= order {
            exponent -= order;
        }
    }
    values
}

/// Adds the terms at each step to `sums`, and advances them by their matrices.
fn add_terms(_proof: Proof, terms: &[Values; TERMS], matrices: &[Matrix; TERMS], sums: &mut [Values]) {
    // SAFETY: a `Proof` exists only where the processor has the features that the callee is compiled for.
    unsafe { add_terms_by_vector(terms, matrices, sums) }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn add_terms_by_vector(terms: &[Values; TERMS], matrices: &[Matrix; TERMS], sums: &mut [Values]) {
    let constants = matrices.map(|m| {
        [m.low_to_low, m.high_to_low, m.low_to_high, m.high_to_high]
            .map(|rows| _mm512_set1_epi64(rows as i64))
    });
    let mut state = terms.map(|term| load(&term));
    for sum in sums {
        let (mut low, mut high) = load(sum);
        for (value, [low_to_low, high_to_low, low_to_high, high_to_high]) in state.iter_mut().zip(&constants)
        {
            let (l, h) = *value;
            low = _mm512_xor_si512(low, l);
            high = _mm512_xor_si512(high, h);
            *value = (
                _mm512_xor_si512(
                    _mm512_gf2p8affine_epi64_epi8::<0>(l, *low_to_low),
                    _mm512_gf2p8affine_epi64_epi8::<0>(h, *high_to_low),
                ),
                _mm512_xor_si512(
                    _mm512_gf2p8affine_epi64_epi8::<0>(l, *low_to_high),
                    _mm512_gf2p8affine_epi64_epi8::<0>(h, *high_to_high),
                ),
            );
        }
        // SAFETY: both halves of `Values` are 64 bytes, and aligned to 64.
        unsafe {
            _mm512_store_si512((&raw mut sum.low).cast(), low);
            _mm512_store_si512((&raw mut sum.high).cast(), high);
        }
    }
}

/// The low and the high bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(values: &Values) -> (__m512i, __m512i) {
    // SAFETY: both halves of `Values` are 64 bytes, and aligned to 64.
    unsafe {
        (
            _mm512_load_si512((&raw const values.low).cast()),
            _mm512_load_si512((&raw const values.high).cast()),
        )
    }
}

/// A bit for each position whose element is 0.
#[inline]
fn zeroes(_proof: Proof, values: &Values) -> u64 {
    // SAFETY: a `Proof` exists only where the processor has the features that the callee is compiled for.
    unsafe { zeroes_by_vector(values) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn zeroes_by_vector(values: &Values) -> u64 {
    let (low, high) = load(values);
    let any = _mm512_or_si512(low, high);
    _mm512_testn_epi8_mask(any, any)
}
