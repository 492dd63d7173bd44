//! The sizes of the stored map.

use crate::terms::config::FtlConfig;
use crate::terms::map_cache::MapKind;
use crate::terms::row_layout::ROW_BYTES;
use crate::terms::sizes::MAP_ENTRY_BYTES;

/// Changes that a stored map has room for in addition to the rows of a map cache: if the log is long,
/// power-on finds more changes.
const STORED_ROWS_MORE: u64 = 16384;

/// The map as checkpoints store it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredMap<'a>(&'a FtlConfig);

impl FtlConfig {
    /// The sizes of the stored map.
    pub(crate) fn stored_map(&self) -> StoredMap<'_> {
        StoredMap(self)
    }
}

impl StoredMap<'_> {
    /// The most pages of the stored map, without the block table.
    pub(crate) fn pages(&self, page: u64) -> u64 {
        match self.0.map {
            MapKind::Resident => (self.0.physical_units() * MAP_ENTRY_BYTES).div_ceil(page),
            // Places of translation pages, and as many rows as a cache of this size may hold. The capacity is
            // derived from this number, so it can't depend on the capacity.
            //
            // A large cache holds fewer rows than would fit. Its stored map nevertheless has room for one row
            // per 14 bytes of cache: with less, the capacity of existing drives would change.
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
    /// For a map on flash: the changes that a stored map has room for.
    pub(crate) fn rows(&self) -> u32 {
        let rows = self.0.map_sizes().map_or(0, |sizes| u64::from(sizes.rows));
        (2 * rows + STORED_ROWS_MORE).min(self.0.logical_units()) as u32
    }
    /// Entries of the stored map: the places of units. If the map is on flash: the places of its pages and,
    /// from the next page of the stored map on, two entries per change.
    pub(crate) fn entries(&self) -> u32 {
        match self.0.map {
            MapKind::Resident => self.0.logical_units() as u32,
            MapKind::DemandPaged(_) => self.rows_at() + 2 * self.rows(),
        }
    }
    /// The entry of the stored map at which changes begin.
    pub(crate) fn rows_at(&self) -> u32 {
        (self.0.map_units() as u32).next_multiple_of(self.0.geometry.page_bytes / MAP_ENTRY_BYTES as u32)
    }
}
