//! Copies in the host's pace.

use crate::collector::state::Collector;
use crate::mapping::Mapping;
use crate::terms::block::BlockIndex;
use aster_parties::DriveState;
use aster_units::LunIndex;

impl<M: Mapping> Collector<M> {
    /// Waits until the next pages of a victim may be copied, and gives how many.
    ///
    /// They are as many as are in flight at once, and no more than count in it: of a victim that holds less,
    /// the host never pays for more.
    pub(super) async fn next_portion(&self, lun: LunIndex, victim: BlockIndex) -> u32 {
        let left = self.blocks.table().valid.in_block(victim);
        let portion = u32::from(self.runtime.config.gc.depth).min(left).max(1);
        self.blocks.pacing.paid(lun, portion, || self.is_pressed(lun)).await
    }
    /// Somebody waits for what collection gains, or holds.
    fn is_pressed(&self, lun: LunIndex) -> bool {
        let blocks = &self.blocks;
        blocks.collection.is_paused()
            || self.journal.due.is_storing()
            || self.runtime.state() != DriveState::Ready
            || self.collects_ahead.get()
            || self.gc_free_blocks.get() > self.runtime.config.collects_at()
            || blocks.queues.is_room_wanted(lun)
            || blocks.pacing.is_map_room_wanted()
            || blocks.table().room.host_pages_left(lun) == 0
    }
}
