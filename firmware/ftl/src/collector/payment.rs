//! Copies at the host's pace.

use crate::collector::state::Collector;
use crate::mapping::Mapping;
use crate::terms::block::PoolIndex;
use aster_parties::DriveState;
use aster_units::Ppa;
use core::ops::Range;

impl<M: Mapping> Collector<M> {
    /// Waits until the next of these pages of a victim may be copied, and gives how many.
    ///
    /// They are as many as are in flight at once, and no more than still count: the host never pays for more.
    pub(super) async fn next_portion(&self, pool: PoolIndex, pages: Range<u32>) -> u32 {
        if !self.blocks.pacing.is_on() {
            return u32::MAX;
        }
        let wanted = pages.map(Ppa).filter(|&page| self.is_wanted(page));
        let portion = wanted.take(self.runtime.config.gc.depth.into()).count() as u32;
        if portion == 0 {
            return u32::MAX;
        }
        self.blocks.pacing.paid(pool, portion, || self.is_pressed(pool)).await;
        portion
    }
    /// Whether somebody waits for what collection gains, or for what it holds.
    fn is_pressed(&self, pool: PoolIndex) -> bool {
        let blocks = &self.blocks;
        blocks.collection.is_paused()
            || self.journal.due.is_storing()
            || self.runtime.state() != DriveState::Ready
            || self.collects_ahead.get()
            || self.gc_free_blocks.get() > self.runtime.config.collects_at()
            || blocks.queues.is_room_wanted(pool)
            || blocks.pacing.is_map_room_wanted()
            || blocks.table().room.host_pages_left(pool) == 0
    }
}
