//! The remainder of a division: the parity of a chunk, in words.

/// Longest parity in 64-bit words: 2,048 bits, enough for (m 16, t 128).
pub const PARITY_WORDS_MAX: usize = 32;

/// The remainder of one chunk: the first w words count, word 0 holds the highest coefficients.
pub(super) type Remainder = [u64; PARITY_WORDS_MAX];
