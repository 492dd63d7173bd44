//! Locking and unlocking entries.

use crate::cache::buffer::{EntryId, Lock, LockResult, Want};
use crate::cache::state::Cache;
use crate::mapping::Mapping;
use crate::terms::runtime::ANY_BUFFER;
use crate::terms::units::Frame;
use aster_events::{Event, Function, Wait};
use aster_ports::host::HostStatus;

impl<M: Mapping> Cache<M> {
    /// Locks a page's entry: waits while others hold it, and evicts other entries if there is no room.
    pub(crate) async fn lock(&self, frame: Frame, want: Want) -> Result<(EntryId, Lock), HostStatus> {
        self.runtime.spend(Function::DataBufferManager, self.runtime.config.costs.buffer);
        if self.runtime.config.gc.is_paced() {
            return Ok(self.lock_in_order(frame, want).await);
        }
        let mut clean_only = self.blocks.table().room.any_full();
        loop {
            let step = self.buffer.borrow_mut().request(frame, want, clean_only);
            match step {
                LockResult::Locked { entry, lock, hit } => {
                    self.count_hit(frame, entry, hit);
                    return Ok((entry, lock));
                }
                LockResult::Busy(entry) => self.entry_wait(Some(entry)).await,
                // If the eviction failed, a clean entry may still be recycled.
                LockResult::Evict(entry) => clean_only |= self.evict(entry).await.is_err(),
                LockResult::None => self.entry_wait(None).await,
            }
        }
    }
    pub(super) fn count_hit(&self, frame: Frame, entry: EntryId, hit: bool) {
        if hit {
            self.runtime.count(|s| s.buffer_hits += 1);
            self.runtime.emit(|| Event::BufferHit {
                task: self.runtime.task(),
                lpn: frame.0,
                buffer: entry.0,
            });
        } else {
            self.runtime.count(|s| s.buffer_misses += 1);
            self.runtime.emit(|| Event::BufferMissed {
                task: self.runtime.task(),
                lpn: frame.0,
                buffer: entry.0,
            });
        }
    }
    pub(crate) fn unlock(&self, entry: EntryId, lock: Lock) {
        self.buffer.borrow_mut().release(entry, lock);
        self.entry_changed(entry);
    }
    /// Reserves the right to make one more entry dirty, and evicts dirty entries until the bound permits
    /// it.
    pub(crate) async fn reserve_dirty(&self) -> Result<(), HostStatus> {
        if self.runtime.config.gc.is_paced() {
            return self.reserve_dirty_in_order().await;
        }
        loop {
            if self.buffer.borrow_mut().reserve_dirty() {
                return Ok(());
            }
            let oldest = self.buffer.borrow_mut().evict_oldest();
            match oldest {
                Some(entry) => {
                    self.evict(entry).await?;
                }
                None => self.entry_wait(None).await,
            }
        }
    }
    pub(crate) fn drop_entry(&self, entry: EntryId) {
        self.buffer.borrow_mut().discard(entry);
        self.entry_changed(entry);
    }
    /// Waits until `entry` has changed, or any entry if it is `None`.
    pub(crate) async fn entry_wait(&self, entry: Option<EntryId>) {
        let (queue, buffer) = match entry {
            Some(entry) => (&self.entry_waiters[entry.index()], entry.0),
            None => (&*self.any_entry_waiters, ANY_BUFFER),
        };
        self.runtime.waiting_for(Wait::BufferEntry, buffer, self.runtime.woken(queue)).await;
    }
    /// Wakes the tasks that wait for a change of this entry or of any.
    #[inline]
    pub(crate) fn entry_changed(&self, entry: EntryId) {
        if self.runtime.config.gc.is_paced() {
            self.grant_dirty();
        }
        let waiters = &self.entry_waiters[entry.index()];
        if self.runtime.recorder.is_on() && !(waiters.is_empty() && self.any_entry_waiters.is_empty()) {
            self.runtime.emit(|| Event::EntryReleased { task: self.runtime.task(), buffer: entry.0 });
        }
        waiters.wake_all(self.runtime.exec());
        self.any_entry_waiters.wake_all(self.runtime.exec());
    }
}
