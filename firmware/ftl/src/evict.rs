//! Bringing dirty entries to flash.

use crate::blocks::Stream;
use crate::buffer::{EntryId, Flush, Granules};
use crate::drive::Drive;
use crate::flash::Cause;
use crate::oob::{OobRecord, PageKind};
use crate::unsettled::Change;
use aster_events::Event;
use aster_ports::flash::{FlashStatus, Tag};
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Lpn, LunIndex, Ppa};

/// Blocks that may fail under one page before the drive gives up on it.
pub(crate) const PROGRAM_ATTEMPTS: u32 = 8;

impl Drive {
    /// Writes an entry that was marked as being evicted: completes the page, programs it, changes the map. The entry can
    /// be found and read all the time.
    ///
    /// # Errors
    /// When there is no room, or no block takes the page; the entry stays dirty.
    pub(crate) async fn evict(&self, entry: EntryId) -> Result<Ppa, HostStatus> {
        self.fill(entry, self.whole_page(), Cause::Merge).await;
        let (lpn, lost) = {
            let buffer = self.buffer.borrow();
            (buffer.lpn(entry), self.whole_page() & !buffer.valid(entry))
        };
        let written = if lost == 0 {
            self.program_as(lpn, BufferId(entry.0), 0).await
        } else {
            self.program_with_losses(lpn, entry, lost).await
        };
        self.buffer.borrow_mut().end_evicting(entry, written.is_ok());
        self.entry_changed(entry);
        let ppa = written?;
        self.emit(|| Event::PageEvicted { lpn: lpn.0, ppa: ppa.0 });
        Ok(ppa)
    }

    /// Writes a page that has lost granules. They are noted in a copy: the entry may be read meanwhile.
    #[cold]
    async fn program_with_losses(&self, lpn: Lpn, entry: EntryId, lost: Granules) -> Result<Ppa, HostStatus> {
        let copy = self.take_merge_buffer().await;
        self.copy_granules(BufferId(entry.0), copy, self.whole_page() & !lost);
        self.note_lost(copy, lost);
        let written = self.program_as(lpn, copy, self.sectors_of(lost)).await;
        self.give_merge_buffer(copy);
        written
    }
    async fn program_as(&self, lpn: Lpn, from: BufferId, lost_sectors: u16) -> Result<Ppa, HostStatus> {
        let record =
            OobRecord { kind: PageKind::Data, lpn: lpn.0, sequence: self.next_sequence(), lost_sectors };
        record.encode(self.dram.borrow_mut().oob_mut(from));
        self.program_host(lpn, from).await
    }
    async fn program_host(&self, lpn: Lpn, from: BufferId) -> Result<Ppa, HostStatus> {
        let lun = self.lun_of(lpn);
        for _ in 0..PROGRAM_ATTEMPTS {
            let (ppa, tag) = self.begin_host_program(lun, from).await?;
            if self.program_done(ppa, tag).await {
                self.moved(lpn, ppa);
                return Ok(ppa);
            }
        }
        Err(HostStatus::WriteFault)
    }
    /// Waits for room in the LUN and begins a program there.
    async fn begin_host_program(&self, lun: LunIndex, from: BufferId) -> Result<(Ppa, Tag), HostStatus> {
        loop {
            if let Some(begun) = self.begin_program(lun, Stream::Host, from, Cause::Host).await {
                return Ok(begun);
            }
            if self.blocks.borrow().is_exhausted(lun) {
                return Err(HostStatus::ReadOnly);
            }
            self.gc_waiters[lun.index()].wake(self.exec());
            self.wait_once(&self.room_waiters[lun.index()]).await;
        }
    }
    /// Waits for a program; a failed one closes its block. True when it succeeded: then [`Drive::moved`] or
    /// [`Drive::settle_line`] must follow at once.
    pub(crate) async fn program_done(&self, ppa: Ppa, tag: Tag) -> bool {
        let outcome = self.flash_done(tag).await;
        let done = outcome.status == FlashStatus::Done;
        let (ended, settled, lun) = {
            let mut blocks = self.blocks.borrow_mut();
            let block = blocks.block_of(ppa);
            let ended = blocks.program_ended(ppa, !done);
            (ended, !done && blocks.settle_block(block), blocks.lun_of(block))
        };
        if ended || settled {
            self.gc_waiters[lun.index()].wake(self.exec());
        }
        if !done {
            self.settle_waiters[lun.index()].wake_all(self.exec());
        }
        done
    }
    /// Points a logical page at its new place, where it has just been programmed.
    pub(crate) fn moved(&self, lpn: Lpn, to: Ppa) {
        self.core.charge(self.config.costs.translate);
        let from = self.map.borrow_mut().set(lpn, to);
        self.blocks.borrow_mut().moved(Change { lpn, from, to });
        self.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: to.0 });
        self.settle_line(to);
    }
    /// A program of the word line of `ppa` has ended. Whoever waits looks again, also when the line is not complete: it may
    /// be theirs to complete now.
    pub(crate) fn settle_line(&self, ppa: Ppa) {
        let lun = {
            let mut blocks = self.blocks.borrow_mut();
            blocks.settle_line(ppa);
            let block = blocks.block_of(ppa);
            blocks.lun_of(block)
        };
        self.settle_waiters[lun.index()].wake_all(self.exec());
    }

    /// Brings an entry to flash if it still holds `lpn` and is dirty, or waits until whoever does so has.
    pub(crate) async fn flush_entry(&self, entry: EntryId, lpn: Lpn) -> Result<(), HostStatus> {
        loop {
            match self.buffer.borrow_mut().flush(entry, lpn) {
                Flush::Done => return Ok(()),
                Flush::Evict => break,
                Flush::Busy => {}
            }
            self.wait_once(&self.entry_waiters[entry.index()]).await;
        }
        self.evict(entry).await.map(|_| ())
    }
}
