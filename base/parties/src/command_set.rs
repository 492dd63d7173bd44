//! The command set of an NVMe controller: what its I/O commands mean, and which admin commands, identify
//! data, log pages and features it adds to the controller's.

use crate::operations::Operations;
use aster_ports::host::{CommandId, CommandPort, Completion, HostCommand, HostStatus};
use aster_wire::nvme::identify::Cns;
use aster_wire::nvme::log::LogId;
use aster_wire::nvme::{Sqe, Status};
use core::fmt;

/// The namespace, as a command set sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Namespace {
    /// Its identifier.
    pub nsid: u32,
    /// Logical blocks.
    pub blocks: u64,
    /// Bytes of a logical block, as a power of two.
    pub block_bytes_log2: u8,
    /// The most data bytes of one command.
    pub transfer_bytes_max: u64,
    /// The volatile write cache is enabled: a write without force unit access need not be durable when it
    /// completes.
    pub write_cache: bool,
    /// Reads of blocks that nobody wrote fail (NVMe 1.4 §5.21.1.5, DULBE). Without, they bring zeroes.
    pub unwritten_fails: bool,
    /// A Format NVM is in progress: the controller accepts no I/O command and forwards only the reports
    /// that an admin command asks for.
    pub formatting: bool,
}

/// The kind of queue that a command came from. Opcodes mean different things in the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The admin queue.
    Admin,
    /// An I/O queue.
    Io,
}

/// A command that the host has issued.
#[derive(Clone, Copy)]
pub struct Issued<'a> {
    /// The kind of queue that it came from.
    pub from: Source,
    /// Its slot, which identifies it towards the translation.
    pub id: CommandId,
    /// Its submission queue entry.
    pub sqe: &'a Sqe,
    /// The port that takes what doesn't fit into a [`HostCommand`]:
    /// [`set_ranges`](CommandPort::set_ranges), [`set_addresses`](CommandPort::set_addresses) and
    /// [`set_stream`](CommandPort::set_stream).
    pub commands: &'a CommandPort,
    /// The namespace as it is now.
    pub namespace: &'a Namespace,
}

/// Where a list is in host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListAt {
    /// At the command's data pointer.
    DataPointer,
    /// In one run from this address on. The command's data pointer is for its data.
    Address(u64),
}

/// What the controller does with a command that has been decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decoded {
    /// Nothing is left to do: the command completes with success.
    Done {
        /// Dwords 0 and 1 of its completion entry.
        result: u64,
    },
    /// The command has no data and goes to the translation.
    Forward(HostCommand),
    /// The controller walks the command's data pointer over [`HostCommand::length`] bytes; then the
    /// command goes to the translation. A length above [`Namespace::transfer_bytes_max`] ends in Invalid
    /// Field.
    Transfer(HostCommand),
    /// As `Transfer`, for a command that also has metadata: one run of host memory at its metadata
    /// pointer.
    TransferWithMetadata {
        /// The command that goes to the translation.
        command: HostCommand,
        /// Bytes of metadata.
        bytes: u32,
    },
    /// The controller fetches a list into scratch memory, behind what the command has fetched before.
    /// Then it calls [`CommandSet::fetched`]. The link charges the DMA and reports it by events of its
    /// own.
    Fetch {
        /// Where it is.
        from: ListAt,
        /// Its length in bytes, at least 1. All lists of a command together have at most 4096 bytes.
        bytes: u16,
        /// Firmware that manages lists asks for this one and waits for it (C86); without such firmware the
        /// controller fetches it at once. Only for I/O commands.
        managed: bool,
    },
}

/// A command set's answer to an admin command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminAnswer {
    /// The controller sends the first bytes of the scratch memory to the command's data pointer. The
    /// command completes with success.
    Data {
        /// How many: 1 to 4096.
        bytes: u16,
    },
    /// The command continues as an I/O command does.
    Decoded(Decoded),
}

/// An event of a command set: a vendor-specific one of NVMe (1.4 §5.2.1). The host gets it once, until it
/// reads the log page that it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SetEvent {
    /// What has happened.
    pub information: u8,
    /// The log page to read, which the set answers itself.
    pub log: u8,
}

/// A command set.
///
/// With any command set, the controller handles queues, arbitration, PRPs, doorbells, reset, Abort and
/// asynchronous events. It also handles the admin commands, features and logs of NVMe 1.4, unless the set
/// answers them itself.
///
/// # Who calls, in what order
/// For an I/O command, the controller calls [`decode`](CommandSet::decode) once, after the fetch latency.
/// While the disk under the media is full, the controller parks writes. When there is room again it calls
/// `decode` again for each of them, so `decode` must not count anything. For an admin command, the
/// controller calls [`admin`](CommandSet::admin) once, before it looks at the command itself. After each
/// [`Decoded::Fetch`] it calls [`fetched`](CommandSet::fetched). For a command that went to the
/// translation it calls [`completed`](CommandSet::completed) at most once. It doesn't call it for a
/// command that was aborted, whose queue or host is gone, or that completed early with its last byte
/// (P13). A set is synchronous.
///
/// The set never gets an I/O command for another namespace, or while the namespace is being formatted. It
/// does get commands for all namespaces, and decides whether to allow them.
///
/// # What a set may forward
/// Flush, and the operations that [`needs`](CommandSet::needs) names. Only the controller itself sends
/// format and shutdown, since their completion changes its state. An admin command must not write
/// ([`HostOp::Write`](aster_ports::host::HostOp::Write), vector writes and copies): the controller parks
/// writes in the order of their I/O queue while the disk under the media is full, and an admin command
/// has no such queue. A set that forwards one of these has a bug: the command ends with Internal Error
/// and doesn't reach the translation.
///
/// # What is bounded
/// The controller's slots bound the commands: `id` is below their number. A page of scratch memory per
/// slot bounds what a command fetches; the controller asserts that a set doesn't ask for more.
///
/// # What survives a power cut
/// Nothing; and a reset only leaves what the standard says. The translation keeps what must survive
/// (write pointers, states of blocks): [`HostOp::Report`](aster_ports::host::HostOp::Report) asks for it
/// and [`HostOp::SetBlockState`](aster_ports::host::HostOp::SetBlockState) changes it.
pub trait CommandSet: fmt::Debug {
    /// The operations that it may forward; constant. A drive is refused when it is built if its
    /// translation doesn't offer all of them.
    fn needs(&self) -> Operations {
        Operations::BLOCKS
    }
    /// The smallest logical block that it works with, in bytes; constant. The controller offers no
    /// smaller one, neither by Format NVM nor by what an earlier one left.
    fn smallest_block_bytes(&self) -> u32 {
        512
    }
    /// Whether the status of a command whose error is in the error log says so ("More", NVMe 1.4 §4.6.1);
    /// constant. LightNVM compares whole status fields, in which that bit is clear.
    fn marks_logged_errors(&self) -> bool {
        true
    }
    /// Whether the host may ask for errors from reads of blocks that nobody wrote
    /// ([`Namespace::unwritten_fails`]); constant.
    fn tells_unwritten(&self) -> bool {
        false
    }
    /// Decodes an I/O command and checks it against the namespace.
    ///
    /// # Errors
    /// The status that the command ends with.
    fn decode(&mut self, issued: &Issued) -> Result<Decoded, Status>;
    /// Answers an admin command in the controller's place; `None` leaves the command to the controller.
    /// `scratch` is 4096 zero bytes to build an answer in.
    ///
    /// # Errors
    /// Within `Some`: the status that the command ends with.
    fn admin(&mut self, _issued: &Issued, _scratch: &mut [u8]) -> Option<Result<AdminAnswer, Status>> {
        None
    }
    /// A fetch has ended: `bytes` is everything that the command has fetched so far.
    ///
    /// # Errors
    /// The status that the command ends with.
    fn fetched(&mut self, issued: &Issued, bytes: &[u8]) -> Result<Decoded, Status>;
    /// A command that went to the translation has ended, and not with success. Comes before
    /// [`completed`](CommandSet::completed); the addresses of the command are still there.
    fn failed(&mut self, _issued: &Issued, _ended: &Completion) {}
    /// The event that the host is to get, if there is one. The controller asks when a command has failed, and
    /// when the host has read the event's log page.
    fn event(&self) -> Option<SetEvent> {
        None
    }
    /// Turns the translation's result into what the host gets: the status, and dwords 0 and 1 of the
    /// completion entry.
    fn completed(&mut self, from: Source, sqe: &Sqe, ended: &Completion) -> (Status, u64);
    /// Adds the set's fields to an Identify structure (4096 bytes) that the controller has filled in.
    fn identify(&self, _structure: Cns, _bytes: &mut [u8]) {}
    /// Adds the set's fields to a log page that the controller has filled in, such as its I/O opcodes to
    /// Commands Supported and Effects.
    fn log_page(&self, _log: LogId, _bytes: &mut [u8]) {}
    /// Controller level reset: sets the set's features back to their defaults.
    fn reset(&mut self) {}
}

/// The usual NVMe status for a translation's result (1.4 §4.6.1).
#[inline]
pub const fn status_of(status: HostStatus) -> Status {
    match status {
        HostStatus::Success => Status::SUCCESS,
        HostStatus::UnrecoveredRead => Status::UNRECOVERED_READ_ERROR,
        HostStatus::WriteFault => Status::WRITE_FAULT,
        HostStatus::CompareFailure => Status::COMPARE_FAILURE.with_dnr(true),
        HostStatus::DataTransfer => Status::DATA_TRANSFER_ERROR,
        HostStatus::ReadOnly => Status::WRITE_TO_READ_ONLY_RANGE.with_dnr(true),
        HostStatus::Aborted => Status::ABORT_REQUESTED,
        // A set that forwards vectors has statuses of its own for their faults.
        HostStatus::Refused | HostStatus::Vector(_) => Status::INVALID_FIELD.with_dnr(true),
    }
}
