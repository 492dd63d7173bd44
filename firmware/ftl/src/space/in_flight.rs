//! What is in flight: programs and reads of blocks, and erases not made by garbage collection.

use crate::space::layout::BlockLayout;
use crate::terms::bits::cells;
use crate::terms::block::{BlockIndex, PoolIndex};
use alloc::boxed::Box;
use aster_units::{LunIndex, Ppa};
use core::cell::Cell;

/// Counts of what is in flight.
pub(crate) struct InFlight {
    layout: BlockLayout,
    // Per block.
    programs: Box<[Cell<u16>]>,
    reads: Box<[Cell<u16>]>,
    // Per LUN.
    lun_programs: Box<[Cell<u32>]>,
    erases: Box<[Cell<u32>]>,
}

impl InFlight {
    pub(crate) fn new(layout: BlockLayout) -> Self {
        let (blocks, luns) = (layout.total() as usize, layout.total_luns());
        InFlight {
            layout,
            programs: cells(blocks, 0),
            reads: cells(blocks, 0),
            lun_programs: cells(luns, 0),
            erases: cells(luns, 0),
        }
    }
    pub(crate) fn forget(&self) {
        self.programs.iter().chain(&self.reads).for_each(|count| count.set(0));
        self.lun_programs.iter().chain(&self.erases).for_each(|count| count.set(0));
    }
    #[inline]
    pub(crate) fn program_begins(&self, block: BlockIndex) {
        let lun = &self.lun_programs[self.layout.lun_of(block).index()];
        lun.set(lun.get() + 1);
        let block = &self.programs[block.at()];
        block.set(block.get() + 1);
    }
    /// Returns true if it was the block's last one.
    #[inline]
    pub(crate) fn program_ends(&self, block: BlockIndex) -> bool {
        let lun = &self.lun_programs[self.layout.lun_of(block).index()];
        let count = &self.programs[block.at()];
        assert!(count.get() > 0 && lun.get() > 0, "a program of {block:?} ends that has not begun");
        lun.set(lun.get() - 1);
        count.set(count.get() - 1);
        count.get() == 0
    }
    /// A read begins. The block must not be erased during it (P1).
    #[inline]
    pub(crate) fn read_begins(&self, ppa: Ppa) {
        let reads = &self.reads[self.layout.block_of(ppa).at()];
        reads.set(reads.get() + 1);
    }
    /// Returns true if it was the block's last one.
    #[inline]
    pub(crate) fn read_ends(&self, ppa: Ppa) -> bool {
        let reads = &self.reads[self.layout.block_of(ppa).at()];
        assert!(reads.get() > 0, "a read of {ppa:?} ends that has not begun");
        reads.set(reads.get() - 1);
        reads.get() == 0
    }
    pub(crate) fn is_read(&self, block: BlockIndex) -> bool {
        self.reads[block.at()].get() > 0
    }
    pub(crate) fn erase_begins(&self, lun: LunIndex) {
        let erases = &self.erases[lun.index()];
        erases.set(erases.get() + 1);
    }
    pub(crate) fn erase_ends(&self, lun: LunIndex) {
        let erases = &self.erases[lun.index()];
        assert!(erases.get() > 0, "an erase in {lun:?} ends that has not begun");
        erases.set(erases.get() - 1);
    }
    /// Programs in flight in a LUN.
    #[inline]
    pub(crate) fn programs_in(&self, lun: LunIndex) -> u32 {
        self.lun_programs[lun.index()].get()
    }
    /// Whether the pool will soon have another free block that doesn't come from garbage collection.
    pub(crate) fn is_erasing(&self, pool: PoolIndex) -> bool {
        self.layout.luns_of(pool).any(|lun| self.erases[lun.index()].get() > 0)
    }
    /// Whether neither programs nor erases are in flight in the pool.
    pub(crate) fn is_at_rest(&self, pool: PoolIndex) -> bool {
        let programs = |lun: LunIndex| self.lun_programs[lun.index()].get();
        self.layout.luns_of(pool).all(|lun| programs(lun) == 0) && !self.is_erasing(pool)
    }
}
