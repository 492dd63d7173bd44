//! What a 2.0 drive says of itself (E2h).

use super::chunk::LbaFormat;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The major version in [`Geometry20::major`].
pub const VERSION: u8 = 2;
/// Bytes of [`Geometry20`].
pub const GEOMETRY_BYTES: usize = 4096;

bit_fields! {
    /// What media and controller can do ([`Geometry20::capabilities`], MCCAP).
    pub struct MediaCapabilities(u32) {
        /// Chunks are copied within the drive ([`super::COPY`]).
        copy, with_copy: 0, 1 => bool;
        /// A free chunk may be reset once more.
        multiple_resets, with_multiple_resets: 1, 1 => bool;
    }
}

/// Geometry of 2.0: 4,096 bytes.
#[derive(Clone, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Geometry20 {
    /// The version before the point: 2.
    pub major: u8,
    /// The version behind it: 0.
    pub minor: u8,
    reserved_2: [u8; 6],
    /// Bits of the fields of a logical block address.
    pub format: LbaFormat,
    /// See [`MediaCapabilities`].
    pub capabilities: U32,
    reserved_20: [u8; 12],
    /// By how much a chunk's wear-level index may differ from the mean before the host is told; 0 for never.
    pub wear_threshold: u8,
    reserved_33: [u8; 31],
    /// Groups.
    pub groups: U16,
    /// Parallel units of a group.
    pub units: U16,
    /// Chunks of a parallel unit.
    pub chunks: U32,
    /// Logical blocks of a chunk.
    pub chunk_blocks: U32,
    reserved_76: [u8; 52],
    /// The fewest logical blocks of a write.
    pub write_min: U32,
    /// The logical blocks of a write that suits the drive best.
    pub write_opt: U32,
    /// How far behind the write pointer the host must read (MW_CUNITS), in logical blocks.
    pub cached_blocks: U32,
    /// The most open chunks; 0 for no limit.
    pub open_max: U32,
    /// The most open chunks of a parallel unit; 0 for no limit.
    pub open_per_unit_max: U32,
    reserved_148: [u8; 44],
    /// Typical read time in ns.
    pub read_typical: U32,
    /// Longest read time in ns.
    pub read_max: U32,
    /// Typical write time in ns.
    pub write_typical: U32,
    /// Longest write time in ns.
    pub write_max: U32,
    /// Typical time of a reset in ns.
    pub reset_typical: U32,
    /// Longest time of a reset in ns.
    pub reset_max: U32,
    reserved_216: [u8; 2856],
    /// The vendor's.
    pub vendor: [u8; 1024],
}

impl Default for Geometry20 {
    fn default() -> Self {
        Geometry20::new_zeroed()
    }
}
