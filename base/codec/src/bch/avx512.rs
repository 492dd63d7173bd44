//! Division by carry-less multiplication on 512-bit vectors (VPCLMULQDQ): one step processes 64 bytes of
//! data.

use core::arch::x86_64::*;

use super::folding::{BLOCK_BYTES, Folding, Line};
use super::pclmul;
use super::remainder::{PARITY_WORDS_MAX, Remainder};

cpufeatures::new!(support, "pclmulqdq", "ssse3", "sse4.1", "avx512f", "avx512bw", "vpclmulqdq", "gfni");

/// Exists only if the processor has AVX-512 F and BW, VPCLMULQDQ, GFNI and what [`pclmul`] requires.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof(());

impl Proof {
    pub fn of_support() -> Option<Proof> {
        support::get().then_some(Proof(()))
    }
}

/// Accumulators of one pass over a single chunk.
const PASS_WORDS_MAX: usize = 8;

/// The remainder of one chunk.
pub(super) fn remainder(_proof: Proof, folding: &Folding, data: &[u8], out: &mut Remainder) {
    // SAFETY: a `Proof` exists only where the processor has the features that `divide` is compiled for.
    unsafe { divide(folding, data, out) }
}

#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,pclmulqdq,ssse3,sse4.1")]
fn divide(folding: &Folding, data: &[u8], out: &mut Remainder) {
    let words = folding.words;
    let mut sum = [[0u64; 2]; PARITY_WORDS_MAX];
    let passes = words.div_ceil(PASS_WORDS_MAX);
    let mut first = 0;
    for pass in 0..passes {
        let width = (words - first).div_ceil(passes - pass);
        let part = &mut sum[first..first + width];
        match width {
            1 => accumulate::<1>(folding, data, first, part),
            2 => accumulate::<2>(folding, data, first, part),
            3 => accumulate::<3>(folding, data, first, part),
            4 => accumulate::<4>(folding, data, first, part),
            5 => accumulate::<5>(folding, data, first, part),
            6 => accumulate::<6>(folding, data, first, part),
            7 => accumulate::<7>(folding, data, first, part),
            PASS_WORDS_MAX => accumulate::<PASS_WORDS_MAX>(folding, data, first, part),
            _ => unreachable!("passes are at most {PASS_WORDS_MAX} words wide"),
        }
        first += width;
    }
    pclmul::reduce(folding, &sum, out);
}

/// Sums the products of all data words with words `first`..`first + J` of their constants; `sum[j]` is {low,
/// high}.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn accumulate<const J: usize>(folding: &Folding, data: &[u8], first: usize, sum: &mut [[u64; 2]]) {
    let mut accumulator = [_mm512_setzero_si512(); J];
    let (head, body) = data.split_at(data.len() % BLOCK_BYTES);
    let mut rows = folding.constants.chunks_exact(folding.words);
    if !head.is_empty() {
        let row = rows.next().expect("constants for each block");
        fold_words(load_words(&padded(head)), &row[first..first + J], &mut accumulator);
    }
    for (block, row) in body.as_chunks::<BLOCK_BYTES>().0.iter().zip(rows) {
        fold_words(load_words(block), &row[first..first + J], &mut accumulator);
    }
    for (slot, vector) in sum.iter_mut().zip(accumulator) {
        let half = _mm256_xor_si256(_mm512_castsi512_si256(vector), _mm512_extracti64x4_epi64::<1>(vector));
        let quarter = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256::<1>(half));
        *slot = [_mm_cvtsi128_si64(quarter) as u64, _mm_extract_epi64::<1>(quarter) as u64];
    }
}

/// A first, short block after leading zeroes, which add nothing.
#[inline]
fn padded(head: &[u8]) -> [u8; BLOCK_BYTES] {
    let mut block = [0u8; BLOCK_BYTES];
    block[BLOCK_BYTES - head.len()..].copy_from_slice(head);
    block
}

/// Eight big-endian words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn load_words(block: &[u8; BLOCK_BYTES]) -> __m512i {
    let big_endian =
        _mm512_broadcast_i32x4(_mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    // SAFETY: unaligned load of a 64-byte array.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    _mm512_shuffle_epi8(bytes, big_endian)
}

#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn fold_words<const J: usize>(words: __m512i, row: &[Line], accumulator: &mut [__m512i; J]) {
    for (slot, line) in accumulator.iter_mut().zip(row) {
        // SAFETY: a `Line` is 64 bytes, aligned to 64.
        let constant = unsafe { _mm512_load_si512((&raw const *line).cast()) };
        let even = _mm512_clmulepi64_epi128::<0x00>(words, constant);
        let odd = _mm512_clmulepi64_epi128::<0x11>(words, constant);
        // 96h is the truth table of a ^ b ^ c.
        *slot = _mm512_ternarylogic_epi64::<0x96>(*slot, even, odd);
    }
}
