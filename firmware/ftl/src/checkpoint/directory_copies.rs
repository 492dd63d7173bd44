//! Two copies in eMMC of the directory of a map on flash: the places of its translation pages.
//!
//! A stored map has the directory in its first pages. Once a stored map counts, its directory is written to
//! the older of the two copies, header last, so that one copy is intact at any time. A header identifies its
//! stored map by generation and checksum. Power-on finds the stored map in NAND, and loads its directory from
//! a copy only if the copy belongs to that map. Otherwise it loads the directory from NAND, which has
//! everything.

use crate::journal::log_page::StoredMap;
use crate::terms::config::FtlConfig;
use crate::terms::sizes::MAP_ENTRY_BYTES;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c;
use aster_ports::emmc::{EMMC_BLOCK_BYTES, EmmcPort};
use core::cell::Cell;

const MAGIC: [u8; 4] = *b"ASTG";
const VERSION: u32 = 1;
const CRC_AT: usize = EMMC_BLOCK_BYTES - 4;
/// Blocks of a copy before the entries: the header.
pub(super) const HEADER_BLOCKS: u32 = 1;
pub(super) const COPIES: usize = 2;

/// Blocks of a copy with this many entries.
pub(super) const fn copy_blocks(entries: u32) -> u32 {
    let bytes = entries as u64 * MAP_ENTRY_BYTES;
    HEADER_BLOCKS + bytes.div_ceil(EMMC_BLOCK_BYTES as u64) as u32
}

/// Bytes of eMMC that both copies take; none for a map in memory.
pub(crate) fn bytes_of(config: &FtlConfig) -> usize {
    match config.map_units() as u32 {
        0 => 0,
        entries => COPIES * copy_blocks(entries) as usize * EMMC_BLOCK_BYTES,
    }
}

/// The stored map that a copy belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct MapId {
    pub(super) generation: u64,
    // After a loss of power the generation may be given to another map, since nothing names the first one.
    pub(super) checksum: u32,
}

impl MapId {
    pub(super) fn of(stored: &StoredMap) -> Self {
        MapId { generation: stored.generation, checksum: stored.checksum }
    }
}

/// What a copy's header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) of: MapId,
    // Entries of the directory.
    pub(super) entries: u32,
    // Pages of the directory that the stored map has. It leaves out pages that say nothing.
    pub(super) pages: u32,
    // The checksum of the entries.
    pub(super) checksum: u32,
}

impl Header {
    pub(super) fn encode(self) -> Vec<u8> {
        let mut bytes = vec![0; EMMC_BLOCK_BYTES];
        let Header { of, entries, pages, checksum } = self;
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
        bytes[8..16].copy_from_slice(&of.generation.to_le_bytes());
        for (into, word) in bytes[16..32].chunks_exact_mut(4).zip([of.checksum, entries, pages, checksum]) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        let crc = crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
    pub(super) fn decode(bytes: &[u8]) -> Option<Header> {
        let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        if bytes[..4] != MAGIC || u32_at(4)? != VERSION || u32_at(CRC_AT)? != crc32c(&bytes[..CRC_AT]) {
            return None;
        }
        let generation = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
        let of = MapId { generation, checksum: u32_at(16)? };
        Some(Header { of, entries: u32_at(20)?, pages: u32_at(24)?, checksum: u32_at(28)? })
    }
}

/// A directory, encoded as in the stored map's pages.
pub(crate) struct Directory {
    /// Its entries.
    pub(crate) bytes: Vec<u8>,
    /// Pages of the directory that the stored map has.
    pub(crate) pages: u32,
}

impl Directory {
    /// Keeps the part of the directory that is in this page of the stored map.
    pub(super) fn keep(&mut self, page: u32, content: &[u8]) {
        if let Some(into) = self.bytes.chunks_mut(content.len()).nth(page as usize) {
            into.copy_from_slice(&content[..into.len()]);
            self.pages += 1;
        }
    }
    /// A page of the stored map; `None` if the directory ends before it.
    pub(super) fn page(&self, page: u32, page_bytes: usize) -> Option<Vec<u8>> {
        let mut content = self.bytes.chunks(page_bytes).nth(page as usize)?.to_vec();
        content.resize(page_bytes, 0);
        Some(content)
    }
}

/// What was done with the copies since power-on.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    /// Copies with a whole header at power-on.
    pub(super) found: u64,
    /// Power-on took the directory from a copy.
    pub(super) taken: u64,
    /// Copies written.
    pub(super) written: u64,
}

/// The copies in eMMC.
pub(crate) struct DirectoryCopies {
    pub(super) emmc: Option<Rc<EmmcPort>>,
    // Per copy: the map that it belongs to, if its header is intact.
    pub(super) of: Cell<[Option<MapId>; COPIES]>,
    // The directory of the map that was stored last, until it is written.
    pub(super) stored: Cell<Option<Directory>>,
    pub(super) counts: Cell<Counts>,
}

impl DirectoryCopies {
    /// The copies in `emmc`, if the board has one.
    pub(super) fn new(emmc: Option<Rc<EmmcPort>>) -> Self {
        DirectoryCopies { emmc, of: Cell::default(), stored: Cell::default(), counts: Cell::default() }
    }
    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        change(&mut counts);
        self.counts.set(counts);
    }
}

/// Changes an entry of a copy, and all checksums in the copy accordingly.
#[cfg(test)]
pub(crate) fn of_another_map(blocks: &mut [Vec<u8>]) {
    let header = Header::decode(&blocks[0]).expect("the copy is whole");
    blocks[HEADER_BLOCKS as usize][0] ^= 1;
    let entries: Vec<u8> = blocks[HEADER_BLOCKS as usize..].concat();
    let checksum = crc32c(&entries[..header.entries as usize * MAP_ENTRY_BYTES as usize]);
    blocks[0] = Header { checksum, ..header }.encode();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let of = MapId { generation: 1 << 40, checksum: 7 };
        Header { of, entries: 15_619, pages: 4, checksum: 0xABCD_1234 }
    }

    #[test]
    fn a_header_comes_back_as_it_was_written() {
        assert_eq!(Header::decode(&header().encode()), Some(header()));
        assert_eq!(Header::decode(&[0; EMMC_BLOCK_BYTES]), None, "a copy that was never written");
    }

    #[test]
    fn a_header_with_a_wrong_bit_anywhere_is_none() {
        let bytes = header().encode();
        for bit in 0..8 * EMMC_BLOCK_BYTES {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&wrong), None, "bit {bit}");
        }
    }

    /// The copy of another map isn't used, be that map older, newer, or one with the same number.
    #[test]
    fn only_the_map_with_this_generation_and_this_checksum_is_the_same() {
        let stored = |generation, checksum| StoredMap { generation, checksum, ..StoredMap::default() };
        let of = MapId::of(&stored(5, 9));
        assert_eq!(of, MapId::of(&stored(5, 9)));
        for other in [stored(4, 9), stored(6, 9), stored(5, 8)] {
            assert_ne!(of, MapId::of(&other));
        }
    }
}
