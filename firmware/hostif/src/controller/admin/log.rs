//! Get Log Page (NVMe 1.4 §5.14).

use super::{Answer, Reply, refuse};
use crate::controller::Controller;
use crate::error_log::ERROR_ENTRIES;
use crate::ports::ControllerPorts;
use aster_wire::nvme::admin::GetLogPage;
use aster_wire::nvme::identify::{IDENTIFY_BYTES, ascii_field};
use aster_wire::nvme::log::{
    ActiveFirmware, CommandEffects, CommandsSupportedLog, ErrorEntry, FirmwareSlotLog, HealthLog, LogId,
    STATISTICS_BYTES,
};
use aster_wire::nvme::{AdminOpcode, NSID_ALL, Sqe, Status};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

/// CSE: no other command to the namespace may run at the same time.
const ALONE_IN_NAMESPACE: u8 = 1;

impl Controller {
    pub(super) fn get_log_page(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        sqe: &Sqe,
        command: GetLogPage,
    ) -> Answer {
        let size = match LogId::from_raw(command.control.log_id()) {
            Some(LogId::ErrorInformation) => ERROR_ENTRIES * ErrorEntry::BYTES,
            Some(LogId::Health) => HealthLog::BYTES,
            Some(LogId::FirmwareSlot) => FirmwareSlotLog::BYTES,
            Some(LogId::CommandsSupported) => IDENTIFY_BYTES,
            // This log exists only with an operation monitor.
            Some(LogId::Statistics) if !self.reports.statistics().is_empty() => STATISTICS_BYTES,
            _ => return refuse(Status::INVALID_LOG_PAGE),
        };
        // No log is per namespace (LPA bit 0).
        let nsid_is_good = matches!(sqe.nsid.get(), 0 | NSID_ALL);
        let offset_is_good = command.offset.is_multiple_of(4) && command.offset <= size as u64;
        if !nsid_is_good || !offset_is_good || command.bytes() > self.config.transfer_bytes_max() {
            return refuse(Status::INVALID_FIELD);
        }
        let log = LogId::from_raw(command.control.log_id()).expect("found above");
        let now = ports.now();
        let scratch = self.scratch(ports, id);
        match log {
            LogId::ErrorInformation => self.reports.errors().write(scratch),
            LogId::Health => scratch[..size].copy_from_slice(self.health_log(now).as_bytes()),
            LogId::Statistics => {
                let (sample, rest) = scratch[..size].split_at_mut(self.reports.statistics().len());
                sample.copy_from_slice(self.reports.statistics());
                rest.fill(0);
            }
            LogId::FirmwareSlot => scratch[..size].copy_from_slice(self.firmware_log().as_bytes()),
            _ => scratch[..size]
                .copy_from_slice(commands_supported(self.queues.offers_doorbell_buffer()).as_bytes()),
        }
        self.set.log_page(log, &mut scratch[..size]);
        // Bytes past the log's end are undefined (§5.14), so none are sent.
        let offset = command.offset as usize;
        let bytes = (size - offset).min(command.bytes() as usize);
        scratch.copy_within(offset..offset + bytes, 0);
        if !command.control.retain_event() {
            self.reports.events().log_was_read(log);
            self.deliver_events(ports);
        }
        if bytes == 0 { Ok(Reply::Done(0)) } else { Ok(Reply::Data(bytes)) }
    }

    fn firmware_log(&self) -> FirmwareSlotLog {
        let mut log = FirmwareSlotLog::default();
        log.active = ActiveFirmware(0).with_active_slot(1).0;
        log.revisions[0] = ascii_field(&self.config.firmware_revision);
        log
    }
}

/// Commands supported and effects (NVMe 1.4 §5.14.1.5) of the admin commands. The command set adds the I/O
/// commands.
fn commands_supported(doorbell_buffer: bool) -> CommandsSupportedLog {
    let plain = CommandEffects(0).with_supported(true);
    let formats = plain
        .with_block_content_change(true)
        .with_namespace_capability_change(true)
        .with_exclusion(ALONE_IN_NAMESPACE);
    let mut log = CommandsSupportedLog::default();
    for opcode in [
        AdminOpcode::DeleteIoSq,
        AdminOpcode::CreateIoSq,
        AdminOpcode::GetLogPage,
        AdminOpcode::DeleteIoCq,
        AdminOpcode::CreateIoCq,
        AdminOpcode::Identify,
        AdminOpcode::Abort,
        AdminOpcode::SetFeatures,
        AdminOpcode::GetFeatures,
        AdminOpcode::AsyncEventRequest,
        AdminOpcode::KeepAlive,
    ] {
        log.admin[usize::from(opcode.raw())] = U32::new(plain.0);
    }
    if doorbell_buffer {
        log.admin[usize::from(AdminOpcode::DoorbellBufferConfig.raw())] = U32::new(plain.0);
    }
    log.admin[usize::from(AdminOpcode::FormatNvm.raw())] = U32::new(formats.0);
    log
}
