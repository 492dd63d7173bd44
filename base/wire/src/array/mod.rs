//! Command frames and status frames of a drive whose host does the translation (H6, H7, H12, G29).
//!
//! The paper gives sizes, units and depths, and no fields: those are ours. All integers are little-endian.
//!
//! - [`frame`]: the address by which the host hands a frame over, and the commands in it
//! - [`command`]: one command, as a checked view and as a value
//! - [`status`]: an entry of a status frame, and the request that sends some
//! - [`registers`]: the message unit's registers in BAR0

pub mod command;
mod error;
pub mod frame;
mod opcode;
pub mod registers;
pub mod status;

pub use command::{
    Blocks, COMMAND_BYTES_MAX, Command, CommandFlags, CommandView, Destination, HOST_ADDRESSES_MAX,
    HostAddress, LANE_ALL, LANES_MAX, NO_BLOCK, SectorSpan, lanes_of,
};
pub use error::FrameError;
pub use frame::{Commands, FRAME_ALIGNMENT, FRAME_BYTES_MAX, FrameAddress, FrameBuilder};
pub use opcode::Opcode;
pub use status::{
    STATUS_BUFFER_ENTRIES, STATUS_ENTRY_BYTES, STATUS_FRAME_BYTES, STATUS_FRAME_ENTRIES_MAX, STATUS_FRAMES,
    StatusCode, StatusEntry, StatusRequest,
};

#[cfg(test)]
mod tests;
