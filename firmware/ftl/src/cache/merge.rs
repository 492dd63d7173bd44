//! Merge buffers: a page is put together in one if that can't be done in its entry.

use crate::cache::state::Cache;
use crate::mapping::Mapping;
use aster_events::Wait;
use aster_units::BufferId;

impl<M: Mapping> Cache<M> {
    pub(crate) async fn take_merge_buffer(&self) -> BufferId {
        if self.journal.config.is_paced() {
            let turn = self.merge_turns.join();
            let exec = self.journal.exec();
            self.journal.waiting(Wait::MergeBuffer, self.merge_turns.wait_first(exec, turn)).await;
            let buffer = self.any_merge_buffer().await;
            self.merge_turns.leave(exec, turn);
            return buffer;
        }
        self.any_merge_buffer().await
    }
    async fn any_merge_buffer(&self) -> BufferId {
        let free = self.merge_waiters.wait(self.journal.exec(), || self.merge_free.borrow_mut().pop());
        self.journal.waiting(Wait::MergeBuffer, free).await
    }
    pub(crate) fn give_merge_buffer(&self, buffer: BufferId) {
        self.merge_free.borrow_mut().push(buffer);
        match self.journal.units.per_page() {
            1 => self.merge_waiters.wake_one(self.journal.exec()),
            // The first that waits may wait for several.
            _ => self.merge_waiters.wake_all(self.journal.exec()),
        }
    }
}
