//! Reads of flash that are submitted together with the transfer of their data to the host.

use crate::cache::state::Cache;
use crate::mapping::Mapping;
use crate::terms::cause::Cause;
use crate::terms::units::Frame;
use aster_events::Function;
use aster_ports::flash::{Outcome, PageCheck, PageOwner};
use aster_ports::host::{DmaError, DmaRequest, DmaTag};
use aster_units::{BufferId, Ppa, SectorRange};

/// The transfer of data from flash to the host.
pub(crate) struct HostTransfer {
    pub(crate) request: DmaRequest,
    /// Its tag, if it was submitted together with the read. It then follows the read without the firmware's
    /// help.
    pub(crate) begun: Option<DmaTag>,
}

impl<M: Mapping> Cache<M> {
    /// Reads sectors of a page into a buffer. If the layer below chains DMA, the transfer is submitted
    /// together with the read, as the last operation of its set (Fig 10), unless the port has no room for
    /// it.
    pub(crate) async fn read_for_host(
        &self,
        ppa: Ppa,
        frame: Frame,
        sectors: SectorRange,
        into: BufferId,
        transfer: &mut HostTransfer,
    ) -> Outcome {
        if !self.port.chains_dma() {
            return self.blocks.read(ppa, sectors, into, Cause::Host).await;
        }
        self.runtime.count(|s| s.flash_reads.host += 1);
        self.blocks.count_disturbance(ppa);
        self.runtime.spend(Function::HostDma, self.runtime.config.costs.dma);
        self.runtime.core.settle().await;
        let owner = PageOwner(frame.0);
        let also = |tag| {
            transfer.begun = self.port.submit_dma(DmaRequest { after: Some(tag), ..transfer.request });
        };
        let tag = self.media.begin_read_expecting(owner, ppa, sectors, into, also).await;
        let outcome = self.media.done(tag).await;
        // If the read didn't bring the expected page, the transfer was abandoned before the read was
        // answered.
        if let Some(begun) = transfer.begun
            && outcome.page != PageCheck::Expected
        {
            let answer = self.port.dma_finished(begun).await;
            assert_eq!(answer, Err(DmaError::Abandoned), "only the expected page goes to the host");
            transfer.begun = None;
        }
        outcome
    }
}
