//! Pages in their buffers: which granules a page has, and moving, comparing and marking them.

use crate::page::lost;
use crate::terms::config::FtlConfig;
use crate::terms::oob::{OobRecord, PageKind, PageRecord, UnitRecord};
use crate::terms::units::{UnitShape, Units};
use aster_ports::dram::SharedDram;
use aster_ports::flash::Outcome;
use aster_units::{BufferId, Content, Geometry, SECTOR_BYTES, SectorRange};

/// Granules of a page, one bit each: 512 bytes of full content, or a sector if content is fingerprints.
pub(crate) type Granules = u128;

/// The page buffers of a drive, and the shape of what they hold.
pub(crate) struct PageBuffers {
    content: Content,
    geometry: Geometry,
    shape: UnitShape,
    granules: GranuleShape,
    dram: SharedDram,
}

/// How granules divide a page, worked out once. All of these numbers are powers of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct GranuleShape {
    /// A granule has two to the power of this bytes.
    bytes_log2: u32,
    per_sector: u32,
    per_unit: u32,
    /// All granules of a page.
    whole: Granules,
}

impl GranuleShape {
    fn new(content: Content, geometry: &Geometry, shape: UnitShape) -> Self {
        let bytes = match content {
            Content::Full => 512,
            Content::Fingerprint => SECTOR_BYTES as u32,
        };
        let per_page = geometry.page_bytes / bytes;
        GranuleShape {
            bytes_log2: bytes.trailing_zeros(),
            per_sector: SECTOR_BYTES as u32 / bytes,
            per_unit: per_page / shape.per_page(),
            whole: mask(0, per_page),
        }
    }
}

impl PageBuffers {
    /// The buffers in `dram`, for pages as configured.
    pub(crate) fn new(config: &FtlConfig, dram: SharedDram) -> Self {
        let (content, geometry, shape) = (config.content, config.geometry, config.units());
        let granules = GranuleShape::new(content, &geometry, shape);
        PageBuffers { content, geometry, shape, granules, dram }
    }
    /// The memory that holds the buffers.
    pub(crate) fn dram(&self) -> &SharedDram {
        &self.dram
    }

    // ---- the shape of a page ----

    /// Host bytes per granule.
    #[inline]
    pub(crate) fn granule_bytes(&self) -> u32 {
        1 << self.granules.bytes_log2
    }
    /// Granules per sector.
    #[inline]
    fn granules_per_sector(&self) -> u32 {
        self.granules.per_sector
    }
    /// The granules of the sectors in `sectors`.
    #[inline]
    pub(crate) fn granules_of(&self, sectors: u16) -> u128 {
        let per = self.granules_per_sector();
        if per == 1 {
            return u128::from(sectors) & self.whole_page();
        }
        let one = (1u128 << per) - 1;
        (0..u32::from(self.geometry.sectors_per_page()))
            .filter(|s| sectors >> s & 1 == 1)
            .fold(0, |all, s| all | one << (s * per))
    }
    /// The granules that could not be corrected.
    pub(crate) fn failed_granules(&self, outcome: &Outcome) -> u128 {
        match self.content {
            Content::Full => u128::from_le_bytes(outcome.lost_parts()),
            Content::Fingerprint => self.granules_of(outcome.failed_sectors),
        }
    }
    /// The sectors that `granules` touch.
    #[inline]
    pub(crate) fn sectors_of(&self, granules: u128) -> u16 {
        let per = self.granules_per_sector();
        if per == 1 {
            return (granules & self.whole_page()) as u16;
        }
        let one = (1u128 << per) - 1;
        (0..u32::from(self.geometry.sectors_per_page()))
            .filter(|s| granules >> (s * per) & one != 0)
            .fold(0, |all, s| all | 1 << s)
    }

    /// All granules of a page.
    #[inline]
    pub(crate) fn whole_page(&self) -> Granules {
        self.granules.whole
    }
    /// The granules that these bytes of a page touch.
    #[inline]
    pub(crate) fn granules_at(&self, start: u32, bytes: u32) -> Granules {
        if bytes == self.geometry.page_bytes {
            return self.whole_page();
        }
        mask(start >> self.granules.bytes_log2, bytes >> self.granules.bytes_log2)
    }
    #[inline]
    fn granules_per_unit(&self) -> u32 {
        self.granules.per_unit
    }
    /// The granules of the units in `units`, each in its own slot.
    #[inline]
    pub(crate) fn granules_of_units(&self, units: Units) -> Granules {
        if units == self.shape.all() {
            return self.whole_page();
        }
        let per = self.granules_per_unit();
        self.shape.slots_of(units).fold(0, |all, slot| all | mask(slot * per, per))
    }
    /// The units that `granules` touch.
    #[inline]
    pub(crate) fn units_of(&self, granules: Granules) -> Units {
        if self.shape.per_page() == 1 {
            return Units::from(granules & self.whole_page() != 0);
        }
        let per = self.granules_per_unit();
        (0..self.shape.per_page())
            .filter(|slot| granules & mask(slot * per, per) != 0)
            .fold(0, |all, slot| all | 1 << slot)
    }
    /// The granules of the unit in slot `from` after it has moved to slot `to`. Those of other units are left
    /// out.
    pub(crate) fn granules_moved(&self, granules: Granules, from: u32, to: u32) -> Granules {
        let per = self.granules_per_unit();
        (granules >> (from * per) & mask(0, per)) << (to * per)
    }
    /// The sectors of a whole page.
    pub(crate) fn whole(&self) -> SectorRange {
        SectorRange::whole(self.geometry.sectors_per_page())
    }
    /// The first sector of a page.
    pub(crate) fn one_sector(&self) -> SectorRange {
        SectorRange { first: 0, count: 1 }
    }

    // ---- OOB records of buffers ----

    /// The record of a page that was read, with the unit in its first slot.
    #[inline]
    pub(crate) fn record(&self, buffer: BufferId) -> Option<OobRecord> {
        OobRecord::decode_as(self.shape, self.dram.borrow().oob(buffer))
    }
    /// The record of the unit in a slot of a page that was read and is intact.
    #[inline]
    pub(crate) fn unit_record(&self, buffer: BufferId, slot: u32) -> Option<UnitRecord> {
        UnitRecord::decode(self.shape, self.dram.borrow().oob(buffer), slot)
    }
    /// Writes the record of a page that is about to be programmed.
    pub(crate) fn put_record(&self, buffer: BufferId, record: &OobRecord) {
        record.encode_as(self.shape, self.dram.borrow_mut().oob_mut(buffer));
    }
    /// Writes the record of a data page with these units, each with its slot. Without any units the page is
    /// padding.
    #[inline]
    pub(crate) fn put_units(
        &self,
        buffer: BufferId,
        lost_sectors: u16,
        units: impl IntoIterator<Item = (u32, UnitRecord)>,
    ) {
        let mut units = units.into_iter().peekable();
        if units.peek().is_none() {
            return self.put_record(buffer, &OobRecord::padding());
        }
        let page = PageRecord { kind: PageKind::Data, lost_sectors };
        page.encode(self.shape, units, self.dram.borrow_mut().oob_mut(buffer));
    }
    /// Removes units from the record of a page that is about to be programmed.
    #[cold]
    pub(crate) fn drop_units(&self, buffer: BufferId, dropped: Units) {
        let lost_sectors = self.record(buffer).map_or(0, |record| record.lost_sectors);
        let left: alloc::vec::Vec<_> = (0..self.shape.per_page())
            .filter(|slot| dropped >> slot & 1 == 0)
            .filter_map(|slot| Some((slot, self.unit_record(buffer, slot)?)))
            .collect();
        self.put_units(buffer, lost_sectors, left);
    }

    // ---- granules of buffers ----

    /// Bytes that a granule takes in a buffer.
    fn granule_len(&self) -> usize {
        match self.content {
            Content::Full => self.granule_bytes() as usize,
            Content::Fingerprint => Content::Fingerprint.sector_len(),
        }
    }
    /// Fills granules with zeroes.
    pub(crate) fn zero(&self, buffer: BufferId, granules: Granules) {
        let len = self.granule_len();
        let mut dram = self.dram.borrow_mut();
        let page = dram.page_mut(buffer);
        for granule in bits(granules) {
            page[granule * len..(granule + 1) * len].fill(0);
        }
    }
    /// Whether two buffers have the same content in these granules.
    pub(crate) fn is_equal(&self, a: BufferId, b: BufferId, granules: Granules) -> bool {
        let len = self.granule_len();
        let dram = self.dram.borrow();
        let (a, b) = (dram.page(a), dram.page(b));
        bits(granules).all(|g| a[g * len..(g + 1) * len] == b[g * len..(g + 1) * len])
    }
    /// Notes lost granules in the sectors of a page that is to be written.
    pub(crate) fn note_lost(&self, buffer: BufferId, lost: Granules) {
        // If a granule is a sector, the OOB record says it all.
        if self.content == Content::Full {
            let mut dram = self.dram.borrow_mut();
            for (sector, bytes) in dram.page_mut(buffer).chunks_exact_mut(SECTOR_BYTES).enumerate() {
                let lost = (lost >> (sector as u32 * self.granules_per_sector())) as lost::Blocks;
                if lost != 0 {
                    lost::note(bytes, lost);
                }
            }
        }
    }
    /// The lost granules of a page that was read: those that `failed` now, and those that notes in the
    /// `noted` sectors list. Moves the other granules of those sectors back to their places.
    pub(crate) fn take_notes(&self, buffer: BufferId, noted: u16, failed: Granules) -> Granules {
        if self.content != Content::Full {
            return self.granules_of(noted) | failed;
        }
        let mut dram = self.dram.borrow_mut();
        let sectors = dram.page_mut(buffer).chunks_exact_mut(SECTOR_BYTES).enumerate();
        sectors.filter(|(sector, _)| noted >> sector & 1 == 1).fold(failed, |all, (sector, bytes)| {
            let at = sector as u32 * self.granules_per_sector();
            all | Granules::from(lost::take_note(bytes, (failed >> at) as lost::Blocks)) << at
        })
    }
    /// Copies those of a unit's granules that are in `granules`, from its slot in one buffer to a slot in
    /// another.
    pub(crate) fn copy_unit(&self, from: (BufferId, u32), to: (BufferId, u32), granules: Granules) {
        let ((from, of), (to, at)) = (from, to);
        let (len, per) = (self.granule_len(), self.granules_per_unit());
        let mut held = [0; SECTOR_BYTES];
        let mut dram = self.dram.borrow_mut();
        for granule in bits(granules & mask(of * per, per)) {
            let moved = granule + (at * per) as usize - (of * per) as usize;
            held[..len].copy_from_slice(&dram.page(from)[granule * len..(granule + 1) * len]);
            dram.page_mut(to)[moved * len..(moved + 1) * len].copy_from_slice(&held[..len]);
        }
    }
    /// Copies granules to the same place in another buffer.
    pub(crate) fn copy_granules(&self, from: BufferId, to: BufferId, granules: Granules) {
        let len = self.granule_len();
        let mut held = [0; SECTOR_BYTES];
        let mut dram = self.dram.borrow_mut();
        for granule in bits(granules) {
            let at = granule * len..(granule + 1) * len;
            held[..len].copy_from_slice(&dram.page(from)[at.clone()]);
            dram.page_mut(to)[at].copy_from_slice(&held[..len]);
        }
    }
}

#[inline]
fn mask(first: u32, count: u32) -> Granules {
    if count == 0 { 0 } else { (Granules::MAX >> (Granules::BITS - count)) << first }
}

fn bits(mut granules: Granules) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = granules.trailing_zeros() as usize;
        granules &= granules.wrapping_sub(1);
        (first < Granules::BITS as usize).then_some(first)
    })
}

/// The smallest run of sectors that holds all of `sectors`.
pub(crate) fn span(sectors: u16) -> SectorRange {
    let first = sectors.trailing_zeros() as u8;
    SectorRange { first, count: 16 - sectors.leading_zeros() as u8 - first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::oob::OOB_BYTES;
    use crate::tests::bench::config;
    use aster_ports::dram::Dram;

    const A: BufferId = BufferId(0);
    const B: BufferId = BufferId(1);

    fn buffers(content: Content) -> PageBuffers {
        let config = config(content);
        PageBuffers::new(
            &config,
            Dram::new(content, config.geometry.sectors_per_page(), OOB_BYTES as u8, 2, 1, 0),
        )
    }
    /// Pages of sixteen units.
    fn of_units() -> PageBuffers {
        let config = FtlConfig { mapping_unit_bytes: 512, ..config(Content::Full) };
        let oob = config.oob_bytes() as u8;
        PageBuffers::new(&config, Dram::new(Content::Full, 2, oob, 2, 1, 0))
    }

    #[test]
    fn a_unit_goes_to_another_slot_with_what_is_lost_of_it() {
        let pages = of_units();
        assert_eq!((pages.units_of(0b1001), pages.granules_of_units(0b101)), (0b1001, 0b101));
        assert_eq!(pages.granules_moved(0b1100, 3, 5), 0b10_0000);
        pages.dram.borrow_mut().page_mut(A).fill(0x5A);
        pages.zero(B, pages.whole_page());
        pages.copy_unit((A, 3), (B, 1), Granules::MAX);
        let dram = pages.dram.borrow();
        let there = dram.page(B).chunks(512).map(|unit| unit[0]);
        assert!(there.eq([0, 0x5A].into_iter().chain([0; 14])));
    }

    #[test]
    fn units_can_be_taken_out_of_a_record() {
        let pages = of_units();
        let unit = |lpn| UnitRecord { lpn: aster_units::Lpn(lpn), sequence: 7, copy: 2 };
        pages.put_units(A, 0b10, [(0, unit(70)), (9, unit(3))]);
        pages.drop_units(A, 1);
        assert_eq!(pages.record(A).map(|record| record.lost_sectors), Some(0b10));
        let of = |slot| pages.unit_record(A, slot);
        assert_eq!((of(0), of(9)), (None, Some(unit(3))));
        pages.drop_units(A, 1 << 9);
        assert_eq!(pages.record(A).map(|record| record.kind), Some(PageKind::Padding));
    }

    #[test]
    fn a_page_has_as_many_granules_as_its_content_can_tell_apart() {
        for (content, per_sector) in [(Content::Full, 8_u32), (Content::Fingerprint, 1)] {
            let pages = buffers(content);
            let sectors = u32::from(pages.geometry.sectors_per_page());
            assert_eq!(pages.granules.bytes_log2, (4096 / per_sector).trailing_zeros());
            assert_eq!(pages.whole_page().count_ones(), sectors * per_sector);
            assert_eq!(pages.granules_of(0b10), mask(per_sector, per_sector));
            assert_eq!(pages.sectors_of(1 << per_sector), 0b10);
            assert_eq!(pages.granules_at(SECTOR_BYTES as u32, SECTOR_BYTES as u32), pages.granules_of(0b10));
        }
        assert_eq!(span(0b0110), SectorRange { first: 1, count: 2 });
    }

    /// One sector after the other gives the same, for all there are.
    #[test]
    fn sectors_and_granules_are_turned_into_each_other_one_by_one() {
        for content in [Content::Full, Content::Fingerprint] {
            let pages = buffers(content);
            let per = pages.granules_per_sector();
            let sectors_there = || 0..u32::from(pages.geometry.sectors_per_page());
            for sectors in 0..=u16::MAX {
                let is_in = |sector: &u32| sectors >> sector & 1 == 1;
                let one_by_one = sectors_there().filter(is_in).fold(0, |all, s| all | mask(s * per, per));
                assert_eq!(pages.granules_of(sectors), one_by_one, "{content:?}, {sectors:b}");
            }
            let mut random = aster_units::Rng::new(7);
            for _ in 0..10_000 {
                let bits = || u128::from(random.next_u64());
                let mut bits = bits;
                let granules = (bits() << 64 | bits()) & (bits() << 64 | bits()) & pages.whole_page();
                let touched = |s: &u32| granules & mask(s * per, per) != 0;
                let one_by_one = sectors_there().filter(touched).fold(0, |all, s| all | 1 << s);
                assert_eq!(pages.sectors_of(granules), one_by_one, "{content:?}, {granules:b}");
            }
        }
    }

    /// Each byte and each unit by itself gives the same as what is worked out once for a page.
    #[test]
    fn bytes_granules_and_units_are_turned_into_each_other_one_by_one() {
        for pages in [of_units(), buffers(Content::Full), buffers(Content::Fingerprint)] {
            let bytes = pages.geometry.page_bytes;
            let (of_granule, of_unit) = (pages.granule_bytes(), bytes / pages.shape.per_page());
            for start in (0..bytes).step_by(of_granule as usize) {
                for end in (start..=bytes).step_by(of_granule as usize) {
                    let touched = (start..end).step_by(512);
                    let granules = touched.clone().fold(0, |all, byte| all | 1 << (byte / of_granule));
                    assert_eq!(pages.granules_at(start, end - start), granules);
                    let units = touched.fold(0, |all, byte| all | 1 << (byte / of_unit));
                    assert_eq!(pages.units_of(granules), units);
                }
            }
            for units in 0..=pages.shape.all() {
                let (slots, per) = (0..pages.shape.per_page(), of_unit / of_granule);
                let of = |slot: &u32| units >> slot & 1 == 1;
                let one_by_one = slots.filter(of).fold(0, |all, slot| all | mask(slot * per, per));
                assert_eq!(pages.granules_of_units(units), one_by_one);
            }
        }
    }

    #[test]
    fn granules_are_copied_compared_and_zeroed_by_themselves() {
        for content in [Content::Full, Content::Fingerprint] {
            let pages = buffers(content);
            pages.dram.borrow_mut().page_mut(A).fill(0x5A);
            pages.zero(B, pages.whole_page());
            assert!(!pages.is_equal(A, B, 0b1) && pages.is_equal(A, B, 0));
            pages.copy_granules(A, B, 0b10);
            assert!(pages.is_equal(A, B, 0b10) && !pages.is_equal(A, B, 0b01));
            pages.zero(B, 0b10);
            assert!(!pages.is_equal(A, B, 0b10));
        }
    }

    /// If a granule is a sector, the OOB record says it all. Otherwise each lost sector notes which of its
    /// granules are lost, and the note can be read back.
    #[test]
    fn what_is_lost_is_noted_in_the_page_and_found_again() {
        let lost = 0b110 << 8;
        let pages = buffers(Content::Full);
        pages.dram.borrow_mut().page_mut(A).fill(0x5A);
        pages.copy_granules(A, B, pages.whole_page());
        pages.note_lost(A, lost);
        assert!(!pages.is_equal(A, B, pages.granules_of(0b10)), "the note stands in the sector");
        assert_eq!(pages.take_notes(A, 0b10, 0b1), lost | 0b1, "with what failed now");
        assert!(pages.is_equal(A, B, pages.whole_page() & !lost), "what was not lost is as it was");
        let pages = buffers(Content::Fingerprint);
        assert_eq!(pages.take_notes(A, 0b10, 0b1), 0b11);
    }
}
