use crate::{BlockAddr, Location, LunAddr, LunIndex, PageInBlock, Ppa, RowAddr, SECTOR_BYTES};
use core::fmt;

/// How a block's cells are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CellMode {
    /// One bit per cell: only LSB pages exist (C31).
    Slc,
    /// Two bits per cell: LSB and MSB pages.
    Mlc,
    /// Three bits per cell: LSB, CSB and MSB pages.
    Tlc,
}

impl CellMode {
    /// Bits per cell.
    pub const fn bits(self) -> u8 {
        match self {
            CellMode::Slc => 1,
            CellMode::Mlc => 2,
            CellMode::Tlc => 3,
        }
    }
    /// The type of a page: the pages of a word line follow each other, LSB first.
    pub const fn page_type(self, page: PageInBlock) -> PageType {
        match (self, page.0 % self.bits() as u16) {
            (_, 0) => PageType::Lsb,
            (CellMode::Tlc, 1) => PageType::Csb,
            _ => PageType::Msb,
        }
    }
}

/// Which bit of the cell a page is; latencies and error rates differ (C52).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum PageType {
    /// Least significant bit: fastest.
    Lsb,
    /// Central bit (TLC only).
    Csb,
    /// Most significant bit: slowest.
    Msb,
}

/// The shape of a drive's NAND array. Checked once by [`Geometry::validate`], constant afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Channels of the drive.
    pub channels: u16,
    /// Chip enables per channel.
    pub ways: u8,
    /// LUNs behind a chip enable.
    pub luns: u8,
    /// Planes per LUN; a power of two.
    pub planes: u8,
    /// Blocks per LUN, all planes together.
    pub blocks_per_lun: u32,
    /// Pages per block.
    pub pages_per_block: u16,
    /// Data bytes per page: a multiple of 4 KiB, at most 16 sectors.
    pub page_bytes: u32,
    /// Spare bytes per page.
    pub spare_bytes: u16,
}

/// What is wrong with a geometry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GeometryError {
    /// The offending field's name.
    pub field: &'static str,
    /// What it must be.
    pub must: &'static str,
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.field, self.must)
    }
}
impl core::error::Error for GeometryError {}

impl Geometry {
    /// The most chip enables of a channel.
    pub const WAYS_MAX: u8 = 16;

    /// Checks every bound the rest of the drive relies on.
    ///
    /// # Errors
    /// Names the first field that is out of range.
    pub fn validate(&self) -> Result<(), GeometryError> {
        let check = |ok: bool, field, must| if ok { Ok(()) } else { Err(GeometryError { field, must }) };
        check((1..=64).contains(&self.channels), "channels", "from 1 to 64")?;
        check((1..=Self::WAYS_MAX).contains(&self.ways), "ways", "from 1 to 16")?;
        check((1..=8).contains(&self.luns) && self.luns.is_power_of_two(), "luns", "1, 2, 4 or 8")?;
        check((1..=8).contains(&self.planes) && self.planes.is_power_of_two(), "planes", "1, 2, 4 or 8")?;
        check(
            self.blocks_per_lun >= 2 * u32::from(self.planes)
                && self.blocks_per_lun.is_multiple_of(u32::from(self.planes)),
            "blocks_per_lun",
            "a multiple of planes, at least two a plane",
        )?;
        check((1..=4096).contains(&self.pages_per_block), "pages_per_block", "from 1 to 4096")?;
        check(
            self.page_bytes > 0
                && self.page_bytes.is_multiple_of(SECTOR_BYTES as u32)
                && self.page_bytes <= 16 * SECTOR_BYTES as u32 - 4096,
            "page_bytes",
            "a multiple of 4096, at most 61440 (a column address has 16 bits, spare included)",
        )?;
        check(
            self.page_bytes + u32::from(self.spare_bytes) <= 65_536,
            "spare_bytes",
            "such that page_bytes + spare_bytes is at most 65536 (16-bit column address)",
        )?;
        let row_bits = self.page_bits() + self.block_bits() + self.lun_bits();
        check(
            row_bits <= 24,
            "blocks_per_lun",
            "such that a row address fits 24 bits (three address cycles)",
        )?;
        check(
            self.total_pages() < u64::from(u32::MAX),
            "blocks_per_lun",
            "such that the drive has under 2^32 - 1 pages",
        )
    }

    /// The value of the field that a [`GeometryError`] names; 0 if there is no such field.
    pub fn number(&self, field: &str) -> u64 {
        match field {
            "channels" => self.channels.into(),
            "ways" => self.ways.into(),
            "luns" => self.luns.into(),
            "planes" => self.planes.into(),
            "blocks_per_lun" => self.blocks_per_lun.into(),
            "pages_per_block" => self.pages_per_block.into(),
            "page_bytes" => self.page_bytes.into(),
            "spare_bytes" => self.spare_bytes.into(),
            _ => 0,
        }
    }

    /// LUNs of the whole drive.
    pub const fn total_luns(&self) -> u32 {
        self.channels as u32 * self.ways as u32 * self.luns as u32
    }
    /// LUNs behind one channel.
    pub const fn luns_per_channel(&self) -> u32 {
        self.ways as u32 * self.luns as u32
    }
    /// Pages per LUN.
    pub const fn pages_per_lun(&self) -> u32 {
        self.blocks_per_lun * self.pages_per_block as u32
    }
    /// Pages of the whole drive.
    pub const fn total_pages(&self) -> u64 {
        self.total_luns() as u64 * self.pages_per_lun() as u64
    }
    /// 4 KiB sectors per page.
    pub const fn sectors_per_page(&self) -> u8 {
        (self.page_bytes / SECTOR_BYTES as u32) as u8
    }
    /// Bytes per page, spare included.
    pub const fn raw_page_bytes(&self) -> u32 {
        self.page_bytes + self.spare_bytes as u32
    }
    /// Raw data capacity in bytes, without spare bytes.
    pub const fn raw_bytes(&self) -> u64 {
        self.total_pages() * self.page_bytes as u64
    }

    const fn bits_for(n: u32) -> u32 {
        if n <= 1 { 0 } else { 32 - (n - 1).leading_zeros() }
    }
    /// Bits of the page field of a row address.
    pub const fn page_bits(&self) -> u32 {
        Self::bits_for(self.pages_per_block as u32)
    }
    /// Bits of the block field (plane included) of a row address.
    pub const fn block_bits(&self) -> u32 {
        Self::bits_for(self.blocks_per_lun)
    }
    /// Bits of the LUN field of a row address.
    pub const fn lun_bits(&self) -> u32 {
        Self::bits_for(self.luns as u32)
    }
    /// Where the LUN field begins in a row address.
    pub const fn lun_shift(&self) -> u32 {
        self.page_bits() + self.block_bits()
    }

    /// The fields of a row address. Whoever splits or makes many keeps it.
    #[inline]
    pub const fn row_format(&self) -> RowFormat {
        RowFormat {
            page_bits: self.page_bits() as u8,
            lun_shift: self.lun_shift() as u8,
            row_bits: (self.lun_shift() + self.lun_bits()) as u8,
        }
    }
    /// The row address of a page behind its chip enable (ONFI 5.1 §3.1).
    #[inline]
    pub const fn row(&self, lun: u8, block: BlockAddr, page: PageInBlock) -> RowAddr {
        self.row_format().row(lun, block, page)
    }
    /// The parts of a row address: LUN, block, page. They may be out of range if the row came from
    /// outside.
    #[inline]
    pub const fn split_row(&self, row: RowAddr) -> (u8, BlockAddr, PageInBlock) {
        self.row_format().split(row)
    }
    /// The plane of a block: the low bits of its address.
    pub const fn plane(&self, block: BlockAddr) -> u8 {
        (block.0 & (self.planes as u32 - 1)) as u8
    }

    /// A LUN's index over the drive: channel first, then way, then LUN (C70).
    pub const fn lun_index(&self, at: LunAddr) -> LunIndex {
        LunIndex(
            (at.lun as u32 * self.ways as u32 + at.way as u32) * self.channels as u32 + at.channel as u32,
        )
    }
    /// The inverse of [`Geometry::lun_index`].
    pub const fn lun_addr(&self, index: LunIndex) -> LunAddr {
        let channel = index.0 % self.channels as u32;
        let rest = index.0 / self.channels as u32;
        LunAddr {
            channel: channel as u16,
            way: (rest % self.ways as u32) as u8,
            lun: (rest / self.ways as u32) as u8,
        }
    }

    /// The physical page at a LUN, block and page.
    pub const fn ppa(&self, lun: LunIndex, block: BlockAddr, page: PageInBlock) -> Ppa {
        Ppa(lun.0 * self.pages_per_lun() + block.0 * self.pages_per_block as u32 + page.0 as u32)
    }
    /// The inverse of [`Geometry::ppa`].
    pub const fn split_ppa(&self, ppa: Ppa) -> (LunIndex, BlockAddr, PageInBlock) {
        let lun = ppa.0 / self.pages_per_lun();
        let rest = ppa.0 % self.pages_per_lun();
        (
            LunIndex(lun),
            BlockAddr(rest / self.pages_per_block as u32),
            PageInBlock((rest % self.pages_per_block as u32) as u16),
        )
    }
    /// A physical page's location vector.
    pub const fn location(&self, ppa: Ppa) -> Location {
        let (lun, block, page) = self.split_ppa(ppa);
        Location { lun: self.lun_addr(lun), block, page }
    }
}

/// Where the fields of a row address lie: page, block with its plane, LUN, from bit 0 on (ONFI 5.1 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowFormat {
    page_bits: u8,
    lun_shift: u8,
    row_bits: u8,
}

impl RowFormat {
    /// The row address of a page behind its chip enable.
    #[inline]
    pub const fn row(self, lun: u8, block: BlockAddr, page: PageInBlock) -> RowAddr {
        RowAddr(((lun as u32) << self.lun_shift) | (block.0 << self.page_bits) | page.0 as u32)
    }
    /// The parts of a row address: LUN, block, page. They may be out of range if the row came from
    /// outside.
    #[inline]
    pub const fn split(self, row: RowAddr) -> (u8, BlockAddr, PageInBlock) {
        let page = row.0 & ((1 << self.page_bits) - 1);
        let block = (row.0 & ((1 << self.lun_shift) - 1)) >> self.page_bits;
        let lun = (row.0 & ((1 << self.row_bits) - 1)) >> self.lun_shift;
        (lun as u8, BlockAddr(block), PageInBlock(page as u16))
    }
    /// Whether a row has no bits above its fields.
    #[inline]
    pub const fn fits(self, row: RowAddr) -> bool {
        row.0 >> self.row_bits == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: Geometry = Geometry {
        channels: 8,
        ways: 4,
        luns: 2,
        planes: 2,
        blocks_per_lun: 100,
        pages_per_block: 200,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };

    #[test]
    fn consecutive_lun_indexes_go_channel_first() {
        for i in 0..8 {
            assert_eq!(G.lun_addr(LunIndex(i)).channel, i as u16);
        }
        assert_eq!(G.lun_addr(LunIndex(8)), LunAddr { channel: 0, way: 1, lun: 0 });
        for i in 0..G.total_luns() {
            assert_eq!(G.lun_index(G.lun_addr(LunIndex(i))), LunIndex(i));
        }
    }

    #[test]
    fn rows_and_ppas_round_trip() {
        assert!(G.validate().is_ok());
        for (lun, block, page) in [(0, 0, 0), (1, 99, 199), (1, 37, 64)] {
            let (b, p) = (BlockAddr(block), PageInBlock(page));
            assert_eq!(G.split_row(G.row(lun, b, p)), (lun, b, p));
            let ppa = G.ppa(LunIndex(u32::from(lun) * 17), b, p);
            assert_eq!(G.split_ppa(ppa), (LunIndex(u32::from(lun) * 17), b, p));
        }
    }

    #[test]
    fn an_odd_plane_count_is_refused_by_name() {
        let e = Geometry { planes: 3, ..G }.validate().unwrap_err();
        assert_eq!(e.field, "planes");
    }
}
