//! Binary BCH codes, systematic, shortened to any chunk size.
//!
//! # Bit order
//! A code word is the chunk's data followed by its parity. Bits are taken most significant first within
//! each byte, and the first bit is the coefficient of the highest power of x: bit i of a word of n bits
//! stands for x^(n−1−i). Parity is data(x) · x^r mod g(x), r = deg g, written the same way and padded
//! with zero bits to a whole byte. This is the order of Linux's `lib/bch.c` without bit swapping, which
//! also uses the same primitive polynomials ([`Field`]).
//!
//! The padding bits of the last parity byte don't belong to the code word. Whatever they are in flash,
//! they don't count as errors, and a successful decode clears them.
//!
//! # Which codes
//! m from 5 to 16, any t and chunk size with 8·data + r ≤ 2^m − 1 and r ≤ 64·[`PARITY_WORDS_MAX`].

#[cfg(target_arch = "x86_64")]
mod avx512;
mod backend;
mod chien;
#[cfg(target_arch = "x86_64")]
mod chien_avx512;
mod chien_sliced;
mod decoder;
mod divider;
mod field;
#[cfg(target_arch = "x86_64")]
mod folding;
mod generator;
mod key_equation;
#[cfg(target_arch = "x86_64")]
mod pclmul;
mod remainder;
mod slicing;
mod syndromes;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

pub use backend::Backend;
pub use decoder::{BchScratch, Uncorrectable};
pub use field::{FIELD_DEGREE_MAX, FIELD_DEGREE_MIN, Field};
pub use remainder::PARITY_WORDS_MAX;

use chien::Chien;
use divider::Divider;
use generator::Generator;
use remainder::Remainder;
use syndromes::SyndromeRows;

/// Why a code cannot be built.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BchError {
    /// No field of this degree is supported.
    #[error("field degree {degree} is outside {FIELD_DEGREE_MIN} to {FIELD_DEGREE_MAX}")]
    FieldDegree {
        /// The degree asked for.
        degree: u32,
    },
    /// The code would correct nothing, or more than its field has room for.
    #[error("a code over GF(2^{degree}) cannot correct {correction} bits")]
    Correction {
        /// Field degree m.
        degree: u32,
        /// The correction asked for, in bits.
        correction: usize,
    },
    /// The correction limit is 0 or beyond what the code is designed for.
    #[error("correction limit {limit} is outside 1 to {correction}")]
    Limit {
        /// The limit asked for, in bits.
        limit: usize,
        /// What the code is designed for, in bits.
        correction: usize,
    },
    /// Data and parity don't fit a code word, or there is no data.
    #[error(
        "{data_bytes} bytes of data and {parity_bits} bits of parity don't make a word of 1 to {bits_max} \
         bits"
    )]
    WordLength {
        /// Data bytes in a chunk.
        data_bytes: usize,
        /// Parity bits.
        parity_bits: usize,
        /// Bits in the longest word.
        bits_max: usize,
    },
    /// More parity than [`PARITY_WORDS_MAX`] words.
    #[error("{parity_bits} bits of parity are more than {} words", PARITY_WORDS_MAX)]
    ParityLength {
        /// Parity bits.
        parity_bits: usize,
    },
    /// This processor lacks the instructions of the backend.
    #[error("this processor cannot run the backend {0:?}")]
    Backend(Backend),
}

/// A binary BCH code for chunks of one size, with all the tables that coding needs.
///
/// Tables take 6 bytes per field element, about 2·t·r bytes for syndromes, at most 544·t for the search,
/// and for division either 16 KiB per word of parity (portable) or data_bytes·w bytes (w = words of
/// parity; carry-less backends).
#[derive(Clone, Debug)]
pub struct Bch {
    field: Field,
    correction: usize,
    limit: usize,
    data_bytes: usize,
    parity_bits: usize,
    backend: Backend,
    divider: Divider,
    syndromes: SyndromeRows,
    chien: Chien,
}

impl Bch {
    /// A code over GF(2^`degree`) that corrects up to `correction` bits in `data_bytes` of data and their
    /// parity, on the fastest backend of this processor.
    pub fn new(degree: u32, correction: usize, data_bytes: usize) -> Result<Bch, BchError> {
        Bch::with_limit(degree, correction, correction, data_bytes)
    }

    /// A code designed for `correction` bits of which a decode accepts at most `limit`; more are
    /// [`Uncorrectable`]. Cosmos+ stores 168 parity bits per 256-byte chunk, which is a design for 14
    /// bits, and corrects 13 (G6). The remaining distance makes a false correction rarer.
    pub fn with_limit(
        degree: u32,
        correction: usize,
        limit: usize,
        data_bytes: usize,
    ) -> Result<Bch, BchError> {
        Bch::with_backend(degree, correction, limit, data_bytes, Backend::fastest())
    }

    /// As [`Bch::with_limit`], on the given backend. All backends give the same bits.
    pub fn with_backend(
        degree: u32,
        correction: usize,
        limit: usize,
        data_bytes: usize,
        backend: Backend,
    ) -> Result<Bch, BchError> {
        let field = Field::new(degree).ok_or(BchError::FieldDegree { degree })?;
        let impossible = BchError::Correction { degree, correction };
        if correction == 0 || correction > field.order() / 2 {
            return Err(impossible);
        }
        if limit == 0 || limit > correction {
            return Err(BchError::Limit { limit, correction });
        }
        let generator = Generator::new(&field, correction).ok_or(impossible)?;
        let parity_bits = generator.degree;
        let bits_max = field.order();
        let fits = data_bytes > 0 && data_bytes <= bits_max / 8 && data_bytes * 8 + parity_bits <= bits_max;
        if !fits {
            return Err(BchError::WordLength { data_bytes, parity_bits, bits_max });
        }
        if generator.words.len() > PARITY_WORDS_MAX {
            return Err(BchError::ParityLength { parity_bits });
        }
        let divider = Divider::new(&generator, data_bytes, backend).ok_or(BchError::Backend(backend))?;
        Ok(Bch {
            correction,
            limit,
            data_bytes,
            parity_bits,
            backend,
            divider,
            syndromes: SyndromeRows::new(&field, correction, parity_bits),
            chien: Chien::new(&field, correction, backend),
            field,
        })
    }

    /// The field that error locations are elements of.
    pub fn field(&self) -> &Field {
        &self.field
    }

    /// Bits that the code is designed to correct, t.
    pub fn correction(&self) -> usize {
        self.correction
    }

    /// Bits that a decode accepts to correct.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Data bytes in a chunk.
    pub fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Parity bits of a chunk, r.
    pub fn parity_bits(&self) -> usize {
        self.parity_bits
    }

    /// Parity bytes of a chunk: r bits, padded to a whole byte.
    pub fn parity_bytes(&self) -> usize {
        self.parity_bits.div_ceil(8)
    }

    /// Bits in a code word, without padding.
    pub fn word_bits(&self) -> usize {
        self.data_bytes * 8 + self.parity_bits
    }

    /// The backend that this code runs on.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Computes the parity of one chunk.
    ///
    /// # Panics
    /// If `data` or `parity` have other sizes than the code's.
    pub fn encode(&self, data: &[u8], parity: &mut [u8]) {
        self.check_chunk(data, parity);
        let mut remainder: Remainder = [0; PARITY_WORDS_MAX];
        self.divider.remainder(data, &mut remainder);
        store_words(&remainder, parity);
    }

    /// Whether a chunk and its parity form a code word.
    ///
    /// # Panics
    /// If `data` or `parity` have other sizes than the code's.
    pub fn detect(&self, data: &[u8], parity: &[u8]) -> bool {
        self.check_chunk(data, parity);
        let mut remainder: Remainder = [0; PARITY_WORDS_MAX];
        self.divider.remainder(data, &mut remainder);
        self.matches(&remainder[..self.divider.words()], parity)
    }

    fn check_chunk(&self, data: &[u8], parity: &[u8]) {
        assert_eq!(data.len(), self.data_bytes, "a chunk has the code's data size");
        assert_eq!(parity.len(), self.parity_bytes(), "a parity has the code's parity size");
    }

    /// Whether stored parity equals a remainder, padding bits aside.
    #[inline]
    fn matches(&self, remainder: &[u64], parity: &[u8]) -> bool {
        let mut difference = 0;
        for (index, word) in remainder.iter().enumerate() {
            difference |= (load_word(parity, index) ^ word) & self.word_mask(index);
        }
        difference == 0
    }

    /// The bits of parity word `index` that belong to the code.
    #[inline]
    fn word_mask(&self, index: usize) -> u64 {
        match self.parity_bits - 64 * index {
            bits if bits >= 64 => u64::MAX,
            bits => !(u64::MAX >> bits),
        }
    }
}

/// Word `index` of a parity, big-endian, with zeroes beyond its end.
#[inline]
fn load_word(parity: &[u8], index: usize) -> u64 {
    let rest = &parity[8 * index..];
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        // The last, short word. If there are eight bytes, reading the eight that end with the parity is
        // one load.
        None => match parity.last_chunk::<8>() {
            Some(bytes) => u64::from_be_bytes(*bytes) << (64 - 8 * rest.len()),
            None => rest.iter().rev().fold(0, |word, byte| word >> 8 | u64::from(*byte) << 56),
        },
    }
}

/// Writes as many big-endian words as the parity has room for, the last one in part.
#[inline]
fn store_words(words: &[u64], parity: &mut [u8]) {
    for (bytes, word) in parity.chunks_mut(8).zip(words) {
        match bytes.as_mut_array::<8>() {
            Some(whole) => *whole = word.to_be_bytes(),
            None => bytes.copy_from_slice(&word.to_be_bytes()[..bytes.len()]),
        }
    }
}
