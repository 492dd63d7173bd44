//! The drive's own pages on NAND: where they are, and whether one that was read is intact.

use crate::durability::outbox::LogEntry;
use crate::journal::log_page::{Header, StoredMap};
use crate::journal::map_stripes::StripePart;
use crate::media::requests::Media;
use crate::page::buffers::PageBuffers;
use crate::space::layout::BlockLayout;
use crate::terms::block::BlockIndex;
use crate::terms::oob::{OobRecord, PageKind};
use crate::terms::runtime::Runtime;
use crate::terms::sizes::{BLOCK_ENTRY_BYTES, MAP_ENTRY_BYTES};
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_ports::flash::{FlashStatus, Outcome};
use aster_units::{BufferId, Ppa, mix64};

/// If the profile doesn't set it: pages of data between two stored maps, per page of a stored map.
const PAGES_A_MAP_PAGE: u64 = 256;

/// Sizes and places of the drive's own pages.
pub(crate) struct OwnPages {
    runtime: Rc<Runtime>,
    pages: Rc<PageBuffers>,
    media: Rc<Media>,
    blocks: BlockLayout,
    logical_pages: u32,
    entries_per_page: usize,
    map_pages: u32,
    // Tells this placement of pages from others.
    placed: u64,
}

impl OwnPages {
    /// `placed` tells this placement of pages from others.
    pub(crate) fn new(
        runtime: &Rc<Runtime>,
        pages: &Rc<PageBuffers>,
        media: &Rc<Media>,
        placed: u64,
    ) -> Self {
        let entries_per_page = runtime.geometry.page_bytes as usize / MAP_ENTRY_BYTES as usize;
        OwnPages {
            runtime: Rc::clone(runtime),
            pages: Rc::clone(pages),
            media: Rc::clone(media),
            blocks: BlockLayout::of(&runtime.config),
            logical_pages: runtime.config.logical_pages() as u32,
            entries_per_page,
            map_pages: (runtime.config.stored_map().entries() as usize).div_ceil(entries_per_page) as u32,
            placed,
        }
    }
    /// Copies of a log page, one word line in all.
    pub(crate) fn log_copies(&self) -> u32 {
        self.runtime.config.lines.log_copies()
    }
    /// The first page of a line of a block of the log.
    pub(crate) fn log_line(&self, block: BlockIndex, line: u32) -> Ppa {
        Ppa(self.blocks.first_page(block).0 + line * self.log_copies())
    }
    /// Pages' worth of mapping units that the host sees.
    #[inline]
    pub(crate) fn logical_pages(&self) -> u32 {
        self.logical_pages
    }
    /// Mapping units that the host sees: those with the lowest numbers.
    #[inline]
    pub(crate) fn host_units(&self) -> u32 {
        self.logical_pages * self.runtime.units.per_page()
    }
    /// All mapping units, including those that hold the map itself.
    pub(crate) fn all_units(&self) -> u32 {
        self.host_units() + self.runtime.config.map_units() as u32
    }
    /// A number that differs between drives whose stored maps don't fit each other.
    pub(crate) fn shape(&self) -> u64 {
        let (g, rows) = (&self.runtime.geometry, &self.runtime.restriction);
        let parts = [
            u64::from(g.channels),
            u64::from(g.ways),
            u64::from(g.luns),
            u64::from(g.blocks_per_lun),
            u64::from(g.pages_per_block),
            u64::from(g.page_bytes),
            u64::from(self.logical_pages) | self.runtime.config.map_units() << 32,
            self.placed,
            self.runtime.config.content as u64
                | u64::from(self.runtime.config.lines.at_once() - 1) << 8
                | u64::from(rows.page_step - 1) << 16
                | u64::from(rows.array.planes - rows.planes) << 32
                | u64::from(self.runtime.units.per_page() - 1) << 48,
        ];
        parts.iter().fold(0, |all, part| mix64(all ^ part.wrapping_add(0x9e37_79b9)))
    }
    pub(crate) fn entries_per_page(&self) -> usize {
        self.entries_per_page
    }
    /// Pages of the stored map, without the block table.
    pub(crate) fn map_pages(&self) -> u32 {
        self.map_pages
    }
    // The bits before the block table, in bytes.
    pub(crate) fn present_bytes(&self) -> usize {
        (self.map_pages() as usize).div_ceil(64) * 8
    }
    pub(crate) fn table_pages(&self) -> u32 {
        let bytes = u64::from(self.blocks.total()) * BLOCK_ENTRY_BYTES + self.present_bytes() as u64;
        bytes.div_ceil(u64::from(self.runtime.geometry.page_bytes)) as u32
    }
    /// Pages of data after which the map is stored again.
    pub(crate) fn checkpoint_pages(&self) -> u64 {
        match self.runtime.config.checkpoint_pages {
            0 => PAGES_A_MAP_PAGE * u64::from(self.map_pages() + self.table_pages()),
            pages => u64::from(pages),
        }
    }
    pub(crate) fn map_place(&self, map_blocks: &[BlockIndex], place: u32) -> Ppa {
        let (count, at_once) = (map_blocks.len() as u32, self.runtime.config.lines.at_once());
        let (line, in_line) = (place / at_once, place % at_once);
        let first = self.blocks.first_page(map_blocks[(line % count) as usize]);
        Ppa(first.0 + line / count * at_once + in_line)
    }
    /// Whether a page that was read is this part of the stored map, and intact.
    pub(crate) fn is_part(
        &self,
        stored: &StoredMap,
        part: StripePart,
        outcome: &Outcome,
        buffer: BufferId,
    ) -> bool {
        let whole = self.pages.whole();
        let (lost, record) = self.media.judge(outcome, whole, buffer);
        let expected = (PageKind::Map, part.lpn(), stored.generation);
        lost == 0 && record.is_some_and(|r| (r.kind, r.lpn, r.sequence) == expected)
    }
    pub(crate) fn log_page_in(&self, outcome: &Outcome, buffer: BufferId) -> Option<(Header, Vec<LogEntry>)> {
        let dram = self.pages.dram().borrow();
        let record = OobRecord::decode_as(self.runtime.units, dram.oob(buffer))?;
        let whole = outcome.status == FlashStatus::Done && !outcome.erased;
        if !whole || record.kind != PageKind::Log {
            return None;
        }
        Header::decode(dram.page(buffer)).filter(|(header, _)| header.number == record.sequence)
    }
}
