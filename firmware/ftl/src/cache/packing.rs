//! Packing: what evictions program together (C83).
//!
//! A page takes as many units as it has room for, and a word line takes as many pages where the array
//! programs its pages together: in both cases a part costs as much as the whole. So an eviction takes other
//! entries of the LUN along, the least recently used first. An entry's units are never divided between pages.
//! Padding completes a line only if there are no other entries (G8). An eviction never waits for others to
//! join. A word line is submitted as a whole or not at all, so between two submissions the LUN's open block
//! is at the beginning of a word line.

use crate::cache::buffer::EntryId;
use crate::cache::state::Cache;
use crate::mapping::{Mapping, pin, room};
use crate::page::buffers::Granules;
use crate::terms::cause::Cause;
use crate::terms::oob::UnitRecord;
use crate::terms::sizes::PAGES_PER_WORD_LINE_MAX;
use crate::terms::units::Units;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::{Function, Wait};
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Ppa};

/// How many entries a search for one that goes along looks at.
const SEARCH_MAX: u32 = 512;

/// A unit on its way into a page.
struct PackedUnit<P> {
    entry: EntryId,
    // In the entry, and in the page.
    from: u32,
    slot: u32,
    // Until the map has its new place.
    pin: P,
}

/// A page that is put together.
struct PackedPage<P> {
    entries: Vec<EntryId>,
    units: Vec<PackedUnit<P>>,
    // An entry lacks granules of its units even after its fill.
    has_lost: bool,
    lost_sectors: u16,
    buffer: BufferId,
}

impl<P> PackedPage<P> {
    fn empty() -> Self {
        let (entries, units) = (Vec::new(), Vec::new());
        PackedPage { entries, units, has_lost: false, lost_sectors: 0, buffer: BufferId(0) }
    }
    /// It can't be programmed out of an entry.
    fn needs_buffer(&self) -> bool {
        self.entries.len() > 1 || self.has_lost
    }
    fn pins(&self) -> impl Iterator<Item = (u32, &P)> {
        self.units.iter().map(|unit| (unit.slot, &unit.pin))
    }
}

impl<M: Mapping> Cache<M> {
    /// As [`Cache::evict`], but evicts other entries of the LUN to the same page and word line.
    pub(crate) async fn evict_packed(&self, entry: EntryId) -> Result<Ppa, HostStatus> {
        // For all that may go along.
        let most = self.journal.config.pages_at_once() * self.journal.units.per_page();
        let Ok(room) = room!(self.mapping, most) else {
            let (frame, _) = self.to_evict(entry);
            return self.evicted(entry, frame, Err(HostStatus::ReadOnly));
        };
        let mut pages = Vec::with_capacity(PAGES_PER_WORD_LINE_MAX);
        let mut result = None;
        for of_page in self.with_companions(entry) {
            let mut page = PackedPage::empty();
            for one in of_page {
                if let Some(alone) = self.join(one, &room, &mut page).await
                    && one == entry
                {
                    result = Some(alone);
                }
            }
            if !page.entries.is_empty() {
                pages.push(page);
            }
        }
        let together = self.evict_together(entry, &room, pages).await;
        result.or(together).expect("the entry goes by itself or with the others")
    }
    /// The entry and those that go along, by page. All are marked as being evicted.
    fn with_companions(&self, entry: EntryId) -> Vec<Vec<EntryId>> {
        let per_page = self.journal.units.per_page();
        let mut buffer = self.buffer.borrow_mut();
        let lun = self.journal.blocks().lun_of(buffer.frame(entry));
        let pages_max = self.journal.config.pages_at_once() as usize;
        // The entries of each page, and the slots that are left.
        let mut pages = vec![(vec![entry], per_page - buffer.dirty_units(entry).count_ones())];
        loop {
            let new_page = pages.len() < pages_max;
            let room =
                if new_page { per_page } else { pages.iter().map(|&(_, room)| room).max().unwrap_or(0) };
            if room == 0 {
                break;
            }
            self.journal.spend(Function::DataBufferManager, self.journal.config.costs.buffer);
            let fit = |frame, units: Units| {
                units.count_ones() <= room && self.journal.blocks().lun_of(frame) == lun
            };
            let Some(one) = buffer.evict_oldest_of(SEARCH_MAX, fit) else { break };
            let units = buffer.dirty_units(one).count_ones();
            match pages.iter_mut().find(|(_, room)| *room >= units) {
                Some((entries, room)) => {
                    entries.push(one);
                    *room -= units;
                }
                None => pages.push((vec![one], per_page - units)),
            }
        }
        pages.into_iter().map(|(entries, _)| entries).collect()
    }
    /// Pins and fills the dirty units of an entry, and has them join a page. The result is there for an entry
    /// whose eviction has ended with that: its map can't be read, or it has gone by itself.
    async fn join(
        &self,
        one: EntryId,
        room: &M::Room,
        page: &mut PackedPage<M::Pin>,
    ) -> Option<Result<Ppa, HostStatus>> {
        let (frame, units) = {
            let buffer = self.buffer.borrow();
            (buffer.frame(one), buffer.dirty_units(one))
        };
        let pinned = page.units.len();
        for (from, lpn) in self.journal.units.units_in(frame, units) {
            let Ok(pin) = pin!(self.mapping, lpn) else {
                page.units.truncate(pinned);
                return Some(self.evicted(one, frame, Err(HostStatus::WriteFault)));
            };
            page.units.push(PackedUnit { entry: one, from, slot: from, pin });
        }
        let all = self.journal.pages().granules_of_units(units);
        self.fill(one, all, Cause::Merge, None).await;
        if self.lost_of(one, all) == 0 {
            page.entries.push(one);
        } else if self.journal.units.per_page() > 1 {
            page.entries.push(one);
            page.has_lost = true;
        } else {
            // The notes about lost granules are made in a merge buffer, which other tasks may be waiting for:
            // so the entry is programmed by itself.
            let unit = page.units.pop()?;
            return Some(self.evict_filled(one, room, &unit.pin).await);
        }
        None
    }
    fn lost_of(&self, entry: EntryId, of: Granules) -> Granules {
        of & !self.buffer.borrow().valid(entry)
    }
    /// Programs filled entries of one LUN to one word line. Returns the result of `first`, or `None` if it is
    /// not among them.
    async fn evict_together(
        &self,
        first: EntryId,
        room: &M::Room,
        mut pages: Vec<PackedPage<M::Pin>>,
    ) -> Option<Result<Ppa, HostStatus>> {
        let lun = self.journal.blocks().lun_of(self.to_evict(*pages.first()?.entries.first()?).0);
        let count = pages.iter().filter(|page| page.needs_buffer()).count();
        let mut taken = [BufferId(0); PAGES_PER_WORD_LINE_MAX];
        if count > 0 {
            let taking = self.packing.take(self.journal.exec(), &mut taken[..count]);
            self.journal.waiting(Wait::MergeBuffer, taking).await;
        }
        let mut taken = taken.into_iter();
        let mut buffers = [BufferId(0); PAGES_PER_WORD_LINE_MAX];
        for (page, buffer) in pages.iter_mut().zip(&mut buffers) {
            match page.needs_buffer() {
                true => self.pack(page, taken.next().expect("as many were taken as are needed")),
                false => page.buffer = BufferId(page.entries[0].0),
            }
            self.note_owners(page);
            *buffer = page.buffer;
        }
        let mut result = None;
        let begun = self.begin_host_programs(lun, &buffers[..pages.len()]).await;
        let Ok(programs) = begun else {
            let refused = begun.err().unwrap_or(HostStatus::WriteFault);
            for page in &pages {
                self.packed_ended(page, first, Err(refused), &mut result);
            }
            return result;
        };
        for (page, (ppa, tag)) in pages.iter().zip(programs.data()) {
            let written = if self.journal.program_done(ppa, tag).await {
                self.mapping.moved(room, ppa, page.pins());
                Ok(ppa)
            } else {
                self.program_host(lun, page.buffer, |ppa| self.mapping.moved(room, ppa, page.pins())).await
            };
            self.packed_ended(page, first, written, &mut result);
        }
        self.journal.padded(programs.padding()).await;
        result
    }
    /// Puts the units of a page into a buffer one after the other; those of a single entry stay in their
    /// slots.
    fn pack(&self, page: &mut PackedPage<M::Pin>, buffer: BufferId) {
        let pages = self.journal.pages();
        let alone = page.entries.len() == 1;
        let mut lost = 0;
        for (at, unit) in (0..).zip(&mut page.units) {
            unit.slot = if alone { unit.from } else { at };
            let all = pages.granules_of_units(1 << unit.from);
            let missing = self.lost_of(unit.entry, all);
            pages.copy_unit((BufferId(unit.entry.0), unit.from), (buffer, unit.slot), all & !missing);
            lost |= pages.granules_moved(missing, unit.from, unit.slot);
        }
        pages.note_lost(buffer, lost);
        page.buffer = buffer;
        page.lost_sectors = pages.sectors_of(lost);
    }
    /// Writes the OOB record of a page that is about to be programmed.
    fn note_owners(&self, page: &PackedPage<M::Pin>) {
        let sequence = self.journal.blocks().next_sequence();
        let units = page
            .units
            .iter()
            .map(|unit| (unit.slot, UnitRecord { lpn: self.mapping.page(&unit.pin), sequence, copy: 0 }));
        self.journal.pages().put_units(page.buffer, page.lost_sectors, units);
    }
    /// Ends the eviction of a page's entries; the result of `first` is kept.
    fn packed_ended(
        &self,
        page: &PackedPage<M::Pin>,
        first: EntryId,
        written: Result<Ppa, HostStatus>,
        result: &mut Option<Result<Ppa, HostStatus>>,
    ) {
        if page.needs_buffer() {
            self.packing.give(self.journal.exec(), page.buffer);
        }
        for &entry in &page.entries {
            let (frame, _) = self.to_evict(entry);
            let ended = self.evicted(entry, frame, written);
            if entry == first {
                *result = Some(ended);
            }
        }
    }
}
