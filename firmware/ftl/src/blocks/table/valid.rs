//! Valid units, and the reads in flight that keep a block from being erased.

use super::{Blocks, NO_VICTIM};
use crate::terms::block::BlockIndex;
use aster_units::{Ppa, Upa};

impl Blocks {
    #[inline]
    pub(crate) fn is_valid(&self, at: Upa) -> bool {
        self.valid_units[at.0 as usize / 64] >> (at.0 % 64) & 1 == 1
    }
    #[inline]
    pub(crate) fn set_valid(&mut self, at: Upa) {
        let block = self.block_of_unit(at).at();
        self.valid_units[at.0 as usize / 64] |= 1 << (at.0 % 64);
        self.valid[block] += 1;
        if self.victims[block] != NO_VICTIM {
            self.victims[block] += 1;
        }
    }
    #[inline]
    pub(crate) fn clear_valid(&mut self, at: Upa) {
        assert!(self.is_valid(at), "{at:?} was mapped but not valid");
        let block = self.block_of_unit(at).at();
        self.valid_units[at.0 as usize / 64] &= !(1 << (at.0 % 64));
        self.valid[block] -= 1;
        if self.victims[block] != NO_VICTIM {
            self.victims[block] -= 1;
            self.emptied |= self.victims[block] == 0;
        }
    }
    pub(crate) fn valid(&self, block: BlockIndex) -> u32 {
        self.valid[block.at()]
    }
    /// Of all blocks together.
    pub(crate) fn valid_in_all(&self) -> u64 {
        self.valid.iter().map(|&units| u64::from(units)).sum()
    }

    // ---- reads in flight: their block must not be erased under them (P1) ----

    #[inline]
    pub(crate) fn read_begins(&mut self, ppa: Ppa) {
        let block = self.block_of(ppa).at();
        self.reads[block] += 1;
    }
    /// True when it was the block's last.
    #[inline]
    pub(crate) fn read_ends(&mut self, ppa: Ppa) -> bool {
        let block = self.block_of(ppa).at();
        self.reads[block] -= 1;
        self.reads[block] == 0
    }
    pub(crate) fn is_read(&self, block: BlockIndex) -> bool {
        self.reads[block.at()] > 0
    }
}
