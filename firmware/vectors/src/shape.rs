//! Where the sectors that addresses name lie: a formula, no map (C85).

use crate::config::VectorsConfig;
use aster_ports::host::VectorAddress;
use aster_units::{BlockAddr, Geometry, LunAddr, LunIndex, PageInBlock, Restriction, RowAddr};
use aster_wire::ocssd::v2::ChunkShape;
use aster_wire::ocssd::{AddressFormat, Place};

/// A sector of the array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Unit {
    /// Its LUN.
    pub lun: LunIndex,
    /// Its block, plane included.
    pub block: BlockAddr,
    /// Its page.
    pub page: PageInBlock,
    /// Its place in the page.
    pub sector: u8,
}

/// The array as addresses name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The array as the host addresses it.
    pub geometry: Geometry,
    restriction: Restriction,
    /// Blocks before the host's first one.
    hidden: u32,
    format: AddressFormat,
    /// The array as chunks of 2.0.
    pub chunks: ChunkShape,
}

impl Shape {
    pub(crate) fn of(config: &VectorsConfig) -> Self {
        Shape {
            geometry: config.geometry,
            restriction: config.restriction,
            hidden: config.hidden_blocks(),
            format: AddressFormat::of_geometry(&config.geometry),
            chunks: ChunkShape::of(&config.geometry),
        }
    }
    /// The sector that an address names; `None` if the drive has none there.
    pub(crate) fn unit(&self, address: VectorAddress) -> Option<Unit> {
        let place = self.format.decode(address.0, &self.geometry)?;
        Some(Unit {
            lun: self.lun(place.channel, place.lun),
            block: BlockAddr(place.block * u32::from(self.geometry.planes) + u32::from(place.plane)),
            page: PageInBlock(place.page),
            sector: place.sector,
        })
    }
    /// A LUN of a channel, which the drive must have.
    pub(crate) fn lun(&self, channel: u16, lun: u16) -> LunIndex {
        let ways = u16::from(self.geometry.ways);
        self.geometry.lun_index(LunAddr { channel, way: (lun % ways) as u8, lun: (lun / ways) as u8 })
    }
    /// The place of a block's chunk among the descriptors of all chunks.
    pub(crate) fn chunk_index(&self, lun: LunIndex, block: BlockAddr) -> u32 {
        let at = self.geometry.lun_addr(lun);
        self.chunks.index_of(Place {
            channel: at.channel,
            lun: u16::from(at.lun) * u16::from(self.geometry.ways) + u16::from(at.way),
            block: block.0 / u32::from(self.geometry.planes),
            ..Place::default()
        })
    }
    /// The number that a block has in the array that the firmware uses.
    pub(crate) fn of_array(&self, block: BlockAddr) -> BlockAddr {
        BlockAddr(block.0 + self.hidden)
    }
    /// A page's row in its package.
    pub(crate) fn row(&self, lun: LunIndex, block: BlockAddr, page: PageInBlock) -> RowAddr {
        self.restriction.row(self.geometry.lun_addr(lun).lun, self.of_array(block), page)
    }
    /// The row with a block's factory mark, in its first page or in its last (P4).
    pub(crate) fn mark_row(&self, lun: LunIndex, block: BlockAddr, last: bool) -> RowAddr {
        self.restriction.mark_row(self.geometry.lun_addr(lun).lun, self.of_array(block), last)
    }
    /// The block of each plane that `block` is one of.
    pub(crate) fn all_planes(&self, block: BlockAddr) -> impl Iterator<Item = BlockAddr> + use<> {
        let planes = u32::from(self.geometry.planes);
        let first = block.0 / planes * planes;
        (first..first + planes).map(BlockAddr)
    }
}
