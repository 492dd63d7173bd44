//! The operation packer (C83): the writes of a word line, packed into one operation for a one-shot program.

use alloc::vec::Vec;
use aster_ports::flash::{FlashOp, FlashRequest, Tag, Target};
use aster_units::Geometry;

/// Pages of a TLC word line.
pub const LINE_PAGES: usize = 3;

/// Requests whose results are reported to the FTL together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed {
    /// The requests that were packed, in the order of their pages.
    pub tags: [Tag; LINE_PAGES],
    /// The three pages as the targets of one request.
    pub request: FlashRequest,
}

/// A word line whose writes haven't all come yet.
struct Line {
    first: FlashRequest,
    first_row: u32,
    pages: [Option<(Tag, Target)>; LINE_PAGES],
}

/// Holds writes back until all writes of their word line have come. The sender must ensure that they come
/// (G8).
pub struct OperationPacker {
    geometry: Geometry,
    lines: Vec<Line>,
}

impl OperationPacker {
    /// For an array of this geometry, with room for `lines` word lines.
    pub fn new(geometry: Geometry, lines: usize) -> Self {
        OperationPacker { geometry, lines: Vec::with_capacity(lines) }
    }
    /// True for requests that are packed: writes of single pages.
    pub fn takes(&self, request: &FlashRequest) -> bool {
        request.phase == FlashOp::Program && request.targets().len() == 1 && !request.flags.raw
    }
    /// Takes a write. With the last write of a word line it returns all of them, packed.
    pub fn pack(&mut self, tag: Tag, request: FlashRequest) -> Option<Packed> {
        let target = request.targets()[0];
        let (_, _, page) = self.geometry.split_row(target.row);
        let in_line = page.index() % LINE_PAGES;
        let first_row = target.row.0 - in_line as u32;
        let found =
            self.lines.iter().position(|line| (line.first.lun, line.first_row) == (request.lun, first_row));
        let at = found.unwrap_or_else(|| {
            self.lines.push(Line { first: request, first_row, pages: [None; LINE_PAGES] });
            self.lines.len() - 1
        });
        let line = &mut self.lines[at];
        assert!(line.pages[in_line].is_none(), "a page is written twice before its word line is complete");
        line.pages[in_line] = Some((tag, target));
        let [Some(lsb), Some(csb), Some(msb)] = line.pages else { return None };
        let mut request = FlashRequest::vector(FlashOp::Program, request.lun, &[lsb.1, csb.1, msb.1])?;
        request.flags.one_shot = true;
        self.lines.swap_remove(at);
        Some(Packed { tags: [lsb.0, csb.0, msb.0], request })
    }
    /// Word lines that wait for further writes.
    pub fn incomplete(&self) -> usize {
        self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::cores::Interrupt;
    use aster_ports::flash::FlashPort;
    use aster_units::{BufferId, LunIndex, RowAddr, SectorRange};

    const GEOMETRY: Geometry = Geometry {
        channels: 1,
        ways: 2,
        luns: 1,
        planes: 1,
        blocks_per_lun: 8,
        pages_per_block: 12,
        page_bytes: 16_384,
        spare_bytes: 1_664,
    };

    #[test]
    fn writes_of_a_word_line_become_one_operation_whatever_comes_between() {
        let exec = aster_exec::Exec::new();
        let port = FlashPort::new(&exec, 2, 16, Interrupt::default());
        let mut packer = OperationPacker::new(GEOMETRY, 4);
        let write = |lun: u32, block: u32, page: u16| {
            let row = GEOMETRY.row(0, aster_units::BlockAddr(block), aster_units::PageInBlock(page));
            let buffer = BufferId(lun * 1_000 + block * 100 + u32::from(page));
            let target = Target { row, sectors: SectorRange::whole(4), buffer };
            FlashRequest::single(FlashOp::Program, LunIndex(lun), target)
        };
        let mut pack = |lun, block, page| {
            let request = write(lun, block, page);
            assert!(packer.takes(&request));
            (packer.pack(port.submit(request).unwrap(), request), packer.incomplete())
        };
        // Two ways' lines, another block's, and out of order.
        assert_eq!(pack(0, 1, 3), (None, 1));
        assert_eq!(pack(1, 1, 3), (None, 2));
        assert_eq!(pack(0, 1, 5), (None, 2));
        assert_eq!(pack(0, 2, 4), (None, 3));
        let (packed, left) = pack(0, 1, 4);
        let packed = packed.expect("all three are there");
        assert_eq!(left, 2);
        assert!(packed.request.flags.one_shot && packed.request.lun == LunIndex(0));
        let rows: Vec<_> =
            packed.request.targets().iter().map(|target| (target.row, target.buffer)).collect();
        let expected: Vec<_> =
            [3, 4, 5].map(|page| (write(0, 1, page).targets()[0].row, BufferId(100 + page as u32))).into();
        assert_eq!(rows, expected);
        assert_eq!(packed.tags.map(|tag| alloc::format!("{tag:?}")).len(), LINE_PAGES);
        let erase = FlashRequest::single(
            FlashOp::Erase,
            LunIndex(0),
            Target { row: RowAddr(0), sectors: SectorRange::whole(4), buffer: BufferId(0) },
        );
        assert!(!packer.takes(&erase));
    }
}
