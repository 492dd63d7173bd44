//! Puts the outcome of a drive's history into its cells, its block table and its map.

use super::history::{SHARE_OF_ROUNDS, Slices, Written, live_through};
use super::lun_units::LunUnits;
use super::pool::{NONE, NoRoom, Pool, PoolShape};
use crate::blocks::pool::BlockPool;
use crate::checkpoint::error::BootError;
use crate::media::requests::Media;
use crate::terms::block::{BlockEntry, BlockIndex, BlockState, Stream};
use crate::terms::config::{FtlConfig, WearLevelling};
use crate::terms::oob::{COPIES, PageKind, PageRecord, UnitRecord};
use crate::terms::runtime::Runtime;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::{ClosedBlocks, Prefill};
use aster_units::{BlockAddr, Content, Lpn, LunIndex, PageInBlock, SECTOR_BYTES, Upa};
use core::cell::Cell;

/// A drive that is being filled: its parts, of which all but its map are changed here.
pub(crate) struct Filling {
    pub(crate) runtime: Rc<Runtime>,
    pub(crate) blocks: Rc<BlockPool>,
    pub(crate) media: Rc<Media>,
}

impl Filling {
    /// Fills a fresh drive whose blocks are adopted. Returns the place of each mapped unit, for the map.
    /// `share` says meanwhile how much of it is done.
    pub(crate) async fn fill(
        &self,
        prefill: &mut Prefill,
        units: u32,
        share: &Cell<Option<f64>>,
    ) -> Result<Vec<(Lpn, Upa)>, BootError> {
        let config = &self.runtime.config;
        let luns = config.geometry.total_luns();
        let lun_units = LunUnits::new(config.units(), luns, self.blocks.lun_order());
        let mut pools: Vec<Pool> =
            (0..luns).map(|lun| self.pool(LunIndex(lun), lun_units.count(units))).collect();
        let written = Written {
            shape: config.units(),
            units,
            unit_bytes: config.unit_bytes(),
            lun_units: &lun_units,
            dirty_max: config.host.dirty_max(),
            pages_at_once: config.lines.at_once(),
        };
        let candidates = &self.blocks.table().candidates;
        let mut choose = |closed: &ClosedBlocks<'_>| candidates.choose(closed);
        let slices = Slices { exec: self.runtime.exec(), share };
        let history = &mut *prefill.history;
        let lived = live_through(&written, history, &mut pools, &mut choose, &slices).await;
        let no_room = |NoRoom| BootError::NotFilled { why: "garbage collection gains no room" };
        lived.map_err(no_room)?;
        for pool in &mut pools {
            // The host has left the drive alone since.
            pool.come_to_rest(config.collects_at() as usize, &mut choose).map_err(no_room)?;
            pool.complete_lines(config.lines.pages.into());
        }
        self.adopt(&pools)?;
        self.program(prefill, &pools, &lun_units, &slices).await
    }
    /// A LUN before it holds anything. What the stored map needs stays free.
    fn pool(&self, lun: LunIndex, units: u32) -> Pool {
        let config = &self.runtime.config;
        let (table, areas) = (self.blocks.table(), config.areas());
        let free = |&block: &u32| {
            table.states.of(table.layout.block_index(lun, BlockAddr(block))) == BlockState::Free
        };
        let mut blocks: Vec<u32> = (0..config.geometry.blocks_per_lun).filter(free).collect();
        blocks.truncate(blocks.len().saturating_sub(areas.metadata_blocks_per_lun() as usize));
        let shape = PoolShape {
            lun,
            pages_per_block: config.geometry.pages_per_block.into(),
            units_per_page: config.units().per_page(),
            pages_at_once: config.lines.at_once(),
            kept: kept_free(config),
            levelled: config.care.wear_levelling != WearLevelling::None,
        };
        Pool::new(shape, config.geometry.blocks_per_lun, blocks.into(), units)
    }
    /// Tells the block table what each block holds, in the order in which blocks were filled.
    fn adopt(&self, pools: &[Pool]) -> Result<(), BootError> {
        let table = self.blocks.table();
        let states: Vec<BlockState> =
            (0..table.layout.total()).map(|block| table.states.of(BlockIndex(block))).collect();
        table.forget();
        let mut closed = Vec::new();
        let mut rest = Vec::new();
        for (lun, pool) in (0..).map(LunIndex).zip(pools) {
            let index = |block| table.layout.block_index(lun, BlockAddr(block));
            closed.extend(pool.closed().into_iter().map(|(at, block)| (at, lun.0, index(block))));
            let mut known = vec![false; table.layout.blocks_per_lun() as usize];
            pool.closed().iter().for_each(|&(_, block)| known[block as usize] = true);
            for (open, stream) in pool.open().into_iter().zip([Stream::Host(0), Stream::Gc]) {
                let Some(open) = open else { continue };
                known[open.block as usize] = true;
                let (erases, next) = (pool.erases(open.block), open.next as u16);
                // One that was not begun is free.
                let state = if next == 0 { BlockState::Free } else { BlockState::Open };
                let entry = BlockEntry { state, stream, next, erases, unverified: false };
                rest.push((index(open.block), entry));
            }
            let free: Vec<u32> = pool.free().collect();
            free.iter().for_each(|&block| known[block as usize] = true);
            let others = (0..table.layout.blocks_per_lun()).filter(|&block| !known[block as usize]);
            for block in free.iter().copied().chain(others) {
                let state = states[index(block).at()];
                rest.push((index(block), entry_of(state, pool.erases(block))));
            }
        }
        closed.sort_unstable_by_key(|&(at, lun, _)| (at, lun));
        let closed = closed.into_iter().map(|(_, lun, block)| {
            let erases = pools[lun as usize].erases(table.layout.block_addr(block).0);
            (block, entry_of(BlockState::Closed, erases))
        });
        for (block, entry) in closed.chain(rest) {
            table.adopt(block, entry).map_err(|why| BootError::NotFilled { why })?;
        }
        Ok(())
    }
    /// Programs all pages.
    async fn program(
        &self,
        prefill: &mut Prefill,
        pools: &[Pool],
        lun_units: &LunUnits,
        slices: &Slices<'_>,
    ) -> Result<Vec<(Lpn, Upa)>, BootError> {
        let config = &self.runtime.config;
        let (shape, geometry) = (config.units(), config.geometry);
        let kept = |bytes: u32| match config.content {
            Content::Full => bytes as usize,
            Content::Fingerprint => bytes as usize / SECTOR_BYTES * config.content.sector_len(),
        };
        let (unit_bytes, unit_kept) = (u64::from(config.unit_bytes()), kept(config.unit_bytes()));
        let mut data = vec![0; kept(geometry.page_bytes)];
        let mut oob = vec![0; shape.oob_bytes()];
        let (mut places, mut last) = (Vec::new(), 0);
        let mut units: Vec<(u32, UnitRecord)> = Vec::new();
        for (lun, pool) in (0..).map(LunIndex).zip(pools) {
            let share = f64::from(lun.0) / pools.len() as f64;
            slices.done(SHARE_OF_ROUNDS + (1.0 - SHARE_OF_ROUNDS) * share).await;
            for block in (0..geometry.blocks_per_lun).map(BlockAddr) {
                let (at, row) = self.media.row_of(lun, block, PageInBlock(0));
                if pool.erases(block.0) > 0 {
                    prefill.cells.set_erases(at, row, pool.erases(block.0));
                }
                for page in (0..pool.pages_of(block.0)).map(|page| PageInBlock(page as u16)) {
                    let ppa = geometry.ppa(lun, block, page);
                    units.clear();
                    for (slot, found) in (0..).zip(pool.slots_of(block.0, page.0.into())) {
                        let kept = &mut data[slot as usize * unit_kept..][..unit_kept];
                        if found.unit == NONE {
                            kept.fill(0);
                            continue;
                        }
                        let lpn = lun_units.unit(lun, found.unit);
                        prefill.history.content(u64::from(lpn.0) * unit_bytes, found.current, kept);
                        let sequence = u64::from(found.written);
                        last = last.max(sequence);
                        units.push((slot, UnitRecord { lpn, sequence, copy: found.copies % COPIES }));
                        if found.current {
                            places.push((lpn, shape.at(ppa, slot)));
                        }
                    }
                    let kind = if units.is_empty() { PageKind::Padding } else { PageKind::Data };
                    let record = PageRecord { kind, lost_sectors: 0 };
                    record.encode(shape, units.iter().copied(), &mut oob);
                    let (at, row) = self.media.row_of(lun, block, page);
                    prefill.cells.program(at, row, &data, &oob);
                }
            }
        }
        self.blocks.sequence.set(last);
        Ok(places)
    }
}

/// Free blocks of a LUN that the host leaves alone while it writes as fast as it can: those that only garbage
/// collection may take, and with paced collection half of those that it has for the host.
fn kept_free(config: &FtlConfig) -> usize {
    let reserve = config.gc.reserve_blocks + config.mapping_reserve_blocks();
    let band = if config.gc.is_paced() { config.collects_at().saturating_sub(reserve) / 2 } else { 0 };
    (reserve + band) as usize
}

fn entry_of(state: BlockState, erases: u32) -> BlockEntry {
    BlockEntry { state, stream: Stream::Host(0), next: 0, erases, unverified: false }
}
