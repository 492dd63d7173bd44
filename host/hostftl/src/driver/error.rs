//! Why the driver gives a drive up.

use aster_units::Duration;
use aster_wire::array::registers::UnitStatus;

/// Why the driver gives a drive up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ArrayError {
    /// The function's registers read as all ones.
    #[error("the drive does not answer: its registers read as all ones")]
    NotThere,
    /// It isn't a message unit.
    #[error("the drive is no message unit: its identification is {0:#010x}")]
    OtherDevice(u32),
    /// It has no MSI capability with enough vectors.
    #[error("the drive has no MSI with 4 vectors")]
    NoMsi,
    /// It lacks channels, lanes, dies, blocks, pages or sectors.
    #[error("the drive reports an array of {0} none")]
    Shape(&'static str),
    /// It didn't become ready, or kept commands of a host before.
    #[error("the drive was not ready within {waited}: its status is {status:?}")]
    NotReady {
        /// How long the driver has waited.
        waited: Duration,
        /// The status register.
        status: UnitStatus,
    },
    /// It has stopped (H10).
    #[error("the drive has stopped: its status is {0:?}")]
    Stopped(UnitStatus),
    /// A status entry is missing.
    #[error("status entry {found} came where {expected} was expected")]
    LostStatus {
        /// The number that the entry should have.
        expected: u16,
        /// The number that it has.
        found: u16,
    },
    /// A status entry is for a command that isn't in the drive.
    #[error("a status came for command {0}, which the drive does not have")]
    UnknownCommand(u16),
    /// A status entry has a code that isn't defined.
    #[error("a status came with code {0:#04x}, which means nothing")]
    UnknownCode(u8),
    /// A drive with another array came back after a loss of power.
    #[error("another drive came back than the one that was lost")]
    AnotherDrive,
    /// A command has taken too long.
    #[error("command {id} has not ended within {waited}")]
    Overdue {
        /// The command's number.
        id: u16,
        /// How long it has been in the drive.
        waited: Duration,
    },
}
