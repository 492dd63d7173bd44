//! Places in the drive's memory that the host link reaches.

use aster_units::BufferId;

/// Bytes of a fingerprint.
pub const TAG_BYTES: usize = 8;

/// The device's end of a DMA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Local {
    /// A page buffer, from a byte offset in host bytes.
    Buffer {
        /// The buffer.
        buffer: BufferId,
        /// Where in it.
        offset: u32,
    },
    /// The front end's SRAM.
    Sram {
        /// Where in it.
        offset: u32,
    },
    /// The fingerprint of one whole sector of 4 KiB, in the front end's SRAM.
    Tag {
        /// Where in it the [`TAG_BYTES`] are: a multiple of them.
        offset: u32,
    },
}

impl Local {
    /// The place `bytes` bytes behind it, which a fingerprint doesn't have.
    #[must_use]
    pub fn plus(self, bytes: u32) -> Self {
        match self {
            Local::Buffer { buffer, offset } => Local::Buffer { buffer, offset: offset + bytes },
            Local::Sram { offset } => Local::Sram { offset: offset + bytes },
            Local::Tag { .. } => unreachable!("a fingerprint has no parts"),
        }
    }
}
