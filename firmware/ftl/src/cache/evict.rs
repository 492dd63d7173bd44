//! Eviction: dirty entries are written to flash.

use crate::blocks::programmed::Programmed;
use crate::cache::buffer::{EntryId, Flush};
use crate::cache::state::Cache;
use crate::journal::append::Programs;
use crate::mapping::{Mapping, pin, room};
use crate::page::buffers::Granules;
use crate::terms::block::Stream;
use crate::terms::cause::Cause;
use crate::terms::oob::{OobRecord, PageKind};
use crate::terms::sizes::PROGRAM_ATTEMPTS;
use crate::terms::units::Frame;
use aster_events::Event;
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Lpn, LunIndex, Ppa};

impl<M: Mapping> Cache<M> {
    /// Writes an entry that was marked as being evicted: completes the page, programs it, changes the map.
    /// The entry can be found and read meanwhile.
    ///
    /// # Errors
    /// When there is no room or every attempt to program the page fails. The entry then stays dirty.
    pub(crate) async fn evict(&self, entry: EntryId) -> Result<Ppa, HostStatus> {
        if self.runtime.config.lines.at_once() > 1 || self.runtime.units.per_page() > 1 {
            return self.evict_packed(entry).await;
        }
        let (frame, _) = self.entries.frame_of(entry);
        let Ok(room) = room!(self.mapping, 1) else {
            return self.evicted(entry, frame, Err(HostStatus::ReadOnly));
        };
        // The page is pinned before its program: nothing may happen between the program's end and the
        // change of the map.
        let Ok(pin) = pin!(self.mapping, self.runtime.units.first_of(frame)) else {
            return self.evicted(entry, frame, Err(HostStatus::WriteFault));
        };
        self.fill(entry, self.pages.whole_page(), Cause::Merge, None).await;
        self.evict_filled(entry, &room, &pin).await
    }
    /// Evicts a filled entry of one unit by itself, as [`Cache::evict`] does; `pin` is on its unit.
    pub(crate) async fn evict_filled(
        &self,
        entry: EntryId,
        room: &M::Room,
        pin: &M::Pin,
    ) -> Result<Ppa, HostStatus> {
        let (frame, _) = self.entries.frame_of(entry);
        let lost = self.entries.lacks(entry, self.pages.whole_page());
        let written = if lost == 0 {
            self.note_owner(self.mapping.page(pin), BufferId(entry.0), 0);
            let lun = self.blocks.lun_of(frame);
            self.program_host(lun, BufferId(entry.0), |done| self.mapping.moved(room, done, [(0, pin)])).await
        } else {
            self.program_with_losses(room, pin, entry, lost).await
        };
        self.evicted(entry, frame, written)
    }
    /// Ends an eviction: the entry becomes clean if it was written, and tasks that wait for it are woken.
    pub(crate) fn evicted(
        &self,
        entry: EntryId,
        frame: Frame,
        written: Result<Ppa, HostStatus>,
    ) -> Result<Ppa, HostStatus> {
        self.entries.evicted(entry, written.is_ok());
        let ppa = written?;
        self.runtime.emit(|| Event::PageEvicted {
            lpn: frame.0,
            ppa: self.runtime.config.planes().page_in_lun(ppa).0,
        });
        Ok(ppa)
    }
    /// Writes a page that has lost granules. The notes about them are made in a copy, since the entry may
    /// be read meanwhile.
    #[cold]
    async fn program_with_losses(
        &self,
        room: &M::Room,
        pin: &M::Pin,
        entry: EntryId,
        lost: Granules,
    ) -> Result<Ppa, HostStatus> {
        let held = self.merging.take_one().await;
        let copy = held.id();
        self.pages.copy_granules(BufferId(entry.0), copy, self.pages.whole_page() & !lost);
        self.pages.note_lost(copy, lost);
        self.note_owner(self.mapping.page(pin), copy, self.pages.sectors_of(lost));
        let lun = self.blocks.lun_of(self.entries.frame_of(entry).0);
        self.program_host(lun, copy, |done| self.mapping.moved(room, done, [(0, pin)])).await
    }
    /// Writes the OOB record of a page of one unit that is about to be programmed.
    pub(crate) fn note_owner(&self, lpn: Lpn, buffer: BufferId, lost_sectors: u16) {
        let record = OobRecord {
            kind: PageKind::Data,
            lpn: lpn.0,
            sequence: self.blocks.sequence.next(),
            lost_sectors,
            copy: 0,
        };
        self.pages.put_record(buffer, &record);
    }
    /// Programs a page, and has `moved` change the map. If the program fails, tries again in another block.
    pub(crate) async fn program_host(
        &self,
        lun: LunIndex,
        from: BufferId,
        moved: impl Fn(Programmed),
    ) -> Result<Ppa, HostStatus> {
        for _ in 0..PROGRAM_ATTEMPTS {
            let programs = self.begin_host_programs(lun, &[from]).await?;
            let (ppa, tag) = programs.first();
            let done = self.journal.writer.program_done(ppa, tag).await.map(&moved);
            self.journal.writer.padded(programs.padding()).await;
            if done.is_some() {
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
        let turn = self.blocks.pacing.take_turn(lun).await;
        let begun = loop {
            if let Some(begun) = self
                .journal
                .writer
                .begin_programs(lun, Stream::Host, from, &[], |_, _| true, Cause::Host)
                .await
            {
                break Ok(begun);
            }
            if self.blocks.table().room.is_full(lun) || self.journal.log.has_ended() {
                break Err(HostStatus::ReadOnly);
            }
            self.blocks.collection.ask(lun);
            self.blocks.queues.wait_room(lun).await;
        };
        self.blocks.pacing.end_turn(lun, turn);
        if begun.is_ok() {
            self.blocks.pacing.pay(lun, from.len(), &self.blocks.table().room);
        }
        begun
    }
    /// Turns an exclusive lock into an eviction, and carries it out.
    ///
    /// # Errors
    /// As [`Cache::evict`]: the entry then stays dirty.
    pub(crate) async fn evict_locked(&self, entry: EntryId) -> Result<(Frame, Ppa), HostStatus> {
        self.entries.evict_locked(entry);
        let (frame, _) = self.entries.frame_of(entry);
        Ok((frame, self.evict(entry).await?))
    }
    /// Evicts an entry if it still holds `frame` and is dirty. Waits first while others change or evict it.
    pub(crate) async fn flush_entry(&self, entry: EntryId, frame: Frame) -> Result<(), HostStatus> {
        loop {
            match self.entries.flush(entry, frame) {
                Flush::Done => return Ok(()),
                Flush::Evict => break,
                Flush::Busy => {}
            }
            self.entries.wait(Some(entry)).await;
        }
        self.evict(entry).await.map(|_| ())
    }
}
