//! The code area of a page buffer: what a channel that only detects errors leaves for the software that
//! corrects them (S9, S10).
//!
//! The detector separates data blocks from code bits. Data and OOB go to their places in the buffer as they
//! were read, wrong bits included. Code bits go to the buffer's code area, and a bitmap there says which
//! frames are no code words.
//!
//! A frame is a chunk of data with its code, or the OOB record with its seed and code. A code is BCH parity,
//! and the checksum of a detector that has one (S11). The OOB frame comes last. On a drive that keeps
//! fingerprints a data frame has no bits: the first byte of its code is then the number of wrong bits in data
//! and parity.

use crate::layout::{PageLayout, SEED_BYTES};

/// Where bitmap, code bits and seed lie in the code area of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeArea {
    chunks: u16,
    parity_bytes: u16,
}

impl CodeArea {
    /// The code area for pages of `layout`.
    pub const fn of(layout: &PageLayout) -> Self {
        CodeArea { chunks: layout.chunks(), parity_bytes: layout.parity_bytes() }
    }
    /// Its size in bytes.
    pub const fn bytes(&self) -> usize {
        self.bitmap_bytes() + (self.chunks as usize + 1) * self.parity_bytes as usize + SEED_BYTES as usize
    }
    /// The number of the OOB frame.
    pub const fn oob_frame(&self) -> u16 {
        self.chunks
    }
    const fn bitmap_bytes(&self) -> usize {
        (self.chunks as usize + 1).div_ceil(8)
    }

    /// Flags no frame.
    pub fn clear(&self, area: &mut [u8]) {
        area[..self.bitmap_bytes()].fill(0);
    }
    /// Flags a frame: it is no code word.
    pub fn flag(&self, area: &mut [u8], frame: u16) {
        area[usize::from(frame) / 8] |= 1 << (frame % 8);
    }
    /// The first flagged frame from `from` on.
    pub fn next_flagged(&self, area: &[u8], from: u16) -> Option<u16> {
        (from..=self.chunks).find(|frame| area[usize::from(*frame) / 8] >> (frame % 8) & 1 == 1)
    }

    fn code_at(&self, frame: u16) -> core::ops::Range<usize> {
        let at = self.bitmap_bytes() + usize::from(frame) * usize::from(self.parity_bytes);
        at..at + usize::from(self.parity_bytes)
    }
    /// The stored code bits of a frame.
    pub fn code<'a>(&self, area: &'a [u8], frame: u16) -> &'a [u8] {
        &area[self.code_at(frame)]
    }
    /// As [`CodeArea::code`], mutable.
    pub fn code_mut<'a>(&self, area: &'a mut [u8], frame: u16) -> &'a mut [u8] {
        &mut area[self.code_at(frame)]
    }
    /// The stored seed, which is part of the OOB frame.
    pub fn seed<'a>(&self, area: &'a [u8]) -> &'a [u8] {
        &area[self.bytes() - usize::from(SEED_BYTES)..self.bytes()]
    }
    /// As [`CodeArea::seed`], mutable.
    pub fn seed_mut<'a>(&self, area: &'a mut [u8]) -> &'a mut [u8] {
        &mut area[self.bytes() - usize::from(SEED_BYTES)..self.bytes()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Placement;
    use alloc::vec;

    #[test]
    fn bitmap_codes_and_seed_have_places_of_their_own() {
        let layout = PageLayout::new(4, 16_384 + 1_872, 512, 20, 16, Placement::Interleaved).unwrap();
        let codes = CodeArea::of(&layout);
        // Table 2's page: 32 chunks and the OOB record, 5 bytes of bitmap.
        assert_eq!((codes.oob_frame(), codes.bytes()), (32, 5 + 33 * 20 + 4));
        let mut area = vec![0xEE; codes.bytes()];
        codes.clear(&mut area);
        for frame in 0..=32 {
            codes.code_mut(&mut area, frame).fill(frame as u8);
        }
        codes.seed_mut(&mut area).copy_from_slice(&[9, 8, 7, 6]);
        assert_eq!(codes.next_flagged(&area, 0), None);
        for frame in [0, 7, 8, 32] {
            codes.flag(&mut area, frame);
        }
        let mut flagged = vec![];
        let mut from = 0;
        while let Some(frame) = codes.next_flagged(&area, from) {
            flagged.push(frame);
            from = frame + 1;
        }
        assert_eq!(flagged, [0, 7, 8, 32]);
        for frame in 0..=32 {
            assert!(codes.code(&area, frame).iter().all(|byte| *byte == frame as u8), "{frame}");
        }
        assert_eq!(codes.seed(&area), [9, 8, 7, 6]);
        codes.clear(&mut area);
        assert_eq!(codes.next_flagged(&area, 0), None);
    }
}
