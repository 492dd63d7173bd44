//! The sizes of the map as it is stored.

use crate::terms::config::FtlConfig;
use crate::terms::map_cache::MapKind;
use crate::terms::row_layout::ROW_BYTES;
use crate::terms::sizes::MAP_ENTRY_BYTES;

/// Changes beyond the rows of a map cache for which a stored map has room: so many are found at power-on
/// where the log is long.
const STORED_ROWS_MORE: u64 = 16384;

/// The map on flash, as the checkpoint stores it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredMap<'a>(&'a FtlConfig);

impl FtlConfig {
    /// The sizes of the map as it is stored.
    pub(crate) fn stored_map(&self) -> StoredMap<'_> {
        StoredMap(self)
    }
}

impl StoredMap<'_> {
    /// Pages of the stored map at most, without the block table.
    pub(crate) fn pages(&self, page: u64) -> u64 {
        match self.0.map {
            MapKind::Resident => (self.0.physical_units() * MAP_ENTRY_BYTES).div_ceil(page),
            // Places of translation pages, and as many rows as a cache of this size may hold. The capacity
            // follows from it, so it doesn't follow from the capacity.
            //
            // A large cache holds fewer rows than would fit. Its map has room for a row in 14 bytes of it
            // all the same: with less, such drives would have another capacity.
            MapKind::DemandPaged(cache) => {
                let workers = u32::from(self.0.host.slice_workers).max(self.0.lines.at_once());
                let pages =
                    self.0.physical_units().div_ceil(cache.entries(self.0.geometry.page_bytes).max(1).into());
                let most = cache.rows_max(&self.0.geometry, self.0.physical_units(), self.0.pins(), workers);
                let rows = (cache.bytes / ROW_BYTES).min(most).max(cache.bytes / 14);
                let rows = (2 * rows + STORED_ROWS_MORE).min(self.0.physical_units());
                (pages * MAP_ENTRY_BYTES).div_ceil(page) + (rows * 2 * MAP_ENTRY_BYTES).div_ceil(page)
            }
        }
    }
    /// Changes that a stored map has room for, of a map on flash.
    pub(crate) fn rows(&self) -> u32 {
        let rows = self.0.map_sizes().map_or(0, |sizes| u64::from(sizes.rows));
        (2 * rows + STORED_ROWS_MORE).min(self.0.logical_units()) as u32
    }
    /// Entries of the stored map: places of units, or where the map is on flash places of its pages, and from
    /// the next page of the stored map on two for each change.
    pub(crate) fn entries(&self) -> u32 {
        match self.0.map {
            MapKind::Resident => self.0.logical_units() as u32,
            MapKind::DemandPaged(_) => self.rows_at() + 2 * self.rows(),
        }
    }
    /// The entry of the stored map with which changes begin.
    pub(crate) fn rows_at(&self) -> u32 {
        (self.0.map_units() as u32).next_multiple_of(self.0.geometry.page_bytes / MAP_ENTRY_BYTES as u32)
    }
}
