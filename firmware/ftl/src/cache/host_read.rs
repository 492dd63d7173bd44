//! A read of flash with which the transfer of what is read to the host goes along.

use crate::cache::state::Cache;
use crate::mapping::Mapping;
use crate::terms::cause::Cause;
use aster_events::Function;
use aster_ports::flash::{Outcome, PageCheck, PageOwner};
use aster_ports::host::{DmaError, DmaRequest, DmaTag};
use aster_units::{BufferId, Lpn, Ppa, SectorRange};

/// A transfer to the host of what is to be read from flash.
pub(crate) struct HostTransfer {
    pub(crate) request: DmaRequest,
    /// It goes on by itself.
    pub(crate) begun: Option<DmaTag>,
}

impl<M: Mapping> Cache<M> {
    /// As a plain read. Where operation sets are kept below, the transfer goes along with the read as the
    /// last of its set (Fig 10), unless there is no room for it.
    pub(crate) async fn read_for_host(
        &self,
        ppa: Ppa,
        lpn: Lpn,
        sectors: SectorRange,
        into: BufferId,
        transfer: &mut HostTransfer,
    ) -> Outcome {
        if !self.port.chains_dma() {
            return self.journal.blocks().read(ppa, sectors, into, Cause::Host).await;
        }
        self.journal.count(|s| s.flash_reads.host += 1);
        self.journal.blocks().count_disturbance(ppa);
        self.journal.spend(Function::HostDma, self.journal.config.costs.dma);
        self.journal.core.settle().await;
        let owner = PageOwner(lpn.0);
        let also = |tag| {
            transfer.begun = self.port.submit_dma(DmaRequest { after: Some(tag), ..transfer.request });
        };
        let tag = self.journal.media().begin_read_expecting(owner, ppa, sectors, into, also).await;
        let outcome = self.journal.media().done(tag).await;
        // What has not been begun has been answered before the read was.
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
