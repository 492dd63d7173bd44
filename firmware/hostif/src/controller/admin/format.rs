//! Format NVM (NVMe 1.4 §5.23): sets the block size and makes all data unreadable for the host. With User
//! Data Erase (SES 1) the data are also gone from the media.

use super::{Answer, Reply, refuse};
use crate::controller::Controller;
use crate::nvm::NSID;
use crate::slots::Permit;
use aster_ports::host::{CommandId, HostCommand, HostOp, HostStatus};
use aster_wire::nvme::admin::{FormatDword10, SecureErase};
use aster_wire::nvme::{NSID_ALL, Sqe, Status};

impl Controller {
    pub(super) fn format(&mut self, permit: &Permit, sqe: &Sqe, command: FormatDword10) -> Answer {
        if !matches!(sqe.nsid.get(), NSID | NSID_ALL) {
            return refuse(Status::INVALID_NAMESPACE_OR_FORMAT);
        }
        if self.settings.is_formatting() {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        let known = usize::from(command.lba_format()) < self.config.formats().len();
        if !known || command.protection() != 0 {
            return refuse(Status::INVALID_FORMAT);
        }
        let erase = match SecureErase::from_raw(command.secure_erase()) {
            Some(SecureErase::None) => false,
            Some(SecureErase::UserData) => true,
            // Nothing is encrypted (FNA bit 2), or the value is reserved.
            _ => return refuse(Status::INVALID_FIELD),
        };
        self.settings.begin_format();
        let (id, length) = (CommandId(permit.id()), self.config.namespace_bytes);
        let op = HostOp::Format { erase };
        self.slots.set_command(permit, HostCommand { id, op, offset: 0, length, fua: false });
        Ok(Reply::ToFtl)
    }

    /// Ends a format that the FTL has done, even if the host that sent it is gone.
    pub(crate) fn formatted(&mut self, id: u16, status: HostStatus) {
        if status != HostStatus::Success {
            return self.settings.end_format(None);
        }
        let index = FormatDword10(self.slots[id].sqe().dword(10)).lba_format();
        self.settings.end_format(Some(self.config.formats()[usize::from(index)]));
        self.pause.end_for_format();
    }
}
