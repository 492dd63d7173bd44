//! Abort (NVMe 1.4 §5.1): best effort, for commands that haven't reached the FTL.

use super::{Answer, Reply};
use crate::controller::Controller;
use crate::ports::ControllerPorts;
use crate::slots::{Abort, Permit};
use aster_wire::nvme::Status;
use aster_wire::nvme::admin::AbortDword10;

/// Aborts that may be outstanding, zero-based (ACL). Each is answered at once, so the limit is never met.
pub(super) const ABORT_LIMIT: u8 = 3;

/// Result bit 0: the command was not aborted.
const NOT_ABORTED: u32 = 1;

impl Controller {
    /// Aborts a command. `own` is the permit of the Abort itself. The host may name it as well, but it can't
    /// be aborted.
    pub(super) fn abort(
        &mut self,
        ports: &mut ControllerPorts,
        own: &Permit,
        command: AbortDword10,
    ) -> Answer {
        let Some(id) = self.slots.find(command.sq_id(), command.cid(), own) else {
            let aborted = self.pause.abort(command.sq_id(), command.cid());
            return Ok(Reply::Done(if aborted { 0 } else { NOT_ABORTED }));
        };
        match self.slots.abort(id) {
            Abort::Ends(permit) => {
                self.reports.events().forget(id);
                self.finish(ports, permit, Status::ABORT_REQUESTED, 0);
                Ok(Reply::Done(0))
            }
            Abort::EndsLater => Ok(Reply::Done(0)),
            Abort::No => Ok(Reply::Done(NOT_ABORTED)),
        }
    }
}
