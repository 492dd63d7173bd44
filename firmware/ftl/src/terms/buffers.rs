//! Which page buffers of the DRAM belong to whom.
//!
//! Data buffers are laid out in this order: the entries of the data buffer, merge buffers, packing buffers,
//! garbage collection's, padding, and the scan's. Metadata buffers are those of the stored map, of the log,
//! one for single pages, the scan's, and those of translation pages if the map is on flash.

use crate::terms::config::FtlConfig;
use aster_units::{Duration, LunIndex};
use core::ops::Range;

const MERGE_BUFFERS_MAX: u32 = 64;
/// The most translation pages that are read in parallel, and that are written in parallel.
const LOADS_MAX: u32 = 16;
const FLUSHES_MAX: u32 = 8;

/// How many page buffers each user has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferLayout {
    entries: u32,
    merge: u32,
    packing: u32,
    gc_depth: u32,
    gc_packing: u32,
    luns: u32,
    map: u32,
    scan: u32,
    loads: u32,
    flushes: u32,
    own_gc: u32,
}

impl FtlConfig {
    /// Which page buffers of the DRAM belong to whom.
    pub fn buffers(&self) -> BufferLayout {
        let luns = self.geometry.total_luns();
        let at_once = self.lines.at_once();
        // The pages of a word line take their buffers together.
        let merge = u32::from(self.host.slice_workers).min(MERGE_BUFFERS_MAX).max(at_once);
        let packs = self.units().per_page() > 1;
        let on_flash = u32::from(self.map_cache().is_some());
        BufferLayout {
            entries: self.host.buffer_entries,
            merge,
            packing: if packs { merge } else { 0 },
            gc_depth: self.gc.depth.into(),
            gc_packing: if packs { 2 } else { 0 },
            luns,
            map: luns.max(at_once),
            scan: u32::from(self.care.scan_interval > Duration::ZERO),
            loads: on_flash * luns.min(LOADS_MAX),
            flushes: on_flash * luns.min(FLUSHES_MAX),
            own_gc: on_flash * luns,
        }
    }
}

impl BufferLayout {
    // ---- data buffers ----

    /// Data buffers that the DRAM must have.
    pub fn data(&self) -> u32 {
        self.scan() + 1
    }
    /// Buffers in which old and new sectors of a page meet, and in which host data is compared.
    pub(crate) fn merge(&self) -> Range<u32> {
        self.entries..self.entries + self.merge
    }
    /// Buffers in which units of several frames are packed into a page; none if a unit is a page.
    pub(crate) fn packing(&self) -> Range<u32> {
        let from = self.merge().end;
        from..from + self.packing
    }
    /// Buffers of a LUN's garbage collection: one for each page in flight. If pages are packed, there is one
    /// more for the page that is being packed and one for the page after it.
    pub(crate) fn gc_of_a_lun(&self) -> u32 {
        self.gc_depth + self.gc_packing
    }
    /// How many of garbage collection's buffers reads must leave free: for the page that is being packed.
    pub(crate) fn gc_kept_for_packing(&self) -> u32 {
        self.gc_packing / 2
    }
    /// Garbage collection's `slot`th buffer for `lun`.
    pub(crate) fn gc(&self, lun: LunIndex, slot: u32) -> u32 {
        debug_assert!(slot < self.gc_of_a_lun(), "each LUN has as many buffers");
        self.packing().end + lun.0 * self.gc_of_a_lun() + slot
    }
    /// The buffer with the padding page that completes word lines.
    pub(crate) fn padding(&self) -> u32 {
        self.packing().end + self.luns * self.gc_of_a_lun()
    }
    /// The buffer that the scan reads data into.
    pub(crate) fn scan(&self) -> u32 {
        self.padding() + 1
    }

    // ---- metadata buffers ----

    /// Metadata buffers that the DRAM must have.
    pub fn metadata(&self) -> u32 {
        self.load(self.loads + self.flushes + self.own_gc)
    }
    /// Buffers in which pages of the stored map are built, from 0 on: one per LUN, and enough for a whole
    /// line.
    pub(crate) fn map(&self) -> u32 {
        self.map
    }
    /// The buffer in which log pages are built.
    pub(crate) fn log(&self) -> u32 {
        self.map
    }
    /// The buffer for single pages.
    pub(crate) fn scratch(&self) -> u32 {
        self.map + 1
    }
    /// The buffer that the scan reads metadata into.
    pub(crate) fn metadata_scan(&self) -> u32 {
        self.map + 2
    }
    /// Buffers that translation pages are read into.
    pub(crate) fn loads(&self) -> u32 {
        self.loads
    }
    /// The `n`th of these buffers.
    pub(crate) fn load(&self, n: u32) -> u32 {
        self.map + 2 + self.scan + n
    }
    /// Buffers that translation pages are written from, each by a task of its own.
    pub(crate) fn flushes(&self) -> u32 {
        self.flushes
    }
    /// The `n`th of these buffers.
    pub(crate) fn flush(&self, n: u32) -> u32 {
        self.load(self.loads + n)
    }
    /// The buffer in which a LUN's garbage collection moves a translation page; `None` if the map has no such
    /// pages.
    pub(crate) fn own_gc(&self, lun: LunIndex) -> Option<u32> {
        (lun.0 < self.own_gc).then(|| self.load(self.loads + self.flushes) + lun.0)
    }
}
