//! Erasing blocks without valid data while the host leaves the drive alone.
//!
//! A closed block whose last page was trimmed, overwritten or moved away costs nothing to erase. Garbage
//! collection does that when it needs room, but then a write of the host waits for the erase, and the old
//! data stays on the media until then. So such blocks are erased ahead of need: one per pool at a time, after
//! a pause in which no command arrived or was in progress. A drive without such a block sleeps.

use crate::collector::state::Collector;
use crate::mapping::Mapping;
use crate::terms::block::PoolIndex;
use alloc::rc::Rc;
use aster_parties::DriveState;
use aster_units::Duration;

/// Has empty blocks erased. Never ends.
pub(crate) async fn run<M: Mapping>(collector: Rc<Collector<M>>) {
    loop {
        collector
            .host_activity
            .rests
            .wait(collector.runtime.exec(), || collector.may_erase_ahead().then_some(()))
            .await;
        let commands = collector.runtime.stats().commands;
        let gap = collector.runtime.config.care.background_gap;
        if gap > Duration::ZERO {
            collector.runtime.exec().sleep(gap).await;
        }
        if collector.may_erase_ahead() && collector.runtime.stats().commands == commands {
            // One log page for all blocks, instead of one for each erase.
            let logged = collector.journal.due.log_trims().await;
            // The wait for the log may have taken a while.
            if logged.is_ok() && collector.may_erase_ahead() {
                collector.begin_to_erase_ahead();
            }
        }
    }
}

impl<M: Mapping> Collector<M> {
    /// Whether some block may be empty and nothing else is going on.
    fn may_erase_ahead(&self) -> bool {
        self.blocks.table().candidates.may_be_emptied()
            && self.runtime.state() == DriveState::Ready
            && !self.blocks.collection.is_paused()
            && !self.journal.due.is_storing()
            && self.gc_active.get() == 0
            && self.commands_in_work() == 0
    }
    /// Has each pool erase one empty block, if it has any. When that erase ends, the pool looks for the next
    /// block.
    fn begin_to_erase_ahead(&self) {
        self.blocks.table().candidates.forget_emptied();
        for pool in self.blocks.table().layout.all_pools() {
            if self.blocks.table().candidates.has_empty(pool) {
                self.erases_ahead[pool.at()].set(true);
                self.blocks.collection.ask(pool);
            }
        }
    }
    /// The pool's garbage collection has finished with a block.
    pub(crate) fn look_for_empty(&self, pool: PoolIndex) {
        self.blocks.table().candidates.note_emptied(pool);
        self.host_activity.rests.wake(self.runtime.exec());
    }
}
