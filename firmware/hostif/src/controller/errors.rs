//! What goes into the error information log.

use crate::controller::Controller;
use crate::error_log::is_logged;
use crate::slots::{CommandStage, Permit};
use aster_wire::nvme::Status;
use aster_wire::nvme::log::ErrorEntry;
use zerocopy::little_endian::{U32, U64};

impl Controller {
    /// Logs the status that a command ends with. Returns it marked with "more", unless hosts of the command
    /// set expect none.
    pub(crate) fn log_command_error(&mut self, permit: &Permit, status: Status) -> Status {
        if !is_logged(status) {
            return status;
        }
        let status = status.with_more(self.set.marks_logged_errors());
        // The phase tag is only known when the entry is posted; the log shows it as 0 (NVMe 1.4
        // §5.14.1.1).
        let slot = &self.slots[permit.id()];
        // The first block that the error concerns, as far as it is known.
        let first_block =
            slot.outcome().failed_at.unwrap_or(slot.command().offset) >> self.settings.block_size().log2();
        self.reports.log(|count| {
            let mut entry = ErrorEntry::new(count, slot.queue(), slot.sqe().cid(), status, false);
            entry.nsid = U32::new(slot.sqe().nsid.get());
            if slot.queue() != 0 && slot.stage() == CommandStage::Ftl {
                entry.lba = U64::new(first_block);
            }
            entry
        });
        status
    }
}
