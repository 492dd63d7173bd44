//! Entries of the block table, as they stand in a stored map.

use crate::terms::block::{BlockEntry, BlockState, Stream};
use crate::terms::sizes::BLOCK_ENTRY_BYTES;

/// How the table has the state of a free block that nobody has looked at since a loss of power.
pub(crate) const FREE_SUSPECT: u8 = 8;

pub(super) fn encode_entry(entry: BlockEntry) -> [u8; BLOCK_ENTRY_BYTES as usize] {
    let state = match entry.state {
        BlockState::Free if entry.suspect => FREE_SUSPECT,
        BlockState::Free => 0,
        BlockState::Open => 1,
        BlockState::Closed => 2,
        BlockState::Failing => 3,
        BlockState::Bad => 4,
        BlockState::Map => 5,
        BlockState::Retired => 6,
        BlockState::Log => 7,
    };
    let [n0, n1] = entry.next.to_le_bytes();
    let [e0, e1, e2, e3] = entry.erases.to_le_bytes();
    [state, entry.stream as u8, n0, n1, e0, e1, e2, e3]
}

pub(super) fn decode_entry(bytes: &[u8]) -> Option<BlockEntry> {
    let &[state, stream, n0, n1, e0, e1, e2, e3] = bytes else { return None };
    let suspect = state == FREE_SUSPECT;
    let state = match state {
        0 | FREE_SUSPECT => BlockState::Free,
        1 => BlockState::Open,
        2 => BlockState::Closed,
        3 => BlockState::Failing,
        4 => BlockState::Bad,
        5 => BlockState::Map,
        6 => BlockState::Retired,
        7 => BlockState::Log,
        _ => return None,
    };
    let stream = if stream == 0 { Stream::Host } else { Stream::Gc };
    let (next, erases) = (u16::from_le_bytes([n0, n1]), u32::from_le_bytes([e0, e1, e2, e3]));
    Some(BlockEntry { state, stream, next, erases, suspect })
}
