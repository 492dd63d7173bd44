//! Entries in order of arrival, where collection is paced.
//!
//! - A request takes a clean entry, never a dirty one. So no read waits for an eviction in order to get an
//!   entry, and the entries beyond the bound of dirty ones are for reads alone.
//! - Writers evict when they reserve the right to make an entry dirty. What an eviction gains goes to the
//!   first writer in the queue, and not to the one that happens to look first.

use crate::cache::buffer::{EntryId, Lock, LockResult, Want};
use crate::cache::state::Cache;
use crate::mapping::Mapping;
use crate::terms::units::Frame;
use aster_ports::host::HostStatus;

impl<M: Mapping> Cache<M> {
    /// Locks a page's entry. Who needs an entry for a page that has none waits in a queue for a clean one.
    pub(super) async fn lock_in_order(&self, frame: Frame, want: Want) -> (EntryId, Lock) {
        let mut turn = None;
        loop {
            let may_ask = self.entry_turns.is_next(turn) || self.find(frame).is_some();
            let step =
                if may_ask { self.buffer.borrow_mut().request(frame, want, true) } else { LockResult::None };
            if let LockResult::None | LockResult::Evict(_) = step {
                turn.get_or_insert_with(|| self.entry_turns.join());
                self.entry_wait(None).await;
                continue;
            }
            // There may be a clean entry for the next one as well, which may have looked before this one.
            if let Some(turn) = turn.take() {
                self.entry_turns.leave(self.runtime.exec(), turn);
                self.any_entry_waiters.wake_all(self.runtime.exec());
            }
            match step {
                LockResult::Locked { entry, lock, hit } => {
                    self.count_hit(frame, entry, hit);
                    return (entry, lock);
                }
                LockResult::Busy(entry) => self.entry_wait(Some(entry)).await,
                LockResult::Evict(_) | LockResult::None => {}
            }
        }
    }
    /// Reserves the right to make one more entry dirty. Each writer that waits evicts an entry, all at the
    /// same time; a writer whose own eviction takes long may have its right before that has ended.
    pub(super) async fn reserve_dirty_in_order(&self) -> Result<(), HostStatus> {
        if self.dirty_turns.is_empty() && self.buffer.borrow_mut().reserve_dirty() {
            return Ok(());
        }
        let turn = self.dirty_turns.join();
        while self.dirty_turns.holds(turn) {
            let oldest = self.buffer.borrow_mut().evict_oldest();
            let Some(entry) = oldest else {
                self.entry_wait(None).await;
                continue;
            };
            if let Err(status) = self.evict(entry).await {
                if !self.dirty_turns.leave(self.runtime.exec(), turn) {
                    self.return_reserve();
                }
                return Err(status);
            }
        }
        Ok(())
    }
    /// Gives the right to make an entry dirty to those that have waited longest, as many as there is room
    /// for. The caller wakes those that wait for any entry.
    pub(super) fn grant_dirty(&self) {
        while let Some(first) = self.dirty_turns.first() {
            if !self.buffer.borrow_mut().reserve_dirty() {
                break;
            }
            self.dirty_turns.leave(self.runtime.exec(), first);
        }
    }
}
