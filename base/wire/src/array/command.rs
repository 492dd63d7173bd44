//! One command of a frame: a register part of at most 64 bytes, then at most 14 host addresses of 8 bytes
//! (H7, H15).
//!
//! | bytes | register part |
//! |---|---|
//! | 0 | length of the whole command in units of 8 bytes: 2 to 22 |
//! | 1 | opcode |
//! | 2–3 | number by which the status entry names the command |
//! | 4 | channel: the NAND array controller |
//! | 5 | die of each chip |
//! | 6 | lane of the channel, or FFh for the group of all eight |
//! | 7 | host addresses |
//! | 8–9 | page |
//! | 10 | first sector (bits 3:0), sectors (bits 7:4, 0 for 16) |
//! | 11 | flags |
//! | 12 | with the flag PARITY the lane of the sum |
//! | 13–15 | reserved |
//! | 16– | one block index and 6 reserved bytes, or eight block indexes: what READ, WRITE, ERASE and COPY name |
//! | then | of COPY: page (2), die (1), 5 reserved, and as many block indexes again |

use super::error::FrameError;
use super::opcode::Opcode;
use core::fmt;
use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Most bytes of a command: 64 of its register part and 112 of its host addresses (H15).
pub const COMMAND_BYTES_MAX: usize = 176;
/// Most host addresses of a command (H15).
pub const HOST_ADDRESSES_MAX: usize = 14;
/// Lanes of a channel (G24).
pub const LANES_MAX: usize = 8;
/// How many consecutive channels of an array are lanes of one channel of the message unit: as many as divide
/// them, up to [`LANES_MAX`].
pub fn lanes_of(channels: u16) -> u8 {
    let lanes = (1..=LANES_MAX as u8).rev().find(|&lanes| channels.is_multiple_of(lanes.into()));
    lanes.unwrap_or(1)
}
/// The lane that means all of a channel.
pub const LANE_ALL: u8 = 0xff;
/// The block index of a group's lane that has no member there.
pub const NO_BLOCK: u16 = 0xffff;
/// The unit of a command's length.
const UNIT_BYTES: usize = 8;
const HEAD_BYTES: usize = 16;
/// Block indexes of a single lane, with what is reserved, and of a group.
const ONE_BLOCK_BYTES: usize = 8;
const ALL_BLOCKS_BYTES: usize = 2 * LANES_MAX;
/// Page, die and reserved bytes of a copy's destination.
const TO_BYTES: usize = 8;
const HOST_ADDRESS_BYTES: usize = 8;

/// Bytes of the register part of a command of one lane, or of a group.
const fn register_bytes(opcode: Opcode, group: bool) -> usize {
    let blocks = blocks_bytes(group);
    match opcode {
        Opcode::Copy => HEAD_BYTES + blocks + TO_BYTES + blocks,
        opcode if opcode.has_blocks() => HEAD_BYTES + blocks,
        _ => HEAD_BYTES,
    }
}

bit_fields! {
    /// How a command is carried out.
    pub struct CommandFlags(u8) {
        /// One lane of a group, which the command names, has the sum of the others (H33): a write brings no
        /// data for it, and a read leaves it out.
        parity, with_parity: 0, 1 => bool;
        /// The last host address is that of the OOB bytes; the others are those of the data.
        oob, with_oob: 1, 1 => bool;
        /// Reserved.
        reserved, with_reserved: 2, 6 => u8;
    }
}

bit_fields! {
    /// Sectors of a page.
    pub struct SectorSpan(u8) {
        /// The first.
        first, with_first: 0, 4 => u8;
        /// How many: 1 to 15, or 0 for 16.
        raw_count, with_raw_count: 4, 4 => u8;
    }
}

impl SectorSpan {
    /// `count` sectors from `first` on. Asserts 1 to 16.
    pub const fn of(first: u8, count: u8) -> Self {
        assert!(count >= 1 && count <= 16, "1 to 16 sectors");
        SectorSpan(0).with_first(first).with_raw_count(count & 15)
    }
    /// How many: 1 to 16.
    pub const fn count(self) -> u8 {
        if self.raw_count() == 0 { 16 } else { self.raw_count() }
    }
}

bit_fields! {
    /// A run of host memory: 8 bytes (H15).
    pub struct HostAddress(u64) {
        /// Where it begins.
        address, with_address: 0, 48 => u64;
        /// Its length in units of 16 bytes.
        units, with_units: 48, 16 => u16;
    }
}

impl HostAddress {
    /// The unit of its length.
    pub const UNIT_BYTES: u32 = 16;

    /// A run of `bytes` bytes. Asserts that it has 16 bytes to 1 MiB less 16 in units of 16, below 2⁴⁸.
    pub const fn of(address: u64, bytes: u32) -> Self {
        assert!(bytes != 0 && bytes.is_multiple_of(Self::UNIT_BYTES), "in units of 16 bytes");
        assert!(bytes / Self::UNIT_BYTES <= u16::MAX as u32, "a host address has less than 1 MiB");
        HostAddress(0).with_address(address).with_units((bytes / Self::UNIT_BYTES) as u16)
    }
    /// Its bytes.
    pub const fn bytes(self) -> u32 {
        self.units() as u32 * Self::UNIT_BYTES
    }
}

/// The first 16 bytes of a command.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Head {
    units: u8,
    opcode: u8,
    id: U16,
    channel: u8,
    die: u8,
    lane: u8,
    host_addresses: u8,
    page: U16,
    sectors: u8,
    flags: u8,
    parity: u8,
    reserved: [u8; 3],
}

/// Block indexes: of one lane, or of each lane of a group, [`NO_BLOCK`] where it has no member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocks {
    /// The block of the lane with this number.
    One {
        /// The lane: 0 to 7.
        lane: u8,
        /// Its block.
        block: u16,
    },
    /// The blocks of all lanes.
    Group([u16; LANES_MAX]),
}

impl Blocks {
    /// The lanes with a block, and their blocks, in the order in which their data lie.
    pub fn members(&self) -> impl Iterator<Item = (u8, u16)> + '_ {
        let (first, blocks) = match self {
            Blocks::One { lane, block } => (*lane, core::slice::from_ref(block)),
            Blocks::Group(blocks) => (0, &blocks[..]),
        };
        (first..).zip(blocks.iter().copied()).filter(|&(_, block)| block != NO_BLOCK)
    }
}

/// Where a copy goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destination {
    /// The page.
    pub page: u16,
    /// The die.
    pub die: u8,
    /// The blocks, of the same lanes as the source's.
    pub blocks: Blocks,
}

/// A command, as the host means it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// What is asked for.
    pub opcode: Opcode,
    /// The number by which its status entry names it.
    pub id: u16,
    /// The channel.
    pub channel: u8,
    /// The die of each chip.
    pub die: u8,
    /// The page.
    pub page: u16,
    /// The sectors of the page.
    pub sectors: SectorSpan,
    /// How it is carried out.
    pub flags: CommandFlags,
    /// With the flag PARITY the lane of the sum.
    pub parity: u8,
    /// The blocks that it names; of a command that [names none](Opcode::has_blocks), only the lane counts.
    pub blocks: Blocks,
    /// Where a copy goes to; `None` for all others.
    pub to: Option<Destination>,
    host: [HostAddress; HOST_ADDRESSES_MAX],
    host_count: u8,
}

impl Command {
    /// A command without host addresses, for page 0 and sector 0.
    pub const fn new(opcode: Opcode, id: u16, channel: u8, die: u8, blocks: Blocks) -> Self {
        Command {
            opcode,
            id,
            channel,
            die,
            page: 0,
            sectors: SectorSpan::of(0, 1),
            flags: CommandFlags(0),
            parity: 0,
            blocks,
            to: None,
            host: [HostAddress(0); HOST_ADDRESSES_MAX],
            host_count: 0,
        }
    }
    /// The same for these sectors of a page.
    #[must_use]
    pub const fn at(self, page: u16, sectors: SectorSpan) -> Self {
        Command { page, sectors, ..self }
    }
    /// The same with these flags.
    #[must_use]
    pub const fn with_flags(self, flags: CommandFlags) -> Self {
        Command { flags, ..self }
    }
    /// The same with the sum of all other lanes on this one.
    #[must_use]
    pub const fn with_parity_on(self, lane: u8) -> Self {
        Command { parity: lane, flags: self.flags.with_parity(true), ..self }
    }
    /// The lane with the sum of the others, if the command says that there is one.
    pub const fn parity_lane(&self) -> Option<u8> {
        if self.flags.parity() { Some(self.parity) } else { None }
    }
    /// The lanes with a block, and their blocks, whose data cross the link, in the order in which they lie.
    pub fn data_members(&self) -> impl Iterator<Item = (u8, u16)> + '_ {
        self.blocks.members().filter(|&(lane, _)| Some(lane) != self.parity_lane())
    }
    /// The same with a destination.
    #[must_use]
    pub const fn to(self, to: Destination) -> Self {
        Command { to: Some(to), ..self }
    }
    /// The same with one more host address. Asserts that there is room.
    #[must_use]
    pub const fn with_host(mut self, address: HostAddress) -> Self {
        assert!((self.host_count as usize) < HOST_ADDRESSES_MAX, "a command has 14 host addresses at most");
        self.host[self.host_count as usize] = address;
        self.host_count += 1;
        self
    }
    /// Its host addresses.
    pub fn host(&self) -> &[HostAddress] {
        &self.host[..usize::from(self.host_count)]
    }
    const fn is_group(&self) -> bool {
        matches!(self.blocks, Blocks::Group(_))
    }
    /// Its bytes in a frame.
    pub const fn bytes(&self) -> usize {
        register_bytes(self.opcode, self.is_group()) + HOST_ADDRESS_BYTES * self.host_count as usize
    }
    /// Writes it; `into` has [`Command::bytes`]. Asserts that a copy, and no other, has a destination with
    /// blocks of the same lanes.
    pub fn encode(&self, into: &mut [u8]) {
        assert_eq!(into.len(), self.bytes(), "as many bytes as the command has");
        let copies = self.opcode == Opcode::Copy;
        assert_eq!(self.to.is_some(), copies, "a copy has a destination, and no other command");
        into.fill(0);
        let lane = match self.blocks {
            Blocks::One { lane, .. } => lane,
            Blocks::Group(_) => LANE_ALL,
        };
        let head = Head {
            units: (into.len() / UNIT_BYTES) as u8,
            opcode: self.opcode.raw(),
            id: U16::new(self.id),
            channel: self.channel,
            die: self.die,
            lane,
            host_addresses: self.host_count,
            page: U16::new(self.page),
            sectors: self.sectors.0,
            flags: self.flags.0,
            parity: self.parity,
            reserved: [0; 3],
        };
        let (register, host) = into.split_at_mut(register_bytes(self.opcode, self.is_group()));
        let (first, rest) = register.split_at_mut(HEAD_BYTES);
        first.copy_from_slice(head.as_bytes());
        if self.opcode.has_blocks() {
            let (own, to) = rest.split_at_mut(blocks_bytes(self.is_group()));
            write_blocks(&self.blocks, own);
            if let Some(destination) = &self.to {
                let same = matches!(destination.blocks, Blocks::Group(_)) == self.is_group();
                assert!(same, "source and destination of a copy are of the same lanes");
                to[..2].copy_from_slice(&destination.page.to_le_bytes());
                to[2] = destination.die;
                write_blocks(&destination.blocks, &mut to[TO_BYTES..]);
            }
        }
        for (bytes, address) in host.chunks_exact_mut(HOST_ADDRESS_BYTES).zip(self.host()) {
            bytes.copy_from_slice(&address.0.to_le_bytes());
        }
    }
}

const fn blocks_bytes(group: bool) -> usize {
    if group { ALL_BLOCKS_BYTES } else { ONE_BLOCK_BYTES }
}

fn write_blocks(blocks: &Blocks, into: &mut [u8]) {
    let all = match blocks {
        Blocks::One { block, .. } => core::slice::from_ref(block),
        Blocks::Group(blocks) => &blocks[..],
    };
    for (bytes, block) in into.chunks_exact_mut(2).zip(all) {
        bytes.copy_from_slice(&block.to_le_bytes());
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// A command in a frame, checked: each of its parts is there, and what is reserved is zero. Whether the
/// drive has such a channel, block or page is another question.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CommandView<'a> {
    bytes: &'a [u8],
    opcode: Opcode,
}

impl<'a> CommandView<'a> {
    /// The command at the beginning of `bytes`, and the bytes behind it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), FrameError> {
        let Some(&units) = bytes.first() else { return Err(FrameError::CutOff) };
        let said = usize::from(units) * UNIT_BYTES;
        if !(HEAD_BYTES..=COMMAND_BYTES_MAX).contains(&said) {
            return Err(FrameError::Length { units });
        }
        let Some((own, rest)) = bytes.split_at_checked(said) else { return Err(FrameError::CutOff) };
        let opcode = Opcode::from_raw(own[1]).ok_or(FrameError::UnknownOpcode(own[1]))?;
        let view = CommandView { bytes: own, opcode };
        view.check()?;
        Ok((view, rest))
    }
    fn check(&self) -> Result<(), FrameError> {
        let head = self.head();
        if head.lane != LANE_ALL && usize::from(head.lane) >= LANES_MAX {
            return Err(FrameError::Lane(head.lane));
        }
        let count = head.host_addresses;
        if usize::from(count) > HOST_ADDRESSES_MAX {
            return Err(FrameError::HostAddresses(count));
        }
        if self.opcode.has_data() != (count > 0) {
            return Err(FrameError::NoData(self.opcode));
        }
        let parts = self.register_bytes() + HOST_ADDRESS_BYTES * usize::from(count);
        if parts != self.bytes.len() {
            return Err(FrameError::Parts { said: self.bytes.len(), parts });
        }
        if CommandFlags(head.flags).reserved() != 0 {
            return Err(FrameError::Flags(head.flags));
        }
        self.check_reserved()?;
        match self.host().position(|address| address.units() == 0) {
            Some(index) => Err(FrameError::EmptyHostAddress { index }),
            None => Ok(()),
        }
    }
    fn check_reserved(&self) -> Result<(), FrameError> {
        let one = self.opcode.has_blocks() && !self.is_group();
        let copy = self.opcode == Opcode::Copy;
        let to = HEAD_BYTES + blocks_bytes(self.is_group());
        let parts = [
            (true, 13..HEAD_BYTES),
            (one, HEAD_BYTES + 2..HEAD_BYTES + ONE_BLOCK_BYTES),
            (copy, to + 3..to + TO_BYTES),
            (one && copy, to + TO_BYTES + 2..to + TO_BYTES + ONE_BLOCK_BYTES),
        ];
        let mut reserved = parts.into_iter().filter(|(there, _)| *there).flat_map(|(_, range)| range);
        match reserved.find(|&at| self.bytes[at] != 0) {
            Some(at) => Err(FrameError::Reserved { at }),
            None => Ok(()),
        }
    }
    fn head(&self) -> Head {
        Head::read_from_bytes(&self.bytes[..HEAD_BYTES]).expect("a command has a whole head")
    }
    fn is_group(&self) -> bool {
        self.head().lane == LANE_ALL
    }
    fn register_bytes(&self) -> usize {
        register_bytes(self.opcode, self.is_group())
    }
    /// All of its bytes, as they are scattered to a slot (H11).
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
    /// What it asks for.
    pub const fn opcode(&self) -> Opcode {
        self.opcode
    }
    /// Its number.
    pub fn id(&self) -> u16 {
        self.head().id.get()
    }
    /// Its channel.
    pub fn channel(&self) -> u8 {
        self.head().channel
    }
    /// Its host addresses.
    pub fn host(&self) -> impl Iterator<Item = HostAddress> + 'a {
        let bytes = &self.bytes[self.register_bytes()..];
        bytes
            .chunks_exact(HOST_ADDRESS_BYTES)
            .map(|bytes| HostAddress(u64::from_le_bytes(bytes.try_into().expect("chunks of eight bytes"))))
    }
    fn blocks(&self, at: usize) -> Blocks {
        match self.head().lane {
            LANE_ALL => Blocks::Group(core::array::from_fn(|lane| word(self.bytes, at + 2 * lane))),
            lane if self.opcode.has_blocks() => Blocks::One { lane, block: word(self.bytes, at) },
            lane => Blocks::One { lane, block: 0 },
        }
    }
    /// The command as a value.
    pub fn command(&self) -> Command {
        let head = self.head();
        let blocks = match (self.opcode.has_blocks(), self.is_group()) {
            (false, true) => Blocks::Group([0; LANES_MAX]),
            _ => self.blocks(HEAD_BYTES),
        };
        let to = (self.opcode == Opcode::Copy).then(|| {
            let at = HEAD_BYTES + blocks_bytes(self.is_group());
            let page = word(self.bytes, at);
            Destination { page, die: self.bytes[at + 2], blocks: self.blocks(at + TO_BYTES) }
        });
        let mut command = Command {
            page: head.page.get(),
            sectors: SectorSpan(head.sectors),
            flags: CommandFlags(head.flags),
            parity: head.parity,
            to,
            ..Command::new(self.opcode, head.id.get(), head.channel, head.die, blocks)
        };
        for address in self.host() {
            command = command.with_host(address);
        }
        command
    }
}

impl fmt::Debug for CommandView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.command().fmt(f)
    }
}
