//! The wear of chunks (P29): how often their blocks were erased.
//!
//! Beside each page stands how often its block had been erased when it was written. At power-on the first
//! page of each block is read anyway. How many erases the blocks of a LUN have had together is in NVRAM:
//! those that are erased then share what the others leave of it. That is an estimate, of what nothing on the
//! media tells.

use crate::plan::Run;
use crate::shape::Shape;
use crate::table::BlockTable;
use aster_ports::dram::Buffers;
use aster_units::{BlockAddr, BufferId, LunIndex};

/// Bytes that the wear of its block takes beside a page, behind the metadata of its sectors.
pub const WEAR_BYTES: usize = size_of::<u32>();

/// The wear beside a page.
pub(crate) fn wear_of(oob: &[u8]) -> u32 {
    oob.last_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Puts the wear of their blocks beside pages that are about to be programmed.
pub(crate) fn note(runs: &[Run], into: &[BufferId], table: &BlockTable, buffers: &mut Buffers) {
    for (run, buffer) in runs.iter().zip(into) {
        let erases = table.get(run.lun, run.block).erases.unwrap_or(0);
        if let Some(wear) = buffers.oob_mut(*buffer).last_chunk_mut() {
            *wear = erases.to_le_bytes();
        }
    }
}

/// The wear-level index of a chunk, which its most worn block decides: 255 when it has been erased as often
/// as it is made for.
pub(crate) fn index_of(
    lun: LunIndex,
    block: BlockAddr,
    table: &BlockTable,
    shape: &Shape,
    endurance: u32,
) -> u8 {
    let of_planes = shape.all_planes(block).filter_map(|block| table.get(lun, block).erases);
    (u64::from(of_planes.max().unwrap_or(0)) * 255 / u64::from(endurance)).min(255) as u8
}
