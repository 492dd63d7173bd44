//! Packing: what evictions program together (C83).
//!
//! A page is filled with units and, if the array programs whole word lines, a line is filled with pages: in
//! both cases a part costs as much as the whole. So an eviction takes other entries of the pool and the
//! stream along, least recently used first. An entry's units are never divided between pages. Padding
//! completes a line only if there are no other entries (G8). An eviction never waits for others to join. A
//! word line is submitted as a whole or not at all, so between two submissions the stream's open block is at
//! the beginning of a word line.

use crate::blocks::buffer_pool::HeldBuffers;
use crate::cache::buffer::EntryId;
use crate::cache::packed::{PackedPage, PackedUnit, Packing};
use crate::cache::state::Cache;
use crate::mapping::{Mapping, pin, room};
use crate::terms::block::Stream;
use crate::terms::cause::Cause;
use crate::terms::oob::UnitRecord;
use crate::terms::sizes::PAGES_PER_WORD_LINE_MAX;
use crate::terms::units::Units;
use aster_events::Function;
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Ppa};

/// How many entries are searched for one that can be evicted along.
pub(super) const SEARCH_MAX: u32 = 512;

impl<M: Mapping> Cache<M> {
    /// Writes an entry that was marked as being evicted: completes its units, programs them, and changes the
    /// map. Other entries of the pool join it in the same page and word line. Meanwhile all of them can be
    /// found and read.
    ///
    /// # Errors
    /// When there is no room or every attempt to program the page fails. The entry then stays dirty.
    pub(crate) async fn evict(&self, entry: EntryId) -> Result<Ppa, HostStatus> {
        // For all that may go along.
        let most = self.runtime.config.lines.at_once() * self.runtime.units.per_page();
        let Ok(room) = room!(self.mapping, most) else {
            let frame = self.entries.held(entry).frame;
            return self.evicted(entry, frame, Err(HostStatus::ReadOnly));
        };
        let mut packing = self.packings.borrow();
        self.choose(entry, &mut packing);
        let mut result = None;
        for of in 0..packing.room.len() {
            let (entries, units) = (packing.entries.len(), packing.units.len());
            let mut has_lost = false;
            for n in 0..packing.chosen.len() {
                let (one, page) = packing.chosen[n];
                if page == of
                    && let Some(failed) = self.join(one, &mut packing, &mut has_lost).await
                    && one == entry
                {
                    result = Some(failed);
                }
            }
            let (entries, units) = (entries..packing.entries.len(), units..packing.units.len());
            if !entries.is_empty() {
                let (lost_sectors, buffer) = (0, BufferId(0));
                packing.pages.push(PackedPage { entries, units, has_lost, lost_sectors, buffer });
            }
        }
        let together = self.evict_together(entry, &room, &mut packing).await;
        result.or(together).expect("the entry has failed or gone with the others")
    }
    /// Chooses the entries that are evicted along with this one, and their pages. Marks all as being evicted.
    fn choose(&self, entry: EntryId, packing: &mut Packing<M::Pin>) {
        let per_page = self.runtime.units.per_page();
        let frame = self.entries.held(entry).frame;
        let (pool, stream) = (self.blocks.pool_of(frame), self.entries.stream(entry));
        let pages_max = self.runtime.config.lines.at_once() as usize;
        packing.chosen.push((entry, 0));
        packing.room.push(per_page - self.entries.dirty_units(frame, entry).count_ones());
        loop {
            let new_page = packing.room.len() < pages_max;
            let room = if new_page { per_page } else { packing.room.iter().copied().max().unwrap_or(0) };
            if room == 0 {
                break;
            }
            self.runtime.spend(Function::DataBufferManager, self.runtime.config.costs.buffer);
            let fit = |frame, units: Units, of| {
                units.count_ones() <= room && self.blocks.pool_of(frame) == pool && Stream::Host(of) == stream
            };
            let Some((one, units)) = self.entries.evict_oldest_of(SEARCH_MAX, fit) else { break };
            let units = units.count_ones();
            let page = packing.room.iter().position(|&room| room >= units).unwrap_or(packing.room.len());
            if page == packing.room.len() {
                packing.room.push(per_page);
            }
            packing.room[page] -= units;
            packing.chosen.push((one, page));
        }
    }
    /// Pins and fills the dirty units of an entry, and has them join a page. Returns a result if the eviction
    /// has ended already, since the entry's map can't be read.
    async fn join(
        &self,
        one: EntryId,
        packing: &mut Packing<M::Pin>,
        has_lost: &mut bool,
    ) -> Option<Result<Ppa, HostStatus>> {
        let frame = self.entries.held(one).frame;
        let units = self.entries.dirty_units(frame, one);
        let pinned = packing.units.len();
        for (from, lpn) in self.runtime.units.units_in(frame, units) {
            let Ok(pin) = pin!(self.mapping, lpn) else {
                packing.units.truncate(pinned);
                return Some(self.evicted(one, frame, Err(HostStatus::WriteFault)));
            };
            packing.units.push(PackedUnit { entry: one, from, slot: from, pin });
        }
        let all = self.pages.granules_of_units(units);
        self.fill(one, all, Cause::Merge, None).await;
        packing.entries.push(one);
        *has_lost |= all & !self.entries.held(one).valid != 0;
        None
    }
    /// Programs filled entries of one pool and stream to one word line. Returns the result of `first`, or
    /// `None` if it is not among them.
    async fn evict_together(
        &self,
        first: EntryId,
        room: &M::Room,
        packing: &mut Packing<M::Pin>,
    ) -> Option<Result<Ppa, HostStatus>> {
        let one = *packing.entries.first()?;
        let (pool, stream) = (self.blocks.pool_of(self.entries.held(one).frame), self.entries.stream(one));
        let count = packing.pages.iter().filter(|page| page.needs_buffer()).count();
        let mut taken = [BufferId(0); PAGES_PER_WORD_LINE_MAX];
        let mut held = self.packing().take(&mut taken[..count]).await;
        let mut taken = held.ids().iter();
        let mut buffers = [BufferId(0); PAGES_PER_WORD_LINE_MAX];
        let count = packing.pages.len();
        for (page, buffer) in buffers[..count].iter_mut().enumerate() {
            *buffer = match packing.pages[page].needs_buffer() {
                true => *taken.next().expect("as many were taken as are needed"),
                false => BufferId(packing.entries[packing.pages[page].entries.start].0),
            };
            self.pack(packing, page, *buffer);
            self.note_owners(packing, page);
        }
        let mut result = None;
        let begun = self.begin_host_programs(pool, stream, &buffers[..count]).await;
        let Ok(programs) = begun else {
            let refused = begun.err().unwrap_or(HostStatus::WriteFault);
            for page in 0..count {
                self.packed_ended(packing, page, &mut held, (first, Err(refused)), &mut result);
            }
            return result;
        };
        for (page, (ppa, tag)) in programs.data().enumerate() {
            let moved = |done| self.mapping.moved(room, done, packing.pins(page));
            let written = match self.journal.writer.program_done(ppa, tag).await.map(moved) {
                Some(()) => Ok(ppa),
                None => self.program_host(pool, stream, packing.pages[page].buffer, moved).await,
            };
            self.packed_ended(packing, page, &mut held, (first, written), &mut result);
        }
        self.journal.writer.padded(programs.padding()).await;
        result
    }
    /// Puts the units of a page into a buffer one after the other. The units of a single entry stay in their
    /// slots. They even stay in the entry if it lacks none of their granules.
    fn pack(&self, packing: &mut Packing<M::Pin>, page: usize, buffer: BufferId) {
        let page = &mut packing.pages[page];
        page.buffer = buffer;
        if !page.needs_buffer() {
            return;
        }
        let pages = &self.pages;
        let alone = page.entries.len() == 1;
        let mut lost = 0;
        for (at, unit) in (0..).zip(&mut packing.units[page.units.clone()]) {
            unit.slot = if alone { unit.from } else { at };
            let all = pages.granules_of_units(1 << unit.from);
            let missing = all & !self.entries.held(unit.entry).valid;
            pages.copy_unit((BufferId(unit.entry.0), unit.from), (buffer, unit.slot), all & !missing);
            lost |= pages.granules_moved(missing, unit.from, unit.slot);
        }
        pages.note_lost(buffer, lost);
        page.lost_sectors = pages.sectors_of(lost);
    }
    /// Writes the OOB record of a page that is about to be programmed.
    fn note_owners(&self, packing: &Packing<M::Pin>, page: usize) {
        let sequence = self.blocks.sequence.next();
        let page = &packing.pages[page];
        let units = packing.units[page.units.clone()]
            .iter()
            .map(|unit| (unit.slot, UnitRecord { lpn: self.mapping.page(&unit.pin), sequence, copy: 0 }));
        self.pages.put_units(page.buffer, page.lost_sectors, units);
    }
    /// Ends the eviction of a page's entries; the result of `first` is kept.
    fn packed_ended(
        &self,
        packing: &Packing<M::Pin>,
        page: usize,
        held: &mut HeldBuffers<'_>,
        (first, written): (EntryId, Result<Ppa, HostStatus>),
        result: &mut Option<Result<Ppa, HostStatus>>,
    ) {
        let page = &packing.pages[page];
        if page.needs_buffer() {
            held.give(page.buffer);
        }
        for &entry in &packing.entries[page.entries.clone()] {
            let frame = self.entries.held(entry).frame;
            let ended = self.evicted(entry, frame, written);
            if entry == first {
                *result = Some(ended);
            }
        }
    }
}
