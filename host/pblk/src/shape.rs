//! Lines, and where their sectors are.

use aster_units::Geometry;
use aster_wire::ocssd::{ADDRESSES_MAX, Place};

/// A line: the blocks of this number on all LUNs, in all planes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LineId(pub u32);

/// A sector of flash: its line, and its place in the order of that line's sectors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SectorAddr(pub u32);

/// The shape of all lines (P30). From one sector of a line to the next the sector of the page changes
/// first, then plane, channel, LUN of the channel, and page.
///
/// A *unit* is what is written at least: one page in all planes of a LUN. A *chunk* is a LUN's part of a
/// line: one block in each plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    channels: u32,
    luns_per_channel: u32,
    planes: u32,
    sectors: u32,
    pages: u32,
    lines: u32,
}

/// Bytes in a sector.
const SECTOR_BYTES: u32 = aster_wire::ocssd::SECTOR_BYTES;

impl Shape {
    /// Units of a line's head: its sequence number and the chunks that it lacks.
    pub(crate) const HEAD_UNITS: u32 = 1;

    /// The lines of an array. `None` if an address of one of its sectors has more than 32 bits, or a unit has
    /// more sectors than one command names.
    pub fn of(g: &Geometry) -> Option<Self> {
        let shape = Shape {
            channels: g.channels.into(),
            luns_per_channel: g.luns_per_channel(),
            planes: g.planes.into(),
            sectors: g.sectors_per_page().into(),
            pages: g.pages_per_block.into(),
            lines: g.blocks_per_lun / u32::from(g.planes),
        };
        let all = u64::from(shape.lines)
            * u64::from(shape.pages)
            * u64::from(shape.luns())
            * u64::from(shape.unit_sectors());
        (all < u64::from(u32::MAX) && shape.unit_sectors() as usize <= ADDRESSES_MAX).then_some(shape)
    }

    /// Lines.
    pub fn lines(&self) -> u32 {
        self.lines
    }
    /// LUNs, and so chunks of a line.
    pub fn luns(&self) -> u32 {
        self.channels * self.luns_per_channel
    }
    /// Pages of a block.
    pub fn pages(&self) -> u32 {
        self.pages
    }
    /// Planes of a LUN.
    pub fn planes(&self) -> u32 {
        self.planes
    }
    /// Sectors of a page.
    pub(crate) fn page_sectors(&self) -> u32 {
        self.sectors
    }
    /// Sectors of a unit.
    pub fn unit_sectors(&self) -> u32 {
        self.planes * self.sectors
    }
    /// Sectors of a line, with those of bad blocks.
    pub fn line_sectors(&self) -> u32 {
        self.pages * self.luns() * self.unit_sectors()
    }
    /// Units at the end of a line that hold its list of logical blocks: a sector for the head, eight bytes
    /// for each sector, and four for each line (P30).
    pub fn tail_units(&self) -> u32 {
        let list = (self.line_sectors() * 8).div_ceil(SECTOR_BYTES);
        let counts = (self.lines * 4).div_ceil(SECTOR_BYTES);
        (1 + list + counts).div_ceil(self.unit_sectors())
    }
    /// Sectors for data of a line with this many good chunks.
    pub fn data_sectors(&self, good: u32) -> u32 {
        (self.pages * good).saturating_sub(Self::HEAD_UNITS + self.tail_units()) * self.unit_sectors()
    }

    /// The first sector of a unit.
    pub fn unit(&self, LineId(line): LineId, page: u32, lun: u32) -> SectorAddr {
        let unit = (line * self.pages + page) * self.luns() + lun;
        SectorAddr(unit * self.unit_sectors())
    }
    /// A sector's line.
    pub fn line_of(&self, SectorAddr(sector): SectorAddr) -> LineId {
        LineId(sector / self.line_sectors())
    }
    /// A sector's place in its line.
    pub fn index_of(&self, SectorAddr(sector): SectorAddr) -> u32 {
        sector % self.line_sectors()
    }
    /// The sector at a place of a line.
    pub fn at(&self, LineId(line): LineId, index: u32) -> SectorAddr {
        SectorAddr(line * self.line_sectors() + index)
    }
    /// A sector's LUN. LUN `n` is on channel `n % channels`.
    pub fn lun_of(&self, SectorAddr(sector): SectorAddr) -> u32 {
        sector / self.unit_sectors() % self.luns()
    }
    /// Where a sector is on the drive.
    pub fn place(&self, sector: SectorAddr) -> Place {
        let SectorAddr(n) = sector;
        let lun = self.lun_of(sector);
        let unit = n / self.unit_sectors();
        Place {
            channel: (lun % self.channels) as u16,
            lun: (lun / self.channels) as u16,
            plane: (n / self.sectors % self.planes) as u8,
            block: unit / self.luns() / self.pages,
            page: (unit / self.luns() % self.pages) as u16,
            sector: (n % self.sectors) as u8,
        }
    }
    /// The first plane's block of a LUN in a line.
    pub fn block(&self, LineId(line): LineId, lun: u32) -> Place {
        let (channel, lun) = ((lun % self.channels) as u16, (lun / self.channels) as u16);
        Place { channel, lun, block: line, ..Place::default() }
    }
    /// The number of a LUN.
    pub fn lun_at(&self, channel: u16, lun: u16) -> u32 {
        u32::from(lun) * self.channels + u32::from(channel)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    /// 8 channels of 8 LUNs, two planes, pages of 16 KiB (O8).
    pub(crate) fn slides() -> Geometry {
        Geometry {
            channels: 8,
            ways: 8,
            luns: 1,
            planes: 2,
            blocks_per_lun: 1024,
            pages_per_block: 128,
            page_bytes: 16_384,
            spare_bytes: 1_664,
        }
    }

    // O9: behind the last LUN's page in both planes comes the next page of the first LUN.
    #[test]
    fn sectors_of_a_line_are_in_the_order_of_the_slides_trace() {
        let shape = Shape::of(&slides()).unwrap();
        let (units, sectors) = (shape.luns(), shape.unit_sectors());
        assert_eq!((units, sectors, shape.line_sectors()), (64, 8, 65_536));
        let of_unit = |unit: u32| -> Vec<String> {
            let first = unit * sectors;
            (first..first + sectors).map(|n| shape.place(shape.at(LineId(1), n)).to_string()).collect()
        };
        let pages = |lun: &str, page| -> Vec<String> {
            let sectors = (0..2).flat_map(|plane| (0..4).map(move |sector| (plane, sector)));
            sectors
                .map(|(plane, sector)| alloc::format!("{lun}.pl{plane}.blk1.pg{page}.sec{sector}"))
                .collect()
        };
        assert_eq!(of_unit(63), pages("ch7.lun7", 0));
        assert_eq!(of_unit(64), pages("ch0.lun0", 1));
        assert_eq!(of_unit(1), pages("ch1.lun0", 0), "channels change before LUNs");
        assert_eq!(of_unit(8), pages("ch0.lun1", 0));
        assert_eq!(shape.block(LineId(2), 63).to_string(), "ch7.lun7.pl0.blk2.pg0.sec0");
    }

    #[test]
    fn each_sector_has_one_place_and_knows_its_line() {
        let geometry = Geometry { channels: 3, ways: 2, blocks_per_lun: 8, pages_per_block: 4, ..slides() };
        let shape = Shape::of(&geometry).unwrap();
        let mut seen = Vec::new();
        for line in (0..shape.lines()).map(LineId) {
            for index in 0..shape.line_sectors() {
                let sector = shape.at(line, index);
                let place = shape.place(sector);
                assert!(place.is_in(&geometry));
                assert_eq!((shape.line_of(sector), shape.index_of(sector)), (line, index));
                assert_eq!(shape.lun_at(place.channel, place.lun), shape.lun_of(sector));
                let unit = shape.unit(line, place.page.into(), shape.lun_of(sector));
                assert_eq!(unit.0 / shape.unit_sectors(), sector.0 / shape.unit_sectors());
                seen.push(place);
            }
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len() as u32, shape.lines() * shape.line_sectors());
    }

    // P30: 8 and 136 of 65,536 sectors of a line in the slides' array.
    #[test]
    fn head_and_tail_take_what_they_take_in_pblk() {
        let shape = Shape::of(&slides()).unwrap();
        assert_eq!(shape.tail_units() * shape.unit_sectors(), 136);
        assert_eq!(shape.data_sectors(64), 65_536 - 8 - 136);
        assert_eq!(shape.data_sectors(0), 0);
    }

    #[test]
    fn an_array_whose_sectors_have_no_address_is_refused() {
        let large = Geometry { blocks_per_lun: 1 << 17, ..slides() };
        assert_eq!(Shape::of(&large), None);
        assert!(Shape::of(&Geometry { blocks_per_lun: 8192, ..slides() }).is_some(), "1 TiB");
    }
}
