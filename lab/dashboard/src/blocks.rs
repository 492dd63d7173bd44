//! What the blocks hold and how worn they are, from events.

use crate::frame::BlockCells;
use aster_events::Event;
use aster_lab::watch::DriveShape;
use aster_units::{Ppa, RowAddr};
use std::collections::HashMap;

/// Cells of all LUNs together that a browser gets; more blocks share one.
pub(crate) const CELLS_MAX: u64 = 1 << 14;

/// How many neighbouring blocks share a cell.
pub(crate) fn blocks_per_cell(luns: u32, blocks: u32) -> u32 {
    (u64::from(luns) * u64::from(blocks)).div_ceil(CELLS_MAX).max(1) as u32
}

/// All blocks of a drive, in cells.
#[derive(Clone)]
pub(crate) struct Blocks {
    shape: DriveShape,
    blocks_per_cell: u32,
    cells_per_lun: usize,
    /// Where a unit lies: its cell.
    map: HashMap<u32, u32>,
    /// By cell.
    valid: Vec<u64>,
    erases: Vec<u32>,
    bad: Vec<u32>,
    changed: bool,
}

impl Blocks {
    pub(crate) fn new(shape: DriveShape) -> Self {
        let (luns, blocks) = (shape.geometry.total_luns(), shape.geometry.blocks_per_lun);
        let blocks_per_cell = blocks_per_cell(luns, blocks);
        let cells_per_lun = blocks.div_ceil(blocks_per_cell) as usize;
        let cells = cells_per_lun * luns as usize;
        Blocks {
            shape,
            blocks_per_cell,
            cells_per_lun,
            map: HashMap::new(),
            valid: vec![0; cells],
            erases: vec![0; cells],
            bad: vec![0; cells],
            changed: true,
        }
    }

    fn cell(&self, lun: u32, block: u32) -> Option<u32> {
        let g = &self.shape.geometry;
        let there = lun < g.total_luns() && block < g.blocks_per_lun;
        there.then(|| lun * self.cells_per_lun as u32 + block / self.blocks_per_cell)
    }

    /// Takes an event; those that tell nothing of blocks are ignored.
    pub(crate) fn hear(&mut self, event: &Event) {
        match *event {
            Event::MapUpdated { lpn, ppa } => {
                let g = &self.shape.geometry;
                let page = Ppa(ppa / self.shape.units_per_page());
                let place = (ppa != u32::MAX && u64::from(page.0) < g.total_pages()).then(|| {
                    let (lun, block, _) = g.split_ppa(page);
                    (lun.0, block.0)
                });
                let cell = place.and_then(|(lun, block)| self.cell(lun, block));
                let before = match cell {
                    Some(cell) => self.map.insert(lpn, cell),
                    None => self.map.remove(&lpn),
                };
                if let Some(before) = before {
                    self.valid[before as usize] -= 1;
                }
                if let Some(cell) = cell {
                    self.valid[cell as usize] += 1;
                }
                self.changed |= before != cell;
            }
            Event::FlashFinished { lun, kind: 2, row, status: 0, .. } => {
                let block = self.shape.block_of(RowAddr(row));
                if let Some(cell) = block.and_then(|block| self.cell(lun, block.0)) {
                    self.erases[cell as usize] += 1;
                    self.changed = true;
                }
            }
            Event::BlockRetired { lun, block } => {
                if let Some(cell) = self.cell(lun, block) {
                    self.bad[cell as usize] += 1;
                    self.changed = true;
                }
            }
            _ => {}
        }
    }

    /// The cells, if anything has changed since they were taken last.
    pub(crate) fn take_changed(&mut self) -> Option<BlockCells> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let (blocks, per_cell) = (self.shape.geometry.blocks_per_lun, self.blocks_per_cell);
        let units = u64::from(self.shape.geometry.pages_per_block) * u64::from(self.shape.units_per_page());
        let mean = |of: &[u32]| -> Vec<f64> {
            let in_cell = |cell: usize| per_cell.min(blocks - cell as u32 * per_cell);
            of.iter().enumerate().map(|(cell, &sum)| f64::from(sum) / f64::from(in_cell(cell))).collect()
        };
        let each = self.cells_per_lun;
        Some(BlockCells {
            blocks_per_cell: per_cell,
            units_per_cell: units * u64::from(per_cell),
            valid: self.valid.chunks(each).map(<[u64]>::to_vec).collect(),
            erases: self.erases.chunks(each).map(mean).collect(),
            bad: self.bad.chunks(each).map(<[u32]>::to_vec).collect(),
        })
    }

    /// What is to be shown has to be sent anew.
    pub(crate) fn show_again(&mut self) {
        self.changed = true;
    }
}
