//! Entries of the block table, as they stand in a stored map.

use crate::terms::block::{BlockEntry, BlockState, Stream};
use crate::terms::sizes::BLOCK_ENTRY_BYTES;

/// The code of a free block that has not been checked to be erased since a loss of power.
pub(crate) const FREE_UNVERIFIED: u8 = 8;

pub(super) fn encode_entry(entry: BlockEntry) -> [u8; BLOCK_ENTRY_BYTES as usize] {
    let state = match entry.state {
        BlockState::Free if entry.unverified => FREE_UNVERIFIED,
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
    [state, stream_code(entry.stream), n0, n1, e0, e1, e2, e3]
}

/// The first of the host's streams has the code of the only one of before.
fn stream_code(stream: Stream) -> u8 {
    match stream {
        Stream::Host(0) => 0,
        Stream::Gc => 1,
        Stream::Mapping => 2,
        Stream::Host(number) => number + 2,
    }
}
fn stream_of(code: u8) -> Stream {
    match code {
        0 => Stream::Host(0),
        1 => Stream::Gc,
        2 => Stream::Mapping,
        number => Stream::Host(number - 2),
    }
}

pub(super) fn decode_entry(bytes: &[u8]) -> Option<BlockEntry> {
    let &[state, stream, n0, n1, e0, e1, e2, e3] = bytes else { return None };
    let unverified = state == FREE_UNVERIFIED;
    let state = match state {
        0 | FREE_UNVERIFIED => BlockState::Free,
        1 => BlockState::Open,
        2 => BlockState::Closed,
        3 => BlockState::Failing,
        4 => BlockState::Bad,
        5 => BlockState::Map,
        6 => BlockState::Retired,
        7 => BlockState::Log,
        _ => return None,
    };
    let stream = stream_of(stream);
    let (next, erases) = (u16::from_le_bytes([n0, n1]), u32::from_le_bytes([e0, e1, e2, e3]));
    Some(BlockEntry { state, stream, next, erases, unverified })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_comes_back_as_it_was_stored() {
        use BlockState::{Bad, Closed, Failing, Free, Log, Map, Open, Retired};
        for state in [Free, Open, Closed, Failing, Bad, Map, Retired, Log] {
            for stream in Stream::all(16) {
                let entry =
                    BlockEntry { state, stream, next: 259, erases: 70_000, unverified: state == Free };
                assert_eq!(decode_entry(&encode_entry(entry)), Some(entry), "{state:?}");
                let entry = BlockEntry { unverified: false, ..entry };
                assert_eq!(decode_entry(&encode_entry(entry)), Some(entry), "{state:?}");
            }
        }
    }

    #[test]
    fn an_unknown_state_is_refused() {
        for state in FREE_UNVERIFIED + 1..=u8::MAX {
            assert_eq!(decode_entry(&[state, 0, 0, 0, 0, 0, 0, 0]), None);
        }
        assert_eq!(decode_entry(&[0; BLOCK_ENTRY_BYTES as usize - 1]), None);
    }
}
