//! Correction in the three steps that the hardware pipelines: syndromes, key equation, search (C21, C22).

use alloc::vec;
use alloc::vec::Vec;

use super::chien::ChienSpace;
use super::key_equation::Solver;
use super::remainder::{PARITY_WORDS_MAX, Remainder};
use super::{Bch, load_word};

/// The chunk has more errors than the code corrects, or than the limit accepts. Data and parity are
/// unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("more bit errors than the code corrects")]
pub struct Uncorrectable;

/// Working space of a decode, allocated once per code, so that decoding allocates nothing.
#[derive(Clone, Debug)]
pub struct BchScratch {
    odd: Vec<u16>,
    syndromes: Vec<u16>,
    solver: Solver,
    positions: Vec<u32>,
    chien: ChienSpace,
}

impl BchScratch {
    /// Working space for `code`, and for any other of the same parameters and backend.
    pub fn new(code: &Bch) -> BchScratch {
        BchScratch {
            odd: vec![0; code.syndromes.stride()],
            syndromes: vec![0; 2 * code.correction()],
            solver: Solver::new(code.correction()),
            positions: vec![0; code.correction()],
            chien: code.chien.space(code.word_bits()),
        }
    }

    /// S_1 … S_2t of the last decode or [`Bch::syndromes`].
    pub fn syndromes(&self) -> &[u16] {
        &self.syndromes
    }

    /// Λ_0 … Λ_t of the last [`Bch::solve_key_equation`], lowest first.
    pub fn locator(&self) -> &[u16] {
        &self.solver.locator
    }

    /// Where the last successful [`Bch::locate_errors`] found errors: powers of x, the last parity bit being
    /// x^0. Only the first entries, as many as it returned, have a meaning.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }
}

impl Bch {
    /// Corrects a chunk and its parity in place and returns the number of bits that were wrong.
    ///
    /// A result is accepted only if the locator has exactly as many roots within the word as its degree,
    /// and its degree is at most the limit. With more errors than the design distance allows, a received
    /// word can still be decoded to a wrong word. Only a check over the content can detect that.
    ///
    /// # Errors
    /// [`Uncorrectable`]; then `data` and `parity` are untouched.
    ///
    /// # Panics
    /// If `data`, `parity` or `scratch` have other sizes than the code's.
    pub fn decode(
        &self,
        data: &mut [u8],
        parity: &mut [u8],
        scratch: &mut BchScratch,
    ) -> Result<usize, Uncorrectable> {
        let errors = if self.syndromes(data, parity, scratch) {
            0
        } else {
            let degree = self.solve_key_equation(scratch)?;
            self.locate_errors(degree, scratch)?
        };
        for position in &scratch.positions[..errors] {
            // The highest power of x is the first bit of the data.
            let position = *position as usize;
            match position.checked_sub(self.parity_bits()) {
                Some(above) => flip(data, self.data_bytes() * 8 - 1 - above),
                None => flip(parity, self.parity_bits() - 1 - position),
            }
        }
        let filling = self.parity_bytes() * 8 - self.parity_bits();
        if let Some(last) = parity.last_mut() {
            *last &= 0xFF << filling;
        }
        Ok(errors)
    }

    /// First step: computes S_1 … S_2t into `scratch` and returns whether all are 0, that is, the word is
    /// clean.
    ///
    /// # Panics
    /// If `data`, `parity` or `scratch` have other sizes than the code's.
    pub fn syndromes(&self, data: &[u8], parity: &[u8], scratch: &mut BchScratch) -> bool {
        self.check_chunk(data, parity);
        assert_eq!(scratch.syndromes.len(), 2 * self.correction(), "scratch of this code");
        let mut difference: Remainder = [0; PARITY_WORDS_MAX];
        self.divider.remainder(data, &mut difference);
        let words = &mut difference[..self.divider.words()];
        let mut any = 0;
        for (index, word) in words.iter_mut().enumerate() {
            *word = (*word ^ load_word(parity, index)) & self.word_mask(index);
            any |= *word;
        }
        if any == 0 {
            scratch.syndromes.fill(0);
            return true;
        }
        self.syndromes.evaluate(&self.field, words, &mut scratch.odd, &mut scratch.syndromes);
        false
    }

    /// Second step: solves the key equation for the syndromes in `scratch` and returns the locator's degree,
    /// the number of errors that it stands for.
    ///
    /// # Errors
    /// [`Uncorrectable`] if more than the limit would be needed.
    pub fn solve_key_equation(&self, scratch: &mut BchScratch) -> Result<usize, Uncorrectable> {
        scratch.solver.solve(&self.field, &scratch.syndromes, self.limit()).ok_or(Uncorrectable)
    }

    /// Third step: finds the `degree` roots of the locator in `scratch`, and with them the error positions.
    ///
    /// # Errors
    /// [`Uncorrectable`] if not all roots lie within the word.
    pub fn locate_errors(&self, degree: usize, scratch: &mut BchScratch) -> Result<usize, Uncorrectable> {
        let BchScratch { solver, chien, positions, .. } = scratch;
        let locator = &solver.locator[..=degree];
        let found = if degree == 1 {
            // 1 + Λ_1·x vanishes at 1/Λ_1, so the position is the logarithm itself.
            positions[0] = self.field.log(locator[1]) as u32;
            usize::from((positions[0] as usize) < self.word_bits())
        } else {
            self.chien.roots(&self.field, locator, self.word_bits(), chien, positions)
        };
        if found == degree { Ok(degree) } else { Err(Uncorrectable) }
    }
}

/// Flips bit `bit` of `bytes`, counted from the most significant bit of the first byte.
fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 0x80 >> (bit % 8);
}
