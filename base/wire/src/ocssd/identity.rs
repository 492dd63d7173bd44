//! Identify of a 1.2 drive (P24).

use super::address::AddressFormat;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Configuration groups that fit.
pub const GROUPS_MAX: usize = 4;
/// The version that [`Identity12::version`] has.
pub const VERSION: u8 = 1;

bit_fields! {
    /// What the drive can do ([`Identity12::capabilities`]).
    pub struct Capabilities(u32) {
        /// It keeps a bad-block table.
        bad_block_table, with_bad_block_table: 0, 1 => bool;
        /// It works without a host's FTL as well.
        hybrid, with_hybrid: 1, 1 => bool;
    }
}

bit_fields! {
    /// The plane modes of each operation ([`Group12::plane_operations`], MPOS).
    pub struct PlaneOperations(u32) {
        /// Reads of one plane.
        read_single, with_read_single: 0, 1 => bool;
        /// Reads of two planes.
        read_dual, with_read_dual: 1, 1 => bool;
        /// Reads of four planes.
        read_quad, with_read_quad: 2, 1 => bool;
        /// Programs of one plane.
        program_single, with_program_single: 8, 1 => bool;
        /// Programs of two planes.
        program_dual, with_program_dual: 9, 1 => bool;
        /// Programs of four planes.
        program_quad, with_program_quad: 10, 1 => bool;
        /// Erases of one plane.
        erase_single, with_erase_single: 16, 1 => bool;
        /// Erases of two planes.
        erase_dual, with_erase_dual: 17, 1 => bool;
        /// Erases of four planes.
        erase_quad, with_erase_quad: 18, 1 => bool;
    }
}

bit_fields! {
    /// What the media can do ([`Group12::media_capabilities`], MCCAP).
    pub struct MediaCapabilities(u32) {
        /// Cells may be used as SLC.
        slc, with_slc: 0, 1 => bool;
        /// Programs and erases may be suspended.
        suspend, with_suspend: 1, 1 => bool;
        /// The scrambler may be switched off.
        scramble, with_scramble: 2, 1 => bool;
        /// Data may be encrypted.
        encryption, with_encryption: 3, 1 => bool;
    }
}

/// A configuration group: 960 bytes.
#[derive(Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Group12 {
    /// 0 for NAND.
    pub media_type: u8,
    /// Cells: 0 SLC, 1 MLC.
    pub flash_type: u8,
    reserved_2: [u8; 2],
    /// Channels.
    pub channels: u8,
    /// LUNs of a channel.
    pub luns: u8,
    /// Planes of a LUN.
    pub planes: u8,
    reserved_7: u8,
    /// Blocks of a plane.
    pub blocks: U16,
    /// Pages of a block.
    pub pages: U16,
    /// Bytes of a page, without spare.
    pub page_bytes: U16,
    /// Bytes of a sector.
    pub sector_bytes: U16,
    /// Bytes of metadata of a sector.
    pub metadata_bytes: U16,
    /// Bytes of the spare area beside each sector in a raw vector; 0 if the drive has none. Ours: the
    /// specification reserves these bytes.
    pub raw_spare_bytes: U16,
    /// Typical read time in ns.
    pub read_typical: U32,
    /// Longest read time in ns.
    pub read_max: U32,
    /// Typical program time in ns.
    pub program_typical: U32,
    /// Longest program time in ns.
    pub program_max: U32,
    /// Typical erase time in ns.
    pub erase_typical: U32,
    /// Longest erase time in ns.
    pub erase_max: U32,
    /// See [`PlaneOperations`].
    pub plane_operations: U32,
    /// See [`MediaCapabilities`].
    pub media_capabilities: U32,
    /// Channels that work in parallel.
    pub parallel_channels: U16,
    reserved_54: [u8; 2],
    /// Identifier of the media.
    pub media_id: [u8; 16],
    /// Pairs of LSB and MSB pages in the table that follows.
    pub page_pairs: U16,
    page_pair_table: [u8; 886],
}

/// Identify of 1.2: 4,096 bytes.
#[derive(Clone, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Identity12 {
    /// The version: 1.
    pub version: u8,
    /// The vendor's command set: 0.
    pub vendor_commands: u8,
    /// Configuration groups in use.
    pub group_count: u8,
    reserved_3: u8,
    /// See [`Capabilities`].
    pub capabilities: U32,
    /// Device operating modes: 0.
    pub modes: U32,
    /// The format of addresses (PPAF).
    pub address_format: AddressFormat,
    reserved_28: [u8; 228],
    /// The groups.
    pub groups: [Group12; GROUPS_MAX],
}

impl Default for Group12 {
    fn default() -> Self {
        Group12::new_zeroed()
    }
}
impl Default for Identity12 {
    fn default() -> Self {
        Identity12::new_zeroed()
    }
}
