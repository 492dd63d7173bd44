//! Bringing dirty entries to flash.

use crate::blocks::unsettled::Change;
use crate::buffer::{EntryId, Flush, Granules};
use crate::drive::Drive;
use crate::media::flash::Programs;
use crate::terms::block::{BlockState, Stream};
use crate::terms::cause::Cause;
use crate::terms::oob::{OobRecord, PageKind};
use aster_events::{Event, Function, Wait};
use aster_ports::flash::{FlashStatus, Tag};
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Lpn, LunIndex, Ppa};

/// Blocks that may fail under one page before the drive gives up on it.
pub(crate) const PROGRAM_ATTEMPTS: u32 = 8;

impl Drive {
    /// Writes an entry that was marked as being evicted: completes the page, programs it, changes the map.
    /// The entry can be found and read all the time.
    ///
    /// # Errors
    /// When there is no room, or no block takes the page; the entry stays dirty.
    pub(crate) async fn evict(&self, entry: EntryId) -> Result<Ppa, HostStatus> {
        if self.config.pages_at_once() > 1 {
            return self.evict_line(entry).await;
        }
        self.fill(entry, self.whole_page(), Cause::Merge, None).await;
        self.evict_filled(entry).await
    }
    /// The logical page of an entry that is being evicted, and what it lacks although it was filled.
    pub(crate) fn to_evict(&self, entry: EntryId) -> (Lpn, Granules) {
        let buffer = self.buffer.borrow();
        (buffer.lpn(entry), self.whole_page() & !buffer.valid(entry))
    }
    /// As [`Drive::evict`] for an entry that has been filled, by itself.
    pub(crate) async fn evict_filled(&self, entry: EntryId) -> Result<Ppa, HostStatus> {
        let (lpn, lost) = self.to_evict(entry);
        let written = if lost == 0 {
            self.note_owner(lpn, BufferId(entry.0), 0);
            self.program_host(lpn, BufferId(entry.0)).await
        } else {
            self.program_with_losses(lpn, entry, lost).await
        };
        self.evicted(entry, lpn, written)
    }
    /// An eviction has ended.
    pub(crate) fn evicted(
        &self,
        entry: EntryId,
        lpn: Lpn,
        written: Result<Ppa, HostStatus>,
    ) -> Result<Ppa, HostStatus> {
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
        self.note_owner(lpn, copy, self.sectors_of(lost));
        let written = self.program_host(lpn, copy).await;
        self.give_merge_buffer(copy);
        written
    }
    /// Writes the OOB record of a page that is about to be programmed.
    pub(crate) fn note_owner(&self, lpn: Lpn, buffer: BufferId, lost_sectors: u16) {
        let record = OobRecord {
            kind: PageKind::Data,
            lpn: lpn.0,
            sequence: self.next_sequence(),
            lost_sectors,
            copy: 0,
        };
        record.encode(self.dram.borrow_mut().oob_mut(buffer));
    }
    /// Programs a page, in another block where one fails.
    pub(crate) async fn program_host(&self, lpn: Lpn, from: BufferId) -> Result<Ppa, HostStatus> {
        let lun = self.lun_of(lpn);
        for _ in 0..PROGRAM_ATTEMPTS {
            let programs = self.begin_host_programs(lun, &[from]).await?;
            let (ppa, tag) = programs.first();
            let done = self.program_done(ppa, tag).await;
            if done {
                self.moved(lpn, ppa);
            }
            self.padded(programs.padding()).await;
            if done {
                return Ok(ppa);
            }
        }
        Err(HostStatus::WriteFault)
    }
    /// Waits for room in the LUN and begins programs there.
    pub(crate) async fn begin_host_programs(
        &self,
        lun: LunIndex,
        from: &[BufferId],
    ) -> Result<Programs, HostStatus> {
        loop {
            if let Some(begun) = self.begin_programs(lun, Stream::Host, from, &[], Cause::Host).await {
                return Ok(begun);
            }
            if self.blocks.borrow().is_exhausted(lun) || self.log.borrow().dead {
                return Err(HostStatus::ReadOnly);
            }
            self.gc_waiters[lun.index()].wake(self.exec());
            self.wait_once(&self.room_waiters[lun.index()], Wait::Room).await;
        }
    }
    /// Waits for a program; a failed one closes its block. True when it succeeded: then [`Drive::moved`] or
    /// [`Drive::settle_line`] must follow at once.
    pub(crate) async fn program_done(&self, ppa: Ppa, tag: Tag) -> bool {
        let outcome = self.flash_done(tag).await;
        let done = outcome.status == FlashStatus::Done;
        let (ended, settled, failing, lun) = {
            let mut blocks = self.blocks.borrow_mut();
            let block = blocks.block_of(ppa);
            let ended = blocks.program_ended(ppa, !done);
            let failing = ended && blocks.state(block) == BlockState::Failing;
            (ended, !done && blocks.settle_block(block), failing, blocks.lun_of(block))
        };
        if failing {
            self.media_changed();
        }
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
        self.spend(Function::AddressTranslator, self.config.costs.translate);
        let from = self.map.borrow_mut().set(lpn, to);
        self.blocks.borrow_mut().moved(Change { lpn, from, to });
        self.emit(|| Event::MapUpdated { lpn: lpn.0, ppa: to.0 });
        self.settle_line(to);
    }
    /// A program of the word line of `ppa` has ended. Whoever waits looks again, also when the line is not
    /// complete: it may be theirs to complete now.
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
            self.entry_wait(Some(entry)).await;
        }
        self.evict(entry).await.map(|_| ())
    }
}
