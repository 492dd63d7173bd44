//! What a clean shutdown does last.

use crate::checkpoint::state::Checkpoint;
use aster_ports::host::HostStatus;

impl Checkpoint {
    /// Stores the map and says in NVRAM that it is the truth, unless it is so already. Nothing else may be in
    /// work.
    pub(crate) async fn store_checkpoint(&self) -> HostStatus {
        if !self.journal.marked_dirty.get() {
            // What only looks after data at rest comes to rest as well. It may have begun to move some of it.
            self.collector.pause_gc().await;
            if !self.journal.marked_dirty.get() {
                return HostStatus::Success;
            }
        }
        // What it would store has a number that the next power-on would take for damage. It comes back from
        // what there is.
        if self.journal.has_counted_out() {
            return HostStatus::Success;
        }
        self.journal.blocks.resume_gc();
        let blocks = self.blocks_for(self.journal.map_pages() + self.journal.table_pages());
        self.collector.collect_ahead(blocks.div_ceil(self.journal.geometry.total_luns())).await;
        self.collector.pause_gc().await;
        self.lock_storing().await;
        let stored = self.store_map(true).await;
        if stored {
            self.journal.store_root(true);
            self.journal.nvram.save();
            self.journal.marked_dirty.set(false);
        }
        self.unlock_storing();
        if stored {
            return HostStatus::Success;
        }
        let found_again = self.end_without_map().await;
        self.journal.blocks.resume_gc();
        match found_again {
            Ok(()) => HostStatus::Success,
            Err(_) => HostStatus::WriteFault,
        }
    }
    /// A shutdown finds no room for another map. The one before stays, since without it a loss of power would
    /// leave nothing that tells of trims: the log, which is told of all that it does not know, leads on from
    /// there at the next power-on.
    #[cold]
    async fn end_without_map(&self) -> Result<(), HostStatus> {
        if !self.journal.log_has_room() {
            self.journal.give_up_storing();
        }
        self.journal.log_trims().await
    }
}
