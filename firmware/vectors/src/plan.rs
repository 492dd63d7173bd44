//! What a vector means for flash, and whether it may be carried out. Pure: it changes nothing.

use crate::shape::{Shape, Unit};
use crate::table::BlockTable;
use alloc::vec::Vec;
use aster_ports::host::VectorFault;
use aster_units::{BlockAddr, LunIndex, PageInBlock, SectorRange};

/// The part of a vector that one flash request carries out: consecutive addresses with consecutive sectors
/// of one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub lun: LunIndex,
    pub block: BlockAddr,
    pub page: PageInBlock,
    pub sectors: SectorRange,
    /// The index of its first address.
    pub first: u8,
}

impl Run {
    /// Its addresses, one bit each.
    pub fn mask(&self) -> u64 {
        self.mask_of(self.sectors.mask())
    }
    /// The addresses of these sectors of the page, one bit each.
    pub fn mask_of(&self, sectors: u16) -> u64 {
        u64::from((sectors & self.sectors.mask()) >> self.sectors.first) << self.first
    }
}

/// A block to erase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ErasedBlock {
    pub lun: LunIndex,
    pub block: BlockAddr,
    /// The addresses that name it, one bit each.
    pub mask: u64,
}

/// Cuts a vector into runs.
pub(crate) fn runs(units: &[Unit], into: &mut Vec<Run>) {
    into.clear();
    for (unit, first) in units.iter().zip(0..) {
        if let Some(last) = into.last_mut()
            && (last.lun, last.block, last.page) == (unit.lun, unit.block, unit.page)
            && last.sectors.end() == unit.sector
        {
            last.sectors.count += 1;
            continue;
        }
        let Unit { lun, block, page, sector } = *unit;
        into.push(Run { lun, block, page, sectors: SectorRange { first: sector, count: 1 }, first });
    }
}

/// The pages that one multi-plane operation carries out: the same one of different planes of a LUN, at the
/// same block of each (G13).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PlaneSet {
    lun: LunIndex,
    /// The number that the blocks have in their planes.
    block: u32,
    page: PageInBlock,
    /// A bit for each plane.
    planes: u32,
}

impl PlaneSet {
    pub fn of(lun: LunIndex, block: BlockAddr, page: PageInBlock, planes: u8) -> Self {
        let planes = u32::from(planes);
        PlaneSet { lun, block: block.0 / planes, page, planes: 1 << (block.0 % planes) }
    }
    /// Both as one, if one operation can carry them out.
    pub fn with(self, other: PlaneSet) -> Option<PlaneSet> {
        let same = (self.lun, self.block, self.page) == (other.lun, other.block, other.page);
        let planes = self.planes | other.planes;
        (same && self.planes & other.planes == 0).then_some(PlaneSet { planes, ..self })
    }
}

/// Checks that each run of a write is a whole page, and the next one of its block. The write pointers of
/// the blocks must be known.
pub(crate) fn check_write(runs: &[Run], table: &BlockTable, sectors_per_page: u8) -> Result<(), VectorFault> {
    let whole = SectorRange::whole(sectors_per_page);
    for (n, run) in runs.iter().enumerate() {
        let block = table.get(run.lun, run.block);
        if !block.is_usable() {
            return Err(VectorFault::BadBlock);
        }
        let same = |before: &&Run| (before.lun, before.block) == (run.lun, run.block);
        let before = runs[..n].iter().filter(same).count() as u16;
        let written = block.written().expect("the pointer was looked for");
        if run.sectors != whole || run.page.0 != written + before {
            return Err(VectorFault::OutOfOrder);
        }
    }
    Ok(())
}

/// The blocks that an erase means; pages and sectors of its addresses don't matter (O9). A block that is
/// named twice is erased once.
pub(crate) fn erases(units: &[Unit], all_planes: bool, shape: &Shape, into: &mut Vec<ErasedBlock>) {
    into.clear();
    for (unit, n) in units.iter().zip(0..) {
        let planes = shape.all_planes(unit.block);
        for block in planes.filter(|block| all_planes || *block == unit.block) {
            match into.iter_mut().find(|known| (known.lun, known.block) == (unit.lun, block)) {
                Some(known) => known.mask |= 1 << n,
                None => into.push(ErasedBlock { lun: unit.lun, block, mask: 1 << n }),
            }
        }
    }
}

/// Checks that blocks may be erased.
pub(crate) fn check_erase(
    mut blocks: impl Iterator<Item = (LunIndex, BlockAddr)>,
    table: &BlockTable,
) -> Result<(), VectorFault> {
    let usable = blocks.all(|(lun, block)| table.get(lun, block).is_usable());
    if usable { Ok(()) } else { Err(VectorFault::BadBlock) }
}
