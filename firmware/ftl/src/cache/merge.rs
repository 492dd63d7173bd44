//! Merge buffers: a page is put together in one if that can't be done in its entry.

use crate::cache::state::Cache;
use crate::mapping::Mapping;
use aster_events::Wait;
use aster_units::BufferId;

impl<M: Mapping> Cache<M> {
    pub(crate) async fn take_merge_buffer(&self) -> BufferId {
        let mut buffer = [BufferId(0)];
        self.take_merge_buffers(&mut buffer).await;
        buffer[0]
    }
    pub(super) async fn take_merge_buffers(&self, of: &mut [BufferId]) {
        let taken = self.merging.take(self.runtime.exec(), of);
        self.runtime.waiting(Wait::MergeBuffer, taken).await;
    }
    pub(crate) fn give_merge_buffer(&self, buffer: BufferId) {
        self.merging.give(self.runtime.exec(), buffer);
    }
}
