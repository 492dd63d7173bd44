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

/// Widest remainder, in words, that [`remainders_of_four`] takes: four chunks' accumulators share 32
/// registers.
pub(super) const WORDS_OF_FOUR_MAX: usize = 6;

/// Accumulators of one pass over a single chunk.
const PASS_WORDS_MAX: usize = 8;

/// The remainder of one chunk.
pub(super) fn remainder(_proof: Proof, folding: &Folding, data: &[u8], out: &mut Remainder) {
    // SAFETY: a `Proof` exists only where the processor has the features that `divide` is compiled for.
    unsafe { divide(folding, data, out) }
}

/// The remainders of four chunks that follow each other in `data`. The constants are loaded once for all
/// four, and the reductions run side by side.
pub(super) fn remainders_of_four(
    _proof: Proof,
    folding: &Folding,
    data: &[u8],
    out: &mut [[u64; WORDS_OF_FOUR_MAX]; 4],
) {
    // SAFETY: a `Proof` exists only where the processor has the features that `divide_four` is compiled for.
    unsafe {
        match folding.words {
            1 => divide_four::<1>(folding, data, out),
            2 => divide_four::<2>(folding, data, out),
            3 => divide_four::<3>(folding, data, out),
            4 => divide_four::<4>(folding, data, out),
            5 => divide_four::<5>(folding, data, out),
            WORDS_OF_FOUR_MAX => divide_four::<WORDS_OF_FOUR_MAX>(folding, data, out),
            _ => unreachable!("the caller checks the width"),
        }
    }
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

#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn divide_four<const W: usize>(folding: &Folding, data: &[u8], out: &mut [[u64; WORDS_OF_FOUR_MAX]; 4]) {
    let chunk_bytes = data.len() / 4;
    assert_eq!(
        folding.constants.len(),
        chunk_bytes.div_ceil(BLOCK_BYTES) * W,
        "constants of this chunk size"
    );
    let (rows, _) = folding.constants.as_chunks::<W>();
    let head_bytes = chunk_bytes % BLOCK_BYTES;
    let body_rows = &rows[usize::from(head_bytes != 0)..];
    let chunks: [&[u8]; 4] = core::array::from_fn(|c| &data[c * chunk_bytes..(c + 1) * chunk_bytes]);
    let bodies = chunks.map(|chunk| &chunk[head_bytes..].as_chunks::<BLOCK_BYTES>().0[..body_rows.len()]);
    let mut accumulator = [[_mm512_setzero_si512(); W]; 4];
    if head_bytes != 0 {
        for c in 0..4 {
            fold_words(load_words(&padded(&chunks[c][..head_bytes])), &rows[0], &mut accumulator[c]);
        }
    }
    for (block, row) in body_rows.iter().enumerate() {
        for c in 0..4 {
            fold_words(load_words(&bodies[c][block]), row, &mut accumulator[c]);
        }
    }
    // From here lane c stands for chunk c.
    let mut sum = [_mm512_setzero_si512(); W];
    for j in 0..W {
        sum[j] = gather_lanes(accumulator[0][j], accumulator[1][j], accumulator[2][j], accumulator[3][j]);
    }
    let reciprocal = _mm512_set1_epi64(folding.reciprocal as i64);
    // In the high halves; the low halves are ignored.
    let quotient = _mm512_xor_si512(sum[0], _mm512_clmulepi64_epi128::<0x01>(sum[0], reciprocal));
    for (slot, word) in sum.iter_mut().zip(&folding.generator) {
        let generator = _mm512_set1_epi64(*word as i64);
        *slot = _mm512_xor_si512(*slot, _mm512_clmulepi64_epi128::<0x01>(quotient, generator));
    }
    for j in 0..W {
        let mut lanes = Line([0; 8]);
        let mut word = sum[j];
        if j + 1 < W {
            word = _mm512_xor_si512(word, _mm512_bsrli_epi128::<8>(sum[j + 1]));
        }
        // SAFETY: a `Line` is 64 bytes, aligned to 64.
        unsafe { _mm512_store_si512((&raw mut lanes).cast(), word) };
        for (remainder, lane) in out.iter_mut().zip(lanes.0.chunks_exact(2)) {
            remainder[j] = lane[0];
        }
    }
}

/// The four vectors' sums over their own 128-bit lanes, sum c in lane c.
#[inline]
#[target_feature(enable = "avx512f")]
fn gather_lanes(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> __m512i {
    let halves = |x, y| {
        _mm512_xor_si512(
            _mm512_shuffle_i64x2::<0b01_00_01_00>(x, y),
            _mm512_shuffle_i64x2::<0b11_10_11_10>(x, y),
        )
    };
    let (ab, cd) = (halves(a, b), halves(c, d));
    _mm512_xor_si512(
        _mm512_shuffle_i64x2::<0b10_00_10_00>(ab, cd),
        _mm512_shuffle_i64x2::<0b11_01_11_01>(ab, cd),
    )
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
