//! Block entries and page records of an image: their bytes, and what they mean. Integers are little-endian.

use super::block::{Block, Flags};
use super::side::Form;
use aster_codec::checksum::crc32c;
use core::slice::ChunksExact;

/// Bytes of a block entry.
pub(super) const ENTRY_BYTES: usize = 24;
/// Bytes of a page record beside OOB and fingerprints.
pub(super) const RECORD_FIXED: usize = 16;

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// What survives of a block's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockEntry {
    erases: u32,
    reads: u32,
    stamp: u32,
    pub flags: Flags,
}

/// The block has, or had, pages in this cycle: its records are worth reading.
pub(super) const OPENED: Flags = Flags(0x80);
/// Properties of a block that survive power-off.
const KEPT: Flags = Flags(Flags::GROWN_BAD.0 | Flags::TORN.0 | Flags::SLC.0);

impl BlockEntry {
    pub fn of(block: &Block) -> Self {
        let mut flags = Flags(block.flags.0 & KEPT.0);
        if block.pages.is_some() {
            flags.set(OPENED);
        }
        BlockEntry { erases: block.erases, reads: block.reads, stamp: block.stamp, flags }
    }
    pub fn apply(&self, block: &mut Block) {
        block.erases = self.erases;
        block.reads = self.reads;
        block.stamp = self.stamp;
        block.flags.set(Flags(self.flags.0 & KEPT.0));
    }
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let words = [self.erases, self.reads, self.stamp, u32::from(self.flags.0), 0];
        for (into, word) in bytes.chunks_exact_mut(4).zip(words) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        let crc = crc32c(&bytes[..20]);
        bytes[20..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
    /// `None` when the bytes are damaged.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let entry = BlockEntry {
            erases: u32_at(bytes, 0),
            reads: u32_at(bytes, 4),
            stamp: u32_at(bytes, 8),
            flags: Flags(u32_at(bytes, 12) as u8),
        };
        let unused = bytes[..ENTRY_BYTES].iter().all(|b| *b == 0);
        (unused || u32_at(bytes, 20) == crc32c(&bytes[..20])).then_some(entry)
    }
}

/// A programmed page beside the bytes of its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRecord<'a> {
    /// P/E cycles of its block.
    pub erases: u32,
    pub seed: u32,
    pub form: Form,
    pub torn: bool,
    pub oob: &'a [u8],
    /// Fingerprints.
    pub small: &'a [u8],
}

const TORN_BIT: u8 = 0x80;

impl Form {
    const fn code(self) -> u8 {
        match self {
            Form::Plain => 1,
            Form::Blank => 2,
            Form::Raw => 3,
            Form::Whole => 4,
        }
    }
    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Form::Plain),
            2 => Some(Form::Blank),
            3 => Some(Form::Raw),
            4 => Some(Form::Whole),
            _ => None,
        }
    }
}

impl PageRecord<'_> {
    /// `into` is a whole record; what the page has no value for is zero.
    pub fn write(&self, into: &mut [u8]) {
        into.fill(0);
        into[0..4].copy_from_slice(&self.erases.wrapping_add(1).to_le_bytes());
        into[4..8].copy_from_slice(&self.seed.to_le_bytes());
        into[8] = self.form.code() | if self.torn { TORN_BIT } else { 0 };
        into[12..12 + self.oob.len()].copy_from_slice(self.oob);
        let small = 12 + self.oob.len();
        into[small..small + self.small.len()].copy_from_slice(self.small);
        Self::seal(into);
    }
    /// Marks the page of a written record as torn.
    pub fn tear(record: &mut [u8]) {
        record[8] |= TORN_BIT;
        Self::seal(record);
    }
    fn seal(record: &mut [u8]) {
        let crc_at = record.len() - 4;
        let crc = crc32c(&record[..crc_at]);
        record[crc_at..].copy_from_slice(&crc.to_le_bytes());
    }
}

/// The records of a block, page by page.
pub(crate) struct Records<'a> {
    bytes: ChunksExact<'a, u8>,
    oob_bytes: usize,
    small_bytes: usize,
}

impl<'a> Records<'a> {
    /// The records in `bytes`, each of `record_bytes` bytes.
    pub fn new(bytes: &'a [u8], record_bytes: usize, oob_bytes: usize, small_bytes: usize) -> Self {
        Records { bytes: bytes.chunks_exact(record_bytes), oob_bytes, small_bytes }
    }
    /// The next page's record, while pages are programmed in the block's cycle `erases`. A record that is damaged belongs to a
    /// program that was cut off: its page is torn.
    pub fn next(&mut self, erases: u32) -> Option<PageRecord<'a>> {
        let bytes = self.bytes.next()?;
        if u32_at(bytes, 0) != erases.wrapping_add(1) {
            return None;
        }
        let crc_at = bytes.len() - 4;
        let sound = u32_at(bytes, crc_at) == crc32c(&bytes[..crc_at]);
        let form = Form::from_code(bytes[8] & !TORN_BIT).filter(|_| sound);
        let oob_end = 12 + self.oob_bytes;
        Some(PageRecord {
            erases,
            seed: u32_at(bytes, 4),
            form: form.unwrap_or(Form::Blank),
            torn: form.is_none() || bytes[8] & TORN_BIT != 0,
            oob: &bytes[12..oob_end],
            small: &bytes[oob_end..oob_end + self.small_bytes],
        })
    }
}
