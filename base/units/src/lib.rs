//! The units that every room uses: time, sizes, and the addresses of a NAND array; and what is as common:
//! hashing, random numbers, how far a word is from a name.
//!
//! Everything here is plain data. It allocates nothing, and no result depends on floating point. Times
//! are integer picoseconds (G1), so that 10 ns buses, 6.25 ns and 12.8 ns clocks are exact; clocks that
//! do not divide count cycles and convert with [`Frequency::cycles`].
#![no_std]
#![forbid(unsafe_code)]

mod address;
mod geometry;
mod hash;
mod restriction;
mod spelling;
mod time;

pub use address::{
    BlockAddr, BufferId, ChannelId, Column, Location, Lpn, LunAddr, LunIndex, PageInBlock, Ppa, RowAddr,
    SectorRange, Upa,
};
pub use geometry::{CellMode, Geometry, GeometryError, PageType, RowFormat};
pub use hash::{Rng, mix64};
pub use restriction::Restriction;
pub use spelling::edit_distance;
pub use time::{Duration, Frequency, Instant, PICOS_A_SECOND};

/// Bytes in a sector: the unit of ECC placement, of fingerprints and of the host's 4 KiB block format.
pub const SECTOR_BYTES: usize = 4096;
/// The most sectors that a page has.
pub const SECTORS_PER_PAGE_MAX: usize = 16;

/// How page content is kept (design §4): every byte, or one opaque 64-bit tag per 4 KiB sector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Content {
    /// Every byte is real.
    #[default]
    Full,
    /// One 64-bit tag stands for each 4 KiB sector: copies move tags, parity XORs them.
    Fingerprint,
}

impl Content {
    /// Bytes that one 4 KiB sector takes in memory.
    pub const fn sector_len(self) -> usize {
        match self {
            Content::Full => SECTOR_BYTES,
            Content::Fingerprint => 8,
        }
    }
}
