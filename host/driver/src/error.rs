use crate::config::ConfigError;
use crate::ids::{QueueId, SlotId};
use crate::memory::OutOfMemory;
use aster_units::Duration;
use aster_wire::nvme::{AdminOpcode, IoOpcode, Status};
use core::fmt;

/// A command's opcode with the queue that gives it its meaning; prints as the standard's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommandName {
    /// The submission queue.
    pub queue: QueueId,
    /// The opcode.
    pub opcode: u8,
}

impl fmt::Display for CommandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.queue == QueueId::ADMIN {
            AdminOpcode::from_raw(self.opcode).map(AdminOpcode::name)
        } else {
            IoOpcode::from_raw(self.opcode).map(IoOpcode::name)
        };
        match name {
            Some(name) => f.write_str(name),
            None => write!(f, "opcode {:02X}h", self.opcode),
        }
    }
}

/// A command that has not completed within its time limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overdue {
    /// The command's name.
    pub command: CommandName,
    /// Its slot, which is also its command identifier.
    pub slot: SlotId,
    /// Its first logical block; `None` for commands without one.
    pub slba: Option<u64>,
    /// How long it has been in flight.
    pub age: Duration,
}

impl fmt::Display for Overdue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in slot {} of queue {}", self.command, self.slot.0, self.command.queue.0)?;
        if let Some(slba) = self.slba {
            write!(f, " at LBA {slba}")?;
        }
        write!(f, " has not completed in {}", self.age)
    }
}

/// A completion that the standard forbids. The controller's further completions can't be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// A completion names a command that is not in flight.
    UnknownCommand {
        /// The completion queue's pair.
        queue: QueueId,
        /// The command identifier.
        cid: u16,
    },
    /// A completion names another submission queue than the pair's.
    WrongQueue {
        /// The completion queue's pair.
        queue: QueueId,
        /// The submission queue that the completion names.
        sq_id: u16,
    },
    /// A completion's SQ head pointer lies outside the queue.
    HeadOutside {
        /// The queue pair.
        queue: QueueId,
        /// The pointer.
        head: u16,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::UnknownCommand { queue, cid } => {
                write!(f, "queue {} completed command {cid}, which is not in flight", queue.0)
            }
            Violation::WrongQueue { queue, sq_id } => {
                write!(f, "queue {} completed a command of submission queue {sq_id}", queue.0)
            }
            Violation::HeadOutside { queue, head } => {
                write!(f, "queue {} completed with SQ head {head}, which is outside the queue", queue.0)
            }
        }
    }
}

/// Why an operation of the driver failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DriverError {
    /// The configuration is out of range.
    #[error("driver configuration: {0}")]
    Config(#[from] ConfigError),
    /// The memory is smaller than [`crate::Config::memory`].
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The controller does not offer what the driver needs.
    #[error("the controller {0}")]
    Unsupported(&'static str),
    /// CSTS.RDY did not follow CC.EN in the time that CAP.TO allows.
    #[error("CSTS.RDY did not become {wanted} in {waited}")]
    NotReady {
        /// The awaited value.
        wanted: u8,
        /// The time waited.
        waited: Duration,
    },
    /// CSTS.SHST did not report the end of shutdown in time.
    #[error("shutdown did not complete in {waited}")]
    NotShutDown {
        /// The time waited.
        waited: Duration,
    },
    /// CSTS.CFS is set: only a reset helps.
    #[error("the controller reports a fatal status (CSTS.CFS)")]
    Fatal,
    /// A command failed.
    #[error("{command}{} failed: {status}", Place(*.slba))]
    Command {
        /// The command's name.
        command: CommandName,
        /// Its first logical block; `None` for commands without one.
        slba: Option<u64>,
        /// The controller's status.
        status: Status,
    },
    /// A command did not complete in time. It may still do so.
    #[error("{0}")]
    TimedOut(Overdue),
    /// The controller was reset or shut down while the command was in flight.
    #[error("the controller was reset while the command was in flight")]
    Reset,
    /// The controller broke the protocol.
    #[error("protocol violation: {0}")]
    Protocol(Violation),
    /// There is no such active namespace.
    #[error("namespace {0} is not active")]
    NoNamespace(u32),
    /// The arguments do not fit the namespace or the content.
    #[error("{0}")]
    Argument(&'static str),
}

impl DriverError {
    /// Whether the controller reported Unrecovered Read Error (NVMe 1.4 §4.5.1.2.3): the data are lost, and
    /// nothing else is wrong.
    pub fn is_unrecovered_read(&self) -> bool {
        matches!(self, DriverError::Command { status, .. } if status.is(Status::UNRECOVERED_READ_ERROR))
    }
}

/// " at LBA n" or nothing.
struct Place(Option<u64>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(slba) => write!(f, " at LBA {slba}"),
            None => Ok(()),
        }
    }
}
