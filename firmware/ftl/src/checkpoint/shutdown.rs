//! The last step of a clean shutdown.

use crate::checkpoint::state::Checkpoint;
use crate::mapping::Mapping;
use aster_ports::host::HostStatus;

impl<M: Mapping> Checkpoint<M> {
    /// Stores the map and names it in NVRAM as the drive's state, unless NVRAM says so already. Nothing else
    /// may be in progress.
    pub(crate) async fn store_checkpoint(&self) -> HostStatus {
        if self.journal.root.is_as_shut_down() {
            // Refresh and levelling stop too. They may have begun to move data, which makes the stored map
            // outdated.
            self.collector.pause_gc().await;
            if self.journal.root.is_as_shut_down() {
                return HostStatus::Success;
            }
        }
        // The next power-on would mistake the number of a new map for damage. It recovers from the older map
        // and the log instead.
        if self.journal.health.counters_exhausted() {
            return HostStatus::Success;
        }
        self.blocks.collection.resume();
        let blocks = self.blocks_for(self.journal.own.map_pages() + self.journal.own.table_pages());
        self.collector.collect_ahead(blocks.div_ceil(self.runtime.geometry.total_luns())).await;
        self.collector.pause_gc().await;
        self.journal.due.lock_storing().await;
        let stored = self.store_map(true).await;
        if stored {
            self.journal.root.store_clean();
        }
        self.unlock_storing();
        if stored {
            return HostStatus::Success;
        }
        let found_again = self.end_without_map().await;
        self.blocks.collection.resume();
        match found_again {
            Ok(()) => HostStatus::Success,
            Err(_) => HostStatus::WriteFault,
        }
    }
    /// A shutdown that finds no room for another map keeps the older one, since only the map and the log
    /// record trims. It journals every change since that map, so that the next power-on recovers from both.
    #[cold]
    async fn end_without_map(&self) -> Result<(), HostStatus> {
        if !self.journal.log.has_room() {
            self.journal.log_writer.give_up_storing();
        }
        self.journal.due.log_trims().await
    }
}
