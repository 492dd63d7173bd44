//! Syndromes from the difference between stored and computed parity.

use alloc::vec;
use alloc::vec::Vec;

use super::field::Field;

/// Elements in a row are padded to a multiple of this, so that the sums run in whole vectors.
const ROW_ALIGN: usize = 8;

/// For each coefficient x^p of a remainder the powers α^p, α^3p, … α^((2t−1)p): a syndrome is linear in the
/// remainder, and a received word and its remainder have the same syndromes because the generator vanishes at
/// those powers.
#[derive(Clone, Debug)]
pub(super) struct SyndromeRows {
    correction: usize,
    stride: usize,
    /// Highest coefficient first, as the remainder's bits stand.
    rows: Vec<u16>,
}

impl SyndromeRows {
    pub fn new(field: &Field, correction: usize, parity_bits: usize) -> SyndromeRows {
        let stride = correction.next_multiple_of(ROW_ALIGN);
        let mut rows = vec![0; stride * parity_bits];
        for (bit, row) in rows.chunks_exact_mut(stride).enumerate() {
            let exponent = parity_bits - 1 - bit;
            for (i, element) in row[..correction].iter_mut().enumerate() {
                *element = field.alpha(exponent * (2 * i + 1));
            }
        }
        SyndromeRows { correction, stride, rows }
    }

    /// S_1 … S_2t into `out` from the difference's words (highest coefficient in the top bit of word 0).
    /// `odd` is working space of [`SyndromeRows::stride`] elements.
    pub fn evaluate(&self, field: &Field, difference: &[u64], odd: &mut [u16], out: &mut [u16]) {
        odd.fill(0);
        for (index, word) in difference.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.leading_zeros() as usize;
                rest &= !(1 << (63 - bit));
                let from = (64 * index + bit) * self.stride;
                for (sum, power) in odd.iter_mut().zip(&self.rows[from..from + self.stride]) {
                    *sum ^= power;
                }
            }
        }
        for (i, value) in odd[..self.correction].iter().enumerate() {
            out[2 * i] = *value;
        }
        // In a binary code S_2j = S_j².
        for j in 1..=self.correction {
            out[2 * j - 1] = field.square(out[j - 1]);
        }
    }

    /// Elements of the working space of [`SyndromeRows::evaluate`].
    pub fn stride(&self) -> usize {
        self.stride
    }
}
