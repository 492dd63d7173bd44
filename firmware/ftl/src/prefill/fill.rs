//! Puts the outcome of a drive's history into its cells, its block table and its map.

use super::history::{SHARE_OF_ROUNDS, Slices, Written, live_through};
use super::open::Filler;
use super::pool::{NoRoom, Pool, PoolShape};
use super::pool_units::PoolUnits;
use super::slots::NONE;
use crate::blocks::pool::BlockPool;
use crate::checkpoint::error::BootError;
use crate::media::requests::Media;
use crate::terms::block::{BlockEntry, BlockIndex, BlockState, PoolIndex, Stream};
use crate::terms::config::{FtlConfig, WearLevelling};
use crate::terms::oob::{COPIES, PageKind, PageRecord, UnitRecord};
use crate::terms::runtime::Runtime;
use alloc::boxed::Box;
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
        let (layout, order) = (self.blocks.table().layout, self.blocks.lun_order());
        let placed = order.iter().map(|&lun| layout.pool_of(lun));
        let pool_units = PoolUnits::new(config.units(), layout.total_pools(), placed);
        let mut pools: Vec<Pool> =
            layout.all_pools().map(|pool| self.pool(pool, pool_units.count(units))).collect();
        let written = Written {
            shape: config.units(),
            units,
            unit_bytes: config.unit_bytes(),
            pool_units: &pool_units,
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
        self.program(prefill, &pools, &pool_units, &slices).await
    }
    /// A pool before it holds anything. What the stored map needs stays free.
    fn pool(&self, pool: PoolIndex, units: u32) -> Pool {
        let config = &self.runtime.config;
        let (table, areas) = (self.blocks.table(), config.areas());
        let (layout, first_lun) = (&table.layout, table.layout.first_lun(pool));
        let free = |lun: LunIndex| {
            let first = (lun.0 - first_lun.0) * layout.blocks_per_lun();
            let is_free =
                |&block: &u32| table.states.of(layout.block_index(lun, BlockAddr(block))) == BlockState::Free;
            let mut blocks: Vec<u32> = (0..layout.blocks_per_lun()).filter(is_free).collect();
            blocks.truncate(blocks.len().saturating_sub(areas.metadata_blocks_per_lun() as usize));
            blocks.into_iter().map(|block| first + block).collect()
        };
        let turns = self.blocks.lun_order().iter().filter(|&&lun| layout.pool_of(lun) == pool);
        let order: Box<[u32]> = match layout.has_one_lun() {
            true => [0].into(),
            false => turns.map(|lun| lun.0 - first_lun.0).collect(),
        };
        let shape = PoolShape {
            first_lun,
            blocks_per_lun: layout.blocks_per_lun(),
            pages_per_block: layout.pages_per_block(),
            units_per_page: config.units().per_page(),
            pages_at_once: config.lines.at_once(),
            pages_per_line: layout.pages_per_line(),
            kept: kept_free(config),
            collects_at: config.collects_at() as usize,
            pages_left: pages_left(config),
            levelled: config.care.wear_levelling != WearLevelling::None,
        };
        Pool::new(shape, layout.luns_of(pool).map(free).collect(), order, units)
    }
    /// Tells the block table what each block holds, in the order in which blocks were filled.
    fn adopt(&self, pools: &[Pool]) -> Result<(), BootError> {
        let table = self.blocks.table();
        let layout = &table.layout;
        let states: Vec<BlockState> =
            (0..layout.total()).map(|block| table.states.of(BlockIndex(block))).collect();
        table.forget();
        let mut closed = Vec::new();
        let mut rest = Vec::new();
        for (of, pool) in layout.all_pools().zip(pools) {
            let first = layout.blocks_of_pool(of).start as u32;
            let index = |block| BlockIndex(first + block);
            closed.extend(pool.closed().into_iter().map(|(at, block)| (at, of, block)));
            let mut known = vec![false; layout.blocks_of_pool(of).len()];
            pool.closed().iter().for_each(|&(_, block)| known[block as usize] = true);
            for lun in 0..layout.luns_of(of).count() {
                for (filler, open) in pool.open_in(lun) {
                    known[open.block as usize] = true;
                    let stream = match filler {
                        Filler::Host => Stream::Host(0),
                        Filler::Gc => Stream::Gc,
                    };
                    let (erases, next) = (pool.erases(open.block), open.next as u16);
                    // One that was not begun is free.
                    let state = if next == 0 { BlockState::Free } else { BlockState::Open };
                    let entry = BlockEntry { state, stream, next, erases, unverified: false };
                    rest.push((index(open.block), entry));
                }
                let free: Vec<u32> = pool.free_in(lun).collect();
                free.iter().for_each(|&block| known[block as usize] = true);
                let blocks = lun as u32 * layout.blocks_per_lun()..(lun as u32 + 1) * layout.blocks_per_lun();
                let others = blocks.filter(|&block| !known[block as usize]);
                for block in free.iter().copied().chain(others) {
                    let state = states[index(block).at()];
                    rest.push((index(block), entry_of(state, pool.erases(block))));
                }
            }
        }
        closed.sort_unstable_by_key(|&(at, pool, _)| (at, pool.at()));
        let closed = closed.into_iter().map(|(_, pool, block)| {
            let entry = entry_of(BlockState::Closed, pools[pool.at()].erases(block));
            (BlockIndex(layout.blocks_of_pool(pool).start as u32 + block), entry)
        });
        for (block, entry) in closed.chain(rest) {
            table.adopt(block, entry).map_err(|why| BootError::NotFilled { why })?;
        }
        // The table has closed one block after the other. How old they are counts for victim policies: a
        // cold block may have been closed long before the next younger one.
        let count = pools.len() as u64;
        let closings = count * pools.iter().map(|pool| pool.closings).max().unwrap_or(0);
        table.candidates.set_closings(closings);
        for (of, pool) in layout.all_pools().zip(pools) {
            let first = layout.blocks_of_pool(of).start as u32;
            for (at, block) in pool.closed() {
                let age = (pool.closings - at) * count;
                table.candidates.was_closed(BlockIndex(first + block), closings - age);
            }
            table.adopt_ages(of, pool.ages);
        }
        Ok(())
    }
    /// Programs all pages.
    async fn program(
        &self,
        prefill: &mut Prefill,
        pools: &[Pool],
        pool_units: &PoolUnits,
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
        let layout = &self.blocks.table().layout;
        for lun in layout.all_luns() {
            let of = layout.pool_of(lun);
            let (pool, first) = (&pools[of.at()], layout.blocks_of_pool(of).start as u32);
            let share = f64::from(lun.0) / layout.total_luns() as f64;
            slices.done(SHARE_OF_ROUNDS + (1.0 - SHARE_OF_ROUNDS) * share).await;
            for block in (0..geometry.blocks_per_lun).map(BlockAddr) {
                let of_pool = layout.block_index(lun, block).0 - first;
                let (at, row) = self.media.row_of(lun, block, PageInBlock(0));
                if pool.erases(of_pool) > 0 {
                    prefill.cells.set_erases(at, row, pool.erases(of_pool));
                }
                for page in (0..pool.pages_of(of_pool)).map(|page| PageInBlock(page as u16)) {
                    let ppa = geometry.ppa(lun, block, page);
                    units.clear();
                    for (slot, (found, current)) in (0..).zip(pool.slots_of(of_pool, page.0.into())) {
                        let kept = &mut data[slot as usize * unit_kept..][..unit_kept];
                        if found.unit == NONE {
                            kept.fill(0);
                            continue;
                        }
                        let lpn = pool_units.unit(of, found.unit);
                        prefill.history.content(u64::from(lpn.0) * unit_bytes, current, kept);
                        let sequence = u64::from(found.written);
                        last = last.max(sequence);
                        units.push((slot, UnitRecord { lpn, sequence, copy: found.copies % COPIES }));
                        if current {
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

/// Free blocks of a pool that the host leaves alone while it writes as fast as it can: those that only
/// garbage collection may take, and in a pool of one LUN with paced collection half of those that it has for
/// the host.
fn kept_free(config: &FtlConfig) -> usize {
    let reserve = config.pool_reserve_blocks() + config.mapping_reserve_blocks();
    let is_paced = config.gc.is_paced() && config.luns_per_pool() == 1;
    let band = if is_paced { config.collects_at().saturating_sub(reserve) / 2 } else { 0 };
    (reserve + band) as usize
}

/// Pages that the host of a pool of several LUNs has left where paced collection settles: half of those that
/// it has where collection begins.
fn pages_left(config: &FtlConfig) -> u64 {
    if !config.gc.is_paced() || config.luns_per_pool() == 1 {
        return 0;
    }
    let blocks = config.collects_at() - config.pool_reserve_blocks() + config.luns_per_pool();
    u64::from(blocks) * u64::from(config.geometry.pages_per_block) / 2
}

fn entry_of(state: BlockState, erases: u32) -> BlockEntry {
    BlockEntry { state, stream: Stream::Host(0), next: 0, erases, unverified: false }
}
