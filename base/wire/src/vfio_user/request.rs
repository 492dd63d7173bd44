//! The requests of a client.

use super::{
    Command, DmaMap, DmaUnmap, HEADER_BYTES, Header, MessageType, RegionAccess, RegionInfo, SetIrqs, Version,
};
use core::fmt;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A whole message of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    /// Version negotiation, and the client's capabilities as JSON without the zero byte at its end.
    Version(Version, &'a [u8]),
    /// A region of memory is added.
    DmaMap(DmaMap),
    /// A region of memory is removed.
    DmaUnmap(DmaUnmap),
    /// Describe the device.
    DeviceInfo,
    /// Describe the region of this index.
    RegionInfo {
        /// See [`super::PciRegion`].
        index: u32,
        /// Bytes of [`RegionInfo`] and capabilities that the client has room for.
        room: u32,
    },
    /// Describe the interrupts of this index.
    IrqInfo(u32),
    /// Set up vectors; the data for [`super::IrqSetFlags::boolean`].
    SetIrqs(SetIrqs, &'a [u8]),
    /// Read from a region.
    RegionRead(RegionAccess),
    /// Write these bytes, as many as the access says.
    RegionWrite(RegionAccess, &'a [u8]),
    /// Reset the device.
    Reset,
    /// A command of the protocol that this server doesn't implement.
    Unsupported(Command),
}

/// Why a message is not a valid request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestError {
    /// It is a reply, or of a reserved type, instead of a command.
    NotACommand,
    /// The command is not one of the protocol's.
    UnknownCommand(u16),
    /// The message is too short for its command.
    Short {
        /// The command.
        command: Command,
        /// Bytes that it needs after the header.
        needed: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// The version's capabilities don't end with a zero byte.
    Unterminated,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::NotACommand => f.write_str("a reply where a command is due"),
            RequestError::UnknownCommand(number) => write!(f, "command {number}, which has no name"),
            RequestError::Short { command, needed, found } => {
                write!(f, "{command} of {found} bytes, it needs {needed}")
            }
            RequestError::Unterminated => f.write_str("capabilities without a zero byte at their end"),
        }
    }
}
impl core::error::Error for RequestError {}

/// The structure that `payload` begins with, and what follows it.
fn take<T>(command: Command, payload: &[u8]) -> Result<(T, &[u8]), RequestError>
where
    T: FromBytes + KnownLayout + Immutable + Unaligned,
{
    let short = RequestError::Short { command, needed: size_of::<T>(), found: payload.len() };
    T::read_from_prefix(payload).map_err(|_| short)
}

impl<'a> Request<'a> {
    /// Parses the message `header` with all the bytes that follow it.
    ///
    /// # Errors
    /// If it is not a message that a client may send.
    pub fn parse(header: &Header, payload: &'a [u8]) -> Result<Self, RequestError> {
        if header.message_type() != Some(MessageType::Command) {
            return Err(RequestError::NotACommand);
        }
        let number = header.command.get();
        let command = Command::from_raw(number).ok_or(RequestError::UnknownCommand(number))?;
        Ok(match command {
            Command::Version => {
                let (version, data): (Version, _) = take(command, payload)?;
                // Without capabilities the string may be missing.
                let text = match data.split_last() {
                    None => data,
                    Some((0, text)) => text,
                    Some(_) => return Err(RequestError::Unterminated),
                };
                Request::Version(version, text)
            }
            Command::DmaMap => Request::DmaMap(take(command, payload)?.0),
            Command::DmaUnmap => Request::DmaUnmap(take(command, payload)?.0),
            Command::DeviceGetInfo => Request::DeviceInfo,
            Command::DeviceGetRegionInfo => {
                let info: RegionInfo = take(command, payload)?.0;
                Request::RegionInfo { index: info.index.get(), room: info.argsz.get() }
            }
            Command::DeviceGetIrqInfo => {
                Request::IrqInfo(take::<super::IrqInfo>(command, payload)?.0.index.get())
            }
            Command::DeviceSetIrqs => {
                let (set, data) = take(command, payload)?;
                Request::SetIrqs(set, data)
            }
            Command::RegionRead => Request::RegionRead(take(command, payload)?.0),
            Command::RegionWrite => {
                let (access, data): (RegionAccess, _) = take(command, payload)?;
                let count = access.count.get() as usize;
                let needed = size_of::<RegionAccess>().saturating_add(count);
                let short = RequestError::Short { command, needed, found: payload.len() };
                Request::RegionWrite(access, data.get(..count).ok_or(short)?)
            }
            Command::DeviceReset => Request::Reset,
            Command::DeviceGetRegionIoFds
            | Command::DmaRead
            | Command::DmaWrite
            | Command::RegionWriteMultiple => Request::Unsupported(command),
        })
    }

    /// The header at the start of `bytes`; `None` while there are fewer than [`HEADER_BYTES`].
    pub fn header(bytes: &[u8]) -> Option<Header> {
        Header::read_from_bytes(bytes.get(..HEADER_BYTES)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vfio_user::{HeaderFlags, PciRegion};
    use proptest::prelude::*;
    use zerocopy::IntoBytes;
    use zerocopy::little_endian::{U32, U64};

    extern crate alloc;
    use alloc::vec::Vec;

    #[test]
    fn a_message_lies_in_memory_as_the_specification_draws_it() {
        let header = Header::command(0x0102, Command::RegionWrite, 20);
        assert_eq!(header.as_bytes(), [2, 1, 10, 0, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(header.reply(4).as_bytes(), [2, 1, 10, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(header.reply_error(22).as_bytes(), [2, 1, 10, 0, 16, 0, 0, 0, 0x21, 0, 0, 0, 22, 0, 0, 0]);
        assert_eq!(
            [size_of::<DmaMap>(), size_of::<DmaUnmap>(), size_of::<RegionInfo>(), size_of::<SetIrqs>()],
            [32, 24, 32, 20]
        );
    }

    #[test]
    fn a_write_carries_exactly_the_bytes_that_it_announces() {
        let access = RegionAccess {
            offset: U64::new(0x1000),
            region: U32::new(PciRegion::Bar0.raw()),
            count: U32::new(4),
        };
        let mut payload = Vec::from(access.as_bytes());
        payload.extend([1, 2, 3]);
        let header = Header::command(1, Command::RegionWrite, payload.len());
        let short = RequestError::Short { command: Command::RegionWrite, needed: 20, found: 19 };
        assert_eq!(Request::parse(&header, &payload), Err(short));
        payload.extend([4, 5]);
        assert_eq!(Request::parse(&header, &payload), Ok(Request::RegionWrite(access, &[1, 2, 3, 4])));
    }

    #[test]
    fn capabilities_end_with_a_zero_byte_or_are_missing() {
        let header = Header::command(1, Command::Version, 4);
        let parse = |payload| Request::parse(&header, payload);
        assert!(matches!(parse(&[0, 0, 1, 0]), Ok(Request::Version(_, &[]))));
        assert!(matches!(parse(&[0, 0, 1, 0, b'{', b'}', 0]), Ok(Request::Version(_, b"{}"))));
        assert_eq!(parse(&[0, 0, 1, 0, b'{', b'}']), Err(RequestError::Unterminated));
        assert!(matches!(parse(&[0, 0, 1]), Err(RequestError::Short { .. })));
    }

    #[test]
    fn replies_and_nameless_commands_are_refused() {
        let mut header = Header::command(1, Command::DeviceReset, 0);
        assert_eq!(Request::parse(&header, &[]), Ok(Request::Reset));
        header.command.set(99);
        assert_eq!(Request::parse(&header, &[]), Err(RequestError::UnknownCommand(99)));
        header.flags.set(HeaderFlags(0).with_message_type(1).0);
        assert_eq!(Request::parse(&header, &[]), Err(RequestError::NotACommand));
    }

    proptest! {
        #[test]
        fn no_message_is_too_strange_to_be_answered(bytes: Vec<u8>, command in 0..20u16) {
            let header = Header { command: command.into(), ..Header::command(0, Command::Version,
                bytes.len()) };
            if let Ok(Request::RegionWrite(access, data)) = Request::parse(&header, &bytes) {
                prop_assert_eq!(access.count.get() as usize, data.len());
            }
        }
    }
}
