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
use aster_ports::flash::Outcome;
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

impl<M: Mapping> Cache<M> {
    /// Fills in the wanted granules that an entry lacks: with zeroes if their unit is unmapped, else from
    /// flash. Granules that can't be read stay invalid. The caller ensures that no other task changes the
    /// entry meanwhile. `transfer` is submitted together with a read that goes straight to the entry.
    pub(crate) async fn fill(
        &self,
        entry: EntryId,
        wanted: Granules,
        cause: Cause,
        mut transfer: Option<&mut HostTransfer>,
    ) -> Filled {
        self.runtime.spend(Function::AddressTranslator, self.runtime.config.costs.translate);
        self.runtime.core.settle().await;
        let Held { frame, valid, .. } = self.entries.held(entry);
        let missing = wanted & !valid;
        if missing == 0 {
            return Filled::NotAtAll;
        }
        let units = self.pages.units_of(missing);
        loop {
            let lie = match self.lie_at_hand(frame, units) {
                Some(lie) => lie,
                // If the map can't be read, the granules stay invalid, too.
                None => match self.where_is(frame, units).await {
                    Ok(lie) => lie,
                    Err(MappingFault { .. }) => return Filled::FromFlash,
                },
            };
            let (page, whole) = match lie {
                Lie::InPage { page, whole } => (page, whole),
                Lie::Nowhere => {
                    self.pages.zero(BufferId(entry.0), missing);
                    self.entries.add_valid(entry, missing);
                    return Filled::Unmapped;
                }
                Lie::Scattered => {
                    self.fill_scattered(entry, frame, missing, cause).await;
                    return Filled::FromFlash;
                }
            };
            let sectors = span(self.pages.sectors_of(missing));
            let asked = self.pages.granules_of_units(units);
            let read = self.pages.granules_of(sectors.mask());
            if self.may_read_into(entry, read, asked) {
                let transfer = transfer.take().filter(|_| whole);
                let into = BufferId(entry.0);
                let lost = self.read_frame(page, frame, units, sectors, into, cause, transfer).await;
                if lost != 0 {
                    self.entries.forget_clean(entry, lost);
                }
                self.entries.add_valid(entry, read & asked & !lost);
                return Filled::FromFlash;
            }
            let held = self.merging.take_one().await;
            let merge = held.id();
            // The units' place is looked up after the wait for a merge buffer: garbage collection may have
            // moved them meanwhile.
            let lie = self.where_is(frame, units).await;
            let page = match lie {
                Ok(Lie::InPage { page, .. }) => page,
                Ok(_) => continue,
                Err(MappingFault { .. }) => return Filled::FromFlash,
            };
            let lost = self.read_frame(page, frame, units, sectors, merge, cause, None).await;
            let good = missing & !lost;
            self.pages.copy_granules(merge, BufferId(entry.0), good);
            self.entries.add_valid(entry, good);
            return Filled::FromFlash;
        }
    }
    /// Whether a read may go straight to the entry: it must overwrite neither data that only the entry holds
    /// nor valid data of units that were not asked for.
    fn may_read_into(&self, entry: EntryId, read: Granules, asked: Granules) -> bool {
        let Held { valid, is_dirty, .. } = self.entries.held(entry);
        let overwritten = valid & read;
        if is_dirty { overwritten == 0 } else { overwritten & !asked == 0 }
    }
    /// Where units of a frame lie, if their map entries are in memory.
    #[inline]
    fn lie_at_hand(&self, frame: Frame, units: Units) -> Option<Lie> {
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
    /// Reads units of a frame that lie in their own slots of a page. Returns the lost granules: those that
    /// can't be corrected now, and those that the page itself notes as lost when it was written.
    #[expect(clippy::too_many_arguments, reason = "what is read, where from, where to, and for whom")]
    async fn read_frame(
        &self,
        page: Ppa,
        frame: Frame,
        units: Units,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) -> Granules {
        self.blocks.table().in_flight.read_begins(page);
        let outcome = match transfer {
            Some(transfer) => self.read_for_host(page, frame, sectors, into, transfer).await,
            None => self.blocks.read(page, sectors, into, cause).await,
        };
        self.page_read(page, &outcome);
        self.lost_in(page, &outcome, sectors, into, self.runtime.units.units_in(frame, units))
    }
    /// A read that kept the page's block from being erased has ended.
    pub(super) fn page_read(&self, page: Ppa, outcome: &Outcome) {
        self.blocks.read_over(page);
        self.blocks.check_retention(page, outcome, false);
    }
    /// The lost granules of a page that was read. These logical units should be in these slots of the page.
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
    fn is_unit_of(&self, record: &OobRecord, buffer: BufferId, slot: u32, lpn: Lpn) -> bool {
        // The record has the first slot's unit.
        let there = || match slot {
            0 => Some(Lpn(record.lpn)),
            slot => self.pages.unit_record(buffer, slot).map(|unit| unit.lpn),
        };
        record.kind == PageKind::Data && there() == Some(lpn)
    }
}
