//! The end of a flush: what was written before it becomes durable.

use crate::host::state::Host;
use crate::mapping::Mapping;
use crate::terms::block::Stream;
use aster_events::Wait;
use aster_ports::host::{CommandId, HostStatus};
use aster_units::LunIndex;

impl<M: Mapping> Host<M> {
    /// The last slice of a flush: waits for the flush's other slices, and makes durable all data that was
    /// programmed before their end.
    ///
    /// # Errors
    /// If a trim can't be journaled any more.
    pub(crate) async fn make_durable(&self, command: CommandId) -> Result<(), HostStatus> {
        let others =
            self.flush_waiters.wait(self.runtime.exec(), || self.is_last_slice(command).then_some(()));
        self.runtime.waiting(Wait::Slices, others).await;
        let order = self.blocks.table().durability.programs_begun();
        // A LUN whose pages are safe stays so.
        let luns = || (0..self.runtime.geometry.total_luns()).map(LunIndex);
        let mut begun = self.padding.borrow();
        for lun in luns() {
            for stream in (0..self.runtime.config.streams).map(Stream::Host) {
                if !self.is_safe(lun, order) {
                    begun.extend(self.journal.writer.begin_padding(lun, stream).await);
                }
            }
        }
        self.journal.writer.padded(begun.drain(..)).await;
        drop(begun);
        for lun in luns() {
            while !self.is_safe(lun, order) {
                // Others may have begun another line, or pages of one are still in flight.
                match self.journal.writer.begin_host_padding(lun).await {
                    Some(padding) => self.journal.writer.padded([padding]).await,
                    // The line may have been completed, and may even be durable, if this task waited for
                    // the LUN's queue.
                    None if self.is_safe(lun, order) => break,
                    None => self.blocks.wait_durable(self.blocks.table().layout.pool_of(lun)).await,
                }
            }
        }
        self.journal.due.log_trims().await
    }
    fn is_safe(&self, lun: LunIndex, order: u64) -> bool {
        self.blocks.table().durability.are_safe(lun, order)
    }
}
