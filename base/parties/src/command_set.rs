//! The command set of an NVMe controller: what its I/O commands mean.

use aster_ports::host::{CommandId, CommandPort, Completion, HostCommand};
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
    /// A Format NVM is under way, and no I/O command is accepted.
    pub formatting: bool,
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
    Transfer(HostCommand),
    /// So many bytes at its data pointer, 1 to 4096, come into scratch memory; then [`CommandSet::fetched`]
    /// is asked.
    Fetch {
        /// Bytes.
        bytes: u16,
    },
}

/// A command set.
///
/// Queues, arbitration, PRPs, doorbells, reset, Abort, asynchronous events, features, logs and the admin
/// commands are the controller's, whatever the set.
///
/// # Who calls, in what order
/// The controller calls [`decode`](CommandSet::decode) once per I/O command, after the fetch latency, and
/// again for a write that it has parked while the disk under the media was full, when there is room: so
/// `decode` counts nothing. Then nothing, or [`fetched`](CommandSet::fetched) once, after [`Decoded::Fetch`];
/// and [`completed`](CommandSet::completed) at most once for what went to the translation: never for a
/// command that was aborted, whose queue or host has gone, or that completed early with its last byte (P13).
/// A set is synchronous.
///
/// # What is bounded
/// Commands by the controller's slots: `id` is below their number. What is fetched by a page of scratch
/// memory per slot.
///
/// # What survives a power cut
/// Nothing. What must outlive power is the translation's.
pub trait CommandSet: fmt::Debug {
    /// What a command is: checked against the namespace.
    ///
    /// # Errors
    /// The status that the command ends with.
    fn decode(&mut self, id: CommandId, sqe: &Sqe, namespace: &Namespace) -> Result<Decoded, Status>;
    /// What was to be fetched has come. What doesn't fit a [`HostCommand`] goes beside it, into `commands`.
    ///
    /// # Errors
    /// The status that the command ends with.
    fn fetched(
        &mut self,
        id: CommandId,
        sqe: &Sqe,
        bytes: &[u8],
        commands: &CommandPort,
        namespace: &Namespace,
    ) -> Result<Decoded, Status>;
    /// How the host hears of what the translation has done: status, and dwords 0 and 1 of the completion
    /// entry.
    fn completed(&mut self, sqe: &Sqe, ended: &Completion) -> (Status, u64);
}
