use crate::{BlockAddr, CellMode, Geometry, PageInBlock, RowAddr, RowFormat};

/// Where the pages that firmware uses lie in the packages (C31). A restricted drive has a geometry of its
/// own, with fewer blocks, planes or pages than its packages have. It counts its blocks and pages without
/// gaps. Rows on the bus are those of the packages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Restriction {
    /// The array that the packages have.
    pub array: Geometry,
    /// Planes used of each LUN: the first ones.
    pub planes: u8,
    /// Distance between the used pages of a block: 1, or the pages per word line if only LSB pages are
    /// used.
    pub page_step: u16,
}

impl Restriction {
    /// All planes and all pages of `array`.
    pub const fn none(array: Geometry) -> Self {
        Restriction { array, planes: array.planes, page_step: 1 }
    }
    /// LSB pages of a block whose cells are used as `cells`.
    pub const fn lsb_pages(pages_per_block: u16, cells: CellMode) -> u16 {
        pages_per_block / cells.bits() as u16
    }

    /// Whether all pages of a drive of the geometry `used` lie in the array.
    pub const fn holds(&self, used: &Geometry) -> bool {
        let same = used.channels == self.array.channels
            && used.ways == self.array.ways
            && used.luns == self.array.luns
            && used.page_bytes == self.array.page_bytes
            && used.planes == self.planes;
        same && self.planes <= self.array.planes
            && self.page_step > 0
            && used.blocks_per_lun / self.planes as u32
                <= self.array.blocks_per_lun / self.array.planes as u32
            && (used.pages_per_block as u32 - 1) * (self.page_step as u32) < self.array.pages_per_block as u32
    }

    /// A block's address in its package. Planes are the low bits of an address (ONFI 5.1 §3.1).
    pub const fn block(&self, block: BlockAddr) -> BlockAddr {
        let used = self.planes as u32;
        BlockAddr(block.0 / used * self.array.planes as u32 + block.0 % used)
    }
    /// A page's row in its package.
    #[inline]
    pub const fn row(&self, lun: u8, block: BlockAddr, page: PageInBlock) -> RowAddr {
        self.row_in(self.array.row_format(), lun, block, page)
    }
    /// As [`Restriction::row`], for a caller that keeps the format of the array's rows.
    #[inline]
    pub const fn row_in(&self, rows: RowFormat, lun: u8, block: BlockAddr, page: PageInBlock) -> RowAddr {
        rows.row(lun, self.block(block), PageInBlock(page.0 * self.page_step))
    }
    /// The row of a block's first page, or of its last, even if that page is not used. The manufacturer
    /// marks bad blocks there (P4).
    pub const fn mark_row(&self, lun: u8, block: BlockAddr, last: bool) -> RowAddr {
        let page = if last { self.array.pages_per_block - 1 } else { 0 };
        self.array.row(lun, self.block(block), PageInBlock(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRAY: Geometry = Geometry {
        channels: 2,
        ways: 2,
        luns: 2,
        planes: 4,
        blocks_per_lun: 32,
        pages_per_block: 12,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };

    #[test]
    fn used_blocks_lie_on_the_first_planes_and_used_pages_are_lsb() {
        let used = Geometry { planes: 2, blocks_per_lun: 16, pages_per_block: 6, ..ARRAY };
        let restriction = Restriction { array: ARRAY, planes: 2, page_step: 2 };
        assert!(restriction.holds(&used));
        let blocks: [u32; 6] = core::array::from_fn(|b| restriction.block(BlockAddr(b as u32)).0);
        assert_eq!(blocks, [0, 1, 4, 5, 8, 9]);
        for block in (0..16).map(BlockAddr) {
            assert_eq!(ARRAY.plane(restriction.block(block)), used.plane(block));
            for page in (0..6).map(PageInBlock) {
                let (lun, of_array, at) = ARRAY.split_row(restriction.row(1, block, page));
                assert_eq!((lun, of_array), (1, restriction.block(block)));
                assert_eq!(at.0, 2 * page.0);
                assert_eq!(CellMode::Mlc.page_type(at), crate::PageType::Lsb);
            }
            let marks = [false, true].map(|last| ARRAY.split_row(restriction.mark_row(0, block, last)).2);
            assert_eq!(marks, [PageInBlock(0), PageInBlock(11)]);
        }
    }

    #[test]
    fn a_drive_that_does_not_fit_its_packages_is_told() {
        let used = Geometry { planes: 2, blocks_per_lun: 16, pages_per_block: 6, ..ARRAY };
        let restriction = Restriction { array: ARRAY, planes: 2, page_step: 2 };
        assert!(!restriction.holds(&Geometry { blocks_per_lun: 18, ..used }));
        assert!(!restriction.holds(&Geometry { pages_per_block: 7, ..used }));
        assert!(!restriction.holds(&Geometry { planes: 1, ..used }));
        assert!(Restriction::none(ARRAY).holds(&ARRAY));
        assert!(Restriction::none(ARRAY).holds(&Geometry { blocks_per_lun: 4, ..ARRAY }));
    }
}
