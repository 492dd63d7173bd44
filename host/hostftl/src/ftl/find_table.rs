//! The block group table at power-on (H25): from where NVRAM says that it is, else from the newest whole copy
//! on flash.

use super::block_table::BlockTable;
use super::flash::{Flash, Span, Ticket};
use super::groups::GroupPlace;
use super::keeping::Misnamed;
use super::mended::{Fit, mend};
use super::oob::SectorKind;
use super::place::PagePlace;
use super::table_copies::{LaneBlock, LanePage, TableCopies};
use super::table_pages;
use super::table_place::{TablePlace, lanes_of};
use crate::driver::ArrayInfo;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::Exec;
use aster_parties::Refresh;
use aster_ports::dram::SharedDram;
use aster_units::{BufferId, SECTOR_BYTES};
use aster_wire::array::NO_BLOCK;

/// Blocks that are looked at side by side, each with a page buffer.
const SIDE_BY_SIDE: usize = 64;

/// The group of the die that has the table.
const DIE: GroupPlace = GroupPlace { channel: 0, die: 0, group: 0 };

/// What finds the table, with the first page buffers.
pub(super) struct TableFinder<'a> {
    pub exec: &'a Exec,
    pub flash: &'a Flash,
    pub buffers: &'a SharedDram,
    pub info: &'a ArrayInfo,
    /// When data are written anew.
    pub refresh: Refresh,
}

/// What was read as a table, and the most bits that were corrected in a chunk of it.
type Read = (BlockTable, u8);

/// What is found of tables.
#[derive(Default)]
pub(super) struct FoundTable {
    /// The table that counts, and where it is; `None` if no table is whole.
    pub table: Option<(BlockTable, TablePlace)>,
    /// The newest generation of which anything may be on flash.
    pub newest: u64,
    /// It wasn't where NVRAM says that it is.
    pub was_searched: bool,
    /// Why the one that NVRAM names doesn't count.
    pub misnamed: Option<Misnamed>,
    /// It fades: reading it has corrected too many bits, or has found a copy of a page lost.
    pub is_faded: bool,
    /// The group of each of its members that could not be, and was dropped.
    pub mended: Vec<GroupPlace>,
}

impl TableFinder<'_> {
    /// The newest whole table, and where it is. What NVRAM has kept counts unless it `is_older` than what is
    /// known to be on flash. `fit` says what a block may be to a group: die, lane, block.
    pub async fn find(
        &self,
        kept: Option<TablePlace>,
        is_older: bool,
        reads: &mut u64,
        fit: impl Fn(usize, u8, u16) -> Fit,
    ) -> FoundTable {
        let misnamed = match kept {
            None => None,
            Some(_) if is_older => Some(Misnamed::Older),
            Some(place) => match self.named(place, &fit, reads).await {
                None => Some(Misnamed::Unreadable),
                Some(_) if self.has_newer(place, reads).await => Some(Misnamed::Older),
                Some((mut table, corrected)) => {
                    let (mended, is_faded) =
                        (mend(&mut table, self.info, fit), self.refresh.is_faded(corrected));
                    let (table, newest) = (Some((table, place)), place.newest);
                    return FoundTable { table, newest, is_faded, mended, ..FoundTable::default() };
                }
            },
        };
        let found = self.search(kept.map(|place| place.newest), reads, fit).await;
        FoundTable { misnamed, ..found }
    }
    /// The table that NVRAM names.
    async fn named(
        &self,
        place: TablePlace,
        fit: impl Fn(usize, u8, u16) -> Fit,
        reads: &mut u64,
    ) -> Option<Read> {
        let end = place.page.checked_add(self.pages()).filter(|&end| end <= self.info.pages)?;
        let blocks = self.blocks(&place, place.area);
        let copies = |page| blocks.iter().map(|&block| (block, page)).collect();
        let copies: Vec<Vec<LanePage>> = (place.page..end).map(copies).collect();
        self.read(place.generation, &copies, fit, reads).await
    }
    /// Whether a copy of which NVRAM doesn't know lies behind the one that it names, or in the other area.
    async fn has_newer(&self, place: TablePlace, reads: &mut u64) -> bool {
        let next = place.page + self.pages();
        let mut starts = vec![];
        if next < self.info.pages {
            starts.extend(self.blocks(&place, place.area).into_iter().map(|block| (block, next)));
        }
        starts.extend(self.blocks(&place, 1 - place.area).into_iter().map(|block| (block, 0)));
        let begin = |(n, (block, page))| self.begin(block, page, n);
        let reading: Vec<Rc<Ticket>> = starts.into_iter().enumerate().map(begin).collect();
        *reads += reading.len() as u64;
        let mut newest = 0;
        for read in reading {
            newest = newest.max(self.record(&read).await.map_or(0, |(generation, _)| generation));
        }
        newest > place.newest
    }
    /// The blocks of an area of the group that has the table.
    fn blocks(&self, place: &TablePlace, area: u8) -> Vec<LaneBlock> {
        let blocks = lanes_of(area, self.info.lanes).map(|lane| (lane, place.blocks[usize::from(lane)]));
        blocks.filter(|&(_, block)| u32::from(block) < self.info.blocks).collect()
    }
    fn pages(&self) -> u16 {
        let groups = self.info.all_dies() as u64 * u64::from(self.info.blocks);
        let page_bytes = usize::from(self.info.sectors) * SECTOR_BYTES;
        table_pages::pages(groups, page_bytes) as u16
    }
    /// Reads a table of which each page has these copies. A copy in a block that can be written counts as
    /// lost if it can't be corrected.
    async fn read(
        &self,
        generation: u64,
        pages: &[Vec<LanePage>],
        fit: impl Fn(usize, u8, u16) -> Fit,
        reads: &mut u64,
    ) -> Option<Read> {
        let (mut table, mut corrected) = (BlockTable::empty(self.info), 0);
        for (n, copies) in pages.iter().enumerate() {
            let mut is_there = false;
            for &(block, page) in copies.iter().filter(|((_, block), _)| *block != NO_BLOCK) {
                *reads += 1;
                let read = self.begin(block, page, 0);
                let is_of_table = self.record(&read).await == Some((generation, n as u32));
                if is_of_table || fit(0, block.0, block.1) == Fit::Good {
                    corrected = read.done(self.exec).await.corrected.max(corrected);
                }
                if is_of_table {
                    let buffers = self.buffers.borrow();
                    is_there |= table_pages::take(&mut table, generation, n, buffers.page(BufferId(0)));
                }
                if is_there {
                    break;
                }
            }
            if !is_there {
                return None;
            }
        }
        Some((table, corrected))
    }
    fn begin(&self, (lane, block): LaneBlock, page: u16, buffer: usize) -> Rc<Ticket> {
        let page: PagePlace = DIE.page(page, lane);
        let span = Span { page, block, first: 0, count: self.info.sectors };
        self.flash.read(span, BufferId(buffer as u32), 0)
    }
    /// The generation and the number of a page of a table; `None` if what was read is none.
    async fn record(&self, read: &Ticket) -> Option<(u64, u32)> {
        let done = read.done(self.exec).await;
        let record = done.records[0].filter(|record| record.kind == SectorKind::Table)?;
        done.is_good().then_some((record.sequence, record.sector))
    }
    /// Looks for tables in all blocks of the die, and takes the newest whole one, with the newest
    /// generation of all. NVRAM has kept one of which something may be on flash.
    async fn search(
        &self,
        kept: Option<u64>,
        reads: &mut u64,
        fit: impl Fn(usize, u8, u16) -> Fit,
    ) -> FoundTable {
        let blocks = 0..self.info.blocks.min(NO_BLOCK.into()) as u16;
        let of_lane = |lane| blocks.clone().map(move |block| (lane, block));
        let all: Vec<LaneBlock> = (0..self.info.lanes).flat_map(of_lane).collect();
        let mut with_tables = vec![];
        for some in all.chunks(SIDE_BY_SIDE) {
            let reading: Vec<Rc<Ticket>> =
                some.iter().enumerate().map(|(n, &block)| self.begin(block, 0, n)).collect();
            *reads += reading.len() as u64;
            for (&block, read) in some.iter().zip(reading) {
                if self.record(&read).await.is_some() {
                    with_tables.push(block);
                }
            }
        }
        let mut copies = TableCopies::new(self.info.lanes);
        for &block in &with_tables {
            for page in 0..self.info.pages {
                *reads += 1;
                if let Some(found) = self.record(&self.begin(block, page, 0)).await {
                    copies.add(found, (block, page));
                }
            }
        }
        let (newest, pages) = (copies.newest(kept), self.pages());
        for generation in copies.generations() {
            for start in copies.starts(generation, pages) {
                let ((lane, block), page) = start;
                let copy = copies.of_copy(generation, pages, start);
                let Some((mut table, corrected)) = self.read(generation, &copy, &fit, reads).await else {
                    continue;
                };
                let mended = mend(&mut table, self.info, &fit);
                let its = table.of_die(0).iter().find(|members| members[usize::from(lane)] == block).copied();
                if let Some(blocks) = its.filter(|blocks| TableCopies::are_of(&copy, blocks)) {
                    let place = TablePlace { generation, newest, blocks, area: copies.area(lane), page };
                    let (table, is_faded) = (Some((table, place)), self.refresh.is_faded(corrected));
                    let was_searched = true;
                    return FoundTable { table, newest, was_searched, misnamed: None, is_faded, mended };
                }
            }
        }
        FoundTable { newest, ..FoundTable::default() }
    }
}
