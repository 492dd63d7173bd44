//! A map that is only partly in memory: what its cache is divided into.
//!
//! The map is kept on flash in *translation pages*, each with the places of a fixed number of consecutive
//! host units. Translation pages are units of the FTL themselves and come after those of the host. Memory
//! keeps *rows*, each a change that its translation page doesn't have yet, and *clean* copies of whole pages.

use crate::terms::row_layout::{FAR_ROW_BYTES, MANY_PINNED_BYTES, ROW_BYTES, RowLayout, many_pinned_max};
use crate::terms::sizes::{MAP_ENTRY_BYTES, PAGES_PER_WORD_LINE_MAX};
use aster_units::Geometry;

/// Where the map is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MapKind {
    /// In memory as a whole, 4 bytes per mapping unit.
    #[default]
    Resident,
    /// On flash, with a cache in memory.
    DemandPaged(MapCache),
}

/// The cache of a map that is on flash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapCache {
    /// Bytes of memory for rows and clean pages. Another 14 bytes are kept for each translation page.
    pub bytes: u64,
    /// The number of units whose places a translation page has; 0 for as many as fit.
    pub entries: u16,
}

/// Rows per translation page beyond which more gain nothing: a flush already writes that many changes.
const ROWS_A_PAGE_MAX: u64 = 64;
/// Rows of a LUN's garbage collection in addition to a victim's: if blocks are small, a victim may gain too
/// little room for a word line with a translation page.
const COLLECTOR_ROWS_MORE: u64 = 32;
/// The fewest clean pages: one is read while another is in use.
const CLEAN_PAGES_MIN: u64 = 2;

/// What a map cache is divided into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MapSizes {
    /// The number of translation pages.
    pub(crate) pages: u32,
    /// Rows that the host's changes may take.
    pub(crate) host_rows: u32,
    /// Rows kept for garbage collection of each LUN: what a victim holds, and what completes word lines.
    pub(crate) collector_rows: u32,
    /// All rows, including one for each pin.
    pub(crate) rows: u32,
    /// How a row's bits are divided.
    pub(crate) layout: RowLayout,
    /// Copies in memory of translation pages, as they are on flash.
    pub(crate) clean_pages: u32,
}

impl MapSizes {
    /// The largest valid part of a block with which collecting it still gains room. There are `host_rows`
    /// changes in `pages` translation pages, so the fullest page has at least `host_rows / pages` of them. So
    /// moving `v` units costs `v + v * pages / host_rows` programs, which must be fewer than a block has
    /// pages.
    pub(crate) fn full_max(&self) -> f64 {
        f64::from(self.host_rows) / f64::from(self.host_rows + self.pages)
    }
}

impl MapCache {
    /// The number of units whose places a translation page has.
    pub(crate) const fn entries(&self, page_bytes: u32) -> u32 {
        match self.entries {
            0 => page_bytes / MAP_ENTRY_BYTES as u32,
            entries => entries as u32,
        }
    }
    /// Rows of a LUN's garbage collection, and all rows except those of the host's changes.
    fn beside(geometry: &Geometry, pins: u32) -> (u64, u64) {
        let block = u64::from(geometry.pages_per_block);
        let collector_rows = block + block.min(COLLECTOR_ROWS_MORE) + 2 * PAGES_PER_WORD_LINE_MAX as u64;
        (collector_rows, collector_rows * u64::from(geometry.total_luns()) + u64::from(pins))
    }
    /// The number of rows beyond which more gain nothing, no matter how much memory there is.
    pub(crate) fn rows_max(&self, geometry: &Geometry, units: u64, pins: u32, workers: u32) -> u64 {
        let pages = units.div_ceil(self.entries(geometry.page_bytes).max(1).into());
        let of_host = (ROWS_A_PAGE_MAX * pages).max(u64::from(workers)).min(units);
        Self::beside(geometry, pins).1 + of_host
    }
    /// What the memory is divided into if `units` host units are mapped and at most `pins` are pinned at
    /// once. `None` if it is too small.
    pub(crate) fn sizes(&self, geometry: &Geometry, units: u64, pins: u32, workers: u32) -> Option<MapSizes> {
        let entries = u64::from(self.entries(geometry.page_bytes));
        let pages = units.div_ceil(entries);
        let (collector_rows, beside) = Self::beside(geometry, pins);
        let layout = RowLayout::new(entries as u32, geometry.total_pages() as u32);
        let bytes = self.bytes.checked_sub(u64::from(many_pinned_max(pins)) * MANY_PINNED_BYTES)?;
        let clean_bytes = CLEAN_PAGES_MIN * entries * MAP_ENTRY_BYTES;
        let row_bytes = bytes.checked_sub(clean_bytes)?.min(self.bytes / 8 * 7);
        // If there are more rows than links inside of rows can number, each link is stored outside of its
        // row.
        let near_max = u64::from(layout.rows_max(pages as u32));
        let most = (row_bytes / ROW_BYTES).min(near_max).max(row_bytes / FAR_ROW_BYTES);
        let rows = most.min(self.rows_max(geometry, units, pins, workers));
        let host_rows = rows.checked_sub(beside).filter(|&rows| rows >= u64::from(workers).min(units))?;
        let row_bytes = rows * if rows > near_max { FAR_ROW_BYTES } else { ROW_BYTES };
        let clean_pages = (bytes - row_bytes) / (entries * MAP_ENTRY_BYTES);
        Some(MapSizes {
            pages: pages as u32,
            host_rows: host_rows as u32,
            collector_rows: collector_rows as u32,
            rows: rows as u32,
            layout,
            clean_pages: clean_pages.min(pages.max(CLEAN_PAGES_MIN)) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn softssd() -> Geometry {
        Geometry {
            channels: 8,
            ways: 4,
            luns: 2,
            planes: 1,
            blocks_per_lun: 2096,
            pages_per_block: 512,
            page_bytes: 16384,
            spare_bytes: 1872,
        }
    }

    #[test]
    fn a_terabyte_has_fifteen_thousand_translation_pages_and_its_cache_is_used_up() {
        let units = 63_970_000;
        for bytes in [4 << 20, 16 << 20, 64 << 20, 256 << 20] {
            let cache = MapCache { bytes, entries: 0 };
            let sizes = cache.sizes(&softssd(), units, 1000, 256).unwrap();
            assert_eq!((sizes.pages, sizes.collector_rows), (15_618, 552));
            let rows = u64::from(sizes.rows) * ROW_BYTES + 334 * MANY_PINNED_BYTES;
            let used = rows + u64::from(sizes.clean_pages) * 16384;
            assert!(used <= bytes && (used + 16384 > bytes || sizes.clean_pages == sizes.pages), "{sizes:?}");
            assert_eq!(sizes.rows, sizes.host_rows + 64 * 552 + 1000);
        }
    }

    #[test]
    fn a_cache_without_room_for_two_pages_and_all_that_is_in_work_is_none() {
        let least = |bytes| MapCache { bytes, entries: 0 }.sizes(&softssd(), 63_970_000, 1000, 256);
        let enough = 2 * 16384 + (64 * 552 + 1000 + 256) * ROW_BYTES + 334 * MANY_PINNED_BYTES;
        assert!(least(enough / 7 * 8 + 8).is_some() && least(enough - 100_000).is_none());
        assert!(least(1000).is_none());
    }

    /// With pages of 4 KiB there are four times as many places, and sixteen times as many translation pages.
    #[test]
    fn rows_that_links_in_them_can_not_number_take_the_bytes_of_links_beside_them() {
        let geometry = Geometry { page_bytes: 4096, pages_per_block: 2048, ..softssd() };
        let near_max = (1 << 21) - 249_805;
        let expected = [
            (16 << 20, (14 << 20) / ROW_BYTES, ROW_BYTES),
            (20 << 20, near_max, ROW_BYTES),
            (32 << 20, (28 << 20) / FAR_ROW_BYTES, FAR_ROW_BYTES),
        ];
        for (bytes, rows, row_bytes) in expected {
            let cache = MapCache { bytes, entries: 0 };
            let sizes = cache.sizes(&geometry, 255_800_000, 500, 256).unwrap();
            assert_eq!((sizes.pages, u64::from(sizes.rows)), (249_805, rows));
            let used = rows * row_bytes + u64::from(sizes.clean_pages) * 4096 + 167 * MANY_PINNED_BYTES;
            assert!(used <= bytes && used + 4096 > bytes, "{sizes:?}");
        }
    }
}
