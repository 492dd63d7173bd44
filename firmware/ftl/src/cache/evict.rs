//! Eviction: dirty entries are written to flash.

use crate::blocks::programmed::Programmed;
use crate::blocks::table::Destination;
use crate::cache::buffer::{EntryId, Flush};
use crate::cache::state::Cache;
use crate::journal::append::Programs;
use crate::mapping::Mapping;
use crate::terms::block::{PoolIndex, Stream};
use crate::terms::cause::Cause;
use crate::terms::sizes::PROGRAM_ATTEMPTS;
use crate::terms::units::Frame;
use aster_events::Event;
use aster_ports::host::HostStatus;
use aster_units::{BufferId, Ppa};

impl<M: Mapping> Cache<M> {
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
    /// Programs a page and calls `moved` to change the map. If the program fails, tries again in another
    /// block.
    pub(crate) async fn program_host(
        &self,
        pool: PoolIndex,
        stream: Stream,
        from: BufferId,
        moved: impl Fn(Programmed),
    ) -> Result<Ppa, HostStatus> {
        for _ in 0..PROGRAM_ATTEMPTS {
            let programs = self.begin_host_programs(pool, stream, &[from]).await?;
            let (ppa, tag) = programs.first();
            let done = self.journal.writer.program_done(ppa, tag).await.map(&moved);
            self.journal.writer.padded(programs.padding()).await;
            if done.is_some() {
                return Ok(ppa);
            }
        }
        Err(HostStatus::WriteFault)
    }
    /// Waits for room in the pool and begins programs there.
    pub(crate) async fn begin_host_programs(
        &self,
        pool: PoolIndex,
        stream: Stream,
        from: &[BufferId],
    ) -> Result<Programs, HostStatus> {
        let (to, turn) = (Destination::Pool(pool), self.blocks.pacing.take_turn(pool).await);
        let begun = loop {
            if let Some(begun) =
                self.journal.writer.begin_programs(to, stream, from, &[], |_, _| true, Cause::Host).await
            {
                break Ok(begun);
            }
            if self.blocks.table().room.is_full(pool) || self.journal.log.has_ended() {
                break Err(HostStatus::ReadOnly);
            }
            self.blocks.collection.ask(pool);
            if self.runtime.config.streams > 1 {
                // Garbage collection may wait for a word line that another stream has begun.
                self.blocks.durable_changed(pool);
            }
            self.blocks.queues.wait_room(pool).await;
        };
        self.blocks.pacing.end_turn(pool, turn);
        if begun.is_ok() {
            self.blocks.pacing.pay(pool, from.len(), &self.blocks.table().room);
        }
        begun
    }
    /// Turns an exclusive lock into an eviction, and carries it out.
    ///
    /// # Errors
    /// As [`Cache::evict`]: the entry then stays dirty.
    pub(crate) async fn evict_locked(&self, entry: EntryId) -> Result<(Frame, Ppa), HostStatus> {
        self.entries.evict_locked(entry);
        let frame = self.entries.held(entry).frame;
        Ok((frame, self.evict(entry).await?))
    }
    /// Evicts an entry if it still holds `frame` and is dirty. First waits while others change or evict it.
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
