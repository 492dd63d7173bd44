//! Chien's search for 256 positions per step on any processor. Bit r of all their elements is in one row
//! of four words, so that a multiplication by a constant is a few XORs of rows for all 256 at once.

use alloc::vec;
use alloc::vec::Vec;

use super::field::{FIELD_DEGREE_MAX, Field};

/// One bit of each position's element: bit b of word w belongs to position 64·w + b of the step.
type Row = [u64; 4];

/// Positions in a step.
const STEP: usize = 64 * 4;

const ROWS: usize = FIELD_DEGREE_MAX as usize;

/// The elements of a step's positions by bits, lowest first; rows from m on are zero.
pub(super) type Slices = [Row; ROWS];

/// Multiplication by a constant: bit c of word r is set if bit c of the factor contributes to bit r of
/// the product.
type Matrix = [u16; ROWS];

#[derive(Clone, Debug)]
struct Term {
    /// α^−jp for the positions p of the first step.
    first: Slices,
    /// Multiplication by α^−256j.
    step: Matrix,
}

/// What the search needs for each term j of a locator, at index j − 1.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    degree: usize,
    terms: Vec<Term>,
}

impl Steps {
    pub fn new(field: &Field, correction: usize) -> Steps {
        let order = field.order();
        let term = |j: usize| {
            let mut first = [[0; 4]; ROWS];
            for p in 0..STEP {
                let element = field.alpha(order - j * p % order);
                for (r, row) in first.iter_mut().enumerate() {
                    row[p / 64] |= u64::from(element >> r & 1) << (p % 64);
                }
            }
            Term { first, step: matrix(field, field.alpha(order - STEP * j % order)) }
        };
        Steps { degree: field.degree() as usize, terms: (1..=correction).map(term).collect() }
    }

    /// Working space of a search.
    pub fn space(&self) -> Vec<Slices> {
        vec![[[0; 4]; ROWS]; self.terms.len()]
    }

    /// As [`super::chien::Chien::roots`], ending at the last root; `state` is working space from
    /// [`Steps::space`].
    pub fn search(
        &self,
        field: &Field,
        locator: &[u16],
        length: usize,
        state: &mut [Slices],
        positions: &mut [u32],
    ) -> usize {
        match self.degree.div_ceil(4) {
            2 => self.search_in::<2>(field, locator, length, state, positions),
            3 => self.search_in::<3>(field, locator, length, state, positions),
            4 => self.search_in::<4>(field, locator, length, state, positions),
            groups => unreachable!("field degrees from 5 to 16 have no {groups} groups of four bits"),
        }
    }

    /// The search for elements of up to 4·`GROUPS` bits: constant loop bounds are worth a factor of three.
    fn search_in<const GROUPS: usize>(
        &self,
        field: &Field,
        locator: &[u16],
        length: usize,
        state: &mut [Slices],
        positions: &mut [u32],
    ) -> usize {
        let degree = locator.len() - 1;
        for ((slices, term), coefficient) in state.iter_mut().zip(&self.terms).zip(&locator[1..]) {
            *slices = term.first;
            multiply::<GROUPS>(slices, &matrix(field, *coefficient));
        }
        let mut found = 0;
        for start in (0..length).step_by(STEP) {
            let mut sum: Slices =
                core::array::from_fn(|r| [0u64.wrapping_sub(u64::from(locator[0] >> r & 1)); 4]);
            for (slices, term) in state[..degree].iter_mut().zip(&self.terms) {
                for r in 0..4 * GROUPS {
                    sum[r] = xor(&sum[r], &slices[r]);
                }
                multiply::<GROUPS>(slices, &term.step);
            }
            for w in 0..4 {
                let mut roots = !sum.iter().fold(0, |any, row| any | row[w]);
                while roots != 0 {
                    let position = start + 64 * w + roots.trailing_zeros() as usize;
                    roots &= roots - 1;
                    if position < length {
                        positions[found] = position as u32;
                        found += 1;
                    }
                }
            }
            if found == degree {
                break;
            }
        }
        found
    }
}

/// Multiplies a step's elements by a constant, four bits at a time: computes all 16 sums of their rows
/// once, and then adds the sum that each bit of the product needs.
#[inline(always)]
fn multiply<const GROUPS: usize>(elements: &mut Slices, constant: &Matrix) {
    let mut sums = [[[0; 4]; 16]; GROUPS];
    for (group, sums) in sums.iter_mut().enumerate() {
        for bit in 0..4 {
            for choice in 0..1 << bit {
                sums[choice | 1 << bit] = xor(&sums[choice], &elements[4 * group + bit]);
            }
        }
    }
    for r in 0..4 * GROUPS {
        let bits = usize::from(constant[r]);
        let mut row = sums[0][bits & 15];
        for group in 1..GROUPS {
            row = xor(&row, &sums[group][bits >> (4 * group) & 15]);
        }
        elements[r] = row;
    }
}

#[inline]
fn xor(a: &Row, b: &Row) -> Row {
    core::array::from_fn(|w| a[w] ^ b[w])
}

fn matrix(field: &Field, constant: u16) -> Matrix {
    let mut rows = [0; ROWS];
    for column in 0..field.degree() {
        let product = field.multiply(constant, 1 << column);
        for (r, row) in rows.iter_mut().enumerate() {
            *row |= (product >> r & 1) << column;
        }
    }
    rows
}
