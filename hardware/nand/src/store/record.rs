//! Block entries and page records of an image: their bytes, and what they mean. Integers are little-endian.

use super::block::{Block, Flags};
use super::side::Form;
use aster_codec::checksum::crc32c;
use core::slice::ChunksExact;

/// Bytes of a block entry. It is a divisor of 4096: if a process is killed, a write may end between two
/// pages of the file, and an entry must not be cut in half.
pub(super) const ENTRY_BYTES: usize = 32;
const ENTRY_CRC_AT: usize = ENTRY_BYTES - 4;
/// Bytes of a page record without OOB, fingerprints and the slot's checksums.
pub(super) const RECORD_FIXED: usize = 16;

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The part of a block's state that survives power-off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockEntry {
    erases: u32,
    reads: u32,
    stamp: u32,
    pub flags: Flags,
}

/// The block has, or had, pages in this cycle, so that its records must be read.
pub(super) const OPENED: Flags = Flags(0x80);
/// Properties of a block that survive power-off.
const KEPT: Flags = Flags(Flags::GROWN_BAD.0 | Flags::TORN.0 | Flags::SLC.0 | Flags::LSB_ONLY.0);

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
        let words = [self.erases, self.reads, self.stamp, u32::from(self.flags.0)];
        for (into, word) in bytes.chunks_exact_mut(4).zip(words) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        let crc = crc32c(&bytes[..ENTRY_CRC_AT]);
        bytes[ENTRY_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
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
        (unused || u32_at(bytes, ENTRY_CRC_AT) == crc32c(&bytes[..ENTRY_CRC_AT])).then_some(entry)
    }
}

/// A programmed page without the bytes of its slot.
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
    /// The CRC-32C of each 4096 bytes that the page has in its slot, little-endian ([`sums_of`]).
    pub sums: &'a [u8],
}

/// Bytes of a slot that have a checksum of their own, so that a sector can be read and checked without
/// the others of its page.
pub(super) const SUMMED_BYTES: usize = 4096;
/// Bytes of a checksum.
pub(super) const SUM_BYTES: usize = 4;

/// Puts the checksums of a slot's `bytes` into `sums`: one for each [`SUMMED_BYTES`] of them, the last
/// for the rest.
#[inline]
pub(super) fn sums_of(bytes: &[u8], sums: &mut [u8]) {
    for (part, sum) in bytes.chunks(SUMMED_BYTES).zip(sums.chunks_exact_mut(SUM_BYTES)) {
        sum.copy_from_slice(&crc32c(part).to_le_bytes());
    }
}

/// The first part of `bytes` whose checksum differs from that in `sums`.
pub(super) fn first_wrong(bytes: &[u8], sums: &[u8]) -> Option<usize> {
    let mut parts = bytes.chunks(SUMMED_BYTES).zip(sums.chunks_exact(SUM_BYTES));
    parts.position(|(part, sum)| crc32c(part).to_le_bytes() != sum)
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
    /// Writes the record to `into`, which has the size of a whole record with `sums_room` bytes for
    /// checksums. Fields for which the page has no value are zero.
    pub fn write(&self, into: &mut [u8], sums_room: usize) {
        into.fill(0);
        into[0..4].copy_from_slice(&self.erases.wrapping_add(1).to_le_bytes());
        into[4..8].copy_from_slice(&self.seed.to_le_bytes());
        into[8] = self.form.code() | if self.torn { TORN_BIT } else { 0 };
        into[12..12 + self.oob.len()].copy_from_slice(self.oob);
        let small = 12 + self.oob.len();
        into[small..small + self.small.len()].copy_from_slice(self.small);
        // Counted from the end, since a record doesn't know how many fingerprints a page has.
        let sums = into.len() - 4 - sums_room;
        into[sums..sums + self.sums.len()].copy_from_slice(self.sums);
        Self::seal(into);
    }
    /// Marks the page of a record as torn. If the record isn't sound, its program was cut off before it
    /// had written the record: it becomes a sound record of a torn page in its cycle.
    pub fn tear(record: &mut [u8]) {
        if Form::from_code(record[8] & !TORN_BIT).is_none() || !is_whole(record) {
            record[4..].fill(0);
            record[8] = Form::Blank.code();
        }
        record[8] |= TORN_BIT;
        Self::seal(record);
    }
    fn seal(record: &mut [u8]) {
        let crc_at = record.len() - 4;
        let crc = crc32c(&record[..crc_at]);
        record[crc_at..].copy_from_slice(&crc.to_le_bytes());
    }
}

/// The sizes of a record's parts, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordShape {
    pub record: usize,
    pub oob: usize,
    /// Fingerprints.
    pub small: usize,
    pub sums: usize,
}

/// The records of a block, page by page.
pub(crate) struct Records<'a> {
    bytes: ChunksExact<'a, u8>,
    shape: RecordShape,
}

/// True when a record's bytes are as they were written.
fn is_whole(record: &[u8]) -> bool {
    let crc_at = record.len() - 4;
    u32_at(record, crc_at) == crc32c(&record[..crc_at])
}

impl<'a> Records<'a> {
    /// The records in `bytes`.
    pub fn new(bytes: &'a [u8], shape: RecordShape) -> Self {
        Records { bytes: bytes.chunks_exact(shape.record), shape }
    }
    /// The next page's record; `None` after the last page that is programmed in the block's cycle
    /// `erases`. The flag says whether the record is as it was written. A damaged record belongs to a
    /// program that was cut off: its page is torn.
    pub fn next(&mut self, erases: u32) -> Option<(PageRecord<'a>, bool)> {
        let bytes = self.bytes.next()?;
        if u32_at(bytes, 0) != erases.wrapping_add(1) {
            return None;
        }
        let form = Form::from_code(bytes[8] & !TORN_BIT).filter(|_| is_whole(bytes));
        let (oob_end, sums_end) = (12 + self.shape.oob, bytes.len() - 4);
        let record = PageRecord {
            erases,
            seed: u32_at(bytes, 4),
            form: form.unwrap_or(Form::Blank),
            torn: form.is_none() || bytes[8] & TORN_BIT != 0,
            oob: &bytes[12..oob_end],
            small: &bytes[oob_end..oob_end + self.shape.small],
            sums: &bytes[sums_end - self.shape.sums..sums_end],
        };
        Some((record, form.is_some()))
    }
    /// Skips pages that are not programmed.
    pub fn leave_out(&mut self, pages: usize) {
        if pages > 0 {
            self.bytes.nth(pages - 1);
        }
    }
    /// Whether a page after those that [`Records::next`] gave has a sound record of the cycle. If so, the
    /// record at which they ended is damaged and not that of a cut-off program, since pages are
    /// programmed in order.
    pub fn go_on(mut self, erases: u32) -> bool {
        self.bytes.any(|bytes| u32_at(bytes, 0) == erases.wrapping_add(1) && is_whole(bytes))
    }
}
