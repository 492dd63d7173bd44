//! What the blocks of a drive that is served hold and how worn they are, looked at little by little.

use crate::blocks::blocks_per_cell;
use crate::frame::BlockCells;
use aster_device::Device;
use aster_lab::watch::DriveShape;
use aster_units::{BlockAddr, Lpn, LunIndex};
use std::sync::Arc;

/// Blocks that are looked at in a turn.
const BLOCKS: u32 = 512;
/// Mapping units that are looked up in a turn.
const UNITS: u32 = 2048;
/// What an FTL on the host maps.
const HOST_UNIT_BYTES: u64 = 4096;
/// Mapping units that are looked up in all; of more, one in so many.
const LOOKUPS_MAX: u64 = 1 << 19;

/// Looks at all blocks and all mapping units in turns, again and again.
pub(crate) struct BlockScan {
    shape: DriveShape,
    units: u32,
    stride: u32,
    /// What comes next: blocks first, then units.
    block: u32,
    unit: u32,
    /// What was found in this round so far.
    found: BlockCells,
    /// The last whole round.
    whole: Option<Arc<BlockCells>>,
}

impl BlockScan {
    pub(crate) fn new(device: &Device, shape: DriveShape) -> Self {
        let g = &shape.geometry;
        let unit_bytes = match device.below() {
            Some(_) => HOST_UNIT_BYTES,
            None => u64::from(shape.mapping_unit_bytes),
        };
        // Behind the capacity nothing is mapped, and looked at for nothing.
        let units = g.total_pages() * u64::from(g.page_bytes) / unit_bytes;
        let units = units.min(u64::from(u32::MAX - UNITS));
        let stride = units.div_ceil(LOOKUPS_MAX).max(1) as u32;
        let found = empty(&shape, unit_bytes);
        BlockScan { shape, units: units as u32, stride, block: 0, unit: 0, found, whole: None }
    }

    /// Looks at some more.
    pub(crate) fn go_on(&mut self, device: &Device) {
        let blocks = self.shape.geometry.total_luns() * self.shape.geometry.blocks_per_lun;
        if self.block < blocks {
            self.look_at_blocks(device, blocks);
        } else if self.unit < self.units {
            self.look_units_up(device);
        } else {
            let next = BlockCells {
                valid: self.found.valid.iter().map(|row| vec![0; row.len()]).collect(),
                erases: self.found.erases.iter().map(|row| vec![0.0; row.len()]).collect(),
                bad: self.found.bad.iter().map(|row| vec![0; row.len()]).collect(),
                ..self.found
            };
            let found = std::mem::replace(&mut self.found, next);
            if self.whole.as_deref() != Some(&found) {
                self.whole = Some(Arc::new(found));
            }
            (self.block, self.unit) = (0, 0);
        }
    }

    /// What the last whole round has found.
    pub(crate) fn cells(&self) -> Option<Arc<BlockCells>> {
        self.whole.clone()
    }

    fn look_at_blocks(&mut self, device: &Device, blocks: u32) {
        let below = device.below();
        let flash = below.as_deref().unwrap_or(device);
        let (nand, restriction) = (flash.nand(), *flash.restriction());
        let (each, per_cell) = (self.shape.geometry.blocks_per_lun, self.found.blocks_per_cell);
        let end = self.block.saturating_add(BLOCKS).min(blocks);
        for at in self.block..end {
            let (lun, block) = (at / each, at % each);
            let info = nand.block(LunIndex(lun), restriction.block(BlockAddr(block)));
            let (row, cell) = (lun as usize, (block / per_cell) as usize);
            let of_cell = per_cell.min(each - cell as u32 * per_cell);
            self.found.erases[row][cell] += f64::from(info.erases) / f64::from(of_cell);
            self.found.bad[row][cell] += u32::from(info.bad.is_some());
        }
        self.block = end;
    }

    fn look_units_up(&mut self, device: &Device) {
        let (g, per_cell) = (self.shape.geometry, self.found.blocks_per_cell);
        for _ in 0..UNITS {
            if self.unit >= self.units {
                return;
            }
            let place = device.translation().location_of(Lpn(self.unit));
            self.unit = self.unit.saturating_add(self.stride);
            let Some(ppa) = place else { continue };
            let (lun, block, _) = g.split_ppa(ppa);
            let row = self.found.valid.get_mut(lun.index());
            if let Some(cell) = row.and_then(|row| row.get_mut((block.0 / per_cell) as usize)) {
                *cell += u64::from(self.stride);
            }
        }
    }
}

fn empty(shape: &DriveShape, unit_bytes: u64) -> BlockCells {
    let g = &shape.geometry;
    let (luns, blocks) = (g.total_luns(), g.blocks_per_lun);
    let blocks_per_cell = blocks_per_cell(luns, blocks);
    let (rows, cells) = (luns as usize, blocks.div_ceil(blocks_per_cell) as usize);
    let block_bytes = u64::from(g.pages_per_block) * u64::from(g.page_bytes);
    BlockCells {
        blocks_per_cell,
        units_per_cell: block_bytes / unit_bytes * u64::from(blocks_per_cell),
        valid: vec![vec![0; cells]; rows],
        erases: vec![vec![0.0; cells]; rows],
        bad: vec![vec![0; cells]; rows],
    }
}
