//! What stands in the OOB area of every page (G10).

use aster_codec::checksum::crc32c;
use aster_ports::flash::PageOwner;

/// Bytes of an OOB record.
pub const OOB_BYTES: usize = 16;
const CHECKED: usize = 13;
const SEQUENCE_MAX: u64 = (1 << 48) - 1;
/// Counters beyond this are no drive's: half of what their 48 bits hold, so that none runs out while it is in
/// use.
pub(crate) const COUNT_MAX: u64 = 1 << 47;
/// A drive that comes up with a counter beyond this takes no more writes: what it gave out next could lie
/// beyond [`COUNT_MAX`], and the power-on after that would take it for damage. No session counts that far.
pub(crate) const COUNT_SPENT: u64 = COUNT_MAX / 2;

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageKind {
    /// A mapping unit of the host.
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

/// The OOB record of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OobRecord {
    /// What the page holds.
    pub kind: PageKind,
    /// The logical page, or the index of a page of the stored map.
    pub lpn: u32,
    /// Counts evictions over the drive's life, 48 bits. A page moved by garbage collection keeps it, so that
    /// of two copies with different numbers the greater is always newer. Pages of the map carry their
    /// generation.
    pub sequence: u64,
    /// Sectors of which content was lost before this copy was made, one bit each: they must not be read as
    /// data. Each of them notes itself which of its blocks are lost.
    pub lost_sectors: u16,
    /// How often garbage collection has copied the page, modulo `COPIES`: of two copies with the same
    /// sequence number, which came out of which.
    pub copy: u8,
}

/// Copies are counted modulo this.
pub const COPIES: u8 = 16;

impl OobRecord {
    /// The record of a page that holds nothing.
    pub(crate) const fn padding() -> Self {
        OobRecord { kind: PageKind::Padding, lpn: 0, sequence: 0, lost_sectors: 0, copy: 0 }
    }
    /// Writes the record into the first [`OOB_BYTES`] of `into`: LPN (4), sequence (6), kind in the low and
    /// copy in the high half of a byte, lost sectors (2), the low 24 bits of CRC-32C over these 13.
    pub fn encode(&self, into: &mut [u8]) {
        assert!(self.sequence <= SEQUENCE_MAX, "the sequence number has left its 48 bits");
        into[0..4].copy_from_slice(&self.lpn.to_le_bytes());
        into[4..10].copy_from_slice(&self.sequence.to_le_bytes()[..6]);
        into[10] = match self.kind {
            PageKind::Data => 1,
            PageKind::Map => 2,
            PageKind::Log => 3,
            PageKind::Padding => 4,
            PageKind::LogEnd => 5,
        } | ((self.copy % COPIES) << 4);
        into[11..13].copy_from_slice(&self.lost_sectors.to_le_bytes());
        let crc = crc32c(&into[..CHECKED]);
        into[CHECKED..OOB_BYTES].copy_from_slice(&crc.to_le_bytes()[..3]);
    }
    /// Reads a record; `None` when it is too short, unknown or damaged.
    pub fn decode(from: &[u8]) -> Option<Self> {
        let record = from.get(..OOB_BYTES)?;
        if record[CHECKED..] != crc32c(&record[..CHECKED]).to_le_bytes()[..3] {
            return None;
        }
        let kind = match record[10] & 0xF {
            1 => PageKind::Data,
            2 => PageKind::Map,
            3 => PageKind::Log,
            4 => PageKind::Padding,
            5 => PageKind::LogEnd,
            _ => return None,
        };
        let mut sequence = [0; 8];
        sequence[..6].copy_from_slice(&record[4..10]);
        Some(OobRecord {
            kind,
            lpn: u32::from_le_bytes([record[0], record[1], record[2], record[3]]),
            sequence: u64::from_le_bytes(sequence),
            lost_sectors: u16::from_le_bytes([record[11], record[12]]),
            copy: record[10] >> 4,
        })
    }
}

/// Whether a page with this OOB holds the data of a logical page, nothing of it lost.
pub(crate) fn is_whole_page_of(owner: PageOwner, oob: &[u8]) -> bool {
    let whole = (PageKind::Data, owner.0, 0);
    OobRecord::decode(oob).is_some_and(|record| (record.kind, record.lpn, record.lost_sectors) == whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_round_trip(
            lpn: u32,
            sequence in 0..=SEQUENCE_MAX,
            lost_sectors: u16,
            copy in 0..COPIES,
            map: bool,
        ) {
            let kind = if map { PageKind::Map } else { PageKind::Data };
            let record = OobRecord { kind, lpn, sequence, lost_sectors, copy };
            let mut bytes = [0; OOB_BYTES];
            record.encode(&mut bytes);
            prop_assert_eq!(OobRecord::decode(&bytes), Some(record));
        }

        #[test]
        fn a_flipped_bit_is_noticed(lpn: u32, sequence in 0..=SEQUENCE_MAX, bit in 0usize..128) {
            let mut bytes = [0; OOB_BYTES];
            OobRecord { kind: PageKind::Data, lpn, sequence, lost_sectors: 0, copy: 0 }.encode(&mut bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(OobRecord::decode(&bytes), None);
        }
    }

    #[test]
    fn an_erased_or_short_area_holds_no_record() {
        assert_eq!(OobRecord::decode(&[0xFF; OOB_BYTES]), None);
        assert_eq!(OobRecord::decode(&[0; OOB_BYTES]), None);
        assert_eq!(OobRecord::decode(&[1; 4]), None);
    }
}
