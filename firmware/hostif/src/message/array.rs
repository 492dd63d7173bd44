//! Which vector of flash addresses a command of a frame is.

use aster_ports::host::{HostOp, ReportKind, VECTOR_MAX, VectorAddress, VectorMode};
use aster_units::{Geometry, SECTOR_BYTES};
use aster_wire::array::registers::{Pages, Shape};
use aster_wire::array::{Blocks, Command, LANES_MAX, NO_BLOCK, Opcode, StatusCode};
use aster_wire::ocssd::{AddressFormat, METADATA_BYTES, Place, TableHeader};
use core::fmt;

/// Most sectors of a page: a status entry has a bit for each.
const SECTORS_MAX: u8 = 8;

/// What the array must be for frames to name its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShapeError {
    /// The lanes don't divide the channels.
    Lanes {
        /// Lanes of each channel.
        lanes: u8,
        /// Channels of the array.
        channels: u16,
    },
    /// A page has more sectors than a status entry has bits.
    Sectors(u8),
    /// A LUN has more blocks than a command can name.
    Blocks(u32),
}

impl ShapeError {
    /// The profile's key that is wrong.
    pub const fn key(&self) -> &'static str {
        match self {
            ShapeError::Lanes { .. } => "channel.lanes",
            ShapeError::Sectors(_) => "geometry.page_bytes",
            ShapeError::Blocks(_) => "geometry.blocks_per_lun",
        }
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::Lanes { lanes, channels } => {
                write!(f, "must divide the channels, but {lanes} lanes don't divide {channels}")
            }
            ShapeError::Sectors(sectors) => {
                write!(f, "must be {SECTORS_MAX} sectors of 4 KiB at most for frames, but is {sectors}")
            }
            ShapeError::Blocks(blocks) => {
                write!(f, "must be below {NO_BLOCK} for frames, but is {blocks}")
            }
        }
    }
}

impl core::error::Error for ShapeError {}

/// The array, as commands of frames name its parts.
#[derive(Clone, Copy, Debug)]
pub struct ArrayShape {
    geometry: Geometry,
    lanes: u8,
    format: AddressFormat,
}

/// A command as I5 has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub op: HostOp,
    /// Bytes of data.
    pub data: u32,
    /// Bytes of metadata.
    pub metadata: u32,
    /// Addresses for each lane.
    pub units: u8,
}

impl ArrayShape {
    /// An array of which `lanes` consecutive channels belong to one NAND array controller.
    ///
    /// # Errors
    /// When frames can't name its parts.
    pub fn new(geometry: Geometry, lanes: u8) -> Result<Self, ShapeError> {
        let channels = geometry.channels;
        let whole = (1..=LANES_MAX).contains(&lanes.into()) && channels.is_multiple_of(lanes.into());
        if !whole {
            return Err(ShapeError::Lanes { lanes, channels });
        }
        if geometry.sectors_per_page() > SECTORS_MAX {
            return Err(ShapeError::Sectors(geometry.sectors_per_page()));
        }
        if geometry.blocks_per_lun >= u32::from(NO_BLOCK) {
            return Err(ShapeError::Blocks(geometry.blocks_per_lun));
        }
        Ok(ArrayShape { geometry, lanes, format: AddressFormat::of_geometry(&geometry) })
    }
    /// NAND array controllers: channels of the paper.
    pub(super) fn controllers(&self) -> u16 {
        self.geometry.channels / u16::from(self.lanes)
    }
    /// What the register of the shape reads.
    pub(super) fn shape(&self) -> Shape {
        Shape(0)
            .with_channels(self.controllers() as u8)
            .with_lanes(self.lanes)
            .with_dies(self.geometry.luns_per_channel() as u8)
            .with_planes(self.geometry.planes)
    }
    /// Blocks of a die, of all planes.
    pub(super) fn blocks(&self) -> u32 {
        self.geometry.blocks_per_lun
    }
    /// What the register of pages and sectors reads.
    pub(super) fn pages(&self) -> Pages {
        Pages(0).with_pages(self.geometry.pages_per_block).with_sectors(self.geometry.sectors_per_page())
    }
    /// Bytes of the report on a LUN's blocks.
    fn report_bytes(&self) -> u32 {
        size_of::<TableHeader>() as u32 + self.geometry.blocks_per_lun
    }

    /// The command as I5 has it; `None` if the drive lacks what it names, or it lacks host memory for what
    /// it moves.
    pub(super) fn plan(&self, command: &Command) -> Option<Plan> {
        let (flags, lanes) = (command.flags, self.lanes_of(command).into_iter().flatten().count());
        let has_parity = flags.parity() && self.has_parity(command);
        if has_parity != flags.parity() || lanes == 0 || !self.has(command) {
            return None;
        }
        let parity = has_parity && command.opcode == Opcode::Write;
        let mode = VectorMode { metadata: flags.oob(), parity, ..VectorMode::default() };
        // Lanes are erased beside each other: a bad block of one keeps nothing from the others.
        let erase = VectorMode { skips_bad: true, ..mode };
        let plan = match command.opcode {
            Opcode::Read => self.moving(command, HostOp::VectorRead(mode)),
            Opcode::Write => self.moving(command, HostOp::VectorWrite(mode)),
            Opcode::Erase => Plan { op: HostOp::VectorErase(erase), data: 0, metadata: 0, units: 1 },
            Opcode::Copy => {
                Plan { op: HostOp::VectorCopy, data: 0, metadata: 0, units: command.sectors.count() }
            }
            Opcode::Nop => Plan { op: HostOp::Flush, data: 0, metadata: 0, units: 0 },
            Opcode::Report => Plan {
                op: HostOp::Report(ReportKind::BlockStates),
                data: self.report_bytes().min(command.host().iter().map(|run| run.bytes()).sum()),
                metadata: 0,
                units: 1,
            },
            Opcode::Status => {
                Plan { op: HostOp::Report(ReportKind::Status), data: lanes as u32, metadata: 0, units: 1 }
            }
        };
        let (data, metadata) = runs_of(command);
        let moves = match command.opcode {
            Opcode::Report => metadata == 0,
            Opcode::Status => metadata == 0 && plan.data <= data,
            Opcode::Read | Opcode::Write => (data, metadata) == (plan.data, plan.metadata),
            _ => !flags.oob(),
        };
        let fits = usize::from(plan.units) * lanes <= VECTOR_MAX;
        (moves && fits).then_some(plan)
    }
    fn moving(&self, command: &Command, op: HostOp) -> Plan {
        let units = command.sectors.count();
        let all = u32::from(units) * command.data_members().count() as u32;
        let metadata = if command.flags.oob() { all * METADATA_BYTES } else { 0 };
        Plan { op, data: all * SECTOR_BYTES as u32, metadata, units }
    }
    /// Whether the lane of the sum is one of several of the group (H33).
    fn has_parity(&self, command: &Command) -> bool {
        let moves = matches!(command.opcode, Opcode::Read | Opcode::Write);
        let (all, data) = (command.blocks.members().count(), command.data_members().count());
        moves && data > 0 && data < all
    }
    /// Whether the drive has what the command names.
    fn has(&self, command: &Command) -> bool {
        let g = &self.geometry;
        let has_die = |die: u8| u32::from(die) < g.luns_per_channel();
        let has_blocks = |blocks: &Blocks| {
            blocks.members().all(|(lane, block)| lane < self.lanes && u32::from(block) < g.blocks_per_lun)
        };
        let end = command.sectors.first() + command.sectors.count();
        let is_one = matches!(command.blocks, Blocks::One { .. });
        u16::from(command.channel) < self.controllers()
            && has_die(command.die)
            && command.page < g.pages_per_block
            && end <= g.sectors_per_page()
            && (has_blocks(&command.blocks) || !is_one && command.opcode == Opcode::Status)
            && (is_one || command.opcode != Opcode::Report)
            && command.to.is_none_or(|to| {
                let same = to.blocks.members().map(|(lane, _)| lane);
                has_die(to.die)
                    && to.page < g.pages_per_block
                    && has_blocks(&to.blocks)
                    && same.eq(command.blocks.members().map(|(lane, _)| lane))
            })
    }
    /// The addresses of a command that [`ArrayShape::plan`] has accepted.
    pub(super) fn addresses(&self, command: &Command) -> impl Iterator<Item = VectorAddress> {
        let sectors = command.sectors;
        let (first, count, page) = match command.opcode {
            Opcode::Erase | Opcode::Report | Opcode::Status => (0, 1, 0),
            Opcode::Nop => (0, 0, 0),
            _ => (sectors.first(), sectors.count(), command.page),
        };
        let own = (command.die, page, self.lanes_of(command));
        let to = command.to.map(|to| (to.die, to.page, collected(to.blocks.members())));
        let (shape, channel) = (*self, command.channel);
        [Some(own), to].into_iter().flatten().flat_map(move |(die, page, lanes)| {
            lanes.into_iter().flatten().flat_map(move |(lane, block)| {
                (first..first + count)
                    .map(move |sector| shape.address(channel, die, lane, block, page, sector))
            })
        })
    }
    /// The lanes of a command in the order of its addresses. A STATUS of a group is of all lanes that there
    /// are.
    fn lanes_of(&self, command: &Command) -> Lanes {
        match (command.opcode, &command.blocks) {
            (Opcode::Status, Blocks::Group(_)) => collected((0..self.lanes).map(|lane| (lane, 0))),
            _ => address_lanes(command),
        }
    }
    fn address(&self, channel: u8, die: u8, lane: u8, block: u16, page: u16, sector: u8) -> VectorAddress {
        let planes = u16::from(self.geometry.planes);
        VectorAddress(self.format.encode(Place {
            channel: u16::from(channel) * u16::from(self.lanes) + u16::from(lane),
            lun: die.into(),
            plane: (block % planes) as u8,
            block: (block / planes).into(),
            page,
            sector,
        }))
    }
}

/// Lanes and their blocks.
type Lanes = [Option<(u8, u16)>; LANES_MAX];

fn collected(mut members: impl Iterator<Item = (u8, u16)>) -> Lanes {
    core::array::from_fn(|_| members.next())
}

/// The lanes of a command in the order of its addresses: those with data, then in a write that of their sum.
fn address_lanes(command: &Command) -> Lanes {
    let sum = command
        .blocks
        .members()
        .filter(|&(lane, _)| command.opcode == Opcode::Write && Some(lane) == command.parity_lane());
    collected(command.data_members().chain(sum))
}

/// Bytes of host memory that a command names for data and for metadata. With OOB, the last run is that of
/// the metadata.
pub(super) fn runs_of(command: &Command) -> (u32, u32) {
    let all = command.host();
    let (data, metadata) = all.split_at(all.len() - usize::from(command.flags.oob() && !all.is_empty()));
    let bytes = |runs: &[aster_wire::array::HostAddress]| runs.iter().map(|run| run.bytes()).sum();
    (bytes(data), bytes(metadata))
}

/// The lanes of a group, or the sectors of a page, that failed: bits of a status entry.
pub(super) fn failed_bits(command: &Command, units: u8, failed: u64) -> u8 {
    let units = usize::from(units.max(1));
    let mut bits = 0;
    for (n, (lane, _)) in address_lanes(command).into_iter().flatten().enumerate() {
        let of_lane = failed >> (n * units) & (u64::MAX >> (64 - units));
        match command.blocks {
            Blocks::One { .. } if command.opcode == Opcode::Erase => bits |= of_lane as u8,
            Blocks::One { .. } => bits |= (of_lane << command.sectors.first()) as u8,
            Blocks::Group(_) => bits |= u8::from(of_lane != 0) << lane,
        }
    }
    bits
}

/// The status code of a command that ended so.
pub(super) fn code_of(opcode: Opcode, status: aster_ports::host::HostStatus) -> StatusCode {
    use aster_ports::host::{HostStatus, VectorFault};
    match status {
        HostStatus::Success | HostStatus::Vector(VectorFault::Marginal) => StatusCode::Done,
        HostStatus::Vector(VectorFault::Empty) => StatusCode::Erased,
        HostStatus::Vector(VectorFault::NoAnswer) => StatusCode::LaneDead,
        HostStatus::UnrecoveredRead => StatusCode::Uncorrectable,
        HostStatus::WriteFault if opcode == Opcode::Erase => StatusCode::EraseFailed,
        HostStatus::WriteFault => StatusCode::ProgramFailed,
        HostStatus::DataTransfer | HostStatus::Aborted => StatusCode::HostMemory,
        _ => StatusCode::Refused,
    }
}
