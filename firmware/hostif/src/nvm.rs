//! The NVM command set (NVMe 1.4 §6).

use crate::directives::{Directives, StreamOffer};
use aster_parties::{AdminAnswer, CommandSet, Decoded, Issued, ListAt, Namespace, Source, status_of};
use aster_ports::host::{ByteRange, CommandId, Completion, HostCommand, HostOp};
use aster_wire::nvme::dsm::{RANGE_BYTES, ranges};
use aster_wire::nvme::identify::{AdminSupport, Cns, IdentifyController, IoSupport};
use aster_wire::nvme::io::{BlockRange, DatasetManagement, IoCommand};
use aster_wire::nvme::log::{CommandEffects, CommandsSupportedLog, LogId};
use aster_wire::nvme::{AdminOpcode, IoOpcode, NSID_ALL, Sqe, Status};
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32};

/// The only namespace.
pub(crate) const NSID: u32 = 1;

fn refuse(status: Status) -> Status {
    status.with_dnr(true)
}

/// Reads, writes, compares, zeroes, deallocations and flushes of logical blocks.
#[derive(Clone, Debug, Default)]
pub struct Nvm {
    // `None` without directives.
    directives: Option<Directives>,
}

impl Nvm {
    /// A set with directives, of which the host may name streams.
    #[must_use]
    pub fn with_streams(self, offer: StreamOffer) -> Self {
        Nvm { directives: Some(Directives::new(offer)) }
    }
    /// Notes the stream of a write, or of what writes without one. Only a drive that offers streams does.
    fn note_stream(&mut self, issued: &Issued, range: &BlockRange, is_write: bool) -> Result<(), Status> {
        let directive = if is_write { range.control.directive_type() } else { 0 };
        match &mut self.directives {
            Some(directives) => {
                let stream = directives.of_write(directive, range.hints.directive_specific())?;
                issued.commands.set_stream(issued.id, stream);
                Ok(())
            }
            None if directive != 0 => Err(refuse(Status::INVALID_FIELD)),
            None => Ok(()),
        }
    }
}

impl CommandSet for Nvm {
    fn decode(&mut self, issued: &Issued) -> Result<Decoded, Status> {
        let &Issued { id, sqe, namespace, .. } = issued;
        let command = IoCommand::decode(sqe).map_err(|e| e.status())?;
        let all_allowed = matches!(command, IoCommand::Flush);
        if sqe.nsid.get() == NSID_ALL && !all_allowed {
            return Err(refuse(Status::INVALID_NAMESPACE_OR_FORMAT));
        }
        match command {
            IoCommand::Flush => {
                Ok(Decoded::Forward(HostCommand { id, op: HostOp::Flush, offset: 0, length: 0, fua: false }))
            }
            IoCommand::Read(range) => transfer(id, HostOp::Read, &range, namespace),
            IoCommand::Write(range) => {
                let decoded = transfer(id, HostOp::Write, &range, namespace)?;
                self.note_stream(issued, &range, true)?;
                Ok(decoded)
            }
            IoCommand::Compare(range) => transfer(id, HostOp::Compare, &range, namespace),
            IoCommand::WriteZeroes(range) => {
                let (offset, length) = check_range(&range, namespace)?;
                self.note_stream(issued, &range, false)?;
                let op = HostOp::WriteZeroes { deallocate: range.control.deallocate() };
                let fua = writes_through(&range, namespace);
                Ok(Decoded::Forward(HostCommand { id, op, offset, length, fua }))
            }
            IoCommand::DatasetManagement(dsm) => Ok(start_dataset(dsm)),
            IoCommand::WriteUncorrectable(_) | IoCommand::Verify(_) => Err(refuse(Status::INVALID_OPCODE)),
        }
    }
    fn admin(&mut self, issued: &Issued, scratch: &mut [u8]) -> Option<Result<AdminAnswer, Status>> {
        let directives = self.directives.as_mut()?;
        if issued.sqe.opcode() == AdminOpcode::FormatNvm.raw() {
            directives.formatted();
        }
        directives.admin(issued, scratch)
    }
    fn reset(&mut self) {
        if let Some(directives) = &mut self.directives {
            directives.reset();
        }
    }
    /// Decodes the ranges of a Dataset Management command.
    fn fetched(&mut self, issued: &Issued, bytes: &[u8]) -> Result<Decoded, Status> {
        let &Issued { id, commands, namespace, .. } = issued;
        let log2 = namespace.block_bytes_log2;
        let list = ranges(bytes);
        if list.iter().any(|range| range.end().is_none_or(|end| end > namespace.blocks)) {
            return Err(refuse(Status::LBA_OUT_OF_RANGE));
        }
        let filled = list.iter().filter(|range| range.blocks.get() > 0);
        commands.set_ranges(
            id,
            filled.map(|range| ByteRange {
                offset: range.slba.get() << log2,
                length: u64::from(range.blocks.get()) << log2,
            }),
        );
        Ok(Decoded::Forward(HostCommand { id, op: HostOp::Deallocate, offset: 0, length: 0, fua: false }))
    }
    fn completed(&mut self, _: Source, _: &Sqe, ended: &Completion) -> (Status, u64) {
        (status_of(ended.status), ended.result)
    }
    fn identify(&self, structure: Cns, bytes: &mut [u8]) {
        let Ok(controller) = IdentifyController::mut_from_bytes(bytes) else { return };
        if structure == Cns::Controller {
            let support = IoSupport(controller.oncs.get())
                .with_compare(true)
                .with_dataset_management(true)
                .with_write_zeroes(true);
            controller.oncs = U16::new(support.0);
            let admin = AdminSupport(controller.oacs.get());
            controller.oacs = U16::new(admin.with_directives(self.directives.is_some()).0);
        }
    }
    fn log_page(&self, log: LogId, bytes: &mut [u8]) {
        let Ok(effects) = CommandsSupportedLog::mut_from_bytes(bytes) else { return };
        if log == LogId::CommandsSupported {
            let plain = CommandEffects(0).with_supported(true);
            let writes = plain.with_block_content_change(true);
            for (opcode, effect) in [
                (IoOpcode::Flush, plain),
                (IoOpcode::Read, plain),
                (IoOpcode::Compare, plain),
                (IoOpcode::Write, writes),
                (IoOpcode::WriteZeroes, writes),
                (IoOpcode::DatasetManagement, writes),
            ] {
                effects.io[usize::from(opcode.raw())] = U32::new(effect.0);
            }
            if self.directives.is_some() {
                for opcode in [AdminOpcode::DirectiveSend, AdminOpcode::DirectiveReceive] {
                    effects.admin[usize::from(opcode.raw())] = U32::new(plain.0);
                }
            }
        }
    }
}

/// Checks that a range of blocks is inside the namespace. Returns its offset and length in bytes.
fn check_range(range: &BlockRange, namespace: &Namespace) -> Result<(u64, u64), Status> {
    if range.control.protection() != 0 {
        // No format has protection information (NVMe 1.4 §8.3).
        return Err(refuse(Status::INVALID_PROTECTION_INFORMATION));
    }
    if range.end().is_none_or(|end| end > namespace.blocks) {
        return Err(refuse(Status::LBA_OUT_OF_RANGE));
    }
    let log2 = namespace.block_bytes_log2;
    Ok((range.slba << log2, u64::from(range.blocks()) << log2))
}

/// Whether a write must be durable before it completes: FUA, or no volatile cache in use (NVMe 1.4
/// §5.21.1.6).
fn writes_through(range: &BlockRange, namespace: &Namespace) -> bool {
    range.control.force_unit_access() || !namespace.write_cache
}

fn transfer(id: CommandId, op: HostOp, range: &BlockRange, namespace: &Namespace) -> Result<Decoded, Status> {
    if u64::from(range.blocks()) << namespace.block_bytes_log2 > namespace.transfer_bytes_max {
        return Err(refuse(Status::INVALID_FIELD));
    }
    let (offset, length) = check_range(range, namespace)?;
    let fua = match op {
        HostOp::Write => writes_through(range, namespace),
        _ => range.control.force_unit_access(),
    };
    Ok(Decoded::Transfer(HostCommand { id, op, offset, length, fua }))
}

/// Dataset Management (NVMe 1.4 §6.7). Without the deallocate attribute it only gives hints, which we don't
/// use.
fn start_dataset(dsm: DatasetManagement) -> Decoded {
    if !dsm.attributes.deallocate() {
        return Decoded::Done { result: 0 };
    }
    Decoded::Fetch {
        from: ListAt::DataPointer,
        bytes: dsm.range_count() * RANGE_BYTES as u16,
        managed: false,
    }
}
