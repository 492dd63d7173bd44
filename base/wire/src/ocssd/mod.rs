//! Open-Channel SSD 1.2: identify data, physical page addresses, vector commands and bad-block tables, as
//! the Cosmos+ board and LightNVM hosts have them (O5, O8, P22 to P27).
//!
//! [`v2`] has what 2.0 says otherwise.
//!
//! The command set (`firmware/hostif`) and the library (`host/openchannel`) meet only in these bytes. All
//! integers are little-endian.

pub mod address;
pub mod identity;
pub mod status;
pub mod table;
pub mod v2;
pub mod vector;

#[cfg(test)]
mod tests;

pub use address::{AddressFormat, FieldBits, Place};
pub use identity::{Group12, Identity12};
pub use table::{BlockFlags, TableHeader};
pub use vector::VectorControl;

/// Opcodes of 1.2's admin commands (P24, P26).
pub mod admin {
    /// Identify the drive: [`super::Identity12`].
    pub const IDENTITY: u8 = 0xe2;
    /// Set the state of blocks.
    pub const SET_TABLE: u8 = 0xf1;
    /// Get the table of a LUN: [`super::TableHeader`] and a byte per block.
    pub const GET_TABLE: u8 = 0xf2;
}

/// Opcodes of 1.2's I/O commands (P23).
pub mod io {
    /// Erases blocks.
    pub const ERASE: u8 = 0x90;
    /// Writes sectors.
    pub const WRITE: u8 = 0x91;
    /// Reads sectors.
    pub const READ: u8 = 0x92;
    /// Writes sectors without ECC and scrambler.
    pub const WRITE_RAW: u8 = 0x95;
    /// Reads sectors without ECC and scrambler.
    pub const READ_RAW: u8 = 0x96;
}

/// The most addresses of a command.
pub const ADDRESSES_MAX: usize = 64;
/// Bytes of a sector.
pub const SECTOR_BYTES: u32 = 4096;
/// Bytes of metadata beside each sector (P24).
pub const METADATA_BYTES: u32 = 16;
/// The first vendor-specific byte of Identify Namespace is 1 on a 1.2 drive (P27). This is its index among
/// those bytes.
pub const VENDOR_SPECIFIC_VERSION: usize = 0;
