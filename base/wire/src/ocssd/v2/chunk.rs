//! Chunks: their addresses and their descriptors.

use crate::ocssd::address::Place;
use aster_units::Geometry;
use zerocopy::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The bits of each field of a logical block address, 8 bytes. From bit 0 up, the fields are block of the
/// chunk, chunk, parallel unit, group.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LbaFormat {
    /// Bits of the group.
    pub group: u8,
    /// Bits of the parallel unit.
    pub unit: u8,
    /// Bits of the chunk.
    pub chunk: u8,
    /// Bits of the logical block of the chunk.
    pub block: u8,
    reserved_4: [u8; 4],
}

impl LbaFormat {
    /// Bits of an address.
    pub fn bits(&self) -> u32 {
        [self.group, self.unit, self.chunk, self.block].map(u32::from).iter().sum()
    }
}

wire_enum! {
    /// The state of a chunk, one bit each ([`ChunkDescriptor::state`]).
    pub enum ChunkFlags(u8) {
        Free = 1, "free";
        Closed = 2, "closed";
        Open = 4, "open";
        Offline = 8, "offline";
    }
}

bit_fields! {
    /// How a chunk is written ([`ChunkDescriptor::kind`]).
    pub struct ChunkType(u8) {
        /// From its first block to its last.
        sequential, with_sequential: 0, 1 => bool;
        /// In any order.
        random, with_random: 1, 1 => bool;
        /// It has fewer blocks than the geometry says.
        odd_size, with_odd_size: 4, 1 => bool;
    }
}

/// What the drive tells of a chunk: 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ChunkDescriptor {
    /// See [`ChunkFlags`].
    pub state: u8,
    /// See [`ChunkType`].
    pub kind: u8,
    /// Wear-level index: the higher, the more worn.
    pub wear: u8,
    reserved_3: [u8; 5],
    /// The address of its first logical block.
    pub first: U64,
    /// Its logical blocks.
    pub blocks: U64,
    /// How many of them are written (WP): the next write begins there.
    pub written: U64,
}

impl ChunkDescriptor {
    /// A chunk that is written from its first block to its last.
    pub fn sequential(state: ChunkFlags, wear: u8, first: u64, blocks: u32, written: u32) -> Self {
        ChunkDescriptor {
            state: state.raw(),
            kind: ChunkType(0).with_sequential(true).0,
            wear,
            reserved_3: [0; 5],
            first: U64::new(first),
            blocks: U64::new(blocks.into()),
            written: U64::new(written.into()),
        }
    }
    /// Its state; `None` if it isn't exactly one of those that there are.
    pub fn state(&self) -> Option<ChunkFlags> {
        ChunkFlags::from_raw(self.state)
    }
}

/// The chunks of an array: how its sectors are addressed by logical block, and in which order they are
/// reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkShape {
    groups: u32,
    units: u32,
    chunks: u32,
    planes: u32,
    pages: u32,
    page_blocks: u32,
}

/// Bits that hold every number below `count`.
fn bits(count: u32) -> u8 {
    (u32::BITS - count.saturating_sub(1).leading_zeros()) as u8
}

impl ChunkShape {
    /// The chunks of an array.
    pub fn of(g: &Geometry) -> Self {
        ChunkShape {
            groups: g.channels.into(),
            units: g.luns_per_channel(),
            chunks: g.blocks_per_lun / u32::from(g.planes),
            planes: g.planes.into(),
            pages: g.pages_per_block.into(),
            page_blocks: g.sectors_per_page().into(),
        }
    }
    /// Groups: channels.
    pub fn groups(&self) -> u32 {
        self.groups
    }
    /// Parallel units of a group: LUNs of a channel.
    pub fn units(&self) -> u32 {
        self.units
    }
    /// Chunks of a parallel unit.
    pub fn chunks(&self) -> u32 {
        self.chunks
    }
    /// Chunks of the drive.
    pub fn all_chunks(&self) -> u32 {
        self.groups * self.units * self.chunks
    }
    /// Logical blocks of a chunk.
    pub fn chunk_blocks(&self) -> u32 {
        self.pages * self.row_blocks()
    }
    /// Logical blocks of a page.
    pub fn page_blocks(&self) -> u32 {
        self.page_blocks
    }
    /// Logical blocks of a page in all planes.
    pub fn row_blocks(&self) -> u32 {
        self.planes * self.page_blocks
    }
    /// The bits of an address's fields: as many as their values need.
    pub fn format(&self) -> LbaFormat {
        LbaFormat {
            group: bits(self.groups),
            unit: bits(self.units),
            chunk: bits(self.chunks),
            block: bits(self.chunk_blocks()),
            reserved_4: [0; 4],
        }
    }

    /// The address of a sector, which must be in the array.
    pub fn encode(&self, place: Place) -> u64 {
        let row = u32::from(place.page) * self.planes + u32::from(place.plane);
        let block = row * self.page_blocks + u32::from(place.sector);
        let format = self.format();
        let fields = [(place.lun.into(), format.unit), (place.block, format.chunk), (block, format.block)];
        fields
            .into_iter()
            .fold(u64::from(place.channel), |address, (value, bits)| address << bits | u64::from(value))
    }
    /// The sector that an address names. `None` if the array has none there: fields may hold more values
    /// than there are.
    pub fn decode(&self, address: u64) -> Option<Place> {
        let format = self.format();
        let mut rest = address;
        let mut field = |bits: u8, count: u32| {
            let value = rest & ((1 << bits) - 1);
            rest >>= bits;
            u32::try_from(value).ok().filter(|&value| value < count)
        };
        let block = field(format.block, self.chunk_blocks())?;
        let chunk = field(format.chunk, self.chunks)?;
        let unit = field(format.unit, self.units)?;
        let group = u32::try_from(rest).ok().filter(|&group| group < self.groups)?;
        let row = block / self.page_blocks;
        Some(Place {
            channel: group as u16,
            lun: unit as u16,
            plane: (row % self.planes) as u8,
            block: chunk,
            page: (row / self.planes) as u16,
            sector: (block % self.page_blocks) as u8,
        })
    }
    /// The place of a sector's chunk among the descriptors of all chunks: chunks of a unit come first, then
    /// units, then groups.
    pub fn index_of(&self, place: Place) -> u32 {
        (u32::from(place.channel) * self.units + u32::from(place.lun)) * self.chunks + place.block
    }
    /// The first sector of the chunk with this descriptor. `None` behind the last one.
    pub fn chunk_at(&self, index: u32) -> Option<Place> {
        let unit = index / self.chunks;
        (index < self.all_chunks()).then(|| Place {
            channel: (unit / self.units) as u16,
            lun: (unit % self.units) as u16,
            block: index % self.chunks,
            ..Place::default()
        })
    }
}
