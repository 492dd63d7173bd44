//! Operations on the host link.

use crate::host::DmaDirection;
use crate::local::Local;

/// The most segments of host memory in one operation: a 16 KiB page at any offset touches five 4 KiB host
/// pages.
pub const MAX_SEGMENTS: usize = 5;

/// A run of host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// Host (bus) address.
    pub address: u64,
    /// Bytes.
    pub length: u32,
}

/// An operation on the host link. Operations of one direction happen in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkOp {
    /// Move bytes.
    Dma {
        /// Which way.
        direction: DmaDirection,
        /// The device's end.
        local: Local,
        /// The host's end.
        segments: [Segment; MAX_SEGMENTS],
        /// How many segments count.
        count: u8,
        /// The number by which the front end identifies it.
        token: u32,
        /// The port's epoch when the front end asked for the DMA ([`LinkPort::epoch`]). If the epoch has
        /// advanced since, the DMA isn't carried out.
        epoch: u32,
    },
    /// Send an MSI or MSI-X message. It follows the completion entry that it announces.
    Interrupt {
        /// The vector.
        vector: u16,
    },
}

impl LinkOp {
    /// Bytes on the link, without headers. An interrupt is a four-byte memory write.
    #[inline]
    pub fn bytes(&self) -> u32 {
        match self {
            LinkOp::Dma { segments: [first, ..], count: 1, .. } => first.length,
            LinkOp::Dma { segments, count, .. } => {
                segments[..usize::from(*count)].iter().map(|s| s.length).sum()
            }
            LinkOp::Interrupt { .. } => 4,
        }
    }
    /// Which way the bytes go.
    #[inline]
    pub fn direction(&self) -> DmaDirection {
        match self {
            LinkOp::Dma { direction, .. } => *direction,
            LinkOp::Interrupt { .. } => DmaDirection::ToHost,
        }
    }
}
