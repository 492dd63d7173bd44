//! Which blocks of a LUN have the log and the stored map, and how many are left for data.

use crate::terms::config::FtlConfig;
use crate::terms::sizes::{
    BLOCK_BYTES, BLOCK_ENTRY_BYTES, CONTENT_PAGES, ENTRIES_BYTES_MIN, HEADER_BYTES, MOVE_BYTES_MAX,
    OPENED_SHARE, RANGE_BYTES, SLOTS_MAX,
};
use aster_units::SECTOR_BYTES;

/// Blocks set aside for the log in all at least, where the array is not too small.
const LOG_BLOCKS: u64 = 8;
/// Free blocks of a LUN that a log page lists at most.
const LISTED_MAX: usize = 8;
/// Blocks of a LUN with pages that aren't journaled: open ones of host and garbage collection, and one that
/// was filled last.
const RANGES_PER_LUN: usize = 3;
/// Runs of stale pages that a log page has room for at least.
const VOID_RUNS_MIN: usize = 64;

/// The blocks of a drive, by what they are for.
#[derive(Clone, Copy, Debug)]
pub struct Areas<'a>(&'a FtlConfig);

impl FtlConfig {
    /// Which blocks of a LUN have the log and the stored map, and how many are left for data.
    pub fn areas(&self) -> Areas<'_> {
        Areas(self)
    }
}

impl Areas<'_> {
    /// Pages that the stored map and block table take at most.
    pub(crate) fn map_pages_max(&self) -> u64 {
        let g = &self.0.geometry;
        let page = u64::from(g.page_bytes).max(SECTOR_BYTES as u64);
        let blocks = u64::from(g.total_luns()) * u64::from(g.blocks_per_lun);
        let pages = self.0.stored_map().pages(page) + (blocks * BLOCK_ENTRY_BYTES).div_ceil(page) + 1;
        pages + pages.div_ceil(u64::from(CONTENT_PAGES))
    }
    /// Blocks that one generation of the stored map takes.
    pub(crate) fn map_blocks(&self) -> u64 {
        self.map_pages_max().div_ceil(u64::from(self.0.geometry.pages_per_block.max(1)))
    }
    /// Blocks of a LUN set aside for the stored map: two generations exist while a new one is written.
    pub fn metadata_blocks_per_lun(&self) -> u64 {
        (2 * self.map_blocks()).div_ceil(u64::from(self.0.geometry.total_luns().max(1)))
    }
    /// Blocks of a LUN set aside for the log: several in all, so that one may be erased, and some go bad; in
    /// a large drive so many that they are worn out no sooner than the others.
    pub fn log_blocks_per_lun(&self) -> u64 {
        let g = &self.0.geometry;
        let luns = u64::from(g.total_luns().max(1));
        // A log page is due when the one before has room for no more: after so many programs of data at
        // least, where half of it is lists and no move is short; or when a LUN has used up the free blocks
        // that the last one named: some two. Those programs have all other blocks to go to. Where the log
        // lies depends on this: another number, and no older image is read.
        let units = u64::from(self.0.units().per_page());
        let filled = u64::from(g.page_bytes) / 2 / (MOVE_BYTES_MAX as u64 * units);
        let used_up = 2 * luns * u64::from(g.pages_per_block);
        let between = filled.min(used_up).max(1);
        let as_worn = (u64::from(g.blocks_per_lun) * u64::from(self.0.lines.log_copies())).div_ceil(between);
        let most = (u64::from(g.blocks_per_lun) / 8).min(SLOTS_MAX as u64 / luns);
        LOG_BLOCKS.div_ceil(luns).max(as_worn).min(most).max(1)
    }
    /// Free blocks of a LUN that a log page lists, beside all that it must have room for; 0 where the page is
    /// too small.
    pub(crate) fn free_list_max(&self) -> usize {
        let (page, luns) = (self.0.geometry.page_bytes as usize, self.0.geometry.total_luns() as usize);
        let of_map = self.0.mapping_reserve_blocks() as usize;
        let ranges = (RANGES_PER_LUN + of_map) * luns + page / OPENED_SHARE;
        let emptied = luns;
        let taken = HEADER_BYTES
            + ENTRIES_BYTES_MIN
            + RANGE_BYTES * (ranges + VOID_RUNS_MIN)
            + BLOCK_BYTES * (emptied + self.map_blocks() as usize);
        (page.saturating_sub(taken) / (BLOCK_BYTES * luns.max(1))).min(LISTED_MAX)
    }
    /// Lines of the log, each of as many copies.
    pub(crate) fn log_lines(&self) -> u64 {
        let blocks = self.log_blocks_per_lun() * u64::from(self.0.geometry.total_luns());
        blocks * (u64::from(self.0.geometry.pages_per_block) / u64::from(self.0.lines.log_copies()))
    }
    /// Blocks of a LUN without bad ones that data can lie in, closed, open or free: all but those of the
    /// stored map and the log.
    pub fn data_blocks_per_lun(&self) -> u64 {
        let kept = self.metadata_blocks_per_lun() + self.log_blocks_per_lun();
        u64::from(self.0.geometry.blocks_per_lun).saturating_sub(kept)
    }
    /// Pages of all those blocks.
    pub(super) fn data_pages(&self) -> u64 {
        let g = &self.0.geometry;
        u64::from(g.total_luns()) * self.data_blocks_per_lun() * u64::from(g.pages_per_block)
    }
    /// Good blocks without which a LUN could come to a dead end. When the host has no room, a LUN's blocks
    /// are its metadata, the reserve, one open block of garbage collection, and the rest, which is closed. If
    /// the logical pages can't fill the rest, some closed block has an invalid page, and collecting it gains
    /// room. Blocks that a LUN needs: its share of the logical pages, metadata, and what garbage collection
    /// works in.
    pub fn blocks_needed_per_lun(&self) -> u64 {
        let pages = self.0.logical_pages() + self.0.map_units();
        let share = pages.div_ceil(u64::from(self.0.geometry.total_luns()));
        // A block in reserve for translation pages, and one that is being filled with them.
        let of_map = 2 * u64::from(self.0.mapping_reserve_blocks());
        let full = share / u64::from(self.0.geometry.pages_per_block) + 1;
        full + self.metadata_blocks_per_lun()
            + self.log_blocks_per_lun()
            + u64::from(self.0.gc.reserve_blocks)
            + of_map
            + 1
    }
    /// Whether a LUN's blocks are enough, while none of them is bad.
    pub fn has_blocks(&self) -> bool {
        self.0.logical_pages() > 0
            && self.blocks_needed_per_lun() <= u64::from(self.0.geometry.blocks_per_lun)
    }
}
