//! The constants of division by carry-less multiplication.

use alloc::vec;
use alloc::vec::Vec;

use super::generator::Generator;
use super::slicing;

/// Words that one carry-less step processes: 64 bytes of data.
pub(super) const BLOCK_WORDS: usize = 8;
/// Bytes that one carry-less step processes.
pub(super) const BLOCK_BYTES: usize = 8 * BLOCK_WORDS;

/// One cache line of constants.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Line(pub [u64; BLOCK_WORDS]);

/// The constants of the carry-less backends. The remainder is linear in the data words: with d(k) the
/// word whose lowest bit is the coefficient of x^64k, data · x^64w ≡ Σ d(k) · (x^(64k + 64w) mod g′). The
/// products of 64 by 64w bits don't depend on each other, and only their sum, one word longer than the
/// remainder, needs a reduction.
#[derive(Clone, Debug)]
pub(super) struct Folding {
    /// Words of parity, w.
    pub words: usize,
    /// w lines per block of data, first block first: line j holds word j of x^(64k + 64w) mod g′ for the
    /// block's words.
    pub constants: Vec<Line>,
    /// g′ without its leading term, word 0 highest.
    pub generator: Vec<u64>,
    /// Barrett's constant ⌊x^(64w + 64) / g′⌋ without its leading term.
    pub reciprocal: u64,
}

impl Folding {
    /// The constants for chunks of `data_bytes`.
    pub fn new(generator: &Generator, data_bytes: usize) -> Folding {
        let words = generator.words.len();
        let blocks = data_bytes.div_ceil(BLOCK_BYTES);
        let mut constants = vec![Line([0; BLOCK_WORDS]); blocks * words];
        // x^64w mod g′ is g′ without its leading term; each further bit is one step of the shift register.
        let mut power = generator.words.clone();
        for k in 0..blocks * BLOCK_WORDS {
            let from_start = blocks * BLOCK_WORDS - 1 - k;
            for (j, word) in power.iter().enumerate() {
                constants[from_start / BLOCK_WORDS * words + j].0[from_start % BLOCK_WORDS] = *word;
            }
            for _ in 0..64 {
                slicing::multiply_by_x(&mut power, &generator.words);
            }
        }
        // Long division of x^(64w + 64): the quotient needs only the highest 64 coefficients of g′.
        let (mut reciprocal, mut dividend) = (0u64, generator.words[0]);
        for bit in (0..64).rev() {
            let carry = dividend >> 63;
            reciprocal |= carry << bit;
            dividend = (dividend << 1) ^ (carry * generator.words[0]);
        }
        Folding { words, constants, generator: generator.words.clone(), reciprocal }
    }
}
