//! How a drive writes addresses.

use aster_units::Geometry;
use aster_wire::ocssd::v2::ChunkShape;
use aster_wire::ocssd::{AddressFormat, Place};

/// How a drive writes addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Physical page addresses (1.2).
    Physical(AddressFormat),
    /// Logical blocks of chunks (2.0).
    Logical(ChunkShape),
}

impl Format {
    /// The address of a place, which must be in the drive.
    pub fn encode(&self, place: Place) -> u64 {
        match self {
            Format::Physical(format) => format.encode(place),
            Format::Logical(shape) => shape.encode(place),
        }
    }
    /// The place that an address names. `None` if a drive of this geometry has none there.
    pub fn decode(&self, address: u64, geometry: &Geometry) -> Option<Place> {
        match self {
            Format::Physical(format) => format.decode(address, geometry),
            Format::Logical(shape) => shape.decode(address),
        }
    }
    /// The block, or the chunk's first block, that an address is in; `None` as for [`Format::decode`].
    pub fn block_at(&self, address: u64, geometry: &Geometry) -> Option<Place> {
        match self {
            Format::Physical(format) => format.decode(format.of_block(address), geometry),
            Format::Logical(shape) => shape.decode(address).map(first_of_chunk),
        }
    }
}

/// The first sector of a place's chunk.
pub(crate) fn first_of_chunk(place: Place) -> Place {
    Place { plane: 0, ..place.block_start() }
}
