//! How units, entries and translation pages are numbered.

use crate::terms::config::FtlConfig;
use aster_units::Lpn;

/// The numbers of a map on flash.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Units of the host. The units after them are translation pages.
    pub(super) host_units: u32,
    /// Entries of a translation page.
    pub(super) entries: u32,
    /// Translation pages.
    pub(super) pages: u32,
    /// The entry of the stored map at which changes begin, and how many it has room for.
    pub(super) stored_rows_at: u32,
    pub(super) stored_rows: u32,
}

impl Shape {
    pub(super) fn new(config: &FtlConfig, host_units: u32, pages: u32) -> Self {
        let cache = config.map_cache().expect("a map on flash has a cache");
        Shape {
            host_units,
            entries: cache.entries(config.geometry.page_bytes),
            pages,
            stored_rows_at: config.stored_map().rows_at(),
            stored_rows: config.stored_map().rows(),
        }
    }
    /// The unit of a translation page.
    pub(super) fn unit_of(&self, page: u32) -> Lpn {
        debug_assert!(page < self.pages, "there are so many translation pages");
        Lpn(self.host_units + page)
    }
    /// The translation page of a unit, if the unit is one.
    pub(super) fn own_page(&self, unit: Lpn) -> Option<u32> {
        unit.0.checked_sub(self.host_units)
    }
    /// The translation page that has the place of a host unit, and the number of the entry.
    pub(super) fn entry_of(&self, unit: Lpn) -> (u32, u32) {
        (unit.0 / self.entries, unit.0 % self.entries)
    }
}
