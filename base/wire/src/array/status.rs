//! Status frames: how commands ended (H6, H12, H16).

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a status entry.
pub const STATUS_ENTRY_BYTES: usize = 8;
/// Entries of the drive's status buffer, from which status frames are sent: 1 KiB (H16).
pub const STATUS_BUFFER_ENTRIES: usize = 128;
/// Most entries of a status frame.
pub const STATUS_FRAME_ENTRIES_MAX: usize = 16;
/// Bytes of a status frame's place in host memory: [`STATUS_FRAME_ENTRIES_MAX`] entries.
pub const STATUS_FRAME_BYTES: usize = STATUS_ENTRY_BYTES * STATUS_FRAME_ENTRIES_MAX;
/// Status frames that the host's status buffer holds: a status request's index has four bits (H12).
pub const STATUS_FRAMES: usize = 16;

wire_enum! {
    /// How a command ended.
    pub enum StatusCode(u8) {
        Done = 0x00, "done";
        Erased = 0x01, "a page that is erased was read";
        Uncorrectable = 0x02, "stored data could not be corrected";
        OobLost = 0x03, "stored OOB bytes could not be corrected";
        ProgramFailed = 0x04, "a program failed";
        EraseFailed = 0x05, "an erase failed";
        Refused = 0x06, "refused, nothing was done";
        LaneDead = 0x07, "a lane doesn't answer";
        HostMemory = 0x08, "host memory could not be reached";
    }
}

/// An entry of a status frame. Every command gets one.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct StatusEntry {
    /// The command's number.
    pub id: U16,
    /// See [`StatusCode`].
    pub code: u8,
    /// The command's channel.
    pub channel: u8,
    /// Lanes of a group that failed, or sectors of a page, as bits.
    pub failed: u8,
    /// The most bits that were corrected in a chunk.
    pub corrected: u8,
    /// Number of the entry since power-on or reset, from 1 on, modulo 2¹⁶.
    pub sequence: U16,
}

impl StatusEntry {
    /// How the command ended; `None` for a number that means nothing.
    pub const fn status(&self) -> Option<StatusCode> {
        StatusCode::from_raw(self.code)
    }
}

bit_fields! {
    /// Asks for a status frame to be sent: 15 bits in a FIFO of 16 (H12).
    pub struct StatusRequest(u16) {
        /// The first entry in the drive's status buffer of 128.
        start, with_start: 0, 7 => u8;
        /// Entries: 1 to 15, or 0 for 16.
        raw_length, with_raw_length: 7, 4 => u8;
        /// The status frame in the host's status buffer.
        frame, with_frame: 11, 4 => u8;
    }
}

impl StatusRequest {
    /// Entries: 1 to 16.
    pub const fn length(self) -> u8 {
        if self.raw_length() == 0 { 16 } else { self.raw_length() }
    }
    /// `length` entries from `start` on to a frame. Asserts 1 to 16 entries.
    pub const fn of(start: u8, length: u8, frame: u8) -> Self {
        assert!(length >= 1 && length <= 16, "a status frame has 1 to 16 entries");
        StatusRequest(0).with_start(start).with_raw_length(length & 15).with_frame(frame)
    }
}
