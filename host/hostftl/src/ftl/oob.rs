//! What is stored beside each sector, 16 bytes (H20): whose content it is, and when it was written.
//!
//! | bytes | content |
//! |---|---|
//! | 0–3 | logical sector |
//! | 4–8 | sequence number of the page that the host's data were written with: a higher one is newer |
//! | 9 | part of how often the group had been erased ([`Wear`]) |
//! | 10 | kind (bits 3:0), and how many pages of its block were on their way before it (bits 7:4, 15 at most) |
//! | 11 | how often the data were copied since, modulo 256 |
//! | 12–15 | CRC-32C of the bytes before; with parity its bit of each byte that is the lane's is flipped |
//!
//! A copy keeps the number of what it is a copy of. So two versions are told apart, and of copies of one
//! version any will do.
//!
//! Records are summed with their sectors where a row has parity (H33). The sum of an odd number of records
//! has a valid CRC, so each lane flips bits of its own in it. So no sum is a record of any lane, but that of
//! the others of a row: it is the record of the lane that is left out.

use aster_codec::checksum::crc32c;
use aster_wire::ocssd::METADATA_BYTES;

/// Bytes of a record.
pub const RECORD_BYTES: usize = METADATA_BYTES as usize;
/// The highest sequence number.
pub const SEQUENCE_MAX: u64 = (1 << 40) - 1;

/// What is flipped in a record's CRC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(u32);

impl Mark {
    /// Nothing.
    pub const NONE: Mark = Mark(0);
    /// That of a lane whose rows have parity: sums of marks are marks only if all but one take each other
    /// away.
    pub const fn of_lane(lane: u8) -> Self {
        Mark(0x0101_0101 << lane)
    }
}

/// What a sector holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectorKind {
    /// The content of a logical sector.
    Data,
    /// Nothing: its page was programmed before it was full.
    Padding,
    /// The content of this logical sector could not be read when it was to be copied. Older content doesn't
    /// come back, and a read ends with an error.
    Lost,
    /// Part of a page of the block group table: its number stands for the logical sector, and the table's
    /// generation for the sequence number.
    Table,
}

impl SectorKind {
    const fn code(self) -> u8 {
        match self {
            SectorKind::Data => 1,
            SectorKind::Padding => 2,
            SectorKind::Lost => 3,
            SectorKind::Table => 4,
        }
    }
    const fn of(code: u8) -> Option<Self> {
        match code {
            1 => Some(SectorKind::Data),
            2 => Some(SectorKind::Padding),
            3 => Some(SectorKind::Lost),
            4 => Some(SectorKind::Table),
            _ => None,
        }
    }
}

/// The most pages before it that a record counts. No block has more programs on their way, as long as another
/// one can take them.
pub const BEHIND_MAX: u8 = 15;

/// How often a group was erased, in the records of its sectors: 24 bits, of which each record has 8, in
/// turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wear([Option<u8>; Wear::PARTS]);

impl Wear {
    const PARTS: usize = 3;

    fn part_at(page: u16, sectors: u8, slot: u8) -> usize {
        (usize::from(page) * usize::from(sectors) + usize::from(slot)) % Self::PARTS
    }
    /// The part of `erases` that the record of a sector has: of a slot of a page of so many sectors.
    pub fn part(erases: u32, page: u16, sectors: u8, slot: u8) -> u8 {
        erases.min((1 << (8 * Self::PARTS)) - 1).to_le_bytes()[Self::part_at(page, sectors, slot)]
    }
    /// A record of a sector has this part.
    pub fn found(&mut self, part: u8, page: u16, sectors: u8, slot: u8) {
        self.0[Self::part_at(page, sectors, slot)] = Some(part);
    }
    /// The whole, once all parts were found.
    pub fn erases(&self) -> Option<u32> {
        let [Some(a), Some(b), Some(c)] = self.0 else { return None };
        Some(u32::from_le_bytes([a, b, c, 0]))
    }
}

/// How often a sector was copied, and the 40 bits of its version's sequence number: small, since power-on
/// keeps one for each sector of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version(pub [u8; 6]);

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectorRecord {
    /// The logical sector; 0 for padding.
    pub sector: u32,
    /// The sequence number of its version.
    pub sequence: u64,
    /// What the sector holds.
    pub kind: SectorKind,
    /// How often it was copied, modulo 256.
    pub copies: u8,
    /// Pages of its block of which nobody knew yet whether they were programmed when this one was sent:
    /// [`BEHIND_MAX`] at most.
    pub behind: u8,
    /// The part of the group's wear that a record of its place has.
    pub wear: u8,
}

impl SectorRecord {
    /// The record of a sector that holds nothing.
    pub const PADDING: SectorRecord =
        SectorRecord { sector: 0, sequence: 0, kind: SectorKind::Padding, copies: 0, behind: 0, wear: 0 };
    /// The record of data of the host's.
    pub fn data(sector: u32, sequence: u64) -> Self {
        SectorRecord { sector, sequence, kind: SectorKind::Data, ..SectorRecord::PADDING }
    }
    /// The record beside a sector of a page of the block group table.
    pub fn of_table(page: u32, generation: u64) -> Self {
        SectorRecord { kind: SectorKind::Table, ..SectorRecord::data(page, generation) }
    }
    /// The record of a copy, of what was read or is lost.
    pub fn copied(&self, kind: SectorKind) -> Self {
        SectorRecord { kind, copies: self.copies.wrapping_add(1), ..*self }
    }
    /// Whether the map leads to the place of such a record.
    pub fn is_mapped(&self) -> bool {
        matches!(self.kind, SectorKind::Data | SectorKind::Lost)
    }
    /// Whether this place of a sector counts, and not the one of `other`: that of the newer version. Of one
    /// version it is the place that was copied less often: it holds until its group has been erased, and
    /// then all that was copied out of that group counts together.
    pub fn is_before(&self, other: Version) -> bool {
        let Version([copies, sequence @ ..]) = other;
        let younger = self.copies.wrapping_sub(copies) > u8::MAX / 2;
        let mut bytes = [0; 8];
        bytes[..sequence.len()].copy_from_slice(&sequence);
        let sequence = u64::from_le_bytes(bytes);
        self.sequence > sequence || self.sequence == sequence && younger
    }
    /// What of it says whether another record counts before it.
    pub fn version(&self) -> Version {
        let [a, b, c, d, e, ..] = self.sequence.to_le_bytes();
        Version([self.copies, a, b, c, d, e])
    }
    /// Its bytes, with the mark of its lane. Asserts that the sequence number has 40 bits: a drive of 1 TiB
    /// with pages of 16 KiB is written sixteen thousand times before they are used up.
    pub fn encode(&self, mark: Mark) -> [u8; RECORD_BYTES] {
        assert!(self.sequence <= SEQUENCE_MAX, "a sequence number has 40 bits");
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&self.sector.to_le_bytes());
        bytes[4..9].copy_from_slice(&self.sequence.to_le_bytes()[..5]);
        bytes[9] = self.wear;
        bytes[10] = self.behind.min(BEHIND_MAX) << 4 | self.kind.code();
        bytes[11] = self.copies;
        let crc = crc32c(&bytes[..12]) ^ mark.0;
        bytes[12..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
    /// The record in these bytes, with the mark of its lane; `None` if they are none.
    pub fn decode(bytes: &[u8; RECORD_BYTES], mark: Mark) -> Option<Self> {
        let (body, crc) = bytes.split_at(12);
        if (crc32c(body) ^ mark.0).to_le_bytes() != crc {
            return None;
        }
        let mut sequence = [0; 8];
        sequence[..5].copy_from_slice(&body[4..9]);
        Some(SectorRecord {
            sector: u32::from_le_bytes([body[0], body[1], body[2], body[3]]),
            sequence: u64::from_le_bytes(sequence),
            kind: SectorKind::of(body[10] & 0xf)?,
            copies: body[11],
            behind: body[10] >> 4,
            wear: body[9],
        })
    }
}
