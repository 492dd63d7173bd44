//! The content that a bench programs and expects from reads.

use aster_units::{LunIndex, RowAddr, mix64};

/// Blocks per LUN that are used for reads.
pub(crate) const READ_BLOCKS: usize = 2;

/// The first eight bytes of a page's sector.
pub(crate) fn content_tag(lun: LunIndex, row: RowAddr, generation: u32, sector: u64) -> [u8; 8] {
    let place = u64::from(lun.0) << 32 | u64::from(row.0);
    mix64(mix64(place) ^ u64::from(generation) << 8 ^ sector).to_le_bytes()
}
