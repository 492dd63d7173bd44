//! Copies in the host's pace.

use crate::collector::state::Collector;
use crate::mapping::Mapping;
use aster_parties::DriveState;
use aster_units::{Duration, LunIndex};

/// How often collection looks whether it has been paid.
const LOOK: Duration = Duration::from_micros(250);
/// How often it looks before it goes on unpaid: a host that writes nothing doesn't keep a victim for ever.
const LOOKS_MAX: u32 = 20;

impl<M: Mapping> Collector<M> {
    /// How many pages may be copied now: at once as many as there are where collection is on demand.
    /// Otherwise waits until the host has paid for a portion, but not for long, and not at all while somebody
    /// waits for what collection gains.
    pub(super) async fn next_portion(&self, lun: LunIndex) -> u32 {
        if !self.runtime.config.gc.is_paced() {
            return u32::MAX;
        }
        let portion = u32::from(self.runtime.config.gc.depth);
        for _ in 0..LOOKS_MAX {
            if self.is_pressed(lun) || self.blocks.queues.spend_paid(lun, portion) {
                break;
            }
            self.runtime.exec().sleep(LOOK).await;
        }
        portion
    }
    fn is_pressed(&self, lun: LunIndex) -> bool {
        let blocks = &self.blocks;
        blocks.collection.is_paused()
            || self.journal.due.is_storing()
            || self.runtime.state() != DriveState::Ready
            || self.collects_ahead.get()
            || self.gc_free_blocks.get() > self.runtime.config.collects_at()
            || blocks.queues.is_room_wanted(lun)
            || blocks.table().room.host_pages_left(lun) == 0
    }
}
