//! What is stored beside each sector, 16 bytes (H20): whose content it is, and when it was written.
//!
//! | bytes | content |
//! |---|---|
//! | 0–3 | logical sector |
//! | 4–9 | sequence number of its page: a higher one is newer |
//! | 10 | kind |
//! | 11 | reserved |
//! | 12–15 | CRC-32C of the bytes before |

use aster_codec::checksum::crc32c;
use aster_wire::ocssd::METADATA_BYTES;

/// Bytes of a record.
pub const RECORD_BYTES: usize = METADATA_BYTES as usize;
/// The highest sequence number.
pub const SEQUENCE_MAX: u64 = (1 << 48) - 1;

/// What a sector holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectorKind {
    /// The content of a logical sector.
    Data,
    /// Nothing: its page was programmed before it was full.
    Padding,
}

impl SectorKind {
    const fn code(self) -> u8 {
        match self {
            SectorKind::Data => 0xd1,
            SectorKind::Padding => 0x9a,
        }
    }
    const fn of(code: u8) -> Option<Self> {
        match code {
            0xd1 => Some(SectorKind::Data),
            0x9a => Some(SectorKind::Padding),
            _ => None,
        }
    }
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectorRecord {
    /// The logical sector; 0 for padding.
    pub sector: u32,
    /// The sequence number of its page.
    pub sequence: u64,
    /// What the sector holds.
    pub kind: SectorKind,
}

impl SectorRecord {
    /// The record of a sector that holds nothing.
    pub const PADDING: SectorRecord = SectorRecord { sector: 0, sequence: 0, kind: SectorKind::Padding };
    /// Its bytes. Asserts that the sequence number has 48 bits: a drive of 1 TiB is written four million
    /// times before they are used up.
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        assert!(self.sequence <= SEQUENCE_MAX, "a sequence number has 48 bits");
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&self.sector.to_le_bytes());
        bytes[4..10].copy_from_slice(&self.sequence.to_le_bytes()[..6]);
        bytes[10] = self.kind.code();
        let crc = crc32c(&bytes[..12]);
        bytes[12..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
    /// The record in these bytes; `None` if they are none.
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let (body, crc) = bytes.split_at(12);
        if crc32c(body).to_le_bytes() != crc || body[11] != 0 {
            return None;
        }
        let mut sequence = [0; 8];
        sequence[..6].copy_from_slice(&body[4..10]);
        let sector = u32::from_le_bytes([body[0], body[1], body[2], body[3]]);
        Some(SectorRecord { sector, sequence: u64::from_le_bytes(sequence), kind: SectorKind::of(body[10])? })
    }
}
