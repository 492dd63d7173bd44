//! Division by carry-less multiplication on 128-bit vectors (PCLMULQDQ).

use core::arch::x86_64::*;

use super::folding::{BLOCK_BYTES, Folding, Line};
use super::remainder::{PARITY_WORDS_MAX, Remainder};

cpufeatures::new!(support, "pclmulqdq", "ssse3", "sse4.1");

/// Exists only if the processor has PCLMULQDQ, SSSE3 and SSE4.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof(());

impl Proof {
    pub fn of_support() -> Option<Proof> {
        support::get().then_some(Proof(()))
    }
}

/// The remainder of one chunk.
pub(super) fn remainder(_proof: Proof, folding: &Folding, data: &[u8], out: &mut Remainder) {
    // SAFETY: a `Proof` exists only where the processor has the features that `divide` is compiled for.
    unsafe { divide(folding, data, out) }
}

/// Accumulators of one pass. Together with the data, the byte order and two products, they fit the
/// sixteen vector registers.
const PASS_WORDS_MAX: usize = 6;

#[target_feature(enable = "pclmulqdq,ssse3,sse4.1")]
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
            PASS_WORDS_MAX => accumulate::<PASS_WORDS_MAX>(folding, data, first, part),
            _ => unreachable!("passes are at most {PASS_WORDS_MAX} words wide"),
        }
        first += width;
    }
    reduce(folding, &sum, out);
}

/// Sums the products of all data words with words `first`..`first + J` of their constants; `sum[j]` is {low,
/// high}.
#[target_feature(enable = "pclmulqdq,ssse3,sse4.1")]
fn accumulate<const J: usize>(folding: &Folding, data: &[u8], first: usize, sum: &mut [[u64; 2]]) {
    let mut accumulator = [_mm_setzero_si128(); J];
    let (head, body) = data.split_at(data.len() % BLOCK_BYTES);
    let mut rows = folding.constants.chunks_exact(folding.words);
    if !head.is_empty() {
        // Leading zeroes add nothing.
        let mut block = [0u8; BLOCK_BYTES];
        block[BLOCK_BYTES - head.len()..].copy_from_slice(head);
        let row = rows.next().expect("constants for each block");
        fold_block(&block, &row[first..first + J], &mut accumulator);
    }
    for (block, row) in body.as_chunks::<BLOCK_BYTES>().0.iter().zip(rows) {
        fold_block(block, &row[first..first + J], &mut accumulator);
    }
    for (slot, vector) in sum.iter_mut().zip(accumulator) {
        *slot = [_mm_cvtsi128_si64(vector) as u64, _mm_extract_epi64::<1>(vector) as u64];
    }
}

#[inline]
#[target_feature(enable = "pclmulqdq,ssse3,sse4.1")]
fn fold_block<const J: usize>(block: &[u8; BLOCK_BYTES], row: &[Line], accumulator: &mut [__m128i; J]) {
    let big_endian = _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    for quarter in 0..4 {
        // SAFETY: unaligned load of 16 bytes at offset 0, 16, 32 or 48 of a 64-byte array.
        let bytes = unsafe { _mm_loadu_si128(block.as_ptr().add(16 * quarter).cast()) };
        let pair = _mm_shuffle_epi8(bytes, big_endian);
        for j in 0..J {
            // SAFETY: 16 bytes at offset 0, 16, 32 or 48 of a 64-byte line that is aligned to 64.
            let constant = unsafe { _mm_load_si128(row[j].0.as_ptr().add(2 * quarter).cast()) };
            let low = _mm_clmulepi64_si128::<0x00>(pair, constant);
            let high = _mm_clmulepi64_si128::<0x11>(pair, constant);
            accumulator[j] = _mm_xor_si128(accumulator[j], _mm_xor_si128(low, high));
        }
    }
}

/// Barrett's reduction of the sum, which is one word longer than a remainder. `sum[j]`'s low half belongs
/// to word j, its high half to the word above. The half above word 0 is the excess to be reduced.
#[target_feature(enable = "pclmulqdq,ssse3,sse4.1")]
pub(super) fn reduce(folding: &Folding, sum: &[[u64; 2]; PARITY_WORDS_MAX], out: &mut Remainder) {
    let excess = sum[0][1];
    // ⌊excess · x^64w / g′⌋ = ⌊excess · ⌊x^(64w+64) / g′⌋ / x^64⌋, exactly: no carries, no estimate.
    let quotient = excess ^ multiply(excess, folding.reciprocal)[1];
    // From the lowest word up; each word takes the high halves of the products one word below.
    let mut carried = 0;
    for j in (0..folding.words).rev() {
        let product = multiply(quotient, folding.generator[j]);
        out[j] = sum[j][0] ^ product[0] ^ carried;
        carried = sum[j][1] ^ product[1];
    }
    debug_assert_eq!(carried, quotient, "what is left over is the leading term's share");
}

/// Carry-less product of two words: {low, high}.
#[inline]
#[target_feature(enable = "pclmulqdq,ssse3,sse4.1")]
fn multiply(a: u64, b: u64) -> [u64; 2] {
    let product = _mm_clmulepi64_si128::<0x00>(_mm_cvtsi64_si128(a as i64), _mm_cvtsi64_si128(b as i64));
    [_mm_cvtsi128_si64(product) as u64, _mm_extract_epi64::<1>(product) as u64]
}
