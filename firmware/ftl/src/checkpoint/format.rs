//! Format with User Data Erase (NVMe 1.4 §5.23): none of the host's data stays on the media.

use crate::checkpoint::state::Checkpoint;
use crate::mapping::Mapping;
use crate::terms::block::{BlockIndex, BlockState};
use crate::terms::cause::Cause;
use alloc::collections::VecDeque;
use aster_ports::flash::{FlashStatus, Tag};
use aster_ports::host::HostStatus;
use aster_units::{BlockAddr, LunIndex, Ppa};

impl<M: Mapping> Checkpoint<M> {
    /// Erases every block that may hold data of the host, including stale pages. Blocks that went bad are
    /// erased too and stay bad. The blocks of the stored map hold no data, and factory bad blocks were never
    /// written. The caller has unmapped everything and ensures that nothing else is in progress.
    ///
    /// Returns [`HostStatus::WriteFault`] if a block can't be erased and is still readable.
    pub(crate) async fn erase_user_data(&self) -> HostStatus {
        self.collector.pause_gc().await;
        self.mapping.map().give_up_own();
        // The trims are journaled before the erases: a loss of power must not leave a map that has pages in
        // erased blocks.
        if let Err(status) = self.journal.due.log_trims().await {
            self.blocks.collection.resume();
            return status;
        }
        // One block per LUN is erased at a time, all LUNs side by side.
        let luns = self.runtime.geometry.total_luns();
        let mut in_flight = VecDeque::with_capacity(luns as usize);
        for lun in (0..luns).map(LunIndex) {
            in_flight.extend(self.begin_next_erase(lun, BlockAddr(0)).await);
        }
        let mut gone = true;
        while let Some((block, tag)) = in_flight.pop_front() {
            gone &= self.end_erase(block, tag).await;
            let (lun, addr) = self.place_of(block);
            in_flight.extend(self.begin_next_erase(lun, BlockAddr(addr.0 + 1)).await);
        }
        self.journal.health.media_changed();
        self.blocks.collection.resume();
        if gone { HostStatus::Success } else { HostStatus::WriteFault }
    }
    async fn begin_next_erase(&self, lun: LunIndex, first: BlockAddr) -> Option<(BlockIndex, Tag)> {
        let block = self.blocks.table().states.next_used(lun, first)?;
        self.blocks.table().take_used(block);
        let buffer = self.pages.dram().borrow().metadata_buffer(lun.0);
        let (lun, addr) = self.place_of(block);
        Some((block, self.journal.writer.begin_erase(lun, addr, buffer, Cause::Host).await))
    }
    /// Waits for an erase and gives the block its new state. True if its data are gone.
    async fn end_erase(&self, block: BlockIndex, tag: Tag) -> bool {
        let erased = self.media.done(tag).await.status == FlashStatus::Done;
        let (lun, _) = self.place_of(block);
        let state = self.blocks.table().states.of(block);
        match state {
            BlockState::Retired => {}
            BlockState::Open | BlockState::Closed if erased => self.blocks.table().erased(block),
            _ => self.journal.health.retire(lun, block),
        }
        erased || !self.is_readable(block).await
    }
    /// Whether any page of a block can still be read. A block whose erase fails has usually lost its content
    /// anyway.
    #[cold]
    async fn is_readable(&self, block: BlockIndex) -> bool {
        let buffer = self.pages.dram().borrow().metadata_buffer(self.runtime.buffers.scratch());
        let whole = self.pages.whole();
        let first = self.blocks.table().layout.first_page(block);
        for page in 0..u32::from(self.runtime.geometry.pages_per_block) {
            let outcome = self.blocks.read(Ppa(first.0 + page), whole, buffer, Cause::Host).await;
            let readable = match outcome.status {
                FlashStatus::Done => !outcome.erased,
                FlashStatus::Uncorrectable => outcome.failed_sectors & whole.mask() != whole.mask(),
                FlashStatus::Failed | FlashStatus::Error | FlashStatus::Busy | FlashStatus::Dead => false,
            };
            if readable {
                return true;
            }
        }
        false
    }
    fn place_of(&self, block: BlockIndex) -> (LunIndex, BlockAddr) {
        let blocks = self.blocks.table();
        (blocks.layout.lun_of(block), blocks.layout.block_addr(block))
    }
}
