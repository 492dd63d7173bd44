//! CRC-32C with the processor's instruction (SSE4.2 `crc32`).
//!
//! The instruction takes eight bytes per cycle, but its result comes three cycles later. Three lanes of
//! the input are therefore processed side by side, and their sums are combined. Appending a lane of
//! zeroes is a linear function of the sum. Four tables hold this function, one for each byte of the sum.

use core::arch::x86_64::_mm_crc32_u64;

cpufeatures::new!(support, "sse4.2");

/// Exists only if the processor has SSE4.2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof(());

impl Proof {
    pub fn of_support() -> Option<Proof> {
        support::get().then_some(Proof(()))
    }
}

/// Bytes of a lane: twelve rounds of three lanes are a 4 KiB sector less 64 bytes.
const LANE_BYTES: usize = 112;
const ROUND_BYTES: usize = 3 * LANE_BYTES;
/// The polynomial, reflected (RFC 3720 §12.1).
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// The value of the register after a lane of zeroes, by each of its bytes.
static AFTER_A_LANE: [[u32; 256]; 4] = after_a_lane();

const fn after_a_lane() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 4 {
        let mut bit = 0;
        while bit < 8 {
            let mut value = 1u32 << (8 * byte + bit);
            let mut step = 0;
            while step < 8 * LANE_BYTES {
                value = value >> 1 ^ if value & 1 != 0 { POLYNOMIAL } else { 0 };
                step += 1;
            }
            // The function is linear: an entry is the sum of its bits' entries.
            let mut index = 0;
            while index < 256 {
                if index >> bit & 1 != 0 {
                    tables[byte][index] ^= value;
                }
                index += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    tables
}

fn shifted(value: u32) -> u32 {
    let [a, b, c, d] = value.to_le_bytes().map(usize::from);
    let [first, second, third, fourth] = &AFTER_A_LANE;
    first[a] ^ second[b] ^ third[c] ^ fourth[d]
}

/// The register after `bytes`, starting from `register`. Both are the shift register's values, not
/// inverted.
pub(super) fn update(_proof: Proof, register: u32, bytes: &[u8]) -> u32 {
    // SAFETY: a `Proof` exists only where the processor has the feature that `sum` is compiled for.
    unsafe { sum(register, bytes) }
}

#[target_feature(enable = "sse4.2")]
fn sum(register: u32, bytes: &[u8]) -> u32 {
    let mut register = register;
    let mut rounds = bytes.chunks_exact(ROUND_BYTES);
    for round in &mut rounds {
        let (first, rest) = round.split_at(LANE_BYTES);
        let (second, third) = rest.split_at(LANE_BYTES);
        let mut lanes = [u64::from(register), 0, 0];
        let words = first.as_chunks().0.iter().zip(second.as_chunks().0).zip(third.as_chunks().0);
        for ((a, b), c) in words {
            lanes[0] = _mm_crc32_u64(lanes[0], u64::from_le_bytes(*a));
            lanes[1] = _mm_crc32_u64(lanes[1], u64::from_le_bytes(*b));
            lanes[2] = _mm_crc32_u64(lanes[2], u64::from_le_bytes(*c));
        }
        let [first, second, third] = lanes.map(|lane| lane as u32);
        register = shifted(shifted(first) ^ second) ^ third;
    }
    let (words, rest) = rounds.remainder().as_chunks();
    for word in words {
        register = _mm_crc32_u64(u64::from(register), u64::from_le_bytes(*word)) as u32;
    }
    for &byte in rest {
        register = core::arch::x86_64::_mm_crc32_u8(register, byte);
    }
    register
}
