//! The places of data, parity and OOB on a page (design §3, S9).

use aster_units::{Column, SECTOR_BYTES, SectorRange};
use core::fmt;

/// Bytes of the scrambler's seed. The seed is stored unscrambled in front of the OOB, so that a page that
/// COPYBACK has moved can still be descrambled.
pub const SEED_BYTES: u16 = 4;

/// Failures are reported in parts of this many bytes.
const PART_BYTES: u32 = 512;

/// Where the parity of a data chunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// All data first, all parity in the spare area (Cosmos+).
    Spare,
    /// Each chunk followed by its parity (SoftSSD, S9).
    Interleaved,
}

/// A run of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// First column.
    pub column: Column,
    /// Bytes.
    pub length: u32,
}

impl Span {
    /// One past the last column.
    pub const fn end(self) -> u32 {
        self.column.0 as u32 + self.length
    }
    /// Whether `other` lies within this span.
    pub const fn covers(self, other: Span) -> bool {
        self.column.0 <= other.column.0 && other.end() <= self.end()
    }
}

/// `count` parts of `each` bytes lie one after the other, from byte 0 on. Returns a bit for each part,
/// part 0 lowest: whether the part has a byte in `from .. to`.
const fn parts_in(from: u32, to: u32, each: u32, count: u32) -> u16 {
    if to <= from || each == 0 {
        return 0;
    }
    let (first, end) = (from / each, to.div_ceil(each));
    let end = if end < count { end } else { count };
    if first >= end { 0 } else { ((1u32 << end) - (1 << first)) as u16 }
}

/// The format of a page: sectors cut into ECC chunks, their parity, the scrambler's seed and the OOB with its
/// own parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLayout {
    sectors: u8,
    chunk_bytes: u16,
    parity_bytes: u16,
    placement: Placement,
    oob_bytes: u8,
    raw_bytes: u32,
}

/// Why a layout doesn't fit its page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutError {
    /// A 4 KiB sector is no whole number of chunks.
    Chunk {
        /// The chunk's data bytes.
        chunk_bytes: u16,
    },
    /// Data, parity and OOB need more bytes than page and spare have.
    Room {
        /// Bytes needed.
        needed: u32,
        /// Bytes of a page, spare included.
        available: u32,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Chunk { chunk_bytes } => {
                write!(f, "a 4096-byte sector is no whole number of {chunk_bytes}-byte ECC chunks")
            }
            LayoutError::Room { needed, available } => {
                write!(f, "data, parity and OOB take {needed} bytes, but page and spare have {available}")
            }
        }
    }
}
impl core::error::Error for LayoutError {}

impl PageLayout {
    /// A layout for pages of `sectors` sectors and `raw_bytes` bytes, spare included. Each chunk of
    /// `chunk_bytes` has `parity_bytes` of parity, with the checksum of a detector that has one. So has the
    /// OOB, which is one shortened code word together with the seed.
    ///
    /// # Errors
    /// If it doesn't fit the page.
    pub const fn new(
        sectors: u8,
        raw_bytes: u32,
        chunk_bytes: u16,
        parity_bytes: u16,
        oob_bytes: u8,
        placement: Placement,
    ) -> Result<Self, LayoutError> {
        if chunk_bytes == 0 || !SECTOR_BYTES.is_multiple_of(chunk_bytes as usize) {
            return Err(LayoutError::Chunk { chunk_bytes });
        }
        let layout = PageLayout { sectors, chunk_bytes, parity_bytes, placement, oob_bytes, raw_bytes };
        let needed = layout.oob_span().end();
        if needed > raw_bytes {
            return Err(LayoutError::Room { needed, available: raw_bytes });
        }
        Ok(layout)
    }

    /// Sectors per page.
    pub const fn sectors(&self) -> u8 {
        self.sectors
    }
    /// Data bytes of an ECC chunk.
    pub const fn chunk_bytes(&self) -> u16 {
        self.chunk_bytes
    }
    /// Parity bytes of an ECC chunk, with the checksum of a detector that has one.
    pub const fn parity_bytes(&self) -> u16 {
        self.parity_bytes
    }
    /// Where parity is.
    pub const fn placement(&self) -> Placement {
        self.placement
    }
    /// OOB bytes that the firmware sees.
    pub const fn oob_bytes(&self) -> u8 {
        self.oob_bytes
    }
    /// Bytes of a page, spare included.
    pub const fn raw_bytes(&self) -> u32 {
        self.raw_bytes
    }
    /// ECC chunks per sector.
    pub const fn chunks_per_sector(&self) -> u16 {
        SECTOR_BYTES as u16 / self.chunk_bytes
    }
    /// ECC chunks per page, without the OOB's.
    pub const fn chunks(&self) -> u16 {
        self.sectors as u16 * self.chunks_per_sector()
    }
    /// The sector that chunk `chunk` of the page belongs to, and the 512-byte parts of that sector in which
    /// it lies, one bit each.
    pub fn parts_of(&self, chunk: u16) -> (u8, u8) {
        let bytes = u32::from(self.chunk_bytes);
        let first = u32::from(chunk % self.chunks_per_sector()) * bytes;
        let (first, last) = (first / PART_BYTES, (first + bytes - 1) / PART_BYTES);
        let parts = (first..=last).fold(0, |parts, part| parts | 1 << part);
        ((chunk / self.chunks_per_sector()) as u8, parts)
    }
    const fn code_word_bytes(&self) -> u32 {
        self.chunk_bytes as u32 + self.parity_bytes as u32
    }
    const fn data_end(&self) -> u32 {
        self.chunks() as u32 * self.code_word_bytes()
    }

    /// The data of chunk `chunk`, counted over the page.
    pub const fn chunk_data(&self, chunk: u16) -> Span {
        let column = match self.placement {
            Placement::Spare => chunk as u32 * self.chunk_bytes as u32,
            Placement::Interleaved => chunk as u32 * self.code_word_bytes(),
        };
        Span { column: Column(column as u16), length: self.chunk_bytes as u32 }
    }
    /// The parity of chunk `chunk`, counted over the page.
    pub const fn chunk_parity(&self, chunk: u16) -> Span {
        let column = match self.placement {
            Placement::Spare => {
                self.chunks() as u32 * self.chunk_bytes as u32 + chunk as u32 * self.parity_bytes as u32
            }
            Placement::Interleaved => chunk as u32 * self.code_word_bytes() + self.chunk_bytes as u32,
        };
        Span { column: Column(column as u16), length: self.parity_bytes as u32 }
    }
    /// The chunk whose data or parity has this column. `None` where no chunk is: in the OOB's code word and
    /// behind it.
    #[inline]
    pub const fn chunk_at(&self, column: u32) -> Option<u16> {
        let data = self.chunks() as u32 * self.chunk_bytes as u32;
        let chunk = match self.placement {
            Placement::Spare if column < data => column / self.chunk_bytes as u32,
            Placement::Spare if self.parity_bytes == 0 => return None,
            Placement::Spare => (column - data) / self.parity_bytes as u32,
            Placement::Interleaved => column / self.code_word_bytes(),
        };
        if chunk < self.chunks() as u32 { Some(chunk as u16) } else { None }
    }
    /// Seed, OOB and their parity: one run of columns, after everything else.
    pub const fn oob_span(&self) -> Span {
        Span {
            column: Column(self.data_end() as u16),
            length: SEED_BYTES as u32 + self.oob_bytes as u32 + self.parity_bytes as u32,
        }
    }

    /// The sectors whose data or parity lie in `span`, as bits, sector 0 lowest.
    #[inline]
    pub const fn sectors_in(&self, span: Span) -> u16 {
        let (from, to) = (span.column.0 as u32, span.end());
        let sectors = self.sectors as u32;
        match self.placement {
            Placement::Interleaved => {
                let each = self.chunks_per_sector() as u32 * self.code_word_bytes();
                parts_in(from, to, each, sectors)
            }
            Placement::Spare => {
                let data = sectors * SECTOR_BYTES as u32;
                let each = self.chunks_per_sector() as u32 * self.parity_bytes as u32;
                parts_in(from, to, SECTOR_BYTES as u32, sectors)
                    | parts_in(from.saturating_sub(data), to.saturating_sub(data), each, sectors)
            }
        }
    }

    /// The bursts that transfer the sectors of `range`, their parity and the OOB record, in column order.
    /// Adjacent bursts are joined. The OOB record is always included, since it holds the scrambler's
    /// seed.
    #[inline]
    pub fn bursts(&self, range: SectorRange) -> Bursts {
        let per_sector = self.chunks_per_sector();
        let first = u16::from(range.first) * per_sector;
        let last = u16::from(range.end()) * per_sector - 1;
        let mut bursts = Bursts::default();
        match self.placement {
            Placement::Spare => {
                bursts.push(join(self.chunk_data(first), self.chunk_data(last)));
                bursts.push(join(self.chunk_parity(first), self.chunk_parity(last)));
            }
            Placement::Interleaved => bursts.push(join(self.chunk_data(first), self.chunk_parity(last))),
        }
        bursts.push(self.oob_span());
        bursts
    }

    /// The one burst that writes a whole page: columns 0 to the end of the OOB record.
    pub const fn whole(&self) -> Span {
        Span { column: Column(0), length: self.oob_span().end() }
    }
}

const fn join(a: Span, b: Span) -> Span {
    Span { column: a.column, length: b.end() - a.column.0 as u32 }
}

/// At most three runs of columns.
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    spans: [Span; 3],
    count: usize,
}

impl Default for Bursts {
    fn default() -> Self {
        Bursts { spans: [Span { column: Column(0), length: 0 }; 3], count: 0 }
    }
}

impl Bursts {
    fn push(&mut self, span: Span) {
        if self.count > 0 && self.spans[self.count - 1].end() == u32::from(span.column.0) {
            self.spans[self.count - 1].length += span.length;
        } else {
            self.spans[self.count] = span;
            self.count += 1;
        }
    }
    /// The runs in column order.
    #[inline]
    pub fn as_slice(&self) -> &[Span] {
        &self.spans[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The Cosmos+ code: 64 chunks of 256 + 21 bytes (P15) on a page of 16,384 + 1,664 (C51).
    fn cosmos(placement: Placement) -> PageLayout {
        PageLayout::new(4, 18_048, 256, 21, 16, placement).unwrap()
    }

    #[test]
    fn a_whole_page_is_one_burst_in_both_placements() {
        for placement in [Placement::Spare, Placement::Interleaved] {
            let layout = cosmos(placement);
            let bursts = layout.bursts(SectorRange::whole(4));
            assert_eq!(bursts.as_slice(), [layout.whole()]);
            assert_eq!(layout.whole().length, 64 * (256 + 21) + 4 + 16 + 21);
        }
    }

    #[test]
    fn one_sector_in_the_spare_placement_takes_data_parity_and_oob() {
        let bursts = cosmos(Placement::Spare).bursts(SectorRange { first: 1, count: 1 });
        let want = [(4096, 4096), (16_384 + 336, 336), (17_728, 41)];
        assert_eq!(bursts.as_slice().len(), 3);
        for (span, (column, length)) in bursts.as_slice().iter().zip(want) {
            assert_eq!((span.column.0, span.length), (column, length));
        }
    }

    #[test]
    fn the_last_interleaved_sector_joins_the_oob() {
        let bursts = cosmos(Placement::Interleaved).bursts(SectorRange { first: 3, count: 1 });
        assert_eq!(bursts.as_slice().len(), 1);
        assert_eq!(bursts.as_slice()[0].length, 16 * 277 + 41);
    }

    #[test]
    fn the_sectors_in_a_burst_are_those_whose_data_or_parity_it_brings() {
        for placement in [Placement::Spare, Placement::Interleaved] {
            let layout = cosmos(placement);
            for (first, count) in [(0, 1), (1, 1), (1, 2), (3, 1), (0, 4)] {
                let range = SectorRange { first, count };
                let bursts = layout.bursts(range);
                let bits = bursts.as_slice().iter().fold(0, |bits, span| bits | layout.sectors_in(*span));
                assert_eq!(bits, range.mask(), "{placement:?} {range:?}");
                // What a channel takes the data from.
                assert_eq!(layout.sectors_in(bursts.as_slice()[0]), range.mask());
            }
            assert_eq!(layout.sectors_in(layout.oob_span()), 0);
            assert_eq!(layout.sectors_in(Span { column: Column(4095), length: 0 }), 0);
        }
        // A byte of a chunk's parity stands for the sector that it is computed from.
        let parity = Span { column: Column(16_384 + 335), length: 2 };
        assert_eq!(cosmos(Placement::Spare).sectors_in(parity), 0b11);
    }

    #[test]
    fn a_code_too_strong_for_the_spare_is_refused_with_numbers() {
        let e = PageLayout::new(4, 18_048, 256, 30, 16, Placement::Spare).unwrap_err();
        assert_eq!(e, LayoutError::Room { needed: 64 * 286 + 50, available: 18_048 });
    }
}
