//! What the command sets of both versions share.

use aster_parties::{Decoded, Issued, ListAt, Source};
use aster_ports::host::{HostCommand, HostOp};
use aster_wire::nvme::{IoOpcode, NSID_ALL, Sqe, Status};

/// Relative performance of the only LBA format: good.
pub(super) const RELATIVE_PERFORMANCE: u8 = 2;
/// Metadata capabilities: metadata are in a buffer of their own (NVMe 1.4 §5.15.2.1, MC bit 1).
pub(super) const METADATA_SEPARATE: u8 = 1 << 1;

/// A status of a command that isn't worth repeating.
pub(super) const fn refuse(status: Status) -> Status {
    status.with_dnr(true)
}

/// Dwords 10 and 11: the address, or that of the list of addresses.
pub(super) fn address_of(sqe: &Sqe) -> u64 {
    u64::from(sqe.dword(10)) | u64::from(sqe.dword(11)) << 32
}

/// A list of `bytes` bytes of addresses. The manager of a big loop fetches those of I/O commands (C86).
pub(super) fn list_of(issued: &Issued, at: u64, bytes: usize) -> Decoded {
    let managed = issued.from == Source::Io;
    Decoded::Fetch { from: ListAt::Address(at), bytes: bytes as u16, managed }
}

/// A flush, which may name all namespaces. `None` for any other command, which must name one.
pub(super) fn flush(issued: &Issued) -> Result<Option<Decoded>, Status> {
    if issued.sqe.opcode() == IoOpcode::Flush.raw() {
        let command = HostCommand { id: issued.id, op: HostOp::Flush, offset: 0, length: 0, fua: false };
        return Ok(Some(Decoded::Forward(command)));
    }
    if issued.sqe.nsid.get() == NSID_ALL {
        return Err(refuse(Status::INVALID_NAMESPACE_OR_FORMAT));
    }
    Ok(None)
}
