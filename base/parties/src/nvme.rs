//! What a drive and its run mode ask of an NVMe controller, in addition to what they ask of every front
//! end.

use aster_wire::nvme::registers::Doorbell;

/// The drive's life up to power-off, kept in the drive's NVRAM. The default is a new drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// Bytes that host reads and compares asked for.
    pub bytes_read: u128,
    /// Bytes of the data of host writes.
    pub bytes_written: u128,
    /// Read and Compare commands.
    pub read_commands: u64,
    /// Write commands.
    pub write_commands: u64,
    /// Picoseconds with an I/O command in the drive.
    pub busy_picos: u128,
    /// Picoseconds with power.
    pub powered_picos: u128,
    /// Power-ons.
    pub power_cycles: u64,
    /// Power losses without a finished shutdown.
    pub unsafe_shutdowns: u64,
    /// Reads that the ECC could not correct.
    pub media_errors: u64,
    /// Error log entries.
    pub error_count: u64,
    /// The last power-off followed a finished shutdown.
    pub shut_down: bool,
}

/// What ails a host that its own messages don't explain, for the person who runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostTrouble {
    /// It wants more I/O queues than there are.
    Queues {
        /// How many it has asked for, or the identifier of one that it wanted to create.
        asked: u32,
        /// How many there are.
        offered: u16,
    },
    /// No command has come from it within the Keep Alive Timeout that it has set: the controller has given it
    /// up.
    Silent {
        /// The timeout in milliseconds.
        timeout_ms: u32,
    },
}

/// The host's two pages. Their entries are laid out like the doorbells in BAR0 from 1000h on, and serve
/// the I/O queues. The admin queue keeps its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoorbellBuffer {
    /// Host address of the values that the host writes instead of the registers.
    pub shadow: u64,
    /// Host address of the values past which the host writes the register, too.
    pub event_index: u64,
}

/// A doorbell of a queue that exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueDoorbell {
    /// Which it is.
    pub doorbell: Doorbell,
    /// The value that the host wrote last.
    pub value: u32,
    /// How many queues with this number have been created. A new queue has a new doorbell at the same
    /// place.
    pub created: u32,
}
