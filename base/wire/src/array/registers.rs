//! The message unit's registers in BAR0, 4 KiB of which the first 80 bytes are registers (H1, H9, H12, G29).
//! Each is 32 bits wide but where it says 64.

/// Bytes of BAR0.
pub const REGISTER_BAR_BYTES: u64 = 4096;
/// What the register [`ID`] reads: "HF" and version 1.
pub const ID_AND_VERSION: u32 = 0x0001_4648;

/// Identifies the unit: [`ID_AND_VERSION`].
pub const ID: u32 = 0x00;
/// See [`Shape`].
pub const SHAPE: u32 = 0x04;
/// Blocks of a die, of all planes.
pub const BLOCKS: u32 = 0x08;
/// Pages of a block (bits 15:0), sectors of a page (bits 23:16).
pub const PAGES: u32 = 0x0c;
/// See [`Control`].
pub const CONTROL: u32 = 0x10;
/// See [`UnitStatus`]. Read-only.
pub const STATUS: u32 = 0x14;
/// The frame address FIFO: 64 bits, written in one access (H9).
pub const FRAME_ADDRESS: u32 = 0x20;
/// See [`StatusConfig`].
pub const STATUS_CONFIG: u32 = 0x28;
/// Where the host's status buffer is: 64 bits, a multiple of 4096.
pub const STATUS_BUFFER: u32 = 0x30;
/// The host's head: status frames that it has taken, modulo 2³².
pub const STATUS_HEAD: u32 = 0x38;
/// The drive's tail: status frames that it has sent, modulo 2³². Read-only.
pub const STATUS_TAIL: u32 = 0x3c;
/// Temperature in kelvins. Read-only.
pub const TEMPERATURE: u32 = 0x40;
/// The alarm threshold in kelvins (bits 15:0); 0 for none (H4).
pub const ALARM: u32 = 0x44;
/// Kelvins below the threshold at which the alarm is over.
pub const ALARM_HYSTERESIS: u16 = 2;

/// The MSI vector that announces a status frame (H13).
pub const VECTOR_STATUS: u16 = 0;
/// The MSI vector that announces that the temperature has reached the alarm threshold: once, until the alarm
/// is over (H4).
pub const VECTOR_TEMPERATURE: u16 = 1;
/// The MSI vector that announces an error after which the unit has stopped (H4, H10).
pub const VECTOR_FATAL: u16 = 2;

bit_fields! {
    /// The drive's shape.
    pub struct Shape(u32) {
        /// Channels, each with a NAND array controller.
        channels, with_channels: 0, 8 => u8;
        /// Lanes of a channel.
        lanes, with_lanes: 8, 8 => u8;
        /// Dies of a lane.
        dies, with_dies: 16, 8 => u8;
        /// Planes of a die.
        planes, with_planes: 24, 8 => u8;
    }
}

bit_fields! {
    /// Pages of a block and sectors of a page.
    pub struct Pages(u32) {
        /// Pages of a block.
        pages, with_pages: 0, 16 => u16;
        /// Sectors of a page.
        sectors, with_sectors: 16, 8 => u8;
    }
}

bit_fields! {
    /// The control register.
    pub struct Control(u32) {
        /// Frames are fetched and statuses are sent.
        enable, with_enable: 0, 1 => bool;
        /// Writing a one resets the unit; reads as zero.
        reset, with_reset: 1, 1 => bool;
    }
}

bit_fields! {
    /// The status register.
    pub struct UnitStatus(u32) {
        /// The drive takes commands.
        ready, with_ready: 0, 1 => bool;
        /// A frame could not be fetched or has a malformed command; the unit has stopped (H10).
        frame_error, with_frame_error: 1, 1 => bool;
        /// A status frame could not be sent; the unit has stopped (H12).
        status_error, with_status_error: 2, 1 => bool;
        /// The host wrote to a full frame address FIFO; the unit has stopped.
        overflow, with_overflow: 3, 1 => bool;
        /// The translation doesn't serve any more.
        fatal, with_fatal: 4, 1 => bool;
        /// The temperature has reached the alarm threshold, and has not gone below it by
        /// [`ALARM_HYSTERESIS`] since.
        hot, with_hot: 5, 1 => bool;
        /// Frame addresses in their FIFO.
        frames, with_frames: 8, 8 => u8;
        /// Command slots that are taken.
        commands, with_commands: 16, 8 => u8;
    }
}

bit_fields! {
    /// When a status frame is sent (H17).
    pub struct StatusConfig(u32) {
        /// At so many entries: 1 to 16.
        entries, with_entries: 0, 5 => u8;
        /// Or at the latest so long after the first: microseconds.
        timeout_us, with_timeout_us: 16, 16 => u16;
    }
}
