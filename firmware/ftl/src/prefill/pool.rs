//! A pool while a drive is being filled: which unit stands in which slot, and what the host programs.
//! [`collect`](super::collect) has what garbage collection copies.

use super::open::{Filler, FreeBlocks, OpenBlocks};
use super::slots::{NONE, Slot, Slots};
use crate::blocks::ages::{Age, VictimAges};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::ClosedBlocks;
use aster_units::{BlockAddr, LunIndex};

/// What chooses victims.
pub(super) type Choose<'a> = &'a mut dyn FnMut(&ClosedBlocks<'_>) -> BlockAddr;

/// What a pool is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolShape {
    pub(super) first_lun: LunIndex,
    pub(super) blocks_per_lun: u32,
    pub(super) pages_per_block: u32,
    pub(super) units_per_page: u32,
    /// Pages that are programmed together.
    pub(super) pages_at_once: u32,
    /// Pages of a word line, which copies complete before they begin another.
    pub(super) pages_per_line: u32,
    /// Free blocks that the host leaves to garbage collection.
    pub(super) kept: usize,
    /// In a pool of several LUNs: garbage collection begins further victims while so many blocks are free or
    /// fewer, and goes on while the host has so many pages left or fewer.
    pub(super) collects_at: usize,
    pub(super) pages_left: u64,
    /// The host takes the least worn free block, and garbage collection the most worn one.
    pub(super) levelled: bool,
}

/// Garbage collection would gain nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoRoom;

/// A unit on its way out of a victim: where it stands, and what stands in the slot that it is copied to.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub(super) from: u32,
    pub(super) of: Slot,
}

/// A victim in work.
#[derive(Default)]
pub(super) struct Work {
    pub(super) victim: u32,
    /// The slot from which on it has yet to be read.
    pub(super) next: u32,
    /// Units that wait for their page to be full.
    pub(super) packing: Vec<Moved>,
    /// In a pool of several LUNs: the block whose units complete the last page. It is nobody else's
    /// meanwhile.
    pub(super) after: Option<u32>,
    /// Its age: its copies lie beside those of other such victims.
    pub(super) age: Age,
}

/// A pool's blocks for data, LUN after LUN; a block's number is its LUN's number in the pool times the blocks
/// of a LUN, plus its address there. Blocks that hold no data are never free.
pub(super) struct Pool {
    pub(super) shape: PoolShape,
    // Log2 of a block's units, if they are a power of two.
    block_shift: Option<u32>,
    // Per block: valid units if it is closed, otherwise `NOT_OFFERED`; valid units; when it was closed; P/E
    // cycles.
    pub(super) offered: Vec<u32>,
    pub(super) valid: Vec<u32>,
    pub(super) closed_at: Vec<u64>,
    pub(super) erases: Vec<u32>,
    // Blocks closed so far and, in a pool of several LUNs, victims chosen so far.
    pub(super) closings: u64,
    pub(super) slots: Slots,
    pub(super) free: FreeBlocks,
    pub(super) open: OpenBlocks,
    // Victims in work in a pool of several LUNs, the one that waits longest first.
    pub(super) in_work: VecDeque<Work>,
    // Something has happened since a further victim was looked for, and a further LUN for copies.
    pub(super) may_begin: bool,
    pub(super) may_spread: bool,
    // In a pool of several LUNs: ages of the last victims, and per LUN that of what is copied there.
    pub(super) ages: VictimAges,
    pub(super) copied: Vec<Age>,
    // Of a pool of one LUN, or empty lists.
    pub(super) spare: Vec<Work>,
    /// Units that the host has programmed, and units that were copied.
    pub(super) host_units: u64,
    pub(super) copied_units: u64,
}

impl Pool {
    /// A pool of LUNs with these blocks for data, which take turns in this order. It has `units` mapping
    /// units.
    pub(super) fn new(shape: PoolShape, free: Vec<VecDeque<u32>>, order: Box<[u32]>, units: u32) -> Self {
        let units_per_block = shape.pages_per_block * shape.units_per_page;
        let luns = free.len();
        let blocks = luns * shape.blocks_per_lun as usize;
        let slots = blocks * units_per_block as usize;
        Pool {
            shape,
            block_shift: units_per_block.is_power_of_two().then(|| units_per_block.trailing_zeros()),
            offered: vec![ClosedBlocks::NOT_OFFERED; blocks],
            valid: vec![0; blocks],
            closed_at: vec![0; blocks],
            erases: vec![0; blocks],
            closings: 0,
            slots: Slots::new(slots, units as usize),
            free: FreeBlocks::new(free),
            open: OpenBlocks::new(order, shape.pages_per_block),
            in_work: VecDeque::new(),
            may_begin: true,
            may_spread: true,
            ages: VictimAges::NONE,
            copied: vec![Age::default(); luns],
            spare: Vec::new(),
            host_units: 0,
            copied_units: 0,
        }
    }
    pub(super) fn units_per_block(&self) -> u32 {
        self.shape.pages_per_block * self.shape.units_per_page
    }
    #[inline]
    pub(super) fn has_one_lun(&self) -> bool {
        self.open.luns() == 1
    }

    // ---- what the host does ----

    /// The host programs a page: per slot a unit or [`NONE`]. `written` counts what it has written. `choose`
    /// is asked for victims.
    #[inline]
    pub(super) fn program(&mut self, page: &[u32], written: u32, choose: Choose<'_>) -> Result<(), NoRoom> {
        let place = self.place_for_host(choose)?;
        let (block, first, is_full) = self.take_page(Filler::Host, place);
        let mut gained = 0;
        for (slot, &unit) in (first..).zip(page) {
            if unit == NONE {
                self.slots.put_none(slot);
            } else {
                self.host_units += 1;
                if let Some(before) = self.slots.place_of(unit) {
                    self.lose(before);
                }
                self.slots.put(slot, Slot { unit, written, copies: 0 });
                gained += 1;
            }
        }
        self.gains(block, gained, is_full);
        Ok(())
    }
    /// The place in the stripe of the host's next page. Garbage collection makes room for it.
    #[inline]
    fn place_for_host(&mut self, choose: Choose<'_>) -> Result<usize, NoRoom> {
        self.keep_pace(choose)?;
        let begun = self.open.begun(Filler::Host, self.shape.pages_at_once);
        let place = loop {
            let in_turn = || self.open.next_in_turn(Filler::Host, &self.free, || self.host_may_open());
            if let Some(place) = begun.or_else(in_turn) {
                break place;
            }
            self.make_room(choose)?;
        };
        if self.open.of(self.open.lun_at(place), Filler::Host).is_none() {
            self.open_block(Filler::Host, place)?;
        }
        Ok(place)
    }
    /// Programs empty pages until all open blocks have whole groups of `pages` pages.
    pub(super) fn complete_lines(&mut self, pages: u32) {
        for place in 0..self.open.luns() {
            for filler in super::open::FILLERS {
                let begun = |open: Option<super::open::OpenBlock>| {
                    open.is_some_and(|open| !open.next.is_multiple_of(pages))
                };
                while begun(self.open.of(self.open.lun_at(place), filler)) {
                    self.program_empty(filler, place);
                }
            }
        }
    }

    // ---- pages ----

    /// A filler opens a free block of the LUN at this place of the stripe.
    pub(super) fn open_block(&mut self, filler: Filler, place: usize) -> Result<(), NoRoom> {
        let lun = self.open.lun_at(place);
        let (free, erases) = (self.free.of(lun), &self.erases);
        let at = match (self.shape.levelled, filler) {
            (false, _) => 0,
            (true, Filler::Host) => (0..free.len()).min_by_key(|&at| erases[free[at] as usize]).unwrap_or(0),
            (true, Filler::Gc) => (0..free.len()).max_by_key(|&at| erases[free[at] as usize]).unwrap_or(0),
        };
        let block = self.free.take(lun, at).ok_or(NoRoom)?;
        self.open.open(lun, filler, block);
        Ok(())
    }
    /// Takes the next page of an open block. Returns the block, the page's first slot, and whether it is the
    /// last one of the block.
    #[inline]
    pub(super) fn take_page(&mut self, filler: Filler, place: usize) -> (u32, u32, bool) {
        let lun = self.open.lun_at(place);
        let (open, is_full) = self.open.take_page(lun, filler);
        self.open.placed(filler, place);
        let page = open.block * self.shape.pages_per_block + open.next;
        (open.block, page * self.shape.units_per_page, is_full)
    }
    /// A block has got a page with so many units, which may have been its last.
    #[inline]
    pub(super) fn gains(&mut self, block: u32, units: u32, is_full: bool) {
        self.valid[block as usize] += units;
        if is_full {
            self.closings += 1;
            self.closed_at[block as usize] = self.closings;
            self.offered[block as usize] = self.valid[block as usize];
            (self.may_begin, self.may_spread) = (true, true);
        }
    }
    pub(super) fn program_empty(&mut self, filler: Filler, place: usize) {
        let (block, first, is_full) = self.take_page(filler, place);
        (first..first + self.shape.units_per_page).for_each(|slot| self.slots.put_none(slot));
        self.gains(block, 0, is_full);
    }
    #[inline]
    fn block_of(&self, slot: u32) -> u32 {
        match self.block_shift {
            Some(shift) => slot >> shift,
            None => slot / self.units_per_block(),
        }
    }
    #[inline]
    pub(super) fn lose(&mut self, slot: u32) {
        self.slots.lose(slot);
        let block = self.block_of(slot) as usize;
        self.valid[block] -= 1;
        if self.offered[block] != ClosedBlocks::NOT_OFFERED {
            self.offered[block] -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
