//! What tests of several modules begin with.

use aster_units::{Duration, Geometry, Instant};

/// A small array of four LUNs.
pub(crate) const SHAPE: Geometry = Geometry {
    channels: 2,
    ways: 2,
    luns: 1,
    planes: 1,
    blocks_per_lun: 8,
    pages_per_block: 16,
    page_bytes: 16_384,
    spare_bytes: 1664,
};

/// So many microseconds after the beginning.
pub(crate) fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}
