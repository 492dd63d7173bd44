//! The data of Dataset Management: up to 256 ranges (NVMe 1.4 §6.7).

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of one range.
pub const RANGE_BYTES: usize = 16;
/// Most ranges in one command.
pub const RANGES_MAX: usize = 256;

bit_fields! {
    /// Context attributes of a range (NVMe 1.4 §6.7.1.1).
    pub struct ContextAttributes(u32) {
        /// Access frequency (AF).
        access_frequency, with_access_frequency: 0, 4 => u8;
        /// Access latency (AL).
        access_latency, with_access_latency: 4, 2 => u8;
        /// Sequential read range (SR).
        sequential_read, with_sequential_read: 8, 1 => bool;
        /// Sequential write range (SW).
        sequential_write, with_sequential_write: 9, 1 => bool;
        /// Write prepare (WP): the range will be written soon.
        write_prepare, with_write_prepare: 10, 1 => bool;
        /// Command access size in logical blocks; 0 for none given.
        access_size, with_access_size: 24, 8 => u8;
    }
}

/// One range: 16 bytes (NVMe 1.4 §6.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Range {
    /// Hints, see [`ContextAttributes`].
    pub context_attributes: U32,
    /// Length in logical blocks, one-based: 0 is an empty range.
    pub blocks: U32,
    /// Starting LBA.
    pub slba: U64,
}

impl Range {
    /// `blocks` logical blocks from `slba`, without hints.
    pub const fn new(slba: u64, blocks: u32) -> Self {
        Range { context_attributes: U32::new(0), blocks: U32::new(blocks), slba: U64::new(slba) }
    }
    /// The hints.
    pub const fn context(&self) -> ContextAttributes {
        ContextAttributes(self.context_attributes.get())
    }
    /// One past the last LBA; `None` when that overflows, which is LBA Out of Range.
    pub const fn end(&self) -> Option<u64> {
        self.slba.get().checked_add(self.blocks.get() as u64)
    }
}

/// The ranges in the data of a command, in order. Bytes after the last whole range are ignored.
pub fn ranges(data: &[u8]) -> &[Range] {
    let whole = data.len() - data.len() % RANGE_BYTES;
    <[Range]>::ref_from_bytes(&data[..whole]).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lie_where_section_6_7_puts_them() {
        let mut data = [0u8; 40];
        data[..16].copy_from_slice(&[1, 0, 0, 9, 8, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0]);
        data[16..32].copy_from_slice(Range::new(u64::MAX, 2).as_bytes());
        let ranges = ranges(&data);
        assert_eq!(ranges.len(), 2);
        assert_eq!((ranges[0].blocks.get(), ranges[0].slba.get(), ranges[0].end()), (8, 16, Some(24)));
        assert_eq!((ranges[0].context().access_frequency(), ranges[0].context().access_size()), (1, 9));
        assert_eq!(ranges[1].end(), None);
    }
}
