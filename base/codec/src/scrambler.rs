//! The scrambler: byte-wise XOR with an 8-bit linear feedback shift register (C20, G7).
//!
//! One 8-bit register has only 255 states, so that 255 pages would exhaust it. The register is therefore
//! reloaded at the start of every 256-byte segment from a mix of the page's 32-bit seed and the segment's
//! number: pages, and segments of a page, differ although the register is only 8 bits wide. Any segment
//! can be descrambled without running through those before it (CHANGE READ COLUMN into the middle of a
//! page).

use aster_units::RowAddr;

use crate::xor_into;

/// Bytes after which the register repeats: a maximal 8-bit register passes through all states but zero.
pub const SCRAMBLER_PERIOD: usize = 255;

/// Bytes between reloads of the register.
const SEGMENT_BYTES: usize = 256;

/// x^8 + x^4 + x^3 + x^2 + 1, without its leading term: primitive, hence maximal.
const FEEDBACK: u8 = 0x1D;

/// The register's byte sequence, long enough to read one whole segment from any phase.
static SEQUENCE: [u8; SCRAMBLER_PERIOD + SEGMENT_BYTES] = sequence();

const fn sequence() -> [u8; SCRAMBLER_PERIOD + SEGMENT_BYTES] {
    let mut bytes = [0; SCRAMBLER_PERIOD + SEGMENT_BYTES];
    let mut register = 1u8;
    let mut i = 0;
    while i < bytes.len() {
        bytes[i] = register;
        // Eight shifts per byte, so that neighbouring bytes share no bits. 8 and 255 have no common
        // factor, so the period stays 255.
        let mut shift = 0;
        while shift < 8 {
            let carry = register >> 7;
            register = (register << 1) ^ (carry * FEEDBACK);
            shift += 1;
        }
        i += 1;
    }
    bytes
}

/// A bijection on 32-bit words in which each input bit reaches every output bit: xor-shifts between odd
/// multiplications.
const fn mix(mut word: u32) -> u32 {
    word ^= word >> 16;
    word = word.wrapping_mul(0x85EB_CA6B);
    word ^= word >> 13;
    word = word.wrapping_mul(0xC2B2_AE35);
    word ^ (word >> 16)
}

/// The scrambler seed of a row. It is mixed, so that neighbouring rows get different streams, and is
/// never 0 (G7). It is stored unscrambled in front of the OOB, so that a page moved by COPYBACK stays
/// readable at its new row.
pub const fn seed_of_row(row: RowAddr) -> u32 {
    // `mix` maps only 0 to 0. The offset moves that input to a row number that no package reaches.
    match mix(row.0 ^ 0xA5A5_5A5A) {
        0 => 0xFFFF_FFFF,
        seed => seed,
    }
}

/// The scrambler at a byte of a page. Applying it twice from the same place restores the bytes.
#[derive(Clone, Debug)]
pub struct Scrambler {
    seed: u32,
    offset: usize,
}

impl Scrambler {
    /// A scrambler at byte 0 of the page whose seed is `seed` (from [`seed_of_row`] on writes, from the OOB
    /// on reads).
    pub const fn new(seed: u32) -> Scrambler {
        Scrambler { seed, offset: 0 }
    }

    /// XORs the next `bytes` of the page in place, and advances past them.
    pub fn apply(&mut self, bytes: &mut [u8]) {
        Scrambler::apply_at(self.seed, self.offset, bytes);
        self.offset += bytes.len();
    }

    /// XORs `bytes`, which begin at `byte_offset` of the page, in place. For partial reads.
    pub fn apply_at(seed: u32, byte_offset: usize, bytes: &mut [u8]) {
        let mut segment = byte_offset / SEGMENT_BYTES;
        let mut skip = byte_offset % SEGMENT_BYTES;
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = rest.len().min(SEGMENT_BYTES - skip);
            let (now, later) = rest.split_at_mut(length);
            let start = phase(seed, segment) + skip;
            xor_into(now, &SEQUENCE[start..start + length]);
            (segment, skip, rest) = (segment + 1, 0, later);
        }
    }
}

/// The register's position in its period at the start of `segment`: 0 to 254.
const fn phase(seed: u32, segment: usize) -> usize {
    let mixed = mix(seed.wrapping_add((segment as u32).wrapping_mul(0x9E37_79B9)));
    ((mixed as u64 * SCRAMBLER_PERIOD as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn stream(seed: u32, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        Scrambler::new(seed).apply(&mut bytes);
        bytes
    }

    #[test]
    fn the_register_is_maximal() {
        let states: BTreeSet<u8> = SEQUENCE[..SCRAMBLER_PERIOD].iter().copied().collect();
        assert_eq!(states.len(), SCRAMBLER_PERIOD);
        assert!(!states.contains(&0));
        assert_eq!(SEQUENCE[SCRAMBLER_PERIOD], SEQUENCE[0]);
    }

    #[test]
    fn seeds_of_rows_are_unlike_and_never_zero() {
        let seeds: BTreeSet<u32> = (0..1 << 16).map(|row| seed_of_row(RowAddr(row))).collect();
        assert_eq!(seeds.len(), 1 << 16);
        assert!(!seeds.contains(&0));
        assert_ne!(seed_of_row(RowAddr(0xA5A5_5A5A)), 0);
    }

    #[test]
    fn pages_of_all_rows_of_a_block_differ() {
        // Far more rows than the register has states.
        let pages: BTreeSet<Vec<u8>> =
            (0..4096).map(|row| stream(seed_of_row(RowAddr(row)), 18_048)).collect();
        assert_eq!(pages.len(), 4096);
    }

    #[test]
    fn the_same_bytes_on_neighbouring_rows_look_unrelated() {
        for row in 0..64 {
            let (a, b) =
                (stream(seed_of_row(RowAddr(row)), 16_384), stream(seed_of_row(RowAddr(row + 1)), 16_384));
            let differing: u32 = a.iter().zip(&b).map(|(x, y)| (x ^ y).count_ones()).sum();
            let share = f64::from(differing) / (16_384.0 * 8.0);
            assert!((0.45..0.55).contains(&share), "row {row}: {share}");
        }
    }

    #[test]
    fn constant_pages_come_out_balanced() {
        for (row, fill) in (0..64u32).flat_map(|row| [(row, 0x00u8), (row, 0xFF), (row, 0xAA)]) {
            let mut page = vec![fill; 16_384];
            Scrambler::new(seed_of_row(RowAddr(row))).apply(&mut page);
            let ones: u32 = page.iter().map(|b| b.count_ones()).sum();
            let share = f64::from(ones) / (16_384.0 * 8.0);
            assert!((0.49..0.51).contains(&share), "row {row} fill {fill:02x}: {share}");
        }
    }

    proptest! {
        #[test]
        fn scrambling_twice_gives_the_bytes_back(seed in any::<u32>(), offset in 0usize..20_000,
            bytes in prop::collection::vec(any::<u8>(), 0..900)) {
            let mut page = bytes.clone();
            Scrambler::apply_at(seed, offset, &mut page);
            Scrambler::apply_at(seed, offset, &mut page);
            prop_assert_eq!(page, bytes);
        }

        #[test]
        fn a_part_descrambles_like_the_whole(seed in any::<u32>(), from in 0usize..2000,
            len in 0usize..1000) {
            let whole = stream(seed, 3000);
            let mut part = whole[from..from + len].to_vec();
            Scrambler::apply_at(seed, from, &mut part);
            prop_assert!(part.iter().all(|b| *b == 0));
        }

        #[test]
        fn streaming_in_pieces_equals_one_piece(seed in any::<u32>(),
            cuts in prop::collection::vec(1usize..400, 1..8)) {
            let total: usize = cuts.iter().sum();
            let mut page = vec![0; total];
            let mut scrambler = Scrambler::new(seed);
            let mut rest = &mut page[..];
            for cut in cuts {
                let (now, later) = rest.split_at_mut(cut);
                scrambler.apply(now);
                rest = later;
            }
            prop_assert_eq!(page, stream(seed, total));
        }
    }
}
