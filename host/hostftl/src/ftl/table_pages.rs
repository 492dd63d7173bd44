//! Pages of a stored block group table (H25).
//!
//! | bytes | content |
//! |---|---|
//! | 0–3 | CRC-32C of the bytes behind |
//! | 4–7 | groups of the whole table |
//! | 8–15 | generation |
//! | 16– | eight block indexes of two bytes for each group, in the order of channel, die and group |
//!
//! Beside each sector of it is a record of the kind [`Table`](super::oob::SectorKind::Table), with the number
//! of the page and the generation.

use super::block_table::{BlockTable, Members};
use aster_codec::checksum::crc32c;

const HEAD_BYTES: usize = 16;
const ENTRY_BYTES: usize = size_of::<Members>();

/// Pages of `page_bytes` bytes that a table of so many groups takes.
pub fn pages(groups: u64, page_bytes: usize) -> u64 {
    groups.div_ceil(((page_bytes - HEAD_BYTES) / ENTRY_BYTES) as u64)
}

/// Writes a page of a table, by its number, into `bytes`.
pub fn put(table: &BlockTable, generation: u64, page: usize, bytes: &mut [u8]) {
    let (head, body) = bytes.split_at_mut(HEAD_BYTES);
    let room = body.len() / ENTRY_BYTES;
    body.fill(0);
    let entries = table.entries().iter().skip(page * room);
    for (bytes, members) in body.chunks_exact_mut(ENTRY_BYTES).zip(entries) {
        for (bytes, block) in bytes.chunks_exact_mut(2).zip(members) {
            bytes.copy_from_slice(&block.to_le_bytes());
        }
    }
    head[4..8].copy_from_slice(&(table.entries().len() as u32).to_le_bytes());
    head[8..].copy_from_slice(&generation.to_le_bytes());
    let crc = crc32c(&bytes[4..]);
    bytes[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Takes a page of a table of this generation, by its number. Returns false, and takes nothing, if it is
/// none.
pub fn take(table: &mut BlockTable, generation: u64, page: usize, bytes: &[u8]) -> bool {
    let groups = table.entries().len() as u32;
    let is_good = bytes[..4] == crc32c(&bytes[4..]).to_le_bytes()
        && bytes[4..8] == groups.to_le_bytes()
        && bytes[8..HEAD_BYTES] == generation.to_le_bytes();
    if is_good {
        let body = &bytes[HEAD_BYTES..];
        let entries = table.entries_mut().iter_mut().skip(page * (body.len() / ENTRY_BYTES));
        for (bytes, members) in body.chunks_exact(ENTRY_BYTES).zip(entries) {
            for (bytes, block) in bytes.chunks_exact(2).zip(members) {
                *block = u16::from_le_bytes([bytes[0], bytes[1]]);
            }
        }
    }
    is_good
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::ArrayInfo;
    use alloc::vec;
    use alloc::vec::Vec;

    const INFO: ArrayInfo =
        ArrayInfo { channels: 2, lanes: 4, dies: 2, planes: 1, blocks: 5, pages: 8, sectors: 1 };
    /// Room for six groups of the twenty.
    const PAGE_BYTES: usize = 7 * 16 + 3;

    #[test]
    fn a_table_is_read_as_it_was_stored_and_no_page_with_a_changed_bit_is_taken() {
        let table = BlockTable::first(&INFO, |_, die, lane, block| (die, lane, block) == (1, 2, 3));
        assert_eq!(pages(20, PAGE_BYTES), 4);
        let mut stored: Vec<Vec<u8>> = vec![vec![0xff; PAGE_BYTES]; 4];
        let mut read = BlockTable::empty(&INFO);
        for (n, page) in stored.iter_mut().enumerate() {
            put(&table, 9, n, page);
            assert!(!take(&mut read, 10, n, page) && !take(&mut BlockTable::empty(&other()), 9, n, page));
            for bit in 0..8 * PAGE_BYTES {
                page[bit / 8] ^= 1 << (bit % 8);
                assert!(!take(&mut read, 9, n, page), "bit {bit} of page {n}");
                page[bit / 8] ^= 1 << (bit % 8);
            }
        }
        assert_eq!(read, BlockTable::empty(&INFO));
        for n in [2, 0, 3, 1] {
            assert!(read != table && take(&mut read, 9, n, &stored[n]));
        }
        assert_eq!(read, table);
    }
    fn other() -> ArrayInfo {
        ArrayInfo { blocks: 6, ..INFO }
    }
}
