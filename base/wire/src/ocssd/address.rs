//! Physical page addresses (PPA): the place of a 4 KiB sector in the array, in one 64-bit number.

use aster_units::Geometry;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Where a field of an address is.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct FieldBits {
    /// Its lowest bit.
    pub offset: u8,
    /// Its bits; 0 if the drive has only one of the kind.
    pub bits: u8,
}

impl FieldBits {
    const fn mask(self) -> u64 {
        match self.bits {
            0 => 0,
            bits if bits >= 64 || self.offset >= 64 => 0,
            bits => (u64::MAX >> (64 - bits)) << self.offset,
        }
    }
    const fn get(self, address: u64) -> u64 {
        match self.mask() {
            0 => 0,
            mask => (address & mask) >> self.offset,
        }
    }
    const fn put(self, value: u32) -> u64 {
        match self.mask() {
            0 => 0,
            mask => ((value as u64) << self.offset) & mask,
        }
    }
}

/// The fields of an address: 16 bytes (P25, PPAF of Identify).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AddressFormat {
    /// The channel.
    pub channel: FieldBits,
    /// The LUN of the channel.
    pub lun: FieldBits,
    /// The plane.
    pub plane: FieldBits,
    /// The block of the plane.
    pub block: FieldBits,
    /// The page of the block.
    pub page: FieldBits,
    /// The sector of the page.
    pub sector: FieldBits,
    pub(super) reserved: [u8; 4],
}

/// An address by its parts, which are those of the generic format of LightNVM.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place {
    /// The channel.
    pub channel: u16,
    /// The LUN of the channel: ways of the first LUN of each chip enable come first.
    pub lun: u16,
    /// The plane.
    pub plane: u8,
    /// The block of the plane.
    pub block: u32,
    /// The page of the block.
    pub page: u16,
    /// The 4 KiB sector of the page.
    pub sector: u8,
}

impl core::fmt::Display for Place {
    /// As `ch7.lun7.pl0.blk1.pg0.sec3`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Place { channel, lun, plane, block, page, sector } = self;
        write!(f, "ch{channel}.lun{lun}.pl{plane}.blk{block}.pg{page}.sec{sector}")
    }
}

impl AddressFormat {
    /// The format of a drive with this geometry: each field has as many bits as its values need. From the
    /// lowest bit on, the order is sector, page, block, plane, LUN, channel (P25, O8).
    pub fn of_geometry(geometry: &Geometry) -> Self {
        let g = geometry;
        let counts = [
            u32::from(g.sectors_per_page()),
            g.pages_per_block.into(),
            g.blocks_per_lun / u32::from(g.planes),
            g.planes.into(),
            g.luns_per_channel(),
            g.channels.into(),
        ];
        let mut offset = 0;
        let [sector, page, block, plane, lun, channel] = counts.map(|count| {
            let bits = (u32::BITS - count.saturating_sub(1).leading_zeros()) as u8;
            let field = FieldBits { offset, bits };
            offset += bits;
            field
        });
        AddressFormat { channel, lun, plane, block, page, sector, reserved: [0; 4] }
    }
    fn fields(&self) -> [FieldBits; 6] {
        [self.channel, self.lun, self.plane, self.block, self.page, self.sector]
    }
    /// Whether each field lies within 64 bits and no two of them overlap.
    pub fn is_valid(&self) -> bool {
        let mut taken = 0u64;
        self.fields().iter().all(|field| {
            let fits = u32::from(field.offset) + u32::from(field.bits) <= 64 && field.bits <= 32;
            let mask = field.mask();
            let free = taken & mask == 0;
            taken |= mask;
            fits && free
        })
    }
    /// The bits that an address of this format has.
    fn bits(&self) -> u64 {
        self.fields().iter().fold(0, |bits, field| bits | field.mask())
    }
    /// The address of the block in `address`: page and sector are 0.
    pub fn of_block(&self, address: u64) -> u64 {
        address & !(self.page.mask() | self.sector.mask())
    }
    /// The address of a place. The place must be in the drive; bits that don't fit a field are dropped.
    pub fn encode(&self, place: Place) -> u64 {
        self.channel.put(place.channel.into())
            | self.lun.put(place.lun.into())
            | self.plane.put(place.plane.into())
            | self.block.put(place.block)
            | self.page.put(place.page.into())
            | self.sector.put(place.sector.into())
    }
    /// The place that an address names. `None` if it has bits outside of the format's fields, or names
    /// something that a drive of this geometry doesn't have (fields may hold more values than there are).
    pub fn decode(&self, address: u64, geometry: &Geometry) -> Option<Place> {
        if address & !self.bits() != 0 {
            return None;
        }
        let place = Place {
            channel: self.channel.get(address).try_into().ok()?,
            lun: self.lun.get(address).try_into().ok()?,
            plane: self.plane.get(address).try_into().ok()?,
            block: self.block.get(address).try_into().ok()?,
            page: self.page.get(address).try_into().ok()?,
            sector: self.sector.get(address).try_into().ok()?,
        };
        place.is_in(geometry).then_some(place)
    }
}

impl Place {
    /// Whether a drive of this geometry has it.
    pub fn is_in(&self, geometry: &Geometry) -> bool {
        self.channel < geometry.channels
            && u32::from(self.lun) < geometry.luns_per_channel()
            && self.plane < geometry.planes
            && self.block < geometry.blocks_per_lun / u32::from(geometry.planes)
            && self.page < geometry.pages_per_block
            && self.sector < geometry.sectors_per_page()
    }
    /// The block alone: page and sector are 0.
    #[must_use]
    pub const fn block_start(self) -> Self {
        Place { page: 0, sector: 0, ..self }
    }
}
