//! Where blocks lie: their numbers within the whole drive, and their pages, word lines and units.

use crate::terms::block::{BlockIndex, PoolIndex};
use crate::terms::config::FtlConfig;
use crate::terms::units::UnitShape;
use aster_units::{BlockAddr, LunIndex, Ppa, Upa};
use core::ops::Range;

/// The drive's blocks, LUN after LUN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLayout {
    luns: u32,
    // LUNs that share their spare blocks; their numbers follow each other.
    luns_per_pool: u32,
    blocks_per_lun: u32,
    pages_per_block: u32,
    // Pages per word line: all are lost if the program of the last one is cut off.
    pages_per_line: u32,
    shape: UnitShape,
}

impl BlockLayout {
    pub(crate) fn of(config: &FtlConfig) -> Self {
        BlockLayout {
            luns: config.geometry.total_luns(),
            luns_per_pool: config.luns_per_pool(),
            blocks_per_lun: config.geometry.blocks_per_lun,
            pages_per_block: u32::from(config.geometry.pages_per_block),
            pages_per_line: u32::from(config.lines.pages),
            shape: config.units(),
        }
    }

    // ---- numbers ----

    /// Blocks of the drive.
    pub(crate) fn total(&self) -> u32 {
        self.luns * self.blocks_per_lun
    }
    pub(crate) fn total_luns(&self) -> usize {
        self.luns as usize
    }
    pub(crate) fn all_luns(&self) -> impl Iterator<Item = LunIndex> + use<> {
        (0..self.luns).map(LunIndex)
    }
    /// Whether a pool has one LUN.
    #[inline]
    pub(crate) fn has_one_lun(&self) -> bool {
        self.luns_per_pool == 1
    }
    pub(crate) fn total_pools(&self) -> usize {
        (self.luns / self.luns_per_pool) as usize
    }
    pub(crate) fn all_pools(&self) -> impl Iterator<Item = PoolIndex> + use<> {
        (0..self.luns / self.luns_per_pool).map(PoolIndex)
    }
    pub(crate) fn blocks_per_lun(&self) -> u32 {
        self.blocks_per_lun
    }
    #[inline]
    pub(crate) fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }
    #[inline]
    pub(crate) fn pages_per_line(&self) -> u32 {
        self.pages_per_line
    }
    /// How pages are divided into units.
    #[inline]
    pub(crate) fn shape(&self) -> UnitShape {
        self.shape
    }
    /// Mapping units that a block has room for.
    pub(crate) fn units_per_block(&self) -> u32 {
        self.pages_per_block * self.shape.per_page()
    }
    pub(crate) fn units_per_lun(&self) -> u32 {
        self.blocks_per_lun * self.units_per_block()
    }

    // ---- places ----

    #[inline]
    pub(crate) fn lun_of(&self, block: BlockIndex) -> LunIndex {
        LunIndex(block.0 / self.blocks_per_lun)
    }
    pub(crate) fn block_addr(&self, block: BlockIndex) -> BlockAddr {
        BlockAddr(block.0 % self.blocks_per_lun)
    }
    pub(crate) fn block_index(&self, lun: LunIndex, block: BlockAddr) -> BlockIndex {
        BlockIndex(lun.0 * self.blocks_per_lun + block.0)
    }
    /// The blocks of a LUN, as indices into an array of all blocks of the drive.
    pub(crate) fn blocks_of(&self, lun: LunIndex) -> Range<usize> {
        let start = (lun.0 * self.blocks_per_lun) as usize;
        start..start + self.blocks_per_lun as usize
    }
    /// The pool that a LUN belongs to.
    #[inline]
    pub(crate) fn pool_of(&self, lun: LunIndex) -> PoolIndex {
        PoolIndex(lun.0 / self.luns_per_pool)
    }
    #[inline]
    pub(crate) fn pool_of_block(&self, block: BlockIndex) -> PoolIndex {
        self.pool_of(self.lun_of(block))
    }
    /// The LUNs of a pool.
    pub(crate) fn luns_of(&self, pool: PoolIndex) -> impl Iterator<Item = LunIndex> + Clone + use<> {
        let first = self.first_lun(pool).0;
        (first..first + self.luns_per_pool).map(LunIndex)
    }
    /// The first LUN of a pool.
    pub(crate) fn first_lun(&self, pool: PoolIndex) -> LunIndex {
        LunIndex(pool.0 * self.luns_per_pool)
    }
    /// The blocks of a pool, as indices into an array of all blocks of the drive.
    pub(crate) fn blocks_of_pool(&self, pool: PoolIndex) -> Range<usize> {
        let start = (self.first_lun(pool).0 * self.blocks_per_lun) as usize;
        start..start + (self.luns_per_pool * self.blocks_per_lun) as usize
    }
    #[inline]
    pub(crate) fn block_of(&self, ppa: Ppa) -> BlockIndex {
        BlockIndex(ppa.0 / self.pages_per_block)
    }
    /// The block that a unit is in.
    #[inline]
    pub(crate) fn block_of_unit(&self, at: Upa) -> BlockIndex {
        self.block_of(self.shape.page_of(at))
    }
    #[inline]
    pub(crate) fn lun_of_page(&self, ppa: Ppa) -> LunIndex {
        self.lun_of(self.block_of(ppa))
    }
    pub(crate) fn first_page(&self, block: BlockIndex) -> Ppa {
        Ppa(block.0 * self.pages_per_block)
    }
    /// A page's place within its block.
    pub(crate) fn page_in_block(&self, ppa: Ppa) -> u32 {
        ppa.0 % self.pages_per_block
    }
    pub(crate) fn pages_of(&self, block: BlockIndex) -> impl Iterator<Item = Ppa> + use<> {
        let first = self.first_page(block).0;
        (first..first + self.pages_per_block).map(Ppa)
    }
    /// The pages of a page's word line. The last line of a block may have fewer than the others.
    #[inline]
    pub(crate) fn line_of(&self, ppa: Ppa) -> Range<u32> {
        let first = self.first_page(self.block_of(ppa)).0;
        let begin = ppa.0 - (ppa.0 - first) % self.pages_per_line;
        begin..(begin + self.pages_per_line).min(first + self.pages_per_block)
    }
}
