//! The code bits of a frame: BCH parity and, if another code than BCH finds wrong bits, its checksum (S11).

use crate::bch::{Bch, BchScratch, Uncorrectable};
use crate::checksum::crc32c_of;

/// What finds wrong bits in a frame. BCH corrects them in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detector {
    /// The syndromes of the BCH code.
    #[default]
    Syndromes,
    /// CRC-32C of data and parity, behind the parity. It is less work than syndromes and needs no BCH encoder
    /// beside the flash, but a wrong bit in it flags a frame that is a BCH code word.
    Crc,
}

/// Bytes of a CRC-32C.
const CRC_BYTES: usize = 4;

impl Detector {
    /// Bytes that it adds to the parity of a frame.
    pub const fn bytes(self) -> usize {
        match self {
            Detector::Syndromes => 0,
            Detector::Crc => CRC_BYTES,
        }
    }
}

/// A BCH code with a detector.
pub struct FrameBch {
    bch: Bch,
    detector: Detector,
}

impl FrameBch {
    /// Frames of `bch`, in which `detector` finds wrong bits.
    pub fn new(bch: Bch, detector: Detector) -> Self {
        FrameBch { bch, detector }
    }
    /// The code that corrects.
    pub fn bch(&self) -> &Bch {
        &self.bch
    }
    /// What finds wrong bits.
    pub fn detector(&self) -> Detector {
        self.detector
    }
    /// Code bytes of a frame: parity, then checksum.
    pub fn code_bytes(&self) -> usize {
        self.bch.parity_bytes() + self.detector.bytes()
    }

    /// Computes the code bytes of `data`.
    ///
    /// # Panics
    /// If `data` or `code` have other sizes than the code's.
    pub fn encode(&self, data: &[u8], code: &mut [u8]) {
        assert_eq!(code.len(), self.code_bytes(), "code bytes of a frame");
        let (parity, checksum) = code.split_at_mut(self.bch.parity_bytes());
        self.bch.encode(data, parity);
        if self.detector == Detector::Crc {
            checksum.copy_from_slice(&crc32c_of([data, parity]).to_le_bytes());
        }
    }
    /// Whether the detector finds nothing wrong.
    ///
    /// # Panics
    /// If `data` or `code` have other sizes than the code's.
    pub fn detect(&self, data: &[u8], code: &[u8]) -> bool {
        assert_eq!(code.len(), self.code_bytes(), "code bytes of a frame");
        let (parity, checksum) = code.split_at(self.bch.parity_bytes());
        match self.detector {
            Detector::Syndromes => self.bch.detect(data, parity),
            Detector::Crc => *checksum == crc32c_of([data, parity]).to_le_bytes(),
        }
    }
    /// Corrects data and parity, and returns the number of wrong bits. A checksum stays as it is: its wrong
    /// bits aren't counted.
    ///
    /// # Errors
    /// When there are more wrong bits than the code corrects.
    ///
    /// # Panics
    /// If `data` or `code` have other sizes than the code's.
    pub fn decode(
        &self,
        data: &mut [u8],
        code: &mut [u8],
        scratch: &mut BchScratch,
    ) -> Result<usize, Uncorrectable> {
        assert_eq!(code.len(), self.code_bytes(), "code bytes of a frame");
        self.bch.decode(data, &mut code[..self.bch.parity_bytes()], scratch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Table 2's frame: 512 bytes and 20 bytes of parity.
    fn frame(detector: Detector) -> FrameBch {
        FrameBch::new(Bch::new(13, 12, 512).unwrap(), detector)
    }
    fn content() -> Vec<u8> {
        (0..512u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }
    fn flip(data: &mut [u8], code: &mut [u8], bit: usize) {
        let byte = bit / 8;
        let byte = if byte < data.len() { &mut data[byte] } else { &mut code[byte - data.len()] };
        *byte ^= 0x80 >> (bit % 8);
    }

    // S11
    #[test]
    fn a_crc_flags_every_wrong_bit_and_every_two_of_a_frame() {
        let frame = frame(Detector::Crc);
        let (mut data, mut code) = (content(), vec![0; frame.code_bytes()]);
        frame.encode(&data, &mut code);
        assert!(frame.detect(&data, &code));
        let bits = (512 + 24) * 8;
        // A CRC is linear up to a constant: whether two wrong bits cancel depends on what each alone does to
        // the remainder. Those of single bits must be nonzero and differ, which `detect` must agree with.
        let mut remainders = Vec::new();
        for bit in 0..bits {
            flip(&mut data, &mut code, bit);
            assert!(!frame.detect(&data, &code), "bit {bit}");
            let stored = u32::from_le_bytes(code[20..].try_into().unwrap());
            remainders.push(stored ^ crc32c_of([&data[..], &code[..20]]));
            flip(&mut data, &mut code, bit);
        }
        for first in (0..bits).step_by(61) {
            flip(&mut data, &mut code, first);
            for second in (first + 1..bits).step_by(7) {
                flip(&mut data, &mut code, second);
                assert!(!frame.detect(&data, &code), "bits {first} and {second}");
                flip(&mut data, &mut code, second);
            }
            flip(&mut data, &mut code, first);
        }
        remainders.sort_unstable();
        remainders.dedup();
        assert_eq!(remainders.len(), bits, "two bits alike would cancel");
        assert!(frame.detect(&data, &code));
    }

    #[test]
    fn the_crc_is_of_data_and_parity_and_stands_behind_the_parity() {
        let (crc, syndromes) = (frame(Detector::Crc), frame(Detector::Syndromes));
        let (data, mut code, mut parity) = (content(), [0; 24], [0; 20]);
        crc.encode(&data, &mut code);
        syndromes.encode(&data, &mut parity);
        assert_eq!(code[..20], parity);
        let all: Vec<u8> = data.iter().chain(&parity).copied().collect();
        assert_eq!(code[20..], crate::checksum::crc32c(&all).to_le_bytes());
    }

    #[test]
    fn a_wrong_checksum_alone_is_a_code_word_without_wrong_bits() {
        let frame = frame(Detector::Crc);
        let (mut data, mut code) = (content(), [0; 24]);
        frame.encode(&data, &mut code);
        code[23] ^= 1;
        let mut scratch = BchScratch::new(frame.bch());
        assert!(!frame.detect(&data, &code));
        assert_eq!(frame.decode(&mut data, &mut code, &mut scratch), Ok(0));
        assert_eq!(data, content());
        // With wrong bits in the data as well, those are counted.
        data[7] ^= 0x11;
        assert_eq!(frame.decode(&mut data, &mut code, &mut scratch), Ok(2));
        assert_eq!(data, content());
    }
}
