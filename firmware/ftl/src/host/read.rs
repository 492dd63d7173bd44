//! Slices that only read.

use crate::cache::buffer::{EntryId, Lock, Want};
use crate::cache::fill::{Fill, Filled};
use crate::cache::host_read::HostTransfer;
use crate::host::slices::Slice;
use crate::host::state::Host;
use crate::host::transfer::dma_status;
use crate::mapping::{Mapping, pin};
use crate::page::buffers::Granules;
use crate::terms::cause::Cause;
use crate::terms::config::FirstAccess;
use crate::terms::units::Units;
use aster_events::Function;
use aster_parties::DriveState;
use aster_ports::host::{DmaDirection, HostStatus};
use aster_units::BufferId;

impl<M: Mapping> Host<M> {
    /// Reads part of a page from its entry, which is first filled from flash as far as needed.
    pub(crate) async fn read_slice(&self, slice: &Slice, fua: bool) -> Result<(), HostStatus> {
        self.runtime.count(|s| s.host_pages_read += 1);
        // With force unit access the transfer is not submitted together with the read: the entry's dirty
        // granules are written to flash in between.
        let mut transfer = None;
        let (entry, filled) = if self.goes_in_steps(fua) {
            self.lock_filled(slice, fua, (!fua).then_some(&mut transfer)).await?
        } else {
            // What `lock_filled` does in most cases. The task waits here for its read, and not deep inside of
            // functions that wait for one another.
            let granules = self.granules_in(slice);
            let want = Want::Read(granules);
            let (entry, lock) = match self.cache.lock_at_once(slice.frame, want) {
                Ok(locked) => locked,
                Err(first) => self.cache.lock_after(slice.frame, want, Some(first)).await?,
            };
            let mut filled = Filled::NotAtAll;
            if lock == Lock::Exclusive {
                self.runtime.spend(Function::AddressTranslator, self.runtime.config.costs.translate);
                self.runtime.core.settle().await;
                let fill = match self.cache.begin_fill(entry, self.granules_to_fill(granules)) {
                    Ok(fill) => fill,
                    Err(elsewhere) => self.cache.fill_elsewhere(elsewhere, Cause::Host).await,
                };
                filled = match fill {
                    Fill::Done(filled) => filled,
                    Fill::FromPage(read) if read.is_whole() && self.port.chains_dma() => {
                        let begun = self.transfer_to_begin(slice, entry, &mut transfer);
                        self.cache.fill_from_page(read, Cause::Host, Some(begun)).await
                    }
                    Fill::FromPage(read) => {
                        let tag = match self.cache.begin_page_read(&read) {
                            Ok(tag) => tag,
                            Err(request) => self.cache.media.submit_later(request).await,
                        };
                        let outcome = self.cache.media.done(tag).await;
                        self.cache.page_filled(&read, &outcome)
                    }
                };
                self.look_at_filled(slice, entry, granules)?;
            }
            (entry, filled)
        };
        // A statistic isn't worth reading the map: data that was in the buffer and whose map entry isn't in
        // memory counts as mapped.
        let holds_nothing = filled != Filled::FromFlash
            && !self.cache.entries.held(entry).is_dirty
            && match self.mapping.is_one_mapped(self.units_of(slice)) {
                Some(mapped) => !mapped,
                None => filled == Filled::Unmapped,
            };
        self.runtime.count(|s| s.host_pages_unmapped += u64::from(holds_nothing));
        let (request, begun) = match transfer {
            Some(HostTransfer { request, begun }) => (request, begun),
            None => (self.dma_request(slice, DmaDirection::ToHost, BufferId(entry.0)), None),
        };
        let moved = match begun {
            Some(tag) => self.dma_begun(tag, request).await,
            None if self.goes_in_steps(fua) => self.dma(request).await,
            None => {
                // What `dma` does. Here, too, the task waits where it is polled.
                self.spend_transfer();
                self.runtime.core.settle().await;
                self.transfer_begins(&request, false);
                let tag = match self.port.submit_dma(request) {
                    Some(tag) => tag,
                    None => self.port.begin_dma(request).await,
                };
                let moved = self.port.dma_finished(tag).await;
                self.transfer_ended(&request, &moved);
                moved
            }
        };
        self.cache.entries.unlock(entry, Lock::Shared);
        moved.map_err(dma_status)
    }
    /// Compares host data with part of a page.
    pub(crate) async fn compare_slice(&self, slice: &Slice, fua: bool) -> Result<(), HostStatus> {
        self.runtime.count(|s| s.host_pages_read += 1);
        let (entry, _) = self.lock_filled(slice, fua, None).await?;
        let held = self.cache.merging.take_one().await;
        let scratch = held.id();
        let moved = self.dma_to_compare(self.dma_request(slice, DmaDirection::FromHost, scratch)).await;
        let equal = self.pages.is_equal(BufferId(entry.0), scratch, self.granules_in(slice));
        drop(held);
        self.cache.entries.unlock(entry, Lock::Shared);
        moved.map_err(dma_status)?;
        if equal { Ok(()) } else { Err(HostStatus::CompareFailure) }
    }
    /// Takes a shared lock on the slice's entry, with all granules of the slice filled in. With force unit
    /// access it also makes them durable (NVMe 1.4 §6.9): it evicts a dirty entry under the lock, which
    /// lets no writer in before the data is read.
    async fn lock_filled(
        &self,
        slice: &Slice,
        fua: bool,
        transfer: Option<&mut Option<HostTransfer>>,
    ) -> Result<(EntryId, Filled), HostStatus> {
        if self.runtime.config.host.first_access == FirstAccess::Assigns {
            self.assign(slice).await;
        }
        let (entry, filled) = self.lock_to_read(slice, transfer).await?;
        if fua {
            if let Err(status) = self.cache.flush_entry(entry, slice.frame).await {
                self.cache.entries.unlock(entry, Lock::Shared);
                return Err(status);
            }
            for unit in self.units_of(slice) {
                let Ok(pin) = pin!(self.mapping, unit) else {
                    self.cache.entries.unlock(entry, Lock::Shared);
                    return Err(HostStatus::UnrecoveredRead);
                };
                let at = self.mapping.get(&pin);
                drop(pin);
                if at.is_some() {
                    self.journal.writer.make_page_durable(self.runtime.units.page_of(at)).await;
                } else {
                    // A log that has ended accepts no trim. The read is served nevertheless.
                    let _ended = self.journal.due.log_trims().await;
                }
            }
        }
        Ok((entry, filled))
    }
    /// Whether a read has more to do than to fill an entry.
    #[inline]
    pub(crate) fn goes_in_steps(&self, fua: bool) -> bool {
        #[cfg(test)]
        if self.in_steps.get() {
            return true;
        }
        fua || self.runtime.config.host.first_access == FirstAccess::Assigns
    }
    /// Turns the unmapped units of a slice into dirty zeroes, so that eviction maps them (S26). A read-only
    /// drive leaves them unmapped and goes on with the read.
    async fn assign(&self, slice: &Slice) {
        let units = self.pages.units_of(self.granules_in(slice));
        let ready = self.runtime.state() == DriveState::Ready;
        if !ready || self.nowhere(slice, units, self.cache.entries.find(slice.frame)).await == 0 {
            return;
        }
        let Ok(entry) = self.lock_to_change(slice).await else { return };
        match self.nowhere(slice, units, Some(entry)).await {
            // Another slice was here before.
            0 => self.cache.entries.return_reserve(),
            units => {
                let granules = self.pages.granules_of_units(units);
                self.pages.zero(BufferId(entry.0), granules);
                self.cache.entries.written(
                    entry,
                    granules,
                    self.blocks.table().streams.of_write(slice.frame, || 0),
                );
            }
        }
        self.cache.entries.unlock(entry, Lock::Exclusive);
    }
    /// Those of a frame's units that are neither on flash nor in `entry`. None if the map can't be read: the
    /// read itself will find that out.
    async fn nowhere(&self, slice: &Slice, units: Units, entry: Option<EntryId>) -> Units {
        let shape = self.runtime.units;
        let all = || shape.units_in(slice.frame, units);
        let Ok(pins) = self.mapping.pin_all(all().map(|(_, unit)| unit)).await else { return 0 };
        let here = entry.map_or(0, |entry| self.cache.entries.dirty_units(slice.frame, entry));
        let mapped = |pin| self.mapping.get(pin).is_some();
        let unmapped = all().zip(&*pins).filter(|(_, pin)| !mapped(pin)).map(|((slot, _), _)| 1 << slot);
        unmapped.fold(0, |all: Units, unit| all | unit) & !here
    }
    // If the page is read from flash, `transfer` becomes the transfer that may go along with the read.
    async fn lock_to_read(
        &self,
        slice: &Slice,
        transfer: Option<&mut Option<HostTransfer>>,
    ) -> Result<(EntryId, Filled), HostStatus> {
        let granules = self.granules_in(slice);
        let (entry, lock) = self.cache.lock(slice.frame, Want::Read(granules)).await?;
        let mut filled = Filled::NotAtAll;
        if lock == Lock::Exclusive {
            let begun = transfer.map(|transfer| self.transfer_to_begin(slice, entry, transfer));
            let all = self.granules_to_fill(granules);
            filled = self.cache.fill(entry, all, Cause::Host, begun).await;
            self.look_at_filled(slice, entry, granules)?;
        }
        Ok((entry, filled))
    }
    /// What is filled in for a read of some granules.
    #[inline]
    fn granules_to_fill(&self, granules: Granules) -> Granules {
        if self.runtime.config.host.partial_reads {
            return granules;
        }
        self.pages.granules_of_units(self.pages.units_of(granules))
    }
    /// The transfer that may be submitted together with a read.
    fn transfer_to_begin<'a>(
        &self,
        slice: &Slice,
        entry: EntryId,
        transfer: &'a mut Option<HostTransfer>,
    ) -> &'a mut HostTransfer {
        let request = self.dma_request(slice, DmaDirection::ToHost, BufferId(entry.0));
        transfer.insert(HostTransfer { request, begun: None })
    }
    /// An entry that was locked for this slice alone has been filled: lets other readers in, or gives the
    /// entry back if granules of the slice could not be read.
    #[inline]
    fn look_at_filled(&self, slice: &Slice, entry: EntryId, granules: Granules) -> Result<(), HostStatus> {
        let lost = granules & !self.cache.entries.held(entry).valid;
        if lost != 0 {
            let of_page = u64::from(lost.trailing_zeros() * self.pages.granule_bytes());
            let byte = u64::from(slice.frame.0) * u64::from(self.runtime.geometry.page_bytes) + of_page;
            self.commands.borrow_mut().failed_at(slice.command, byte);
            self.cache.entries.unlock(entry, Lock::Exclusive);
            return Err(HostStatus::UnrecoveredRead);
        }
        self.cache.entries.share(entry);
        Ok(())
    }
}
