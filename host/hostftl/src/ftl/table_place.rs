//! Where the block group table is stored: kept in NVRAM, twice, as the [root](super::root) is (H25).
//!
//! The blocks of one group have the table: its *areas* are the lanes of the lower and of the upper half. Each
//! block of an area has the same copies, one behind the other. When an area is full, the other one is erased.

use super::block_table::Members;
use super::oob::SEQUENCE_MAX;
use super::twice;
use aster_codec::checksum::crc32c;
use aster_parties::NvramSlice;
use aster_wire::array::{LANES_MAX, NO_BLOCK};

const COPY_BYTES: usize = 48;
/// Bytes of both copies.
pub(super) const PLACE_BYTES: usize = 2 * COPY_BYTES;
/// "HBGT".
const MAGIC: u32 = 0x5447_4248;

/// The place of the copy that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TablePlace {
    /// Its generation.
    pub generation: u64,
    /// The newest generation of which anything may be on flash.
    pub newest: u64,
    /// The blocks of the group that has the table, of the first die of the first channel.
    pub blocks: Members,
    /// The area.
    pub area: u8,
    /// The first page of it in each block.
    pub page: u16,
}

/// The lanes of an area, of so many.
pub(super) fn lanes_of(area: u8, lanes: u8) -> core::ops::Range<u8> {
    let half = lanes / 2;
    if area == 0 { 0..half } else { half..lanes }
}

impl TablePlace {
    /// The newest record that is whole; `None` if no table was stored, or the NVRAM has lost its content.
    pub fn read(nvram: &NvramSlice) -> Option<Self> {
        let copies = twice::read(nvram);
        let copies = copies.iter().filter_map(TablePlace::decode);
        copies.max_by_key(|place| (place.generation, place.newest))
    }
    /// Writes both copies, one after the other.
    pub fn write(self, nvram: &NvramSlice) {
        twice::write(nvram, &self.encode());
    }
    fn encode(self) -> [u8; COPY_BYTES] {
        let mut bytes = [0; COPY_BYTES];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.generation.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.newest.to_le_bytes());
        bytes[20..22].copy_from_slice(&self.page.to_le_bytes());
        bytes[22] = self.area;
        for (bytes, block) in bytes[24..40].chunks_exact_mut(2).zip(self.blocks) {
            bytes.copy_from_slice(&block.to_le_bytes());
        }
        let crc = crc32c(&bytes[..44]);
        bytes[44..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
    fn decode(bytes: &[u8; COPY_BYTES]) -> Option<Self> {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from(half(at + 2)) << 16 | u32::from(half(at));
        let long = |at: usize| u64::from(word(at + 4)) << 32 | u64::from(word(at));
        if word(0) != MAGIC || word(44) != crc32c(&bytes[..44]) || bytes[22] > 1 {
            return None;
        }
        let mut blocks = [NO_BLOCK; LANES_MAX];
        blocks.iter_mut().zip(0..).for_each(|(block, lane)| *block = half(24 + 2 * lane));
        let (generation, newest) = (long(4), long(12));
        let place = TablePlace { generation, newest, blocks, area: bytes[22], page: half(20) };
        (generation <= newest && newest <= SEQUENCE_MAX).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::medium::Nvram;

    #[test]
    fn a_place_is_read_back_from_either_copy_and_a_torn_write_leaves_the_old_or_the_new_one() {
        let slice = || NvramSlice::new(&Nvram::volatile(PLACE_BYTES), 0, PLACE_BYTES);
        assert_eq!(TablePlace::read(&slice()), None);
        let blocks = [7, 6, NO_BLOCK, 4, 3, 2, 1, 0x102];
        let old = TablePlace { generation: 0x1_0000_0002, newest: 0x1_0000_0003, blocks, area: 1, page: 258 };
        let new = TablePlace { generation: 0x1_0000_0003, blocks: [9; LANES_MAX], area: 0, page: 0, ..old };
        let bytes = [new.encode(), new.encode()].concat();
        for written in 0..=PLACE_BYTES {
            let nvram = slice();
            old.write(&nvram);
            nvram.write(0, &bytes[..written]);
            // The bytes before the CRC's differ, so that it ends the change.
            let expected = if written < COPY_BYTES { old } else { new };
            assert_eq!(TablePlace::read(&nvram), Some(expected), "{written} bytes");
        }
        let nvram = slice();
        old.write(&nvram);
        assert_eq!(TablePlace::read(&nvram), Some(old));
        twice::assert_any_bit_may_flip(&nvram, COPY_BYTES, TablePlace::read);
    }
}
