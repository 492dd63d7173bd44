//! Slices that only read.

use crate::cache::buffer::{EntryId, Lock, Want};
use crate::cache::fill::Filled;
use crate::cache::host_read::HostTransfer;
use crate::host::slices::Slice;
use crate::host::state::Host;
use crate::host::transfer::dma_status;
use crate::mapping::{Mapping, pin};
use crate::terms::cause::Cause;
use crate::terms::config::FirstAccess;
use crate::terms::units::Units;
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
        let (entry, filled) = self.lock_filled(slice, fua, (!fua).then_some(&mut transfer)).await?;
        // A statistic isn't worth reading the map: data that was in the buffer and whose map entry isn't in
        // memory counts as mapped.
        let holds_nothing = filled != Filled::FromFlash
            && !self.cache.entries.held(entry).is_dirty
            && match self.mapping.is_one_mapped(self.units_of(slice)) {
                Some(mapped) => !mapped,
                None => filled == Filled::Unmapped,
            };
        self.runtime.count(|s| s.host_pages_unmapped += u64::from(holds_nothing));
        let moved = match transfer {
            Some(transfer) => self.dma_to_host(transfer).await,
            None => self.dma(self.dma_request(slice, DmaDirection::ToHost, BufferId(entry.0))).await,
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
            let all = if self.runtime.config.host.partial_reads {
                granules
            } else {
                self.pages.granules_of_units(self.pages.units_of(granules))
            };
            let begun = transfer.map(|transfer| {
                let request = self.dma_request(slice, DmaDirection::ToHost, BufferId(entry.0));
                transfer.insert(HostTransfer { request, begun: None })
            });
            filled = self.cache.fill(entry, all, Cause::Host, begun).await;
            let lost = granules & !self.cache.entries.held(entry).valid;
            if lost != 0 {
                let of_page = u64::from(lost.trailing_zeros() * self.pages.granule_bytes());
                let byte = u64::from(slice.frame.0) * u64::from(self.runtime.geometry.page_bytes) + of_page;
                self.commands.borrow_mut().failed_at(slice.command, byte);
                self.cache.entries.unlock(entry, Lock::Exclusive);
                return Err(HostStatus::UnrecoveredRead);
            }
            self.cache.entries.share(entry);
        }
        Ok((entry, filled))
    }
}
