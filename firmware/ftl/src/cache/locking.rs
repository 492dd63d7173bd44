//! Locking entries, and reserving the right to make one dirty: both may have to evict others.
//!
//! With collection on demand, waiting tasks compete for what becomes free. With paced collection:
//!
//! - A request takes a clean entry, never a dirty one. So no read waits for an eviction in order to get an
//!   entry, and the entries beyond the bound of dirty ones are for reads alone.
//! - Writers evict when they reserve the right to make an entry dirty. What an eviction gains goes to the
//!   first writer in the queue, and not to the one that happens to look first.
//! - Where pages are packed with units of any frame, a writer waits while others evict, unless another
//!   eviction would fill a page: with as many commands outstanding as there are entries, each would otherwise
//!   evict what the last one has just written, alone. With collection on demand it doesn't: those who wait
//!   may lose what they have waited for, again and again.

use crate::blocks::turns::Turn;
use crate::cache::buffer::{EntryId, Lock, LockResult, Want};
use crate::cache::entries::InOrder;
use crate::cache::packing::SEARCH_MAX;
use crate::cache::state::Cache;
use crate::mapping::Mapping;
use crate::terms::units::Frame;
use aster_events::{Event, Function};
use aster_ports::host::HostStatus;

impl<M: Mapping> Cache<M> {
    /// Locks a page's entry: waits while others hold it, and evicts other entries if there is no room.
    pub(crate) fn lock(
        &self,
        frame: Frame,
        want: Want,
    ) -> impl Future<Output = Result<(EntryId, Lock), HostStatus>> {
        self.lock_after(frame, want, None)
    }
    /// As [`Cache::lock`], without waiting: `Err` is what has to be waited for first, by
    /// [`Cache::lock_after`].
    #[inline]
    pub(crate) fn lock_at_once(&self, frame: Frame, want: Want) -> Result<(EntryId, Lock), LockResult> {
        let first = self.ask_first(frame, want);
        let LockResult::Locked { entry, lock, hit } = first else { return Err(first) };
        self.count_hit(frame, entry, hit);
        Ok((entry, lock))
    }
    #[inline]
    fn ask_first(&self, frame: Frame, want: Want) -> LockResult {
        self.runtime.spend(Function::DataBufferManager, self.runtime.config.costs.buffer);
        match &self.entries.in_order {
            Some(order) => self.ask_in_order(order, None, frame, want),
            None => self.entries.request(frame, want, self.blocks.table().room.any_full()),
        }
    }
    /// As [`Cache::lock`], after the `first` request for the page's entry, if there has been one.
    pub(crate) async fn lock_after(
        &self,
        frame: Frame,
        want: Want,
        first: Option<LockResult>,
    ) -> Result<(EntryId, Lock), HostStatus> {
        let first = first.unwrap_or_else(|| self.ask_first(frame, want));
        if let Some(order) = &self.entries.in_order {
            return Ok(self.lock_in_order(order, frame, want, first).await);
        }
        let mut clean_only = self.blocks.table().room.any_full();
        let mut step = first;
        loop {
            match step {
                LockResult::Locked { entry, lock, hit } => {
                    self.count_hit(frame, entry, hit);
                    return Ok((entry, lock));
                }
                LockResult::Busy(entry) => self.entries.wait(Some(entry)).await,
                // If the eviction failed, a clean entry may still be recycled.
                LockResult::Evict(entry) => clean_only |= self.evict(entry).await.is_err(),
                LockResult::None => self.entries.wait(None).await,
            }
            step = self.entries.request(frame, want, clean_only);
        }
    }
    /// Asks for a page's entry if it is the turn of who asks, or if the page has an entry.
    #[inline]
    fn ask_in_order(&self, order: &InOrder, turn: Option<Turn>, frame: Frame, want: Want) -> LockResult {
        let may_ask = order.entry_turns.is_next(turn) || self.entries.find(frame).is_some();
        if may_ask { self.entries.request(frame, want, true) } else { LockResult::None }
    }
    /// A task whose page has no entry waits in a queue for a clean one.
    async fn lock_in_order(
        &self,
        order: &InOrder,
        frame: Frame,
        want: Want,
        first: LockResult,
    ) -> (EntryId, Lock) {
        let (mut turn, mut first) = (None, Some(first));
        loop {
            let step = first.take().unwrap_or_else(|| self.ask_in_order(order, turn, frame, want));
            if let LockResult::None | LockResult::Evict(_) = step {
                turn.get_or_insert_with(|| order.entry_turns.join());
                self.entries.wait(None).await;
                continue;
            }
            // There may be a clean entry for the next task as well, which may have checked before this one.
            if let Some(turn) = turn.take() {
                order.entry_turns.leave(self.runtime.exec(), turn);
                self.entries.any_changed();
            }
            match step {
                LockResult::Locked { entry, lock, hit } => {
                    self.count_hit(frame, entry, hit);
                    return (entry, lock);
                }
                LockResult::Busy(entry) => self.entries.wait(Some(entry)).await,
                LockResult::Evict(_) | LockResult::None => {}
            }
        }
    }
    #[inline]
    fn count_hit(&self, frame: Frame, entry: EntryId, hit: bool) {
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
    /// Reserves the right to make one more entry dirty, and evicts dirty entries until the bound permits
    /// it.
    pub(crate) async fn reserve_dirty(&self) -> Result<(), HostStatus> {
        if let Some(order) = &self.entries.in_order {
            return self.reserve_dirty_in_order(order).await;
        }
        loop {
            if self.entries.reserve_dirty() {
                return Ok(());
            }
            match self.evict_oldest() {
                Some(entry) => {
                    self.evict(entry).await?;
                }
                None => self.entries.wait(None).await,
            }
        }
    }
    /// Whether an entry may be evicted for who needs one.
    fn is_eviction_due(&self) -> bool {
        let per_page = self.runtime.units.per_page();
        let packs_any = per_page > 1 && self.blocks.table().layout.total_pools() == 1;
        !packs_any || self.entries.is_eviction_due(per_page, SEARCH_MAX)
    }
    fn evict_oldest(&self) -> Option<EntryId> {
        self.entries.evict_oldest_of(1, |_, _, _| true).map(|(entry, _)| entry)
    }
    /// All waiting writers evict an entry each, at the same time. A writer may get its right before its own
    /// eviction has ended.
    async fn reserve_dirty_in_order(&self, order: &InOrder) -> Result<(), HostStatus> {
        if order.dirty_turns.is_empty() && self.entries.reserve_dirty() {
            return Ok(());
        }
        let turn = order.dirty_turns.join();
        while order.dirty_turns.holds(turn) {
            let due = self.is_eviction_due();
            let Some(entry) = due.then(|| self.evict_oldest()).flatten() else {
                self.entries.wait(None).await;
                continue;
            };
            if let Err(status) = self.evict(entry).await {
                if !order.dirty_turns.leave(self.runtime.exec(), turn) {
                    self.entries.return_reserve();
                }
                return Err(status);
            }
        }
        Ok(())
    }
}
