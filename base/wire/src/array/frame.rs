//! Command frames: commands back to back, without a header, since the host's header never crosses the link
//! (H7).

use super::command::{Command, CommandView};
use super::error::FrameError;

/// Most bytes of a frame (H7).
pub const FRAME_BYTES_MAX: usize = 512;
/// A frame's address is a multiple of this (H8).
pub const FRAME_ALIGNMENT: u64 = 256;
/// The unit of a frame's length.
const UNIT_BYTES: usize = 8;

bit_fields! {
    /// A command frame's address and length, as the host writes them into the frame address FIFO: eight
    /// bytes (H8, Fig 7).
    pub struct FrameAddress(u64) {
        /// The frame's length in units of 8 bytes: 1 to 64.
        units, with_units: 0, 8 => u8;
        /// Bits 63:8 of its address in host memory.
        high, with_high: 8, 56 => u64;
    }
}

impl FrameAddress {
    /// A frame of `bytes` bytes at `address`. Asserts that the address is a multiple of 256, and that the
    /// bytes are 8 to 512 in units of 8.
    pub const fn of(address: u64, bytes: usize) -> Self {
        assert!(address.is_multiple_of(FRAME_ALIGNMENT), "a frame begins at a multiple of 256");
        assert!(bytes.is_multiple_of(UNIT_BYTES) && bytes >= 8 && bytes <= FRAME_BYTES_MAX, "8 to 512 bytes");
        FrameAddress(address).with_units((bytes / UNIT_BYTES) as u8)
    }
    /// Where the frame begins in host memory.
    pub const fn address(self) -> u64 {
        self.high() << 8
    }
    /// The frame's bytes; `None` if there are none or more than [`FRAME_BYTES_MAX`].
    pub const fn bytes(self) -> Option<usize> {
        let bytes = self.units() as usize * UNIT_BYTES;
        if bytes == 0 || bytes > FRAME_BYTES_MAX { None } else { Some(bytes) }
    }
}

/// The commands of a frame, in order. After the first that is none, there are no more.
#[derive(Clone, Debug)]
pub struct Commands<'a> {
    rest: &'a [u8],
}

impl<'a> Commands<'a> {
    /// The commands in a frame's bytes.
    pub const fn of(frame: &'a [u8]) -> Self {
        Commands { rest: frame }
    }
}

impl<'a> Iterator for Commands<'a> {
    type Item = Result<CommandView<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match CommandView::parse(self.rest) {
            Ok((command, rest)) => {
                self.rest = rest;
                Some(Ok(command))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(error))
            }
        }
    }
}

/// A frame that is being filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameBuilder {
    bytes: [u8; FRAME_BYTES_MAX],
    filled: usize,
}

impl Default for FrameBuilder {
    fn default() -> Self {
        FrameBuilder { bytes: [0; FRAME_BYTES_MAX], filled: 0 }
    }
}

impl FrameBuilder {
    /// Appends a command, if there is room for it.
    pub fn push(&mut self, command: &Command) -> bool {
        let bytes = command.bytes();
        if self.filled + bytes > FRAME_BYTES_MAX {
            return false;
        }
        command.encode(&mut self.bytes[self.filled..][..bytes]);
        self.filled += bytes;
        true
    }
    /// The frame: whole commands.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
    /// Whether there is no command yet.
    pub const fn is_empty(&self) -> bool {
        self.filled == 0
    }
    /// Begins again without a command.
    pub const fn clear(&mut self) {
        self.filled = 0;
    }
}
