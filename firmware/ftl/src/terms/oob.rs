//! The contents of every page's OOB area (G10).
//!
//! A header of 6 bytes: the low 24 bits of the CRC-32C of all that follows (3), kind (1), lost sectors (2).
//! Then 10 bytes for each mapping unit of a page: its LPN (4), which is all ones in an empty slot, and the
//! sequence number (6) with the copy count in the highest four bits. The drive's own pages have their numbers
//! in the first slot.

use crate::terms::units::{Frame, UnitShape};
use aster_codec::checksum::crc32c;
use aster_ports::flash::PageOwner;
use aster_units::Lpn;

/// Bytes of the OOB record of a page that holds one mapping unit.
pub const OOB_BYTES: usize = HEADER_BYTES + UNIT_BYTES;
const HEADER_BYTES: usize = 6;
const UNIT_BYTES: usize = 10;
const CRC_BYTES: usize = 3;
const NO_UNIT: u32 = u32::MAX;
const SEQUENCE_BITS: u32 = 44;
const SEQUENCE_MAX: u64 = (1 << SEQUENCE_BITS) - 1;
/// What no drive counts between power-on and power-off.
const SESSION_MAX: u64 = 1 << 40;
/// Counters beyond this are no drive's: so much is left of their 44 bits that none runs out while it is in
/// use.
pub(crate) const COUNT_MAX: u64 = SEQUENCE_MAX - SESSION_MAX;
/// A drive that comes up with a counter beyond this takes no more writes: what it gave out next could lie
/// beyond [`COUNT_MAX`], and the power-on after that would take it for damage.
pub(crate) const COUNT_SPENT: u64 = COUNT_MAX - SESSION_MAX;

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// Mapping units of the host.
    Data,
    /// A page of the stored map.
    Map,
    /// A page of the log.
    Log,
    /// Nothing: it completes a word line.
    Padding,
    /// Nothing either: the log has ended, and the drive takes no more writes.
    LogEnd,
}

impl PageKind {
    fn code(self) -> u8 {
        match self {
            PageKind::Data => 1,
            PageKind::Map => 2,
            PageKind::Log => 3,
            PageKind::Padding => 4,
            PageKind::LogEnd => 5,
        }
    }
    fn of_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => PageKind::Data,
            2 => PageKind::Map,
            3 => PageKind::Log,
            4 => PageKind::Padding,
            5 => PageKind::LogEnd,
            _ => return None,
        })
    }
}

/// The OOB record of a page with one mapping unit, or of one of the drive's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OobRecord {
    /// What the page holds.
    pub kind: PageKind,
    /// The logical unit, or the index of a page of the stored map.
    pub lpn: u32,
    /// Counts evictions over the drive's life, 44 bits. A unit moved by garbage collection keeps it, so that
    /// of two copies with different numbers the greater is always newer. Pages of the map carry their
    /// generation.
    pub sequence: u64,
    /// Sectors that had lost content before this copy was made, one bit each: they must not be read as data.
    /// Each sector itself notes which of its blocks are lost.
    pub lost_sectors: u16,
    /// How often garbage collection has copied the unit, modulo `COPIES`. It tells which of two copies with
    /// the same sequence number came out of the other.
    pub copy: u8,
}

/// Copies are counted modulo this.
pub const COPIES: u8 = 16;

impl OobRecord {
    /// The record of a padding page.
    pub(crate) const fn padding() -> Self {
        OobRecord { kind: PageKind::Padding, lpn: 0, sequence: 0, lost_sectors: 0, copy: 0 }
    }
    fn unit(&self) -> UnitRecord {
        UnitRecord { lpn: Lpn(self.lpn), sequence: self.sequence, copy: self.copy }
    }
    /// Writes the record of a page of `shape`: its unit stands in the first slot.
    #[inline]
    pub(crate) fn encode_as(&self, shape: UnitShape, into: &mut [u8]) {
        let page = PageRecord { kind: self.kind, lost_sectors: self.lost_sectors };
        page.encode(shape, [(0, self.unit())], into);
    }
    /// The record of a page of `shape`, with the unit in its first slot.
    #[inline]
    pub(crate) fn decode_as(shape: UnitShape, from: &[u8]) -> Option<Self> {
        let PageRecord { kind, lost_sectors } = PageRecord::decode(shape, from)?;
        let none = UnitRecord { lpn: Lpn(NO_UNIT), sequence: 0, copy: 0 };
        let UnitRecord { lpn, sequence, copy } = UnitRecord::decode(shape, from, 0).unwrap_or(none);
        Some(OobRecord { kind, lpn: lpn.0, sequence, lost_sectors, copy })
    }
}

/// What the OOB record says about the whole page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageRecord {
    pub(crate) kind: PageKind,
    /// As in [`OobRecord`].
    pub(crate) lost_sectors: u16,
}

/// What the OOB record says about one unit of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnitRecord {
    pub(crate) lpn: Lpn,
    /// As in [`OobRecord`].
    pub(crate) sequence: u64,
    pub(crate) copy: u8,
}

impl PageRecord {
    /// Writes the record of a page with these units, each with its slot.
    pub(crate) fn encode(
        self,
        shape: UnitShape,
        units: impl IntoIterator<Item = (u32, UnitRecord)>,
        into: &mut [u8],
    ) {
        let (crc, record) = into[..shape.oob_bytes()].split_at_mut(CRC_BYTES);
        let (header, slots) = record.split_at_mut(HEADER_BYTES - CRC_BYTES);
        header[0] = self.kind.code();
        header[1..].copy_from_slice(&self.lost_sectors.to_le_bytes());
        // All ones mark an empty slot.
        slots.fill(0xFF);
        for (slot, unit) in units {
            unit.encode(&mut slots[slot as usize * UNIT_BYTES..][..UNIT_BYTES]);
        }
        crc.copy_from_slice(&crc32c(record).to_le_bytes()[..CRC_BYTES]);
    }
    /// Reads what the record says about the page; `None` if it is too short, unknown or damaged.
    #[inline]
    pub(crate) fn decode(shape: UnitShape, from: &[u8]) -> Option<Self> {
        let (crc, record) = from.get(..shape.oob_bytes())?.split_at(CRC_BYTES);
        if *crc != crc32c(record).to_le_bytes()[..CRC_BYTES] {
            return None;
        }
        let kind = PageKind::of_code(record[0])?;
        Some(PageRecord { kind, lost_sectors: u16::from_le_bytes([record[1], record[2]]) })
    }
}

impl UnitRecord {
    fn encode(self, into: &mut [u8]) {
        let UnitRecord { lpn, sequence, copy } = self;
        assert!(sequence <= SEQUENCE_MAX, "the sequence number has left its 44 bits");
        let numbers = sequence | u64::from(copy % COPIES) << SEQUENCE_BITS;
        into[..4].copy_from_slice(&lpn.0.to_le_bytes());
        into[4..].copy_from_slice(&numbers.to_le_bytes()[..6]);
    }
    /// Reads what an intact record says about the unit in a slot; `None` if the slot is empty.
    pub(crate) fn decode(shape: UnitShape, from: &[u8], slot: u32) -> Option<Self> {
        debug_assert!(slot < shape.per_page(), "a page has so many slots");
        let unit = from.get(HEADER_BYTES + slot as usize * UNIT_BYTES..)?.get(..UNIT_BYTES)?;
        let lpn = u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]);
        let numbers = u64::from_le_bytes([unit[4], unit[5], unit[6], unit[7], unit[8], unit[9], 0, 0]);
        let (sequence, copy) = (numbers & SEQUENCE_MAX, (numbers >> SEQUENCE_BITS) as u8);
        (lpn != NO_UNIT).then_some(UnitRecord { lpn: Lpn(lpn), sequence, copy })
    }
}

impl UnitShape {
    /// Bytes of a page's OOB record.
    pub(crate) const fn oob_bytes(self) -> usize {
        HEADER_BYTES + self.per_page() as usize * UNIT_BYTES
    }
}

/// Whether a page with this OOB holds the units of a frame, each in its own slot and without lost sectors.
#[inline]
pub(crate) fn is_whole_page_of(shape: UnitShape, owner: PageOwner, oob: &[u8]) -> bool {
    let first = shape.first_of(Frame(owner.0)).0;
    let is_there = |slot| UnitRecord::decode(shape, oob, slot).is_some_and(|unit| unit.lpn.0 == first + slot);
    PageRecord::decode(shape, oob) == Some(PageRecord { kind: PageKind::Data, lost_sectors: 0 })
        && (0..shape.per_page()).all(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// A page that is a unit.
    const PAGE: UnitShape = UnitShape::new(16384, 16384);
    /// A page of four units.
    const FOUR: UnitShape = UnitShape::new(16384, 4096);

    fn any_unit() -> impl Strategy<Value = UnitRecord> {
        (0..NO_UNIT, 0..=SEQUENCE_MAX, 0..COPIES).prop_map(|(lpn, sequence, copy)| UnitRecord {
            lpn: Lpn(lpn),
            sequence,
            copy,
        })
    }

    proptest! {
        #[test]
        fn records_round_trip(
            lpn in 0..NO_UNIT,
            sequence in 0..=SEQUENCE_MAX,
            lost_sectors: u16,
            copy in 0..COPIES,
            map: bool,
        ) {
            let kind = if map { PageKind::Map } else { PageKind::Data };
            let record = OobRecord { kind, lpn, sequence, lost_sectors, copy };
            let mut bytes = [0; OOB_BYTES];
            record.encode_as(PAGE, &mut bytes);
            prop_assert_eq!(OobRecord::decode_as(PAGE, &bytes), Some(record));
        }

        #[test]
        fn a_flipped_bit_is_noticed(lpn in 0..NO_UNIT, sequence in 0..=SEQUENCE_MAX, bit in 0usize..128) {
            let mut bytes = [0; OOB_BYTES];
            OobRecord { kind: PageKind::Data, lpn, sequence, lost_sectors: 0, copy: 0 }
                .encode_as(PAGE, &mut bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(OobRecord::decode_as(PAGE, &bytes), None);
        }

        #[test]
        fn each_slot_gives_the_unit_back_that_was_put_there(
            units in prop::collection::vec(prop::option::of(any_unit()), 4),
            lost_sectors: u16,
            bit in 0usize..8 * 46,
        ) {
            let mut bytes = std::vec![0xEE; FOUR.oob_bytes() + 3];
            let page = PageRecord { kind: PageKind::Data, lost_sectors };
            let there = || (0..).zip(&units).filter_map(|(slot, unit)| unit.map(|unit| (slot, unit)));
            page.encode(FOUR, there(), &mut bytes);
            prop_assert_eq!(PageRecord::decode(FOUR, &bytes), Some(page));
            let found: Vec<_> = (0..4).map(|slot| UnitRecord::decode(FOUR, &bytes, slot)).collect();
            prop_assert_eq!(found, units);
            prop_assert_eq!(&bytes[46..], &[0xEE; 3], "no byte beyond is touched");
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(PageRecord::decode(FOUR, &bytes), None);
        }
    }

    /// The record of one of the drive's own pages says the same no matter how large a unit is.
    #[test]
    fn pages_of_the_drives_own_have_their_numbers_in_the_first_slot() {
        let record = OobRecord { kind: PageKind::Map, lpn: 70, sequence: 1 << 40, lost_sectors: 0, copy: 0 };
        for shape in [UnitShape::new(16384, 16384), FOUR] {
            let mut bytes = std::vec![0; shape.oob_bytes()];
            record.encode_as(shape, &mut bytes);
            assert_eq!(OobRecord::decode_as(shape, &bytes), Some(record));
            let page = PageRecord { kind: PageKind::Map, lost_sectors: 0 };
            assert_eq!(PageRecord::decode(shape, &bytes), Some(page));
        }
    }

    #[test]
    fn a_page_is_a_frames_only_if_each_unit_stands_in_its_own_slot() {
        let unit = |lpn| UnitRecord { lpn: Lpn(lpn), sequence: 9, copy: 0 };
        let is_whole = |lost_sectors, units: &[(u32, u32)]| {
            let mut bytes = [0; 46];
            let page = PageRecord { kind: PageKind::Data, lost_sectors };
            page.encode(FOUR, units.iter().map(|&(slot, lpn)| (slot, unit(lpn))), &mut bytes);
            is_whole_page_of(FOUR, PageOwner(5), &bytes)
        };
        let own = [(0, 20), (1, 21), (2, 22), (3, 23)];
        assert!(is_whole(0, &own));
        assert!(!is_whole(1, &own), "lost before");
        assert!(!is_whole(0, &own[..3]), "a unit is missing");
        assert!(!is_whole(0, &[(0, 21), (1, 20), (2, 22), (3, 23)]), "in other slots");
    }

    #[test]
    fn an_erased_or_short_area_holds_no_record() {
        assert_eq!(OobRecord::decode_as(PAGE, &[0xFF; OOB_BYTES]), None);
        assert_eq!(OobRecord::decode_as(PAGE, &[0; OOB_BYTES]), None);
        assert_eq!(OobRecord::decode_as(PAGE, &[1; 4]), None);
        assert_eq!(PageRecord::decode(FOUR, &[0xFF; 46]), None);
        assert_eq!(PageRecord::decode(FOUR, &[0; 46]), None);
        assert_eq!(PageRecord::decode(FOUR, &[1; 45]), None);
    }
}
