//! Filling entries from flash.

use crate::cache::buffer::EntryId;
use crate::cache::entries::Held;
use crate::cache::host_read::HostTransfer;
use crate::cache::state::Cache;
use crate::mapping::{Mapping, MappingFault};
use crate::page::buffers::Granules;
use crate::page::buffers::span;
use crate::terms::cause::Cause;
use crate::terms::oob::{OobRecord, PageKind};
use crate::terms::units::{Frame, UnitShape, Units};
use aster_events::Function;
use aster_ports::flash::{FlashRequest, Outcome, Tag};
use aster_units::{BufferId, Lpn, Ppa, SectorRange, Upa};

/// Where some units of a frame lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lie {
    /// None of them is mapped.
    Nowhere,
    /// All of them lie in this page, each in its own slot. `whole` says that the page holds the whole frame.
    InPage { page: Ppa, whole: bool },
    /// They lie in several pages or in slots of other units, or some of them are unmapped.
    Scattered,
}

impl Lie {
    /// Where the only unit of a frame lies: a unit that is a page.
    #[inline]
    fn of_page(shape: UnitShape, at: Upa) -> Self {
        if at.is_some() { Lie::InPage { page: shape.page_of(at), whole: true } } else { Lie::Nowhere }
    }
}

/// Collects the places of a frame's units, one after the other.
struct Places {
    // The page of the first mapped unit.
    page: Ppa,
    is_scattered: bool,
}

impl Default for Places {
    fn default() -> Self {
        Places { page: Ppa::NONE, is_scattered: false }
    }
}

impl Places {
    #[inline]
    fn add(&mut self, shape: UnitShape, slot: u32, at: Upa) {
        if at.is_some() && self.page == Ppa::NONE {
            self.page = shape.page_of(at);
        }
        self.is_scattered |= !at.is_some() || at != shape.at(self.page, slot);
    }
}

/// What an entry was filled from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Filled {
    /// From nothing: it had all granules that were wanted.
    NotAtAll,
    /// From nothing: no granule that it lacked is mapped.
    Unmapped,
    /// From flash: some of the granules are mapped, or may be.
    FromFlash,
}

/// How an entry is filled.
pub(crate) enum Fill {
    /// It has been filled.
    Done(Filled),
    /// By one read of a page, straight into the entry.
    FromPage(PageRead),
}

/// A fill that may have to wait before it reads: for the map, if that isn't at hand where the units lie,
/// for a merge buffer, or for several pages.
pub(crate) struct Elsewhere(Lacking, Option<Lie>);

/// What an entry lacks.
#[derive(Clone, Copy)]
pub(crate) struct Lacking {
    entry: EntryId,
    frame: Frame,
    missing: Granules,
    units: Units,
}

/// A read of units of a frame that lie in their own slots of a page.
#[derive(Clone, Copy)]
pub(crate) struct PageRead {
    lacking: Lacking,
    page: Ppa,
    whole: bool,
    sectors: SectorRange,
    /// The granules that become valid.
    read: Granules,
}

impl PageRead {
    /// Whether the page holds the whole frame.
    #[inline]
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }
}

impl<M: Mapping> Cache<M> {
    /// Fills in the wanted granules that an entry lacks: with zeroes if their unit is unmapped, else from
    /// flash. Granules that can't be read stay invalid. The caller ensures that no other task changes the
    /// entry meanwhile. `transfer` is submitted together with a read that goes straight to the entry.
    pub(crate) async fn fill(
        &self,
        entry: EntryId,
        wanted: Granules,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) -> Filled {
        self.runtime.spend(Function::AddressTranslator, self.runtime.config.costs.translate);
        self.runtime.core.settle().await;
        let fill = match self.begin_fill(entry, wanted) {
            Ok(fill) => fill,
            Err(elsewhere) => self.fill_elsewhere(elsewhere, cause).await,
        };
        match fill {
            Fill::Done(filled) => filled,
            Fill::FromPage(read) => self.fill_from_page(read, cause, transfer).await,
        }
    }
    /// The part of [`Cache::fill`] that waits for nothing. The firmware's time has been spent before.
    pub(crate) fn begin_fill(&self, entry: EntryId, wanted: Granules) -> Result<Fill, Elsewhere> {
        let Held { frame, valid, .. } = self.entries.held(entry);
        let missing = wanted & !valid;
        if missing == 0 {
            return Ok(Fill::Done(Filled::NotAtAll));
        }
        let units = self.pages.units_of(missing);
        let lacking = Lacking { entry, frame, missing, units };
        let lie = self.lie_at_hand(frame, units);
        if let Some(Lie::InPage { page, whole }) = lie
            && let Some(read) = self.read_into_entry(lacking, page, whole)
        {
            return Ok(Fill::FromPage(read));
        }
        if lie == Some(Lie::Nowhere) {
            return Ok(Fill::Done(self.fill_with_zeroes(lacking)));
        }
        Err(Elsewhere(lacking, lie))
    }
    /// Fills an entry, or finds out that one read is enough.
    pub(crate) async fn fill_elsewhere(
        &self,
        Elsewhere(lacking, mut at_hand): Elsewhere,
        cause: Cause,
    ) -> Fill {
        let Lacking { entry, frame, missing, units } = lacking;
        loop {
            let lie = match at_hand {
                Some(lie) => lie,
                // If the map can't be read, the granules stay invalid, too.
                None => match self.where_is(frame, units).await {
                    Ok(lie) => lie,
                    Err(MappingFault { .. }) => return Fill::Done(Filled::FromFlash),
                },
            };
            let (page, whole) = match lie {
                Lie::InPage { page, whole } => (page, whole),
                Lie::Nowhere => return Fill::Done(self.fill_with_zeroes(lacking)),
                Lie::Scattered => {
                    self.fill_scattered(entry, frame, missing, cause).await;
                    return Fill::Done(Filled::FromFlash);
                }
            };
            if let Some(read) = self.read_into_entry(lacking, page, whole) {
                return Fill::FromPage(read);
            }
            let sectors = span(self.pages.sectors_of(missing));
            let held = self.merging.take_one().await;
            let merge = held.id();
            // The units' place is looked up after the wait for a merge buffer: garbage collection may have
            // moved them meanwhile.
            let lie = self.where_is(frame, units).await;
            let page = match lie {
                Ok(Lie::InPage { page, .. }) => page,
                Ok(_) => {
                    at_hand = self.lie_at_hand(frame, units);
                    continue;
                }
                Err(MappingFault { .. }) => return Fill::Done(Filled::FromFlash),
            };
            self.blocks.table().in_flight.read_begins(page);
            let outcome = self.blocks.read(page, sectors, merge, cause).await;
            let lost = self.frame_read(page, frame, units, sectors, merge, &outcome);
            let good = missing & !lost;
            self.pages.copy_granules(merge, BufferId(entry.0), good);
            self.entries.add_valid(entry, good);
            return Fill::Done(Filled::FromFlash);
        }
    }
    fn fill_with_zeroes(&self, Lacking { entry, missing, .. }: Lacking) -> Filled {
        self.pages.zero(BufferId(entry.0), missing);
        self.entries.add_valid(entry, missing);
        Filled::Unmapped
    }
    /// The read of a page that may go straight to the entry.
    #[inline]
    fn read_into_entry(&self, lacking: Lacking, page: Ppa, whole: bool) -> Option<PageRead> {
        let sectors = span(self.pages.sectors_of(lacking.missing));
        let asked = self.pages.granules_of_units(lacking.units);
        let read = self.pages.granules_of(sectors.mask());
        let may = self.may_read_into(lacking.entry, read, asked);
        may.then_some(PageRead { lacking, page, whole, sectors, read: read & asked })
    }
    /// Fills an entry by one read.
    pub(crate) async fn fill_from_page(
        &self,
        read: PageRead,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) -> Filled {
        let PageRead { lacking: Lacking { entry, frame, .. }, page, whole, sectors, .. } = read;
        let into = BufferId(entry.0);
        self.blocks.table().in_flight.read_begins(page);
        let outcome = match transfer.filter(|_| whole) {
            Some(transfer) => self.read_for_host(page, frame, sectors, into, transfer).await,
            None => self.blocks.read(page, sectors, into, cause).await,
        };
        self.page_filled(&read, &outcome)
    }
    /// Begins a read for the host whose transfer isn't submitted with it. `Err` is the request, if it has to
    /// wait for room: [`Media::submit_later`](crate::media::requests::Media::submit_later).
    #[inline]
    pub(crate) fn begin_page_read(&self, read: &PageRead) -> Result<Tag, FlashRequest> {
        self.blocks.table().in_flight.read_begins(read.page);
        self.blocks.count_disturbance(read.page);
        let into = BufferId(read.lacking.entry.0);
        self.media.begin_read_now(read.page, read.sectors, into, Cause::Host)
    }
    /// The read of an entry's page has ended.
    #[inline]
    pub(crate) fn page_filled(&self, read: &PageRead, outcome: &Outcome) -> Filled {
        let Lacking { entry, frame, units, .. } = read.lacking;
        let lost = self.frame_read(read.page, frame, units, read.sectors, BufferId(entry.0), outcome);
        if lost != 0 {
            self.entries.forget_clean(entry, lost);
        }
        self.entries.add_valid(entry, read.read & !lost);
        Filled::FromFlash
    }
    /// Whether a read may go straight to the entry: it must overwrite neither data that only the entry holds
    /// nor valid data of units that were not asked for.
    #[inline]
    fn may_read_into(&self, entry: EntryId, read: Granules, asked: Granules) -> bool {
        let Held { valid, is_dirty, .. } = self.entries.held(entry);
        let overwritten = valid & read;
        if is_dirty { overwritten == 0 } else { overwritten & !asked == 0 }
    }
    /// Where units of a frame lie, if their map entries are in memory.
    #[inline]
    fn lie_at_hand(&self, frame: Frame, units: Units) -> Option<Lie> {
        let shape = self.runtime.units;
        if shape.per_page() > 1 || units != shape.all() {
            return self.lie_of_each(frame, units);
        }
        Some(Lie::of_page(shape, self.mapping.get(&self.mapping.try_pin(shape.first_of(frame))?)))
    }
    fn lie_of_each(&self, frame: Frame, units: Units) -> Option<Lie> {
        let mut places = Places::default();
        for (slot, lpn) in self.runtime.units.units_in(frame, units) {
            places.add(self.runtime.units, slot, self.mapping.get(&self.mapping.try_pin(lpn)?));
        }
        Some(self.lie_of(frame, units, places))
    }
    /// As above, but waits for map entries that have to be read.
    async fn where_is(&self, frame: Frame, units: Units) -> Result<Lie, MappingFault> {
        let wanted = || self.runtime.units.units_in(frame, units);
        let pins = self.mapping.pin_all(wanted().map(|(_, lpn)| lpn)).await?;
        let mut places = Places::default();
        for ((slot, _), pin) in wanted().zip(&*pins) {
            places.add(self.runtime.units, slot, self.mapping.get(pin));
        }
        Ok(self.lie_of(frame, units, places))
    }
    #[inline]
    fn lie_of(&self, frame: Frame, units: Units, places: Places) -> Lie {
        let (shape, Places { page, is_scattered }) = (self.runtime.units, places);
        if page == Ppa::NONE {
            return Lie::Nowhere;
        }
        if is_scattered {
            return Lie::Scattered;
        }
        let whole = shape.units_in(frame, shape.all() & !units).all(|(slot, lpn)| {
            self.mapping.try_pin(lpn).is_some_and(|pin| self.mapping.get(&pin) == shape.at(page, slot))
        });
        Lie::InPage { page, whole }
    }
    /// Units of a frame that lie in their own slots of a page have been read. Returns the lost granules:
    /// those that can't be corrected now, and those that the page itself notes as lost when it was written.
    #[inline]
    fn frame_read(
        &self,
        page: Ppa,
        frame: Frame,
        units: Units,
        sectors: SectorRange,
        into: BufferId,
        outcome: &Outcome,
    ) -> Granules {
        self.page_read(page, outcome);
        self.lost_in(page, outcome, sectors, into, self.runtime.units.units_in(frame, units))
    }
    /// A read that kept the page's block from being erased has ended.
    #[inline]
    pub(super) fn page_read(&self, page: Ppa, outcome: &Outcome) {
        self.blocks.read_over(page);
        self.blocks.check_retention(page, outcome, false);
    }
    /// The lost granules of a page that was read. These logical units should be in these slots of the page.
    #[inline]
    pub(super) fn lost_in(
        &self,
        page: Ppa,
        outcome: &Outcome,
        sectors: SectorRange,
        into: BufferId,
        mut expected: impl Iterator<Item = (u32, Lpn)>,
    ) -> Granules {
        let (lost, record) = self.media.judge(outcome, sectors, into);
        if lost != 0 {
            let told = self.runtime.config.planes().page_in_lun(page);
            self.runtime.count(|s| s.first_lost = s.first_lost.or(Some(told)));
        }
        if let Some(record) = record
            && !expected.all(|(slot, lpn)| self.is_unit_of(&record, into, slot, lpn))
        {
            // Data of another unit must never be returned as this one's.
            self.runtime.count(|s| s.uncorrectable_sectors += u64::from(sectors.count));
            return self.pages.granules_of(sectors.mask());
        }
        match record {
            Some(record) if lost != 0 => {
                let failed = self.pages.failed_granules(outcome) & self.pages.granules_of(lost);
                self.pages.take_notes(into, lost & record.lost_sectors, failed)
            }
            _ => self.pages.granules_of(lost),
        }
    }
    #[inline]
    fn is_unit_of(&self, record: &OobRecord, buffer: BufferId, slot: u32, lpn: Lpn) -> bool {
        // The record has the first slot's unit.
        let there = || match slot {
            0 => Some(Lpn(record.lpn)),
            slot => self.pages.unit_record(buffer, slot).map(|unit| unit.lpn),
        };
        record.kind == PageKind::Data && there() == Some(lpn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow twin collects the places of all units, here of one.
    #[test]
    fn a_unit_that_is_a_page_lies_where_its_places_say() {
        let shape = UnitShape::new(16384, 16384);
        for at in [Upa(0), Upa(1), Upa(77), Upa::NONE] {
            let mut places = Places::default();
            places.add(shape, 0, at);
            let lie = match Lie::of_page(shape, at) {
                Lie::InPage { page, whole: true } => (page, false),
                Lie::Nowhere => (Ppa::NONE, true),
                other => panic!("{at:?} lies {other:?}"),
            };
            assert_eq!((places.page, places.is_scattered), lie);
        }
    }
}
