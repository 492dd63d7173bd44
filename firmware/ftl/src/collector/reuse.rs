//! A victim without valid data is erased or retired.

use crate::collector::state::Collector;
use crate::mapping::Mapping;
use crate::terms::block::{BlockIndex, BlockState};
use crate::terms::cause::Cause;
use aster_ports::flash::FlashStatus;
use aster_units::{BufferId, LunIndex};

/// Erases between two reports of wear.
const ERASES_A_REPORT: u64 = 1024;

impl<M: Mapping> Collector<M> {
    /// Erases a block that holds no valid page, or retires it, with the buffers of a collector. `own` is the
    /// one for pages of the map itself.
    pub(super) async fn reuse(&self, collector: LunIndex, block: BlockIndex, own: Option<BufferId>) {
        self.blocks.wait_unread(block).await;
        let (state, lun, addr) = {
            let blocks = self.blocks.table();
            (blocks.states.of(block), blocks.layout.lun_of(block), blocks.layout.block_addr(block))
        };
        // Trims are journaled before the erase. Otherwise a loss of power could leave a map that has trimmed
        // pages in the erased block.
        if self.journal.due.log_trims().await.is_err() {
            return self.blocks.table().offer(block);
        }
        let fit = state == BlockState::Closed && !self.is_unfit(collector, block, own).await;
        let erased = fit && {
            let buffer = BufferId(self.runtime.buffers.gc(collector, 0));
            self.journal.writer.erase(lun, addr, buffer).await.status == FlashStatus::Done
        };
        if erased {
            self.blocks.table().erased(block);
            if self.runtime.stats().flash_erases.total().is_multiple_of(ERASES_A_REPORT) {
                self.journal.health.media_changed();
            }
        } else {
            self.journal.health.retire(lun, block);
        }
        self.blocks.queues.room_changed(self.blocks.table().layout.pool_of(lun));
        self.journal.due.room_for_map_changed();
    }
    /// Whether a block has a page that can't be corrected, after the second read of it (S12).
    async fn is_unfit(&self, collector: LunIndex, block: BlockIndex, own: Option<BufferId>) -> bool {
        let Some(suspect) = self.blocks.table().refreshing.suspect_of(block) else { return false };
        let of_data = BufferId(self.runtime.buffers.gc(collector, 0));
        let buffer = own.filter(|_| suspect.is_own).unwrap_or(of_data);
        let whole = self.pages.whole();
        let outcome = self.blocks.read(suspect.page, whole, buffer, Cause::Gc).await;
        outcome.status == FlashStatus::Uncorrectable
    }
}
