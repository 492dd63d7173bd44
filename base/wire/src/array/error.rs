//! Why bytes are no command.

use super::opcode::Opcode;
use core::fmt;

/// Why bytes are no command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// A command's length in units of 8 bytes can't be one: less than its head has, or more than a command
    /// may have.
    Length {
        /// The length, as the command says it.
        units: u8,
    },
    /// The frame ends within a command.
    CutOff,
    /// There is no such opcode.
    UnknownOpcode(u8),
    /// A command's length isn't that of its parts.
    Parts {
        /// Bytes that its length says.
        said: usize,
        /// Bytes of its register part and its host addresses.
        parts: usize,
    },
    /// A reserved byte isn't zero.
    Reserved {
        /// Where in the command.
        at: usize,
    },
    /// The lane is neither one of the eight nor all of them.
    Lane(u8),
    /// More host addresses than a command may have.
    HostAddresses(u8),
    /// A host address of no bytes.
    EmptyHostAddress {
        /// Which of the command's.
        index: usize,
    },
    /// A command that moves nothing has host addresses, or one that moves data has none.
    NoData(Opcode),
    /// Flags that aren't defined.
    Flags(u8),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FrameError::Length { units } => write!(f, "a command of {units} units of 8 bytes"),
            FrameError::CutOff => f.write_str("the frame ends within a command"),
            FrameError::UnknownOpcode(opcode) => write!(f, "unknown opcode {opcode:02X}h"),
            FrameError::Parts { said, parts } => {
                write!(f, "a command of {said} bytes whose parts have {parts}")
            }
            FrameError::Reserved { at } => write!(f, "byte {at} of a command is reserved and not zero"),
            FrameError::Lane(lane) => write!(f, "lane {lane} is neither 0 to 7 nor FFh"),
            FrameError::HostAddresses(count) => write!(f, "{count} host addresses, 14 at most"),
            FrameError::EmptyHostAddress { index } => write!(f, "host address {index} has no bytes"),
            FrameError::NoData(opcode) => write!(f, "host addresses don't fit {opcode}"),
            FrameError::Flags(flags) => write!(f, "flags {flags:02X}h aren't defined"),
        }
    }
}

impl core::error::Error for FrameError {}
