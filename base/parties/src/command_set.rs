//! The command set of an NVMe controller: what its I/O commands mean, and which admin commands, identify
//! data, log pages and features it adds to the controller's.

use crate::operations::Operations;
use aster_ports::host::{CommandId, CommandPort, Completion, HostCommand, HostStatus};
use aster_wire::nvme::identify::Cns;
use aster_wire::nvme::log::LogId;
use aster_wire::nvme::{Sqe, Status};
use core::fmt;

/// What a command set may know of the namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Namespace {
    /// Its identifier.
    pub nsid: u32,
    /// Logical blocks.
    pub blocks: u64,
    /// Bytes of a logical block, as a power of two.
    pub block_bytes_log2: u8,
    /// Bytes of a command's data at most.
    pub transfer_bytes_max: u64,
    /// The volatile write cache is in use: a write without force unit access needs not be durable when it
    /// completes.
    pub write_cache: bool,
    /// A Format NVM is under way: the controller accepts no I/O command, and forwards nothing of an admin
    /// command but reports.
    pub formatting: bool,
}

/// The queue that a command came by. Opcodes mean different things in the two.
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
    /// The queue it came by.
    pub from: Source,
    /// Its slot: names it towards the translation.
    pub id: CommandId,
    /// Its submission queue entry.
    pub sqe: &'a Sqe,
    /// What doesn't fit a [`HostCommand`] goes beside it, in here:
    /// [`set_ranges`](CommandPort::set_ranges), [`set_addresses`](CommandPort::set_addresses).
    pub commands: &'a CommandPort,
    /// The namespace as it is now.
    pub namespace: &'a Namespace,
}

/// Where a list lies in host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListAt {
    /// At the command's data pointer.
    DataPointer,
    /// In one run from this address on: the command's data pointer is for its data.
    Address(u64),
}

/// What becomes of a command that has been decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decoded {
    /// There is nothing to do: it completes with success.
    Done {
        /// Dwords 0 and 1 of its completion entry.
        result: u64,
    },
    /// It goes to the translation and has no data.
    Forward(HostCommand),
    /// It goes to the translation, once its data pointer has been walked over [`HostCommand::length`] bytes.
    /// More than [`Namespace::transfer_bytes_max`] end in Invalid Field.
    Transfer(HostCommand),
    /// The same, of a command that also has metadata: one run of host memory at its metadata pointer.
    TransferWithMetadata {
        /// What goes to the translation.
        command: HostCommand,
        /// Bytes of metadata.
        bytes: u32,
    },
    /// A list comes into scratch memory, behind what the command has fetched before; then
    /// [`CommandSet::fetched`] is asked. The link charges the DMA and tells of it by events of its own.
    Fetch {
        /// Where it lies.
        from: ListAt,
        /// Its bytes, at least 1. All lists of a command are 4096 bytes at most.
        bytes: u16,
    },
}

/// What a command set answers to an admin command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminAnswer {
    /// The first bytes of the scratch memory go to the command's data pointer, and it completes with success.
    Data {
        /// How many: 1 to 4096.
        bytes: u16,
    },
    /// It goes on as an I/O command does.
    Decoded(Decoded),
}

/// A command set.
///
/// Queues, arbitration, PRPs, doorbells, reset, Abort and asynchronous events are the controller's, whatever
/// the set; so are the admin commands, features and logs of NVMe 1.4, unless the set answers them itself.
///
/// # Who calls, in what order
/// For an I/O command the controller calls [`decode`](CommandSet::decode) once, after the fetch latency, and
/// again for a write that it has parked while the disk under the media was full, when there is room: so
/// `decode` counts nothing. For an admin command it calls [`admin`](CommandSet::admin) once, before it looks
/// at the command itself. Then nothing, or [`fetched`](CommandSet::fetched) after each [`Decoded::Fetch`];
/// and [`completed`](CommandSet::completed) at most once for what went to the translation: never for a
/// command that was aborted, whose queue or host has gone, or that completed early with its last byte (P13).
/// A set is synchronous.
///
/// I/O commands of another namespace never come, nor any while the namespace is formatted. One for all
/// namespaces comes, and it is the set's to say whether that may be.
///
/// # What a set may forward
/// Operations that [`needs`](CommandSet::needs) names, and flush. Format and shutdown are the controller's
/// own, for their ends change its state. An admin command writes nothing
/// ([`HostOp::Write`](aster_ports::host::HostOp::Write), and likewise vector writes and copies): writes are
/// parked in the order of their I/O queue while the disk under the media is full. A set that forwards one of
/// these has a bug; the command ends with Internal Error, and the translation never hears of it.
///
/// # What is bounded
/// Commands by the controller's slots: `id` is below their number. What a command fetches by a page of
/// scratch memory per slot; a set that asks for more is a bug, and the controller asserts.
///
/// # What survives a power cut
/// Nothing, and of a reset only what the standard says. What must outlive power (write pointers, states of
/// blocks) is the translation's: [`HostOp::Report`](aster_ports::host::HostOp::Report) asks for it,
/// [`HostOp::SetBlockState`](aster_ports::host::HostOp::SetBlockState) changes it.
pub trait CommandSet: fmt::Debug {
    /// The operations that it may forward: constant. A drive whose translation doesn't offer them all is
    /// refused when it is built.
    fn needs(&self) -> Operations {
        Operations::BLOCKS
    }
    /// What an I/O command is: checked against the namespace.
    ///
    /// # Errors
    /// The status that the command ends with.
    fn decode(&mut self, issued: &Issued) -> Result<Decoded, Status>;
    /// What the set answers to an admin command in the controller's place, `None` when it leaves the command
    /// to the controller. `scratch` is 4096 zeroes to build an answer in.
    ///
    /// # Errors
    /// Inside of `Some`: the status that the command ends with.
    fn admin(&mut self, _issued: &Issued, _scratch: &mut [u8]) -> Option<Result<AdminAnswer, Status>> {
        None
    }
    /// What was to be fetched has come: `bytes` is everything that the command has fetched so far.
    ///
    /// # Errors
    /// The status that the command ends with.
    fn fetched(&mut self, issued: &Issued, bytes: &[u8]) -> Result<Decoded, Status>;
    /// How the host hears of what the translation has done: status, and dwords 0 and 1 of the completion
    /// entry.
    fn completed(&mut self, from: Source, sqe: &Sqe, ended: &Completion) -> (Status, u64);
    /// Adds what is the set's to an Identify structure that the controller has filled in (4096 bytes).
    fn identify(&self, _structure: Cns, _bytes: &mut [u8]) {}
    /// Adds what is the set's to a log page that the controller has filled in, such as its I/O opcodes to
    /// Commands Supported and Effects.
    fn log_page(&self, _log: LogId, _bytes: &mut [u8]) {}
    /// Controller level reset: the set's features have their defaults again.
    fn reset(&mut self) {}
}

/// How a translation's outcome commonly reads in NVMe (1.4 §4.6.1).
pub const fn status_of(status: HostStatus) -> Status {
    match status {
        HostStatus::Success => Status::SUCCESS,
        HostStatus::UnrecoveredRead => Status::UNRECOVERED_READ_ERROR,
        HostStatus::WriteFault => Status::WRITE_FAULT,
        HostStatus::CompareFailure => Status::COMPARE_FAILURE.with_dnr(true),
        HostStatus::DataTransfer => Status::DATA_TRANSFER_ERROR,
        HostStatus::ReadOnly => Status::WRITE_TO_READ_ONLY_RANGE.with_dnr(true),
        HostStatus::Aborted => Status::ABORT_REQUESTED,
        HostStatus::Refused => Status::INVALID_FIELD.with_dnr(true),
    }
}
