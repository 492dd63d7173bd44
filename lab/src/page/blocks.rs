//! What a drive's blocks hold and how worn they are, as maps.

use aster_device::Device;
use aster_units::{BlockAddr, Lpn, LunIndex};
use serde::Serialize;

/// The most cells of a map; in larger drives neighbouring blocks share one.
const CELLS_MAX: u64 = 1 << 17;
/// The most logical pages whose place is looked up; of more, one in so many.
const LOOKUPS_MAX: u64 = 1 << 22;
/// The smallest unit that a translation maps.
const UNIT_BYTES: u64 = 4096;

/// Maps of a drive's blocks: a row for each LUN, a cell for a block or several.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BlockMaps {
    /// Names of the rows: channel, way, LUN.
    pub luns: Vec<String>,
    /// Blocks of a LUN.
    pub blocks_per_lun: u32,
    /// Neighbouring blocks that share a cell.
    pub blocks_per_cell: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// P/E cycles, the mean of a cell's blocks.
    pub erases: Vec<Vec<f64>>,
    /// Share of the pages that are programmed.
    pub programmed: Vec<Vec<f64>>,
    /// Mapped units of the drive's translation in a cell, for comparison with other cells; empty if it can't
    /// say where its units are.
    pub mapped: Vec<Vec<f64>>,
    /// Bad blocks of a cell.
    pub bad: Vec<Vec<u32>>,
}

/// The maps of `device`, whose namespace has so many bytes. Of a drive under an FTL on the host they are
/// those of its flash.
pub fn block_maps(device: &Device, namespace_bytes: u64) -> BlockMaps {
    let below = device.below();
    let flash = below.as_deref().unwrap_or(device);
    let (geometry, nand) = (*flash.geometry(), flash.nand());
    let (luns, blocks) = (geometry.total_luns(), geometry.blocks_per_lun);
    let per_cell = (u64::from(luns) * u64::from(blocks)).div_ceil(CELLS_MAX).max(1) as u32;
    let cells = blocks.div_ceil(per_cell) as usize;
    let empty = || vec![vec![0.0; cells]; luns as usize];
    let (mut erases, mut programmed, mut bad) = (empty(), empty(), vec![vec![0; cells]; luns as usize]);
    for lun in 0..luns {
        for block in 0..blocks {
            let (row, cell) = (lun as usize, (block / per_cell) as usize);
            let of_cell = per_cell.min(blocks - cell as u32 * per_cell);
            let info = nand.block(LunIndex(lun), BlockAddr(block));
            erases[row][cell] += f64::from(info.erases) / f64::from(of_cell);
            let share = f64::from(info.programmed) / f64::from(geometry.pages_per_block);
            programmed[row][cell] += share / f64::from(of_cell);
            bad[row][cell] += u32::from(info.bad.is_some());
        }
    }
    let units = (namespace_bytes / UNIT_BYTES).min(u64::from(u32::MAX));
    let stride = units.div_ceil(LOOKUPS_MAX).max(1);
    let (mut mapped, mut any) = (empty(), false);
    for unit in (0..units).step_by(stride as usize) {
        let Some(ppa) = device.translation().location_of(Lpn(unit as u32)) else { continue };
        let (lun, block, _) = geometry.split_ppa(ppa);
        let cell = mapped.get_mut(lun.index()).and_then(|row| row.get_mut((block.0 / per_cell) as usize));
        let Some(cell) = cell else { continue };
        *cell += stride as f64;
        any = true;
    }
    let names = (0..luns).map(|lun| {
        let at = geometry.lun_addr(LunIndex(lun));
        match geometry.luns {
            1 => format!("channel {} way {}", at.channel, at.way),
            _ => format!("channel {} way {} LUN {}", at.channel, at.way, at.lun),
        }
    });
    BlockMaps {
        luns: names.collect(),
        blocks_per_lun: blocks,
        blocks_per_cell: per_cell,
        pages_per_block: geometry.pages_per_block.into(),
        erases,
        programmed,
        mapped: if any { mapped } else { Vec::new() },
        bad,
    }
}
