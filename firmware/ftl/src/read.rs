//! Taking data buffer entries, filling them from flash, and the slices that only read.

use crate::buffer::{EntryId, Granules, Hold, Step, Want};
use crate::drive::Drive;
use crate::flash::{Cause, HostTransfer};
use crate::lost;
use crate::oob::{OobRecord, PageKind};
use crate::slice::Slice;
use aster_events::{Event, Function};
use aster_ports::flash::{FlashStatus, Outcome};
use aster_ports::host::{DmaDirection, DmaError, DmaPart, DmaRequest, HostStatus};
use aster_units::{BufferId, Content, Lpn, Ppa, SECTOR_BYTES, SectorRange};

/// How a command ends whose data could not be moved.
pub(crate) fn dma_status(error: DmaError) -> HostStatus {
    match error {
        DmaError::Address => HostStatus::DataTransfer,
        DmaError::Aborted | DmaError::Abandoned => HostStatus::Aborted,
    }
}

impl Drive {
    /// Reads part of a page: from its entry, which is filled from flash as far as needed.
    pub(crate) async fn read_slice(&self, slice: &Slice, fua: bool) -> Result<(), HostStatus> {
        self.count(|s| s.host_pages_read += 1);
        // With force unit access an entry's dirty granules go to flash between the page's read and the
        // transfer.
        let mut transfer = None;
        let entry = self.hold_filled(slice, fua, (!fua).then_some(&mut transfer)).await?;
        let holds_nothing =
            !self.map.borrow().get(slice.lpn).is_some() && !self.buffer.borrow().is_dirty(entry);
        self.count(|s| s.host_pages_unmapped += u64::from(holds_nothing));
        let moved = match transfer {
            Some(transfer) => self.dma_to_host(transfer).await,
            None => self.dma(self.dma_request(slice, DmaDirection::ToHost, BufferId(entry.0))).await,
        };
        self.let_go(entry, Hold::Shared);
        moved.map_err(dma_status)
    }

    /// Compares host data with part of a page.
    pub(crate) async fn compare_slice(&self, slice: &Slice, fua: bool) -> Result<(), HostStatus> {
        self.count(|s| s.host_pages_read += 1);
        let entry = self.hold_filled(slice, fua, None).await?;
        let scratch = self.take_merge_buffer().await;
        let moved = self.dma_to_compare(self.dma_request(slice, DmaDirection::FromHost, scratch)).await;
        let equal = self.is_equal(BufferId(entry.0), scratch, self.granules_in(slice));
        self.give_merge_buffer(scratch);
        self.let_go(entry, Hold::Shared);
        moved.map_err(dma_status)?;
        if equal { Ok(()) } else { Err(HostStatus::CompareFailure) }
    }

    /// Holds the slice's entry with other readers, all granules of the slice in it. With force unit access
    /// what they hold is on flash (NVMe 1.4 §6.9): a dirty entry goes there under the hold, which lets no
    /// writer in before it is read.
    async fn hold_filled(
        &self,
        slice: &Slice,
        fua: bool,
        transfer: Option<&mut Option<HostTransfer>>,
    ) -> Result<EntryId, HostStatus> {
        let entry = self.hold_to_read(slice, transfer).await?;
        if fua {
            if let Err(status) = self.flush_entry(entry, slice.lpn).await {
                self.let_go(entry, Hold::Shared);
                return Err(status);
            }
            let at = self.map.borrow().get(slice.lpn);
            if at.is_some() {
                self.settled(at).await;
            } else {
                // A log that has ended is told of no trim any more: that keeps nobody from reading.
                let _ended = self.log_trims().await;
            }
        }
        Ok(entry)
    }
    // Where the page is read from flash, `transfer` is what has gone along with it.
    async fn hold_to_read(
        &self,
        slice: &Slice,
        transfer: Option<&mut Option<HostTransfer>>,
    ) -> Result<EntryId, HostStatus> {
        let granules = self.granules_in(slice);
        let (entry, hold) = self.hold(slice.lpn, Want::Read(granules)).await?;
        if hold == Hold::Exclusive {
            let all = if self.config.partial_reads { granules } else { self.whole_page() };
            let begun = transfer.map(|transfer| {
                let request = self.dma_request(slice, DmaDirection::ToHost, BufferId(entry.0));
                transfer.insert(HostTransfer { request, begun: None })
            });
            self.fill(entry, all, Cause::Host, begun).await;
            let lost = granules & !self.buffer.borrow().valid(entry);
            if lost != 0 {
                let of_page = u64::from(lost.trailing_zeros() * self.granule_bytes());
                let byte = u64::from(slice.lpn.0) * u64::from(self.geometry.page_bytes) + of_page;
                self.commands.borrow_mut().failed_at(slice.command, byte);
                self.let_go(entry, Hold::Exclusive);
                return Err(HostStatus::UnrecoveredRead);
            }
            self.buffer.borrow_mut().share(entry);
            self.entry_changed(entry);
        }
        Ok(entry)
    }

    /// Takes a page's entry, waiting for whoever holds it and evicting others as need be.
    pub(crate) async fn hold(&self, lpn: Lpn, want: Want) -> Result<(EntryId, Hold), HostStatus> {
        self.spend(Function::DataBufferManager, self.config.costs.buffer);
        let mut clean_only = self.blocks.borrow().any_exhausted();
        loop {
            let step = self.buffer.borrow_mut().request(lpn, want, clean_only);
            match step {
                Step::Held { entry, hold, hit } => {
                    self.count_hit(lpn, entry, hit);
                    return Ok((entry, hold));
                }
                Step::Busy(entry) => self.entry_wait(Some(entry)).await,
                // Room that can't be made this way may still be there among the clean entries.
                Step::Evict(entry) => clean_only |= self.evict(entry).await.is_err(),
                Step::None => self.entry_wait(None).await,
            }
        }
    }
    fn count_hit(&self, lpn: Lpn, entry: EntryId, hit: bool) {
        if hit {
            self.count(|s| s.buffer_hits += 1);
            self.emit(|| Event::BufferHit { task: self.task(), lpn: lpn.0, buffer: entry.0 });
        } else {
            self.count(|s| s.buffer_misses += 1);
            self.emit(|| Event::BufferMissed { task: self.task(), lpn: lpn.0, buffer: entry.0 });
        }
    }
    pub(crate) fn let_go(&self, entry: EntryId, hold: Hold) {
        self.buffer.borrow_mut().release(entry, hold);
        self.entry_changed(entry);
    }

    /// Brings the wanted granules that an entry lacks: zeroes when the page is unmapped, else from flash.
    /// What can't be read stays invalid. Nobody else changes the entry meanwhile. `transfer` goes along with
    /// what is read.
    pub(crate) async fn fill(
        &self,
        entry: EntryId,
        wanted: Granules,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) {
        self.spend(Function::AddressTranslator, self.config.costs.translate);
        self.core.settle().await;
        let (lpn, missing) = {
            let buffer = self.buffer.borrow();
            (buffer.lpn(entry), wanted & !buffer.valid(entry))
        };
        if missing == 0 {
            return;
        }
        let ppa = self.map.borrow().get(lpn);
        if !ppa.is_some() {
            self.zero(BufferId(entry.0), missing);
            self.buffer.borrow_mut().add_valid(entry, missing);
            return;
        }
        let sectors = span(self.sectors_of(missing));
        // Flash may write into the entry itself where that loses nothing.
        let direct = {
            let buffer = self.buffer.borrow();
            !buffer.is_dirty(entry) || buffer.valid(entry) & self.granules_of(sectors.mask()) == 0
        };
        if direct {
            self.fill_direct(entry, lpn, ppa, sectors, cause, transfer).await;
        } else {
            self.fill_by_merge(entry, lpn, sectors, missing, cause).await;
        }
    }
    async fn fill_direct(
        &self,
        entry: EntryId,
        lpn: Lpn,
        ppa: Ppa,
        sectors: SectorRange,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) {
        let into = BufferId(entry.0);
        let lost = self.read_page(ppa, lpn, sectors, into, cause, transfer).await;
        let mut buffer = self.buffer.borrow_mut();
        buffer.forget_clean(entry, lost);
        buffer.add_valid(entry, self.granules_of(sectors.mask()) & !lost);
    }
    async fn fill_by_merge(
        &self,
        entry: EntryId,
        lpn: Lpn,
        sectors: SectorRange,
        missing: Granules,
        cause: Cause,
    ) {
        let merge = self.take_merge_buffer().await;
        // Only now: garbage collection may have moved the page while there was no buffer.
        let ppa = self.map.borrow().get(lpn);
        let lost = self.read_page(ppa, lpn, sectors, merge, cause, None).await;
        let good = missing & !lost;
        self.copy_granules(merge, BufferId(entry.0), good);
        self.buffer.borrow_mut().add_valid(entry, good);
        self.give_merge_buffer(merge);
    }

    /// Reads sectors of a logical page and says which of their granules are lost: uncorrectable now, or noted
    /// so by whoever wrote the page here.
    async fn read_page(
        &self,
        ppa: Ppa,
        lpn: Lpn,
        sectors: SectorRange,
        into: BufferId,
        cause: Cause,
        transfer: Option<&mut HostTransfer>,
    ) -> Granules {
        self.blocks.borrow_mut().read_begins(ppa);
        let outcome = match transfer {
            Some(transfer) => self.read_for_host(ppa, lpn, sectors, into, transfer).await,
            None => self.read(ppa, sectors, into, cause).await,
        };
        self.read_over(ppa);
        self.look_for_fading(ppa, &outcome);
        let (lost, record) = self.judge(&outcome, sectors, into);
        if lost != 0 {
            self.count(|s| s.first_lost = s.first_lost.or(Some(ppa)));
        }
        if let Some(record) = record
            && (record.kind, record.lpn) != (PageKind::Data, lpn.0)
        {
            // Another page's data must never pass for this one's.
            self.count(|s| s.uncorrectable_sectors += u64::from(sectors.count));
            return self.granules_of(sectors.mask());
        }
        match record {
            Some(record) if lost != 0 => {
                let failed = self.failed_granules(&outcome) & self.granules_of(lost);
                self.take_notes(into, lost & record.lost_sectors, failed)
            }
            _ => self.granules_of(lost),
        }
    }
    /// The lost sectors of a page just read, and its OOB record. Without a record nothing vouches for the
    /// content.
    pub(crate) fn judge(
        &self,
        outcome: &Outcome,
        sectors: SectorRange,
        buffer: BufferId,
    ) -> (u16, Option<OobRecord>) {
        let readable = match outcome.status {
            FlashStatus::Done => !outcome.oob_failed && !outcome.erased,
            FlashStatus::Uncorrectable => !outcome.oob_failed,
            FlashStatus::Failed | FlashStatus::Error => false,
        };
        let record = if readable { OobRecord::decode(self.dram.borrow().oob(buffer)) } else { None };
        let lost = match record {
            Some(record) => record.lost_sectors | outcome.failed_sectors,
            None => u16::MAX,
        };
        let lost = lost & sectors.mask();
        if lost != 0 {
            self.count(|s| s.uncorrectable_sectors += u64::from(lost.count_ones()));
        }
        (lost, record)
    }

    // ---- granules of buffers ----

    pub(crate) fn whole_page(&self) -> Granules {
        mask(0, self.granules_per_page())
    }
    /// The granules that a slice touches.
    pub(crate) fn granules_in(&self, slice: &Slice) -> Granules {
        mask(slice.start / self.granule_bytes(), slice.bytes / self.granule_bytes())
    }
    pub(crate) fn dma_request(&self, slice: &Slice, direction: DmaDirection, buffer: BufferId) -> DmaRequest {
        DmaRequest {
            command: slice.command,
            direction,
            part: DmaPart::Data,
            offset: slice.data_offset,
            buffer,
            buffer_offset: slice.start,
            length: slice.bytes,
            after: None,
        }
    }
    /// Bytes that a granule takes in a buffer.
    fn granule_len(&self) -> usize {
        match self.config.content {
            Content::Full => self.granule_bytes() as usize,
            Content::Fingerprint => Content::Fingerprint.sector_len(),
        }
    }
    pub(crate) fn zero(&self, buffer: BufferId, granules: Granules) {
        let len = self.granule_len();
        let mut dram = self.dram.borrow_mut();
        let page = dram.page_mut(buffer);
        for granule in bits(granules) {
            page[granule * len..(granule + 1) * len].fill(0);
        }
    }
    fn is_equal(&self, a: BufferId, b: BufferId, granules: Granules) -> bool {
        let len = self.granule_len();
        let dram = self.dram.borrow();
        let (a, b) = (dram.page(a), dram.page(b));
        bits(granules).all(|g| a[g * len..(g + 1) * len] == b[g * len..(g + 1) * len])
    }
    /// Notes lost granules in the sectors of a page that is to be written.
    pub(crate) fn note_lost(&self, buffer: BufferId, lost: Granules) {
        // Where a granule is a sector there is nothing to tell beyond what the OOB record says.
        if self.config.content == Content::Full {
            let mut dram = self.dram.borrow_mut();
            for (sector, bytes) in dram.page_mut(buffer).chunks_exact_mut(SECTOR_BYTES).enumerate() {
                let lost = (lost >> (sector as u32 * self.granules_per_sector())) as lost::Blocks;
                if lost != 0 {
                    lost::note(bytes, lost);
                }
            }
        }
    }
    /// The lost granules of a page that was read: those that `failed` now, and what the `noted` sectors say.
    /// What they still hold comes to its place.
    pub(crate) fn take_notes(&self, buffer: BufferId, noted: u16, failed: Granules) -> Granules {
        if self.config.content != Content::Full {
            return self.granules_of(noted) | failed;
        }
        let mut dram = self.dram.borrow_mut();
        let sectors = dram.page_mut(buffer).chunks_exact_mut(SECTOR_BYTES).enumerate();
        sectors.filter(|(sector, _)| noted >> sector & 1 == 1).fold(failed, |all, (sector, bytes)| {
            let at = sector as u32 * self.granules_per_sector();
            all | Granules::from(lost::take_note(bytes, (failed >> at) as lost::Blocks)) << at
        })
    }
    pub(crate) fn copy_granules(&self, from: BufferId, to: BufferId, granules: Granules) {
        let len = self.granule_len();
        let mut held = [0; SECTOR_BYTES];
        let mut dram = self.dram.borrow_mut();
        for granule in bits(granules) {
            let at = granule * len..(granule + 1) * len;
            held[..len].copy_from_slice(&dram.page(from)[at.clone()]);
            dram.page_mut(to)[at].copy_from_slice(&held[..len]);
        }
    }
}

fn mask(first: u32, count: u32) -> Granules {
    if count == 0 { 0 } else { (Granules::MAX >> (Granules::BITS - count)) << first }
}

fn bits(mut granules: Granules) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = granules.trailing_zeros() as usize;
        granules &= granules.wrapping_sub(1);
        (first < Granules::BITS as usize).then_some(first)
    })
}

/// The smallest run of sectors that holds all of `sectors`.
fn span(sectors: u16) -> SectorRange {
    let first = sectors.trailing_zeros() as u8;
    SectorRange { first, count: 16 - sectors.leading_zeros() as u8 - first }
}
