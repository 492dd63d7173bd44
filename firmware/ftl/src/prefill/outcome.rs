//! What a pool holds when a drive has been filled.

use super::open::{FILLERS, Filler, OpenBlock};
use super::pool::Pool;
use super::slots::Slot;
use alloc::vec::Vec;
use aster_parties::ClosedBlocks;

impl Pool {
    /// The blocks that hold data and are full, in the order in which they were filled, each with the number
    /// of its closing.
    pub(super) fn closed(&self) -> Vec<(u64, u32)> {
        let is_closed = |block: &u32| self.offered[*block as usize] != ClosedBlocks::NOT_OFFERED;
        let blocks = (0..self.offered.len() as u32).filter(is_closed);
        let mut closed: Vec<_> = blocks.map(|block| (self.closed_at[block as usize], block)).collect();
        closed.sort_unstable();
        closed
    }
    /// The blocks of a LUN that are open, with those who fill them.
    pub(super) fn open_in(&self, lun: usize) -> impl Iterator<Item = (Filler, OpenBlock)> + '_ {
        FILLERS.into_iter().filter_map(move |filler| Some((filler, self.open.of(lun, filler)?)))
    }
    /// The free blocks of a LUN in their order.
    pub(super) fn free_in(&self, lun: usize) -> impl Iterator<Item = u32> + '_ {
        self.free.of(lun).iter().copied()
    }
    /// How often a block was erased.
    pub(super) fn erases(&self, block: u32) -> u32 {
        self.erases[block as usize]
    }
    /// Programmed pages of a block.
    pub(super) fn pages_of(&self, block: u32) -> u32 {
        if self.offered[block as usize] != ClosedBlocks::NOT_OFFERED {
            return self.shape.pages_per_block;
        }
        let lun = (block / self.shape.blocks_per_lun) as usize;
        self.open_in(lun).find(|(_, open)| open.block == block).map_or(0, |(_, open)| open.next)
    }
    /// The slots of a page, and which of them are their units' present places.
    pub(super) fn slots_of(&self, block: u32, page: u32) -> impl Iterator<Item = (Slot, bool)> + '_ {
        let first = (block * self.shape.pages_per_block + page) * self.shape.units_per_page;
        (first..first + self.shape.units_per_page)
            .map(|slot| (self.slots.of(slot), self.slots.is_current(slot)))
    }
}
