//! Gathering: filling an entry with units that lie in several pages.
//!
//! Each page is read into a merge buffer, all of them side by side, and its units are copied into the entry.

use crate::cache::buffer::EntryId;
use crate::cache::scattered::{Scattered, Wanted};
use crate::cache::state::Cache;
use crate::mapping::{Mapping, MappingFault};
use crate::page::buffers::{Granules, span};
use crate::terms::cause::Cause;
use crate::terms::reused::Clear;
use crate::terms::units::{Frame, Units};
use aster_ports::flash::Outcome;
use aster_units::{BufferId, SectorRange};

/// The most pages that the units of an entry can lie in: one page per unit.
const PAGES_MAX: usize = Units::BITS as usize;

impl<M: Mapping> Cache<M> {
    /// Fills in granules that an entry lacks, as [`Cache::fill`] does, wherever their units lie.
    pub(super) async fn fill_scattered(
        &self,
        entry: EntryId,
        frame: Frame,
        mut missing: Granules,
        cause: Cause,
    ) {
        while missing != 0 {
            let mut found = self.scattered.borrow();
            if self.pages_of(entry, frame, &mut missing, &mut found).await.is_err() || found.pages.is_empty()
            {
                return;
            }
            let count = found.pages.len().min(self.runtime.buffers.merge().len());
            let mut buffers = [BufferId(0); PAGES_MAX];
            let held = self.merging.take(&mut buffers[..count]).await;
            let buffers = held.ids();
            // Garbage collection may have moved units meanwhile.
            let looked_up = self.pages_of(entry, frame, &mut missing, &mut found).await;
            if looked_up.is_ok() {
                found.truncate(buffers.len());
                found.pages.iter().for_each(|&page| self.blocks.table().in_flight.read_begins(page));
                self.gather(entry, &mut found, buffers, missing, cause).await;
                // Units that could not be read are not tried again.
                let tried = found.units.iter().fold(0, |all, unit| all | 1 << unit.to);
                missing &= !self.pages.granules_of_units(tried);
            } else {
                missing = 0;
            }
        }
    }
    /// The pages that the units of the `missing` granules lie in. Granules of unmapped units are filled with
    /// zeroes and removed from `missing`.
    async fn pages_of(
        &self,
        entry: EntryId,
        frame: Frame,
        missing: &mut Granules,
        found: &mut Scattered,
    ) -> Result<(), MappingFault> {
        let (shape, pages) = (self.runtime.units, &self.pages);
        let units = pages.units_of(*missing);
        let pins = self.mapping.pin_all(shape.units_in(frame, units).map(|(_, lpn)| lpn)).await?;
        found.clear();
        for ((to, lpn), pin) in shape.units_in(frame, units).zip(&*pins) {
            let at = self.mapping.get(pin);
            if !at.is_some() {
                let zeroes = *missing & pages.granules_of_units(1 << to);
                pages.zero(BufferId(entry.0), zeroes);
                self.entries.add_valid(entry, zeroes);
                *missing &= !zeroes;
                continue;
            }
            let of = shape.page_of(at);
            let page = found.pages.iter().position(|&page| page == of).unwrap_or(found.pages.len());
            if page == found.pages.len() {
                found.pages.push(of);
            }
            found.units.push(Wanted { lpn, to, slot: shape.slot_of(at), page });
        }
        Ok(())
    }
    /// Reads pages side by side, as far as the flash port has room: a task that waits for room before it has
    /// taken the results of its own reads could wait for ever.
    async fn gather(
        &self,
        entry: EntryId,
        found: &mut Scattered,
        buffers: &[BufferId],
        missing: Granules,
        cause: Cause,
    ) {
        let mut next = 0;
        loop {
            if let (Some(&page), Some(&into)) = (found.pages.get(next), buffers.get(next)) {
                let sectors = self.sectors_of(found, next, missing);
                let begun = match found.in_flight.is_empty() {
                    true => Some(self.blocks.begin_read(page, sectors, into, cause).await),
                    false => self.blocks.try_read(page, sectors, into, cause),
                };
                if let Some(tag) = begun {
                    found.in_flight.push_back((next, into, sectors, tag));
                    next += 1;
                    continue;
                }
            }
            let Some((of, from, sectors, tag)) = found.in_flight.pop_front() else { return };
            let outcome = self.media.done(tag).await;
            self.page_read(found.pages[of], &outcome);
            self.take_units(entry, (found, of), from, (sectors, &outcome), missing);
        }
    }
    /// The sectors of a page that hold the missing granules of its units.
    fn sectors_of(&self, found: &Scattered, page: usize, missing: Granules) -> SectorRange {
        let pages = &self.pages;
        if !self.runtime.config.host.partial_reads {
            return pages.whole();
        }
        let there =
            found.of(page).fold(0, |all, unit| all | pages.granules_moved(missing, unit.to, unit.slot));
        span(pages.sectors_of(there))
    }
    /// Copies the missing granules from a page that was read into the entry, except lost ones.
    fn take_units(
        &self,
        entry: EntryId,
        (found, page): (&Scattered, usize),
        from: BufferId,
        (sectors, outcome): (SectorRange, &Outcome),
        missing: Granules,
    ) {
        let pages = &self.pages;
        let expected = found.of(page).map(|unit| (unit.slot, unit.lpn));
        let lost = self.lost_in(found.pages[page], outcome, sectors, from, expected);
        for unit in found.of(page) {
            let good = pages.granules_moved(missing, unit.to, unit.slot) & !lost;
            pages.copy_unit((from, unit.slot), (BufferId(entry.0), unit.to), good);
            let there = pages.granules_moved(good, unit.slot, unit.to);
            self.entries.add_valid(entry, there);
        }
    }
}
