//! What a bench programs, so that it knows what a read must bring.

use aster_units::{LunIndex, RowAddr, mix64};

/// Blocks of each LUN that reads read from.
pub(crate) const READ_BLOCKS: usize = 2;

/// What a sector of a page holds in its first eight bytes.
pub(crate) fn content_tag(lun: LunIndex, row: RowAddr, generation: u32, sector: u64) -> [u8; 8] {
    let place = u64::from(lun.0) << 32 | u64::from(row.0);
    mix64(mix64(place) ^ u64::from(generation) << 8 ^ sector).to_le_bytes()
}
