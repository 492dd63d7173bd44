//! One LUN while a drive is being filled: which unit stands in which slot, and what garbage collection
//! copies.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::ClosedBlocks;
use aster_units::{BlockAddr, LunIndex};

/// No unit, and no slot.
pub(super) const NONE: u32 = u32::MAX;

/// What a LUN is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolShape {
    pub(super) lun: LunIndex,
    pub(super) pages_per_block: u32,
    pub(super) units_per_page: u32,
    /// Pages that are programmed together.
    pub(super) pages_at_once: u32,
    /// Free blocks that the host leaves to garbage collection.
    pub(super) kept: usize,
    /// The host takes the least worn free block, and garbage collection the most worn one.
    pub(super) levelled: bool,
}

/// Garbage collection would gain nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NoRoom;

/// A block that is being filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OpenBlock {
    pub(super) block: u32,
    /// Its next page.
    pub(super) next: u32,
}

/// Who fills an open block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Filler {
    Host,
    Gc,
}

/// A unit on its way out of a victim, and what its record says.
#[derive(Clone, Copy)]
struct Moved {
    unit: u32,
    written: u32,
    copies: u8,
}

/// What stands in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// The unit in the LUN's count; [`NONE`] if the slot is empty.
    pub(super) unit: u32,
    /// When the host wrote it.
    pub(super) written: u32,
    /// How often garbage collection has copied it.
    pub(super) copies: u8,
    /// It is the unit's present place.
    pub(super) current: bool,
}

/// A LUN's blocks for data. Blocks have their addresses in the LUN; those that hold no data are never free.
pub(super) struct Pool {
    shape: PoolShape,
    // Log2 of a block's units, if they are a power of two.
    block_shift: Option<u32>,
    // Per block: valid units if it is closed, otherwise `NOT_OFFERED`; valid units; when it was closed; P/E
    // cycles.
    offered: Vec<u32>,
    valid: Vec<u32>,
    closed_at: Vec<u64>,
    erases: Vec<u32>,
    closings: u64,
    // Per slot.
    units: Vec<u32>,
    written: Vec<u32>,
    copies: Vec<u8>,
    // Per unit: its slot.
    places: Vec<u32>,
    free: VecDeque<u32>,
    open: [Option<OpenBlock>; 2],
    packing: Vec<Moved>,
    /// Units that the host has programmed, and units that were copied.
    pub(super) host_units: u64,
    pub(super) copied_units: u64,
}

impl Pool {
    /// A LUN of `blocks` blocks of which those in `free` are for data. It has `units` mapping units.
    pub(super) fn new(shape: PoolShape, blocks: u32, free: VecDeque<u32>, units: u32) -> Self {
        let units_per_block = shape.pages_per_block * shape.units_per_page;
        let slots = blocks as usize * units_per_block as usize;
        Pool {
            shape,
            block_shift: units_per_block.is_power_of_two().then(|| units_per_block.trailing_zeros()),
            offered: vec![ClosedBlocks::NOT_OFFERED; blocks as usize],
            valid: vec![0; blocks as usize],
            closed_at: vec![0; blocks as usize],
            erases: vec![0; blocks as usize],
            closings: 0,
            units: vec![NONE; slots],
            written: vec![0; slots],
            copies: vec![0; slots],
            places: vec![NONE; units as usize],
            free,
            open: [None; 2],
            packing: Vec::with_capacity(shape.units_per_page as usize),
            host_units: 0,
            copied_units: 0,
        }
    }
    fn units_per_block(&self) -> u32 {
        self.shape.pages_per_block * self.shape.units_per_page
    }

    // ---- what the host does ----

    /// The host programs a page: per slot a unit or [`NONE`]. `written` counts what it has written. `choose`
    /// is asked for victims.
    #[inline]
    pub(super) fn program(
        &mut self,
        page: &[u32],
        written: u32,
        choose: &mut dyn FnMut(&ClosedBlocks<'_>) -> BlockAddr,
    ) -> Result<(), NoRoom> {
        if self.open[Filler::Host as usize].is_none() {
            while self.free.len() <= self.shape.kept {
                self.collect(choose)?;
            }
            self.open_block(Filler::Host)?;
        }
        let block = self.open[Filler::Host as usize].map_or(0, |open| open.block);
        let (first, mut gained) = (self.take_page(Filler::Host), 0);
        for (slot, &unit) in (first..).zip(page) {
            if unit == NONE {
                self.units[slot as usize] = NONE;
            } else {
                self.host_units += 1;
                let before = self.places[unit as usize];
                if before != NONE {
                    self.lose(before);
                }
                self.put(slot, Moved { unit, written, copies: 0 });
                gained += 1;
            }
        }
        self.valid[block as usize] += gained;
        self.close_if_full(Filler::Host);
        Ok(())
    }
    /// Garbage collection goes on without the host until more than `free` blocks are free, or nothing is
    /// stale.
    pub(super) fn come_to_rest(
        &mut self,
        free: usize,
        choose: &mut dyn FnMut(&ClosedBlocks<'_>) -> BlockAddr,
    ) -> Result<(), NoRoom> {
        while self.free.len() <= free && self.victim(choose).is_some() {
            self.collect(choose)?;
        }
        Ok(())
    }
    /// Programs empty pages until both open blocks have whole groups of `pages` pages.
    pub(super) fn complete_lines(&mut self, pages: u32) {
        for filler in [Filler::Host, Filler::Gc] {
            while self.open[filler as usize].is_some_and(|open| !open.next.is_multiple_of(pages)) {
                self.program_empty(filler);
            }
        }
    }

    // ---- pages ----

    fn open_block(&mut self, filler: Filler) -> Result<(), NoRoom> {
        let at = match (self.shape.levelled, filler) {
            (false, _) => 0,
            (true, Filler::Host) => {
                (0..self.free.len()).min_by_key(|&at| self.erases[self.free[at] as usize]).unwrap_or(0)
            }
            (true, Filler::Gc) => {
                (0..self.free.len()).max_by_key(|&at| self.erases[self.free[at] as usize]).unwrap_or(0)
            }
        };
        let block = self.free.remove(at).ok_or(NoRoom)?;
        self.open[filler as usize] = Some(OpenBlock { block, next: 0 });
        Ok(())
    }
    /// Takes the next page of an open block, and returns its first slot.
    #[inline]
    fn take_page(&mut self, filler: Filler) -> u32 {
        let open = self.open[filler as usize].as_mut().expect("a block is open");
        let page = open.block * self.shape.pages_per_block + open.next;
        open.next += 1;
        page * self.shape.units_per_page
    }
    #[inline]
    fn close_if_full(&mut self, filler: Filler) {
        let Some(OpenBlock { block, next }) = self.open[filler as usize] else { return };
        if next == self.shape.pages_per_block {
            self.open[filler as usize] = None;
            self.closings += 1;
            self.closed_at[block as usize] = self.closings;
            self.offered[block as usize] = self.valid[block as usize];
        }
    }
    fn program_empty(&mut self, filler: Filler) {
        let first = self.take_page(filler) as usize;
        self.units[first..first + self.shape.units_per_page as usize].fill(NONE);
        self.close_if_full(filler);
    }
    /// Puts a unit into a slot. What its block gains, and what the block before loses, is counted elsewhere.
    #[inline]
    fn put(&mut self, slot: u32, moved: Moved) {
        self.places[moved.unit as usize] = slot;
        let at = slot as usize;
        (self.units[at], self.written[at], self.copies[at]) = (moved.unit, moved.written, moved.copies);
    }
    #[inline]
    fn block_of(&self, slot: u32) -> u32 {
        match self.block_shift {
            Some(shift) => slot >> shift,
            None => slot / self.units_per_block(),
        }
    }
    #[inline]
    fn lose(&mut self, slot: u32) {
        let block = self.block_of(slot) as usize;
        self.valid[block] -= 1;
        if self.offered[block] != ClosedBlocks::NOT_OFFERED {
            self.offered[block] -= 1;
        }
    }

    // ---- what garbage collection does ----

    fn victim(&self, choose: &mut dyn FnMut(&ClosedBlocks<'_>) -> BlockAddr) -> Option<u32> {
        let of = (&self.offered[..], &self.closed_at[..], &self.erases[..]);
        let closed = ClosedBlocks::new(self.shape.lun, self.units_per_block(), self.closings, of)?;
        let chosen = match closed.fewest_valid() {
            0 => closed.oldest_of_fewest_valid(),
            _ => choose(&closed),
        };
        assert!(closed.offers(chosen), "{chosen:?} was not offered");
        Some(chosen.0)
    }
    /// Empties one victim and erases it.
    fn collect(&mut self, choose: &mut dyn FnMut(&ClosedBlocks<'_>) -> BlockAddr) -> Result<(), NoRoom> {
        let victim = self.victim(choose).ok_or(NoRoom)?;
        self.offered[victim as usize] = ClosedBlocks::NOT_OFFERED;
        let per_page = self.shape.units_per_page;
        let first = victim * self.units_per_block();
        for page in 0..self.shape.pages_per_block {
            if self.valid[victim as usize] == 0 {
                break;
            }
            let slots = first + page * per_page..first + (page + 1) * per_page;
            // A page all of whose units count is copied as it is.
            if slots.clone().all(|slot| self.is_current(slot)) {
                let to = self.page_for_copies()?;
                for (to, from) in (to..).zip(slots) {
                    self.put(to, self.moved(from));
                }
                self.copied_units += u64::from(per_page);
                self.valid[victim as usize] -= per_page;
                self.gained_by_copies(per_page);
                continue;
            }
            for slot in slots {
                if self.is_current(slot) {
                    self.pack(slot)?;
                }
            }
        }
        self.complete_copies(choose)?;
        assert_eq!(self.valid[victim as usize], 0, "a victim is empty before it is erased");
        self.erases[victim as usize] += 1;
        self.free.push_back(victim);
        Ok(())
    }
    #[inline]
    fn is_current(&self, slot: u32) -> bool {
        let unit = self.units[slot as usize];
        unit != NONE && self.places[unit as usize] == slot
    }
    #[inline]
    fn moved(&self, slot: u32) -> Moved {
        let at = slot as usize;
        Moved { unit: self.units[at], written: self.written[at], copies: self.copies[at].wrapping_add(1) }
    }
    /// Copies a unit, which may lie in the block in work or in another.
    #[inline]
    fn copy(&mut self, to: u32, moved: Moved) {
        self.copied_units += 1;
        self.lose(self.places[moved.unit as usize]);
        self.put(to, moved);
    }
    #[inline]
    fn page_for_copies(&mut self) -> Result<u32, NoRoom> {
        if self.open[Filler::Gc as usize].is_none() {
            self.open_block(Filler::Gc)?;
        }
        Ok(self.take_page(Filler::Gc))
    }
    /// The open block of garbage collection has got a page with so many units.
    #[inline]
    fn gained_by_copies(&mut self, units: u32) {
        let block = self.open[Filler::Gc as usize].map_or(0, |open| open.block);
        self.valid[block as usize] += units;
        self.close_if_full(Filler::Gc);
    }
    /// Puts a unit with others into a page, which is programmed when it is full.
    fn pack(&mut self, slot: u32) -> Result<(), NoRoom> {
        let moved = self.moved(slot);
        self.packing.push(moved);
        if self.packing.len() < self.shape.units_per_page as usize {
            return Ok(());
        }
        self.program_packed()
    }
    fn program_packed(&mut self) -> Result<(), NoRoom> {
        let to = self.page_for_copies()?;
        let packed = core::mem::take(&mut self.packing);
        let count = packed.len() as u32;
        for (at, slot) in (to..to + self.shape.units_per_page).enumerate() {
            match packed.get(at) {
                Some(&moved) => self.copy(slot, moved),
                None => self.units[slot as usize] = NONE,
            }
        }
        self.packing = packed;
        self.packing.clear();
        self.gained_by_copies(count);
        Ok(())
    }
    /// Fills what is left of a page, and of the pages that are programmed together with it, with units of the
    /// next victim.
    fn complete_copies(
        &mut self,
        choose: &mut dyn FnMut(&ClosedBlocks<'_>) -> BlockAddr,
    ) -> Result<(), NoRoom> {
        let begun = |pool: &Pool| {
            let open = pool.open[Filler::Gc as usize];
            open.is_some_and(|open| !open.next.is_multiple_of(pool.shape.pages_at_once))
        };
        while !self.packing.is_empty() || begun(self) {
            let next = self.victim(choose).filter(|&next| self.valid[next as usize] > 0);
            let Some(next) = next else {
                match self.packing.is_empty() {
                    true => self.program_empty(Filler::Gc),
                    false => self.program_packed()?,
                }
                continue;
            };
            let mut room = self.shape.units_per_page as usize - self.packing.len();
            let first = next * self.units_per_block();
            for slot in first..first + self.units_per_block() {
                // What waits in the packer still has its old place.
                let waits =
                    |pool: &Pool| pool.packing.iter().any(|moved| moved.unit == pool.units[slot as usize]);
                if room > 0 && self.is_current(slot) && !waits(self) {
                    room -= 1;
                    self.pack(slot)?;
                }
                if room == 0 {
                    break;
                }
            }
            if room > 0 && !self.packing.is_empty() {
                self.program_packed()?;
            }
        }
        Ok(())
    }

    // ---- what there is in the end ----

    /// The blocks that hold data and are full, in the order in which they were filled, each with the number
    /// of its closing.
    pub(super) fn closed(&self) -> Vec<(u64, u32)> {
        let is_closed = |block: &u32| self.offered[*block as usize] != ClosedBlocks::NOT_OFFERED;
        let blocks = (0..self.offered.len() as u32).filter(is_closed);
        let mut closed: Vec<_> = blocks.map(|block| (self.closed_at[block as usize], block)).collect();
        closed.sort_unstable();
        closed
    }
    /// The block that the host fills, and the one that garbage collection fills.
    pub(super) fn open(&self) -> [Option<OpenBlock>; 2] {
        self.open
    }
    /// The free blocks in their order.
    pub(super) fn free(&self) -> impl Iterator<Item = u32> + '_ {
        self.free.iter().copied()
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
        let open = self.open.iter().flatten().find(|open| open.block == block);
        open.map_or(0, |open| open.next)
    }
    /// The slots of a page.
    pub(super) fn slots_of(&self, block: u32, page: u32) -> impl Iterator<Item = Slot> + '_ {
        let first = (block * self.shape.pages_per_block + page) * self.shape.units_per_page;
        (first..first + self.shape.units_per_page).map(|slot| {
            let at = slot as usize;
            let (unit, written, copies) = (self.units[at], self.written[at], self.copies[at]);
            Slot { unit, written, copies, current: self.is_current(slot) }
        })
    }
    /// Valid units of all blocks.
    #[cfg(test)]
    pub(super) fn valid_units(&self) -> u64 {
        self.valid.iter().map(|&valid| u64::from(valid)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;
    use std::collections::BTreeMap;

    fn greedy(closed: &ClosedBlocks<'_>) -> BlockAddr {
        closed.oldest_of_fewest_valid()
    }

    fn pool(units_per_page: u32, pages_at_once: u32, blocks: u32, units: u32) -> Pool {
        let shape = PoolShape {
            lun: LunIndex(0),
            pages_per_block: 30,
            units_per_page,
            pages_at_once,
            kept: 2,
            levelled: false,
        };
        Pool::new(shape, blocks, (1..blocks).collect(), units)
    }

    /// The newest version of each unit: by the host's writes, then by copies.
    fn newest(pool: &Pool, blocks: u32) -> BTreeMap<u32, (u32, u8)> {
        let mut newest = BTreeMap::new();
        for block in 0..blocks {
            for page in 0..pool.pages_of(block) {
                for slot in pool.slots_of(block, page).filter(|slot| slot.unit != NONE) {
                    let version = (slot.written, slot.copies);
                    let known = newest.entry(slot.unit).or_insert(version);
                    *known = version.max(*known);
                }
            }
        }
        newest
    }

    /// Whatever was written: each unit has one place, and its record is newer than all stale ones.
    #[test]
    fn each_unit_has_one_place_and_no_stale_slot_is_newer() {
        for (per_page, at_once) in [(1, 1), (1, 3), (4, 1), (4, 2)] {
            let (blocks, units) = (40, 30 * 32 * per_page);
            let mut pool = pool(per_page, at_once, blocks, units);
            let (mut rng, mut last) = (Rng::new(1), BTreeMap::new());
            let mut written = 0;
            let mut program = |pool: &mut Pool, page: &[u32]| {
                written += 1;
                pool.program(page, written, &mut greedy).unwrap();
                page.iter().filter(|&&unit| unit != NONE).for_each(|&unit| {
                    last.insert(unit, written);
                });
            };
            for first in (0..units).step_by(per_page as usize) {
                let page: Vec<u32> = (first..first + per_page).collect();
                program(&mut pool, &page);
            }
            for _ in 0..20_000 / at_once {
                for _ in 0..at_once {
                    let mut page = vec![NONE; per_page as usize];
                    for slot in 0..per_page as usize {
                        let unit = rng.below(units.into()) as u32;
                        if !page.contains(&unit) && rng.below(4) > 0 {
                            page[slot] = unit;
                        }
                    }
                    program(&mut pool, &page);
                }
            }
            assert_eq!(pool.valid_units(), u64::from(units));
            assert!(pool.copied_units > pool.host_units / 2);
            let newest = newest(&pool, blocks);
            assert_eq!(newest.len(), units as usize);
            let mut current = 0;
            for block in 0..blocks {
                for page in 0..pool.pages_of(block) {
                    for slot in pool.slots_of(block, page).filter(|slot| slot.current) {
                        current += 1;
                        assert_eq!(newest[&slot.unit], (slot.written, slot.copies));
                        assert_eq!(last[&slot.unit], slot.written, "{per_page} {at_once}");
                    }
                }
            }
            assert_eq!(current, units);
            pool.complete_lines(7);
            for open in pool.open().into_iter().flatten() {
                assert!(open.next.is_multiple_of(7));
            }
        }
    }

    #[test]
    fn a_lun_without_spare_blocks_says_so() {
        let (blocks, units) = (10, 30 * 9);
        let mut pool = pool(1, 1, blocks, units);
        let fill = (0..units).try_for_each(|unit| pool.program(&[unit], unit, &mut greedy));
        assert_eq!(fill, Err(NoRoom));
    }
}
