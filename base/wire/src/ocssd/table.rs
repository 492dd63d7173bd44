//! The bad-block table of a LUN (P26).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The signature of a table.
pub const SIGNATURE: [u8; 4] = *b"BBLT";
/// Its version.
pub const VERSION: u16 = 1;

wire_enum! {
    /// The state of a block, one byte each. Block `b` of plane `p` has index `b · planes + p`.
    pub enum BlockFlags(u8) {
        Free = 0, "free";
        FactoryBad = 1, "factory bad";
        GrownBad = 2, "grown bad";
        Device = 4, "reserved by the device";
        Host = 8, "reserved by the host";
    }
}

/// What stands before the states: 64 bytes.
#[derive(Clone, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct TableHeader {
    /// [`SIGNATURE`].
    pub signature: [u8; 4],
    /// [`VERSION`].
    pub version: U16,
    /// Revision of the content.
    pub revision: U16,
    reserved_8: U32,
    /// Blocks of the LUN, those of all planes.
    pub blocks: U32,
    /// Factory bad blocks.
    pub factory_bad: U32,
    /// Grown bad blocks.
    pub grown_bad: U32,
    /// Blocks that the device has reserved.
    pub device: U32,
    /// Blocks that the host has reserved.
    pub host: U32,
    reserved_32: [u8; 32],
}

impl TableHeader {
    /// The header of a table of these states.
    pub fn of(states: impl Iterator<Item = BlockFlags> + Clone) -> Self {
        let count = |state: BlockFlags| U32::new(states.clone().filter(|of| *of == state).count() as u32);
        TableHeader {
            signature: SIGNATURE,
            version: U16::new(VERSION),
            revision: U16::ZERO,
            reserved_8: U32::ZERO,
            blocks: U32::new(states.clone().count() as u32),
            factory_bad: count(BlockFlags::FactoryBad),
            grown_bad: count(BlockFlags::GrownBad),
            device: count(BlockFlags::Device),
            host: count(BlockFlags::Host),
            reserved_32: [0; 32],
        }
    }
}
