//! Valid units: those that the host or the map may still read.

use crate::space::candidates::Candidates;
use crate::space::layout::BlockLayout;
use crate::terms::bits::{Bits, cells};
use crate::terms::block::BlockIndex;
use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_units::Upa;
use core::cell::Cell;

/// Which units are valid, and their number per block.
pub(crate) struct ValidUnits {
    layout: BlockLayout,
    // Informed of changes, since victims are chosen by the number of valid units.
    candidates: Rc<Candidates>,
    units: Bits,
    per_block: Box<[Cell<u32>]>,
}

impl ValidUnits {
    pub(crate) fn new(layout: BlockLayout, candidates: &Rc<Candidates>) -> Self {
        let units = u64::from(layout.total()) * u64::from(layout.units_per_block());
        ValidUnits {
            layout,
            candidates: Rc::clone(candidates),
            units: Bits::new(units as usize),
            per_block: cells(layout.total() as usize, 0),
        }
    }
    pub(crate) fn forget(&self) {
        self.units.clear_all();
        self.per_block.iter().for_each(|count| count.set(0));
    }
    #[inline]
    pub(crate) fn is_valid(&self, at: Upa) -> bool {
        self.units.is_set(at.0 as usize)
    }
    /// The unit holds something from now on.
    #[inline]
    pub(crate) fn set(&self, at: Upa) {
        debug_assert!(!self.is_valid(at), "{at:?} was mapped twice");
        let block = self.layout.block_of_unit(at);
        self.units.set(at.0 as usize);
        let count = &self.per_block[block.at()];
        count.set(count.get() + 1);
        debug_assert!(count.get() <= self.layout.units_per_block(), "{block:?} holds more than it can");
        self.candidates.gains_unit(block);
    }
    /// The unit is stale from now on.
    #[inline]
    pub(crate) fn clear(&self, at: Upa) {
        assert!(self.is_valid(at), "{at:?} was mapped but not valid");
        let block = self.layout.block_of_unit(at);
        self.units.clear(at.0 as usize);
        let count = &self.per_block[block.at()];
        assert!(count.get() > 0, "{block:?} has a valid unit and counts none");
        count.set(count.get() - 1);
        self.candidates.loses_unit(block);
    }
    /// Valid units of a block.
    #[inline]
    pub(crate) fn in_block(&self, block: BlockIndex) -> u32 {
        self.per_block[block.at()].get()
    }
    /// Valid units in all blocks together.
    pub(crate) fn in_all(&self) -> u64 {
        self.per_block.iter().map(|units| u64::from(units.get())).sum()
    }
}
