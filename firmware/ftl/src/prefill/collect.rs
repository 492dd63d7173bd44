//! What garbage collection does while a drive is being filled.
//!
//! In a pool of one LUN a victim is emptied whenever the host has no room. In a pool of several, as many
//! victims are in work as [`Room`](crate::space::room::Room) would permit, one for each LUN at most, and each
//! of them moves a page in its turn.

use super::open::Filler;
use super::pool::{Choose, Moved, NoRoom, Pool, Work};
use super::slots::Slot;
use crate::blocks::ages::Age;
use aster_parties::ClosedBlocks;

/// Of so many LUNs of a pool, [`COPYING`] have an open block of copies: a LUN gets one when all others that
/// have one are busy, which is so with about these many on a busy drive.
const OF_LUNS: usize = 8;
const COPYING: usize = 5;

impl Pool {
    // ---- room ----

    /// Whether the host may open another block.
    pub(super) fn host_may_open(&self) -> bool {
        self.free.count() > self.shape.kept && !self.is_promised()
    }
    /// Whether victims in work need the next free block. A single one does with the reserve.
    fn is_promised(&self) -> bool {
        self.in_work.len() > 1 && self.pages_for_copies(self.free.count() - 1) < self.pages_to_copy()
    }
    /// Whether a victim may be begun beside those in work: it must find room for its copies.
    fn may_begin_victim(&self) -> bool {
        let more = u64::from(self.shape.pages_per_block + self.shape.pages_per_line);
        let free = self.free.count();
        self.in_work.is_empty() || free > 0 && self.pages_for_copies(free) >= self.pages_to_copy() + more
    }
    /// Pages that copies can go to with so many free blocks, of which one is kept.
    fn pages_for_copies(&self, free: usize) -> u64 {
        let pages = u64::from(self.shape.pages_per_block);
        self.open.pages_left(Filler::Gc) + free.saturating_sub(1) as u64 * pages
    }
    /// Pages that the copies of the victims in work take at most.
    fn pages_to_copy(&self) -> u64 {
        let (per_page, line) = (self.shape.units_per_page, self.shape.pages_per_line);
        let of = |work: &Work| u64::from(self.valid[work.victim as usize].div_ceil(per_page) + line);
        self.in_work.iter().map(of).sum()
    }
    /// Pages that the host has left.
    fn host_pages_left(&self) -> u64 {
        let pages = u64::from(self.shape.pages_per_block);
        let free = self.free.count().saturating_sub(self.shape.kept) as u64;
        free * pages + self.open.pages_left(Filler::Host)
    }

    // ---- when it collects ----

    /// Collects as much as it does beside a host that has room: in the host's pace, so that the host always
    /// has some pages left.
    #[inline]
    pub(super) fn keep_pace(&mut self, choose: Choose<'_>) -> Result<(), NoRoom> {
        if self.shape.pages_left > 0 {
            while self.host_pages_left() <= self.shape.pages_left {
                self.begin_victims(choose);
                if self.in_work.is_empty() {
                    break;
                }
                self.go_on(choose)?;
            }
        }
        Ok(())
    }
    /// Collects since the host has no room: a whole victim in a pool of one LUN, otherwise a page of one.
    pub(super) fn make_room(&mut self, choose: Choose<'_>) -> Result<(), NoRoom> {
        if self.has_one_lun() {
            return self.collect(choose);
        }
        self.begin_victims(choose);
        if self.in_work.is_empty() {
            return Err(NoRoom);
        }
        self.go_on(choose)
    }
    /// Garbage collection goes on without the host until more than `free` blocks are free, or nothing is
    /// stale.
    pub(super) fn come_to_rest(&mut self, free: usize, choose: Choose<'_>) -> Result<(), NoRoom> {
        if self.has_one_lun() {
            while self.free.count() <= free && self.victim(choose).is_some() {
                self.collect(choose)?;
            }
            return Ok(());
        }
        loop {
            if self.free.count() <= free {
                self.begin_victims(choose);
            }
            if self.in_work.is_empty() {
                return Ok(());
            }
            self.go_on(choose)?;
        }
    }
    /// Begins as many victims as there is room for, if blocks are scarce.
    fn begin_victims(&mut self, choose: Choose<'_>) {
        while self.may_begin || self.in_work.is_empty() {
            self.may_begin = false;
            let is_scarce = self.free.count() <= self.shape.collects_at;
            if !is_scarce || self.in_work.len() == self.open.luns() || !self.may_begin_victim() {
                return;
            }
            let Some(victim) = self.take_victim(choose) else { return };
            let work = self.begin(victim);
            self.in_work.push_back(work);
            self.may_begin = true;
        }
    }
    /// The victim that has waited longest moves a page.
    fn go_on(&mut self, choose: Choose<'_>) -> Result<(), NoRoom> {
        let Some(mut work) = self.in_work.pop_front() else { return Err(NoRoom) };
        if let Some(page) = self.next_page(&work) {
            self.copy_page(&mut work, page)?;
        }
        if self.next_page(&work).is_some() {
            self.in_work.push_back(work);
            return Ok(());
        }
        self.complete_copies(&mut work, choose)?;
        self.erase(&work);
        if let Some(after) = work.after {
            self.offered[after as usize] = self.valid[after as usize];
        }
        self.spare.push(work);
        self.may_begin = true;
        Ok(())
    }
    /// Empties one victim and erases it.
    fn collect(&mut self, choose: Choose<'_>) -> Result<(), NoRoom> {
        let victim = self.victim(choose).ok_or(NoRoom)?;
        self.offered[victim as usize] = ClosedBlocks::NOT_OFFERED;
        let mut work = self.begin(victim);
        while let Some(page) = self.next_page(&work) {
            self.copy_page(&mut work, page)?;
        }
        self.complete_copies(&mut work, choose)?;
        self.erase(&work);
        self.spare.push(work);
        Ok(())
    }

    // ---- victims ----

    fn victim(&self, choose: Choose<'_>) -> Option<u32> {
        let of = (&self.offered[..], &self.closed_at[..], &self.erases[..]);
        let closed = ClosedBlocks::new(self.shape.first_lun, self.units_per_block(), self.closings, of)?;
        let chosen = match closed.fewest_valid() {
            0 => closed.oldest_of_fewest_valid(),
            _ => choose(&closed),
        };
        assert!(closed.offers(chosen), "{chosen:?} was not offered");
        Some(chosen.0)
    }
    /// In a pool of several LUNs: takes a victim out of those that are offered.
    fn take_victim(&mut self, choose: Choose<'_>) -> Option<u32> {
        let victim = self.victim(choose)?;
        self.offered[victim as usize] = ClosedBlocks::NOT_OFFERED;
        // Several may be chosen between two closings: a policy that draws blocks draws others.
        self.closings += 1;
        Some(victim)
    }
    fn begin(&mut self, victim: u32) -> Work {
        let work = self.spare.pop().unwrap_or_default();
        let age = if self.has_one_lun() || self.valid[victim as usize] == 0 {
            Age::default()
        } else {
            self.ages.age_of_next(self.closings - self.closed_at[victim as usize])
        };
        Work { victim, next: victim * self.units_per_block(), after: None, age, ..work }
    }
    /// The first slot of the next page of a victim that has anything to copy.
    #[inline]
    fn next_page(&self, work: &Work) -> Option<u32> {
        let end = (work.victim + 1) * self.units_per_block();
        let slot = self.slots.next_current(work.next, end)?;
        Some(slot & !(self.shape.units_per_page - 1))
    }
    fn erase(&mut self, work: &Work) {
        let victim = work.victim;
        assert_eq!(self.valid[victim as usize], 0, "a victim is empty before it is erased");
        self.erases[victim as usize] += 1;
        self.free.put((victim / self.shape.blocks_per_lun) as usize, victim);
        self.may_spread = true;
    }

    // ---- copies ----

    /// Copies what counts of the page that begins with this slot.
    #[inline]
    fn copy_page(&mut self, work: &mut Work, first: u32) -> Result<(), NoRoom> {
        let per_page = self.shape.units_per_page;
        work.next = first + per_page;
        let mut current = self.slots.current_of_page(first, per_page);
        // A page all of whose units count is copied as it is.
        if current.count_ones() == per_page {
            let (block, to, is_full) = self.page_for_copies(work.age)?;
            for (to, from) in (to..).zip(first..work.next) {
                let moved = self.moved(from);
                self.slots.lose(from);
                self.slots.put(to, moved.of);
            }
            self.copied_units += u64::from(per_page);
            self.valid[work.victim as usize] -= per_page;
            self.gains(block, per_page, is_full);
            return Ok(());
        }
        while current != 0 {
            self.pack(work, first + current.trailing_zeros())?;
            current &= current - 1;
        }
        Ok(())
    }
    #[inline]
    fn moved(&self, from: u32) -> Moved {
        let of = self.slots.of(from);
        Moved { from, of: Slot { copies: of.copies.wrapping_add(1), ..of } }
    }
    /// The next page for copies of a victim of this age, as [`Pool::take_page`] gives it.
    #[inline]
    fn page_for_copies(&mut self, age: Age) -> Result<(u32, u32, bool), NoRoom> {
        let place = match self.begun_line(age, self.shape.pages_per_line) {
            Some(place) => place,
            None => self.place_for_copies(age)?,
        };
        Ok(self.take_page(Filler::Gc, place))
    }
    /// The place where copies of this age have begun so many pages that belong together.
    #[inline]
    fn begun_line(&self, age: Age, line: u32) -> Option<usize> {
        if line == 1 {
            return None;
        }
        let is_begun =
            |lun| self.open.of(lun, Filler::Gc).is_some_and(|open| !open.next.is_multiple_of(line));
        self.open.next_open_of(Filler::Gc, |lun| self.copied[lun] == age && is_begun(lun))
    }
    #[inline]
    fn place_for_copies(&mut self, age: Age) -> Result<usize, NoRoom> {
        let next = self.open.next_open_of(Filler::Gc, |lun| self.copied[lun] == age);
        if self.may_spread && self.may_open_for(age, next.is_some()) {
            if let Some(place) = self.open.next_to_open(Filler::Gc, &self.free) {
                self.open_block(Filler::Gc, place)?;
                self.copied[self.open.lun_at(place)] = age;
                return Ok(place);
            }
            self.may_spread = false;
        }
        next.or_else(|| self.open.next_open_of(Filler::Gc, |_| true)).ok_or(NoRoom)
    }
    /// Whether copies of this age may open a block. `has_any` says that they have one.
    fn may_open_for(&self, age: Age, has_any: bool) -> bool {
        // While several victims are in work, one block stays free.
        let others = usize::from(!self.in_work.is_empty());
        if !has_any {
            return self.free.count() > others;
        }
        let of_other = |lun: usize| self.open.of(lun, Filler::Gc).is_some() && self.copied[lun] != age;
        let left = usize::from(self.ages.had_lately(age.other()) && !(0..self.open.luns()).any(of_other));
        let open = self.open.count(Filler::Gc);
        open * OF_LUNS < COPYING * self.open.luns() && self.free.count() > others + left
    }
    /// Puts a unit with others into a page, which is programmed when it is full.
    fn pack(&mut self, work: &mut Work, slot: u32) -> Result<(), NoRoom> {
        work.packing.push(self.moved(slot));
        if work.packing.len() < self.shape.units_per_page as usize {
            return Ok(());
        }
        self.program_packed(work)
    }
    fn program_packed(&mut self, work: &mut Work) -> Result<(), NoRoom> {
        let (block, to, is_full) = self.page_for_copies(work.age)?;
        let mut gained = 0;
        for (slot, at) in (to..to + self.shape.units_per_page).zip(0..) {
            match work.packing.get(at) {
                // What the host has written again meanwhile leaves its slot empty.
                Some(&Moved { from, of }) if self.slots.is_current(from) => {
                    self.lose(from);
                    self.slots.put(slot, of);
                    gained += 1;
                }
                _ => self.slots.put_none(slot),
            }
        }
        work.packing.clear();
        self.copied_units += u64::from(gained);
        self.gains(block, gained, is_full);
        Ok(())
    }
    /// Fills what is left of a page, and of the pages that are programmed together with it, with units of the
    /// next victim.
    fn complete_copies(&mut self, work: &mut Work, choose: Choose<'_>) -> Result<(), NoRoom> {
        let age = work.age;
        let begun = |pool: &Pool| pool.begun_line(age, pool.shape.pages_at_once);
        while !work.packing.is_empty() || begun(self).is_some() {
            let next = self.next_victim(work, choose).filter(|&next| self.valid[next as usize] > 0);
            let Some(next) = next else {
                match begun(self).filter(|_| work.packing.is_empty()) {
                    Some(place) => self.program_empty(Filler::Gc, place),
                    None => self.program_packed(work)?,
                }
                continue;
            };
            let mut room = self.shape.units_per_page as usize - work.packing.len();
            let (mut from, end) = (next * self.units_per_block(), (next + 1) * self.units_per_block());
            while room > 0
                && let Some(slot) = self.slots.next_current(from, end)
            {
                // What waits for its page still has its old place.
                if !work.packing.iter().any(|moved| moved.from == slot) {
                    room -= 1;
                    self.pack(work, slot)?;
                }
                from = slot + 1;
            }
            if room > 0 && !work.packing.is_empty() {
                self.program_packed(work)?;
            }
        }
        Ok(())
    }
    /// The block that would be emptied next. In a pool of several LUNs the victim keeps it to the end, since
    /// another one could choose it and copy the same units.
    fn next_victim(&mut self, work: &mut Work, choose: Choose<'_>) -> Option<u32> {
        if self.has_one_lun() {
            return self.victim(choose);
        }
        if work.after.is_none() {
            work.after = self.take_victim(choose);
        }
        work.after
    }
}
