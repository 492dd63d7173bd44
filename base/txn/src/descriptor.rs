use aster_units::{BufferId, SectorRange};

/// Which way data flows, in ONFI's sense: *out* leaves the package, *in* enters it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the package to the controller (Data Reader).
    Out,
    /// From the controller to the package (Data Writer).
    In,
}

/// The path of a burst's bytes between the µFSM and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// Up to eight bytes straight to or from the transaction's result: status, features.
    Mailbox,
    /// Bytes as they are on the bus, to or from `buffer` at a byte offset. No ECC, no scrambler.
    Raw,
    /// A page's sectors and OOB through the stream stages (C19) to or from `buffer`.
    Page,
}

/// A Packetizer descriptor: {address, length, tag, direction} (B2, G17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Which way.
    pub direction: Direction,
    /// The path of the bytes.
    pub path: Path,
    /// The memory side's buffer ([`Path::Raw`] and [`Path::Page`]).
    pub buffer: BufferId,
    /// Byte offset into the buffer ([`Path::Raw`]).
    pub offset: u32,
    /// The sectors that the stages deliver ([`Path::Page`]).
    pub sectors: SectorRange,
    /// Outgoing mailbox bytes, first byte lowest ([`Path::Mailbox`] with [`Direction::In`]).
    pub immediate: u64,
}

impl Descriptor {
    /// Bytes from the package into the transaction's result.
    pub const fn mailbox_out() -> Self {
        Descriptor {
            direction: Direction::Out,
            path: Path::Mailbox,
            buffer: BufferId(0),
            offset: 0,
            sectors: SectorRange::whole(1),
            immediate: 0,
        }
    }
    /// Bytes of `immediate` (lowest first) to the package.
    pub const fn mailbox_in(immediate: u64) -> Self {
        Descriptor { direction: Direction::In, immediate, ..Self::mailbox_out() }
    }
    /// Bus bytes to or from `buffer` at byte `offset`.
    pub const fn raw(direction: Direction, buffer: BufferId, offset: u32) -> Self {
        Descriptor { direction, path: Path::Raw, buffer, offset, ..Self::mailbox_out() }
    }
    /// Sectors and OOB of a page through the stream stages to or from `buffer`.
    pub const fn page(direction: Direction, buffer: BufferId, sectors: SectorRange) -> Self {
        Descriptor { direction, path: Path::Page, buffer, sectors, ..Self::mailbox_out() }
    }
}
