//! The register file (NVMe 1.4 §3.1).

use crate::bar::DOORBELL_STRIDE;
use crate::config::HostIfConfig;
use aster_wire::nvme::registers::{AdminQueueBase, Aqa, Cap, Cc, Csts};

/// CAP.TO in units of 500 ms. RDY follows EN as soon as the link has answered everything in flight.
const READY_TIMEOUT_500MS: u8 = 20;

/// The registers' values.
#[derive(Debug)]
pub(crate) struct Registers {
    pub cap: Cap,
    pub cc: Cc,
    pub csts: Csts,
    pub aqa: Aqa,
    pub asq: AdminQueueBase,
    pub acq: AdminQueueBase,
}

impl Registers {
    pub fn new(config: &HostIfConfig) -> Self {
        let cap = Cap(0)
            .with_queue_entries_max(config.queue_entries)
            .with_cqr(true)
            .with_ams_weighted_round_robin(config.weighted_round_robin)
            .with_timeout_500ms(READY_TIMEOUT_500MS)
            .with_dstrd(DOORBELL_STRIDE)
            .with_css_nvm(true);
        Registers {
            cap,
            cc: Cc(0),
            csts: Csts(0),
            aqa: Aqa(0),
            asq: AdminQueueBase(0),
            acq: AdminQueueBase(0),
        }
    }
    pub fn weighted_round_robin_offered(&self) -> bool {
        self.cap.ams_weighted_round_robin()
    }
    /// Resets the registers that a function reset clears and a controller reset keeps (NVMe 1.4 §7.3.2).
    pub fn reset_admin_queue(&mut self) {
        (self.aqa, self.asq, self.acq) = (Aqa(0), AdminQueueBase(0), AdminQueueBase(0));
    }
}
