//! Notifications of chunks: an asynchronous event of type 7 leads the host to a log page of them.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The log page with the notifications.
pub const NOTICES_LOG: u8 = 0xd0;

bit_fields! {
    /// Why the host is told ([`Notice::state`]).
    pub struct NoticeState(u16) {
        /// A few wrong bits more than usual.
        low_ecc, with_low_ecc: 0, 1 => bool;
        /// Some wrong bits more than usual.
        medium_ecc, with_medium_ecc: 1, 1 => bool;
        /// Many wrong bits: the host should move the data.
        high_ecc, with_high_ecc: 2, 1 => bool;
        /// More wrong bits than can be corrected.
        unrecoverable, with_unrecoverable: 3, 1 => bool;
        /// The drive has refreshed the chunk.
        refreshed, with_refreshed: 4, 1 => bool;
        /// The chunk's wear-level index is beyond its threshold.
        worn, with_worn: 8, 1 => bool;
    }
}

bit_fields! {
    /// What a notification is of ([`Notice::mask`]).
    pub struct NoticeMask(u8) {
        /// A range of logical blocks.
        block, with_block: 0, 1 => bool;
        /// A chunk.
        chunk, with_chunk: 1, 1 => bool;
        /// A parallel unit.
        unit, with_unit: 2, 1 => bool;
    }
}

/// A notification: 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Notice {
    /// Its number, from 1 on.
    pub number: U64,
    /// The logical block that it is of, or the first one.
    pub address: U64,
    /// The namespace.
    pub namespace: U32,
    /// See [`NoticeState`].
    pub state: U16,
    /// See [`NoticeMask`].
    pub mask: u8,
    reserved_23: [u8; 9],
    /// Logical blocks.
    pub blocks: U16,
    reserved_34: [u8; 30],
}

impl Notice {
    /// A notification of `blocks` logical blocks from `address` on.
    pub fn of_blocks(number: u64, namespace: u32, address: u64, blocks: u16, state: NoticeState) -> Self {
        Notice {
            number: U64::new(number),
            address: U64::new(address),
            namespace: U32::new(namespace),
            state: U16::new(state.0),
            mask: NoticeMask(0).with_block(true).0,
            reserved_23: [0; 9],
            blocks: U16::new(blocks),
            reserved_34: [0; 30],
        }
    }
}
