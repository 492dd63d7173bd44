//! What the FTL keeps in NVRAM, twice: how the media were left, and what a format has made void.

use super::oob::SEQUENCE_MAX;
use super::twice;
use aster_codec::checksum::crc32c;
use aster_parties::NvramSlice;

const COPY_BYTES: usize = 24;
/// Bytes of both copies.
pub(super) const ROOT_BYTES: usize = 2 * COPY_BYTES;
/// "HFTL".
const MAGIC: u32 = 0x4c54_4648;

/// The root record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Root {
    /// A shutdown has written everything, and nothing was written since.
    pub clean: bool,
    /// Pages up to this sequence number don't count: they are from before a format.
    pub floor: u64,
}

impl Root {
    /// The record; `None` if the drive is new, or its NVRAM has lost its content.
    pub fn read(nvram: &NvramSlice) -> Option<Self> {
        twice::read::<COPY_BYTES>(nvram).into_iter().find_map(|bytes| {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
            let floor = u64::from(word(12)) << 32 | u64::from(word(8));
            let is_good = word(0) == MAGIC && word(20) == crc32c(&bytes[..20]) && word(4) <= 1;
            let is_good = is_good && floor <= SEQUENCE_MAX;
            is_good.then_some(Root { clean: word(4) == 1, floor })
        })
    }
    /// Writes both copies, one after the other.
    pub fn write(self, nvram: &NvramSlice) {
        let mut bytes = [0; COPY_BYTES];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&u32::from(self.clean).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.floor.to_le_bytes());
        let crc = crc32c(&bytes[..20]);
        bytes[20..].copy_from_slice(&crc.to_le_bytes());
        twice::write(nvram, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::medium::Nvram;

    #[test]
    fn a_root_is_read_back_from_either_copy_and_none_when_both_are_damaged() {
        let nvram = NvramSlice::new(&Nvram::volatile(ROOT_BYTES), 0, ROOT_BYTES);
        assert_eq!(Root::read(&nvram), None);
        let root = Root { clean: true, floor: 0x01_0203_0405 };
        root.write(&nvram);
        assert_eq!(Root::read(&nvram), Some(root));
        twice::assert_any_bit_may_flip(&nvram, COPY_BYTES, Root::read);
    }
}
