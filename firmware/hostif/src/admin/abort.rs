//! Abort (NVMe 1.4 §5.1): best effort, for commands that haven't reached the FTL.

use super::{Answer, Reply};
use crate::controller::Controller;
use crate::ports::ControllerPorts;
use crate::slots::CommandStage;
use aster_wire::nvme::Status;
use aster_wire::nvme::admin::AbortDword10;

/// Aborts that may be outstanding, zero-based (ACL). Each is answered at once, so the limit is never met.
pub(super) const ABORT_LIMIT: u8 = 3;

/// Result bit 0: the command was not aborted.
const NOT_ABORTED: u32 = 1;

impl Controller {
    /// Aborts a command. `own` is the slot of the Abort itself. The host may name it as well, but it can't
    /// be aborted.
    pub(super) fn abort(&mut self, ports: &mut ControllerPorts, own: u16, command: AbortDword10) -> Answer {
        let found = self.slots.ids().find(|&id| {
            let slot = &self.slots[id];
            id != own
                && !matches!(slot.stage, CommandStage::Free | CommandStage::CompletedEarly)
                && !slot.orphan
                && slot.queue == command.sq_id()
                && slot.sqe.cid() == command.cid()
        });
        let Some(id) = found else {
            let aborted = self.pause.abort(command.sq_id(), command.cid());
            return Ok(Reply::Done(if aborted { 0 } else { NOT_ABORTED }));
        };
        let slot = &mut self.slots[id];
        match slot.stage {
            CommandStage::AwaitsEvent => {
                self.events.forget(id);
                self.finish(ports, id, Status::ABORT_REQUESTED, 0);
                Ok(Reply::Done(0))
            }
            // The command ends when the transfer or latency that it waits for is over, or when the firmware
            // asks for its list.
            CommandStage::List | CommandStage::Fetched | CommandStage::ListWaits | CommandStage::Fetching => {
                slot.abort = true;
                Ok(Reply::Done(0))
            }
            _ => Ok(Reply::Done(NOT_ABORTED)),
        }
    }
}
