//! Open-Channel SSD 2.0: chunks with a state and a write pointer, named by logical blocks (P29).
//!
//! A *chunk* of our drives is a block in each plane of a LUN. Its logical blocks are sectors of 4 KiB in the
//! order in which they are written: sector of the page, plane, page. Groups are channels, and parallel units
//! are LUNs of a channel.
//!
//! Opcodes of vectors are those of 1.2: reset 90h, write 91h, read 92h; so is Geometry, E2h.

pub mod chunk;
pub mod geometry;
pub mod notice;
pub mod status;

#[cfg(test)]
mod tests;

pub use chunk::{ChunkDescriptor, ChunkFlags, ChunkShape, ChunkType, LbaFormat};
pub use geometry::{GEOMETRY_BYTES, Geometry20, MediaCapabilities, VERSION};
pub use notice::{NOTICES_LOG, Notice, NoticeMask, NoticeState};

/// Vector Chunk Copy (P29): sources in dwords 10 and 11, destinations in dwords 14 and 15, each as in a
/// vector of 1.2.
pub const COPY: u8 = 0x93;
/// The log page with the descriptors of all chunks. Its namespace identifier is the namespace's.
pub const CHUNK_REPORT: u8 = 0xca;
/// The feature Media Feedback: [`MediaFeedback`].
pub const MEDIA_FEEDBACK: u8 = 0xca;

bit_fields! {
    /// Dword 12 of a vector command.
    pub struct VectorControl20(u32) {
        /// Logical blocks, zero-based (NLB).
        blocks_less_one, with_blocks_less_one: 0, 6 => u8;
        /// The data must be on the media before the command completes (FUA).
        fua, with_fua: 30, 1 => bool;
        /// Limited retry.
        limited_retry, with_limited_retry: 31, 1 => bool;
    }
}

bit_fields! {
    /// The value of [`MEDIA_FEEDBACK`]: which reads of sectors with many wrong bits, all of which could be
    /// corrected, end with [`status::HIGH_ECC`] instead of with success.
    pub struct MediaFeedback(u32) {
        /// Reads of NVMe (HECC).
        reads, with_reads: 0, 1 => bool;
        /// Vector reads (VHECC).
        vector_reads, with_vector_reads: 1, 1 => bool;
    }
}
