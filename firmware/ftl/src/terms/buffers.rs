//! Which page buffers of the DRAM are whose.
//!
//! Data buffers lie one behind the other in the order of the data buffer's entries, merge buffers, packing
//! buffers, those of garbage collection, padding, and the scan's. Metadata buffers are the stored map's, the
//! log's, one for single pages, the scan's, and where the map is on flash those of translation pages.

use crate::terms::config::FtlConfig;
use aster_units::{Duration, LunIndex};
use core::ops::Range;

const MERGE_BUFFERS_MAX: u32 = 64;
/// Translation pages that are read side by side, and that are written side by side.
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
    /// Which page buffers of the DRAM are whose.
    pub fn buffers(&self) -> BufferLayout {
        let luns = self.geometry.total_luns();
        let at_once = self.lines.at_once();
        // The pages of a word line take theirs together.
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
    /// Buffers in which units of several frames are packed into a page; none where a unit is a page.
    pub(crate) fn packing(&self) -> Range<u32> {
        let from = self.merge().end;
        from..from + self.packing
    }
    /// Buffers that garbage collection of a LUN has: one for each page that it has in flight, and where pages
    /// are packed, one for the page that is being packed and one for the page after that.
    pub(crate) fn gc_of_a_lun(&self) -> u32 {
        self.gc_depth + self.gc_packing
    }
    /// As many of them as reads leave free: for the page that is being packed.
    pub(crate) fn gc_kept_for_packing(&self) -> u32 {
        self.gc_packing / 2
    }
    /// Garbage collection's `slot`th buffer for `lun`.
    pub(crate) fn gc(&self, lun: LunIndex, slot: u32) -> u32 {
        debug_assert!(slot < self.gc_of_a_lun(), "each LUN has as many buffers");
        self.packing().end + lun.0 * self.gc_of_a_lun() + slot
    }
    /// The buffer whose page completes word lines.
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
    /// Buffers in which pages of the stored map are made, from 0 on: one a LUN, and a whole line at least.
    pub(crate) fn map(&self) -> u32 {
        self.map
    }
    /// The buffer in which log pages are made.
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
    /// The `n`th of them.
    pub(crate) fn load(&self, n: u32) -> u32 {
        self.map + 2 + self.scan + n
    }
    /// Buffers that translation pages are written from, each by a task of its own.
    pub(crate) fn flushes(&self) -> u32 {
        self.flushes
    }
    /// The `n`th of them.
    pub(crate) fn flush(&self, n: u32) -> u32 {
        self.load(self.loads + n)
    }
    /// The buffer in which garbage collection of a LUN moves a translation page; none where the map has none.
    pub(crate) fn own_gc(&self, lun: LunIndex) -> Option<u32> {
        (lun.0 < self.own_gc).then(|| self.load(self.loads + self.flushes) + lun.0)
    }
}
