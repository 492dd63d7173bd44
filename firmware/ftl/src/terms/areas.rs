//! Which blocks of a LUN hold the log and the stored map, and how many are left for data.

use crate::terms::config::FtlConfig;
use crate::terms::sizes::{
    BLOCK_BYTES, BLOCK_ENTRY_BYTES, CONTENT_PAGES, ENTRIES_BYTES_MIN, HEADER_BYTES, MOVE_BYTES_MAX,
    OPENED_SHARE, RANGE_BYTES, SLOTS_MAX,
};
use aster_units::SECTOR_BYTES;

/// The fewest blocks set aside for the log in the whole drive, unless the array is too small.
const LOG_BLOCKS: u64 = 8;
/// The most free blocks of a LUN that a log page lists.
const LISTED_MAX: usize = 8;
/// Blocks of a LUN with pages that aren't journaled: the open ones of the host and of garbage collection, and
/// the one that was filled last. Each further stream of the host, and a map on flash, has one more.
const RANGES_PER_LUN: usize = 3;
/// The fewest runs of stale pages that a log page must have room for.
const VOID_RUNS_MIN: usize = 64;

/// The blocks of a drive by purpose.
#[derive(Clone, Copy, Debug)]
pub struct Areas<'a>(&'a FtlConfig);

impl FtlConfig {
    /// Which blocks of a LUN hold the log and the stored map, and how many are left for data.
    pub fn areas(&self) -> Areas<'_> {
        Areas(self)
    }
}

impl Areas<'_> {
    /// The most pages that the stored map and the block table take.
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
    /// Blocks of a LUN set aside for the log. There are several in all, so that one can be erased and some
    /// may go bad. A large drive has so many that they wear out no sooner than other blocks.
    pub fn log_blocks_per_lun(&self) -> u64 {
        let g = &self.0.geometry;
        let luns = u64::from(g.total_luns().max(1));
        // A log page is due when its entries are full or when a LUN has used up its listed free blocks. If
        // half of the page is lists and every move is coded in full, it is full after `filled` programs of
        // data. About two blocks of each LUN are listed. The programs in between are spread over all other
        // blocks. The place of the log depends on this number: if it changes, older images can't be read any
        // more.
        let units = u64::from(self.0.units().per_page());
        let filled = u64::from(g.page_bytes) / 2 / (MOVE_BYTES_MAX as u64 * units);
        let used_up = 2 * luns * u64::from(g.pages_per_block);
        let between = filled.min(used_up).max(1);
        let as_worn = (u64::from(g.blocks_per_lun) * u64::from(self.0.lines.log_copies())).div_ceil(between);
        let most = (u64::from(g.blocks_per_lun) / 8).min(SLOTS_MAX as u64 / luns);
        LOG_BLOCKS.div_ceil(luns).max(as_worn).min(most).max(1)
    }
    /// Free blocks of a LUN that a log page lists in addition to all that it must have room for; 0 if the
    /// page is too small.
    pub(crate) fn free_list_max(&self) -> usize {
        let (page, luns) = (self.0.geometry.page_bytes as usize, self.0.geometry.total_luns() as usize);
        let further = self.0.mapping_reserve_blocks() as usize + self.0.further_streams() as usize;
        let ranges = (RANGES_PER_LUN + further) * luns + page / OPENED_SHARE;
        let emptied = luns;
        let taken = HEADER_BYTES
            + ENTRIES_BYTES_MIN
            + RANGE_BYTES * (ranges + VOID_RUNS_MIN)
            + BLOCK_BYTES * (emptied + self.map_blocks() as usize);
        (page.saturating_sub(taken) / (BLOCK_BYTES * luns.max(1))).min(LISTED_MAX)
    }
    /// Lines of the log, each with all copies of a page.
    pub(crate) fn log_lines(&self) -> u64 {
        let blocks = self.log_blocks_per_lun() * u64::from(self.0.geometry.total_luns());
        blocks * (u64::from(self.0.geometry.pages_per_block) / u64::from(self.0.lines.log_copies()))
    }
    /// In a LUN without bad blocks, the blocks that can hold data, be they closed, open or free: all except
    /// those of the stored map and the log.
    pub fn data_blocks_per_lun(&self) -> u64 {
        let kept = self.metadata_blocks_per_lun() + self.log_blocks_per_lun();
        u64::from(self.0.geometry.blocks_per_lun).saturating_sub(kept)
    }
    /// Pages of all those blocks.
    pub(super) fn data_pages(&self) -> u64 {
        let g = &self.0.geometry;
        u64::from(g.total_luns()) * self.data_blocks_per_lun() * u64::from(g.pages_per_block)
    }
    /// The fewest good blocks with which a LUN can't come to a dead end. When the host has no room, a LUN's
    /// blocks are its metadata, the reserve, one open block of garbage collection, and the rest, which is
    /// closed. If the logical pages can't fill the rest, some closed block has a stale page, and collecting
    /// it gains room. So a LUN needs blocks for its share of the logical pages, for metadata, and for garbage
    /// collection to work in. Blocks that further streams of the host have open may be half empty.
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
            + u64::from(self.0.further_streams())
            + 1
    }
    /// As [`Areas::blocks_needed_per_lun`], for all LUNs of a pool together. Garbage collection and each
    /// further stream of the host may have a block open in each of them.
    pub fn blocks_needed_per_pool(&self) -> u64 {
        let luns = u64::from(self.0.luns_per_pool());
        if luns == 1 {
            return self.blocks_needed_per_lun();
        }
        let full = self.0.logical_pages() / u64::from(self.0.geometry.pages_per_block) + 1;
        let open = 1 + u64::from(self.0.further_streams());
        let kept = self.metadata_blocks_per_lun() + self.log_blocks_per_lun() + open;
        full + luns * kept + u64::from(self.0.pool_reserve_blocks())
    }
    /// Whether a pool has enough blocks as long as none of them is bad.
    pub fn has_blocks(&self) -> bool {
        let blocks = u64::from(self.0.geometry.blocks_per_lun) * u64::from(self.0.luns_per_pool());
        self.0.logical_pages() > 0 && self.blocks_needed_per_pool() <= blocks
    }
}
