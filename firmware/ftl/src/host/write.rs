//! Slices that change data buffer entries.

use crate::cache::buffer::{EntryId, Lock, Want};
use crate::host::slices::Slice;
use crate::host::state::Host;
use crate::host::transfer::dma_status;
use crate::mapping::Mapping;
use crate::page::buffers::Granules;
use aster_ports::host::{DmaDirection, HostStatus};
use aster_units::BufferId;

impl<M: Mapping> Host<M> {
    /// Writes part of a page into its entry (RxDMA). The slice is done then. With force unit access it is
    /// done when the page is durable on flash.
    pub(crate) async fn write_slice(&self, slice: &Slice, fua: bool) -> Result<(), HostStatus> {
        self.runtime.count(|s| s.host_pages_written += 1);
        let entry = self.lock_to_change(slice).await?;
        let granules = self.granules_in(slice);
        if let Err(status) = self.fetch(slice, entry, granules).await {
            self.cache.entries.return_reserve();
            self.cache.entries.unlock(entry, Lock::Exclusive);
            return Err(status);
        }
        self.runtime.count(|s| s.host_bytes_written += u64::from(slice.bytes));
        self.changed(slice, entry, granules, fua).await
    }
    /// Transfers the slice's data to its exclusively locked entry. If the transfer fails half-way, the
    /// page's content must not change. If only the entry holds some of these granules, the data therefore
    /// goes to a merge buffer and is copied when it is complete. Otherwise it goes straight to the entry.
    /// If that fails, the granules become invalid, and flash still holds their old content.
    async fn fetch(&self, slice: &Slice, entry: EntryId, granules: Granules) -> Result<(), HostStatus> {
        if self.cache.entries.has_unwritten(entry, granules) {
            let held = self.cache.merging.take_one().await;
            let staged = held.id();
            let moved = self.dma(self.dma_request(slice, DmaDirection::FromHost, staged)).await;
            if moved.is_ok() {
                self.pages.copy_granules(staged, BufferId(entry.0), granules);
            }
            return moved.map_err(dma_status);
        }
        let moved = self.dma(self.dma_request(slice, DmaDirection::FromHost, BufferId(entry.0))).await;
        if moved.is_err() {
            self.cache.entries.forget_clean(entry, granules);
        }
        moved.map_err(dma_status)
    }
    /// Writes zeroes over part of a page.
    pub(crate) async fn zero_slice(&self, slice: &Slice, fua: bool) -> Result<(), HostStatus> {
        if self.cache.entries.find(slice.frame).is_none() {
            let pins =
                self.mapping.pin_all(self.units_of(slice)).await.map_err(|_| HostStatus::WriteFault)?;
            // Another slice may have brought the frame into the buffer while this one waited for the pins.
            let is_empty = self.cache.entries.find(slice.frame).is_none()
                && pins.iter().all(|pin| !self.mapping.get(pin).is_some());
            drop(pins);
            if is_empty {
                return if fua { self.journal.due.log_trims().await } else { Ok(()) };
            }
        }
        let entry = self.lock_to_change(slice).await?;
        let granules = self.granules_in(slice);
        self.pages.zero(BufferId(entry.0), granules);
        self.changed(slice, entry, granules, fua).await
    }
    /// The slice's entry, and the right to make it dirty.
    pub(super) async fn lock_to_change(&self, slice: &Slice) -> Result<EntryId, HostStatus> {
        self.cache.reserve_dirty().await?;
        let held = self.cache.lock(slice.frame, Want::Write).await;
        if held.is_err() {
            self.cache.entries.return_reserve();
        }
        Ok(held?.0)
    }
    async fn changed(
        &self,
        slice: &Slice,
        entry: EntryId,
        granules: Granules,
        fua: bool,
    ) -> Result<(), HostStatus> {
        let named = || self.port.stream(slice.command);
        let stream = self.blocks.table().streams.of_write(slice.frame, named);
        self.cache.entries.written(entry, granules, stream);
        if fua {
            let units = self.pages.units_of(granules);
            let (frame, at) = self.cache.evict_locked(entry).await?;
            self.journal.writer.make_page_durable(at).await;
            // If a unit was unmapped before it was durable, the journal has no record of it. The trim must
            // then be journaled, or a power cut would bring back the data from before the write.
            let written = self.runtime.units.units_in(frame, units).map(|(_, lpn)| lpn);
            let is_unmapped = self.mapping.is_one_unmapped(written).await;
            let is_unmapped = is_unmapped.map_err(|_| HostStatus::WriteFault)?;
            return if is_unmapped { self.journal.due.log_trims().await } else { Ok(()) };
        }
        self.cache.entries.unlock(entry, Lock::Exclusive);
        Ok(())
    }
}
