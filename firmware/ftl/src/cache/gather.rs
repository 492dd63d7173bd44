//! Gathering: filling an entry with units that lie in several pages.
//!
//! Each page is read into a merge buffer, all of them side by side, and its units are copied into the entry.

use crate::cache::buffer::EntryId;
use crate::cache::state::Cache;
use crate::mapping::{Mapping, MappingFault};
use crate::page::buffers::{Granules, span};
use crate::terms::cause::Cause;
use crate::terms::units::{Frame, Units};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_ports::flash::{Outcome, Tag};
use aster_units::{BufferId, Lpn, Ppa, SectorRange};

/// The most pages that the units of an entry lie in: each in another one.
const PAGES_MAX: usize = Units::BITS as usize;

/// A unit that is to be read.
#[derive(Clone, Copy)]
struct Wanted {
    lpn: Lpn,
    /// In the entry, and in the page that it lies in.
    to: u32,
    slot: u32,
}

/// Units that are read together.
struct OfPage {
    page: Ppa,
    units: Vec<Wanted>,
}

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
            let Ok(pages) = self.pages_of(entry, frame, &mut missing).await else { return };
            if pages.is_empty() {
                return;
            }
            let count = pages.len().min(self.journal.config.merge_buffers() as usize);
            let mut buffers = [BufferId(0); PAGES_MAX];
            let buffers = &mut buffers[..count];
            self.take_merge_buffers(buffers).await;
            // Garbage collection may have moved units meanwhile.
            let looked_up = self.pages_of(entry, frame, &mut missing).await;
            if let Ok(mut pages) = looked_up {
                pages.truncate(buffers.len());
                pages.iter().for_each(|of| self.journal.blocks().table_mut().read_begins(of.page));
                self.gather(entry, &pages, buffers, missing, cause).await;
                // Those that could not be read are not tried again.
                let tried = pages.iter().flat_map(|of| &of.units).fold(0, |all, unit| all | 1 << unit.to);
                missing &= !self.journal.pages().granules_of_units(tried);
            } else {
                missing = 0;
            }
            buffers.iter().for_each(|&buffer| self.give_merge_buffer(buffer));
        }
    }
    /// The pages that the units of `missing` granules lie in. Those that are unmapped are filled with zeroes,
    /// and missing no more.
    async fn pages_of(
        &self,
        entry: EntryId,
        frame: Frame,
        missing: &mut Granules,
    ) -> Result<Vec<OfPage>, MappingFault> {
        let (shape, pages) = (self.journal.units, self.journal.pages());
        let units = pages.units_of(*missing);
        let pins = self.mapping.pin_all(shape.units_in(frame, units).map(|(_, lpn)| lpn)).await?;
        let mut found: Vec<OfPage> = Vec::new();
        for ((to, lpn), pin) in shape.units_in(frame, units).zip(&pins) {
            let at = self.mapping.get(pin);
            if !at.is_some() {
                let zeroes = *missing & pages.granules_of_units(1 << to);
                pages.zero(BufferId(entry.0), zeroes);
                self.buffer.borrow_mut().add_valid(entry, zeroes);
                *missing &= !zeroes;
                continue;
            }
            let (page, wanted) = (shape.page_of(at), Wanted { lpn, to, slot: shape.slot_of(at) });
            match found.iter_mut().find(|of| of.page == page) {
                Some(of) => of.units.push(wanted),
                None => found.push(OfPage { page, units: Vec::from([wanted]) }),
            }
        }
        Ok(found)
    }
    /// Reads pages side by side, as far as the flash port has room: a task that waits for room while it has
    /// reads of which it hasn't taken the results could wait for ever.
    async fn gather(
        &self,
        entry: EntryId,
        pages: &[OfPage],
        buffers: &[BufferId],
        missing: Granules,
        cause: Cause,
    ) {
        let mut in_flight: VecDeque<(&OfPage, BufferId, SectorRange, Tag)> = VecDeque::new();
        let mut next = pages.iter().zip(buffers);
        let mut at = next.next();
        loop {
            if let Some((of, &into)) = at {
                let sectors = self.sectors_of(of, missing);
                let begun = match in_flight.is_empty() {
                    true => Some(self.journal.blocks().begin_read(of.page, sectors, into, cause).await),
                    false => self.journal.blocks().try_read(of.page, sectors, into, cause),
                };
                if let Some(tag) = begun {
                    in_flight.push_back((of, into, sectors, tag));
                    at = next.next();
                    continue;
                }
            }
            let Some((of, from, sectors, tag)) = in_flight.pop_front() else { return };
            let outcome = self.journal.media().done(tag).await;
            self.page_read(of.page, &outcome);
            self.take_units(entry, of, from, (sectors, &outcome), missing);
        }
    }
    /// The sectors of a page that hold what is missing of its units.
    fn sectors_of(&self, of: &OfPage, missing: Granules) -> SectorRange {
        let pages = self.journal.pages();
        if !self.journal.config.partial_reads {
            return pages.whole();
        }
        let there =
            of.units.iter().fold(0, |all, unit| all | pages.granules_moved(missing, unit.to, unit.slot));
        span(pages.sectors_of(there))
    }
    /// Copies what is missing of the units of a page that was read into the entry, but for what is lost.
    fn take_units(
        &self,
        entry: EntryId,
        of: &OfPage,
        from: BufferId,
        (sectors, outcome): (SectorRange, &Outcome),
        missing: Granules,
    ) {
        let pages = self.journal.pages();
        let expected = of.units.iter().map(|unit| (unit.slot, unit.lpn));
        let lost = self.lost_in(of.page, outcome, sectors, from, expected);
        for unit in &of.units {
            let good = pages.granules_moved(missing, unit.to, unit.slot) & !lost;
            pages.copy_unit((from, unit.slot), (BufferId(entry.0), unit.to), good);
            let there = pages.granules_moved(good, unit.slot, unit.to);
            self.buffer.borrow_mut().add_valid(entry, there);
        }
    }
}
