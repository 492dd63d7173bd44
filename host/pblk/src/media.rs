//! What stands on the media beside data: a line's head and tail, and the metadata of each sector.
//!
//! All integers are little-endian. A head is one sector, padded to a unit:
//!
//! | byte | what |
//! |---|---|
//! | 0 | "AsterLin" |
//! | 8 | CRC-32C of the rest of the sector, four bytes; four of zeroes |
//! | 16 | sequence number of the line |
//! | 24 | the line |
//! | 32 | a bit for each LUN: its chunk is left out |
//!
//! A tail has the same bytes with "AsterEnd", and the number of data sectors at byte 24. From the next
//! sector on follow the logical blocks of all data sectors, four bytes each; their CRC-32C is in byte 12 of
//! the first sector. A sector's metadata are the line's sequence number and its logical block, eight bytes
//! each.
//!
//! A drive that keeps fingerprints has room for eight bytes per sector: there a head's or tail's sectors hold
//! their checksums, and what a line holds is found by the metadata of its sectors alone.
//!
//! Heads and tails come from the media, so that every byte of them may be anything ([`parse_head`],
//! [`parse_tail`]).

use crate::lines::Lines;
use crate::shape::{LineId, Shape};
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c;
use aster_driver::Moved;
use aster_units::Content;

/// Bytes of a sector on the host's side.
pub(crate) const SECTOR_BYTES: usize = aster_units::SECTOR_BYTES;
/// No logical block: padding, a head, a tail.
pub(crate) const NO_BLOCK: u32 = u32::MAX;
const HEAD: [u8; 8] = *b"AsterLin";
const TAIL: [u8; 8] = *b"AsterEnd";

/// What a line's head says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) line: LineId,
    pub(crate) sequence: u64,
    /// The LUNs whose chunk the line lacks.
    pub(crate) left_out: Vec<bool>,
}

/// A sector's metadata.
pub(crate) fn oob(sequence: u64, block: Option<u32>) -> [u8; 16] {
    let block = block.map_or(u64::MAX, u64::from);
    (u128::from(sequence) | u128::from(block) << 64).to_le_bytes()
}
/// The sequence number in a sector's metadata, and its block.
pub(crate) fn parse_oob(oob: &[u8; 16]) -> (u64, Option<u32>) {
    let both = u128::from_le_bytes(*oob);
    (both as u64, u32::try_from((both >> 64) as u64).ok())
}

fn first_sector(
    magic: [u8; 8],
    sequence: u64,
    value: u64,
    lines: &Lines,
    shape: &Shape,
    line: LineId,
) -> Vec<u8> {
    let mut sector = vec![0; SECTOR_BYTES];
    sector[..8].copy_from_slice(&magic);
    sector[16..24].copy_from_slice(&sequence.to_le_bytes());
    sector[24..32].copy_from_slice(&value.to_le_bytes());
    for lun in (0..shape.luns()).filter(|&lun| lines.is_bad(line, lun)) {
        sector[32 + lun as usize / 8] |= 1 << (lun % 8);
    }
    sector
}
fn seal(sector: &mut [u8]) {
    let crc = crc32c(&sector[12..SECTOR_BYTES]);
    sector[8..12].copy_from_slice(&crc.to_le_bytes());
}

/// A line's head.
pub(crate) fn head(shape: &Shape, lines: &Lines, line: LineId, sequence: u64) -> Vec<u8> {
    let mut bytes = first_sector(HEAD, sequence, line.0.into(), lines, shape, line);
    seal(&mut bytes);
    bytes.resize(shape.unit_sectors() as usize * SECTOR_BYTES, 0);
    bytes
}
/// A line's tail, with the logical blocks of its data sectors in their order.
pub(crate) fn tail(shape: &Shape, lines: &Lines, line: LineId, blocks: &[u32]) -> Vec<u8> {
    let mut bytes = first_sector(TAIL, lines.sequence(line), blocks.len() as u64, lines, shape, line);
    let list: Vec<u8> = blocks.iter().flat_map(|block| block.to_le_bytes()).collect();
    bytes[12..16].copy_from_slice(&crc32c(&list).to_le_bytes());
    seal(&mut bytes);
    bytes.extend(list);
    let whole = (shape.tail_units() * shape.unit_sectors()) as usize * SECTOR_BYTES;
    assert!(bytes.len() <= whole, "a tail of {} bytes has room for {whole}", bytes.len());
    bytes.resize(whole, 0);
    bytes
}

/// What a line's head says, if this sector is the first of one.
pub(crate) fn parse_head(shape: &Shape, sector: &[u8]) -> Option<Head> {
    let line = u32::try_from(value(sector, HEAD)?).ok()?;
    let left_out = (0..shape.luns()).map(|lun| is_left_out(sector, lun)).collect();
    Some(Head { line: LineId(line), sequence: word(sector, 16)?, left_out })
}
/// The logical blocks of a line's data sectors in their order, if these bytes are the tail of the line with
/// this head. [`NO_BLOCK`] stands for padding.
pub(crate) fn parse_tail(shape: &Shape, head: &Head, bytes: &[u8]) -> Option<Vec<u32>> {
    let sector = bytes.get(..SECTOR_BYTES)?;
    let count = usize::try_from(value(sector, TAIL)?).ok()?;
    let same = |lun: u32| is_left_out(sector, lun) == head.left_out[lun as usize];
    let belongs = word(sector, 16)? == head.sequence && (0..shape.luns()).all(same);
    let list = bytes.get(SECTOR_BYTES..)?.get(..count.checked_mul(4)?)?;
    let is_whole = sector[12..16] == crc32c(list).to_le_bytes();
    let blocks = || list.as_chunks().0.iter().map(|block| u32::from_le_bytes(*block)).collect();
    (belongs && is_whole).then(blocks)
}
fn word(sector: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(sector.get(at..at + 8)?.try_into().ok()?))
}
/// The word at byte 24 of a sector with this magic, if its checksum is right.
fn value(sector: &[u8], magic: [u8; 8]) -> Option<u64> {
    let sector = sector.get(..SECTOR_BYTES)?;
    let is_whole = sector[..8] == magic && sector[8..12] == crc32c(&sector[12..]).to_le_bytes();
    if is_whole { word(sector, 24) } else { None }
}
fn is_left_out(sector: &[u8], lun: u32) -> bool {
    sector[32 + lun as usize / 8] >> (lun % 8) & 1 != 0
}

/// What a drive keeps of `bytes`: themselves, or a checksum of each sector.
pub(crate) fn kept(content: Content, bytes: &[u8], into: &mut [u8]) {
    match content {
        Content::Full => into.copy_from_slice(&bytes[..into.len()]),
        Content::Fingerprint => {
            let tags = into.as_chunks_mut::<8>().0.iter_mut();
            for (tag, sector) in tags.zip(bytes.chunks(SECTOR_BYTES)) {
                *tag = u64::from(crc32c(sector)).to_le_bytes();
            }
        }
    }
}

/// Data for a drive that keeps bytes or tags.
pub(crate) fn to_drive(content: Content, data: &[u8]) -> Moved<'_> {
    match content {
        Content::Full => Moved::ToDrive(data),
        Content::Fingerprint => Moved::TagsToDrive(data.as_chunks().0),
    }
}
/// Data from a drive that keeps bytes or tags.
pub(crate) fn from_drive(content: Content, data: &mut [u8]) -> Moved<'_> {
    match content {
        Content::Full => Moved::FromDrive(data),
        Content::Fingerprint => Moved::TagsFromDrive(data.as_chunks_mut().0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::tests::slides;

    #[test]
    fn metadata_of_a_sector_are_16_bytes() {
        let bytes = oob(0x0102_0304_0506_0708, Some(0x0a0b_0c0d));
        assert_eq!(bytes, [8, 7, 6, 5, 4, 3, 2, 1, 0x0d, 0x0c, 0x0b, 0x0a, 0, 0, 0, 0]);
        assert_eq!(parse_oob(&bytes), (0x0102_0304_0506_0708, Some(0x0a0b_0c0d)));
        assert_eq!(parse_oob(&oob(3, None)), (3, None));
    }

    #[test]
    fn a_head_names_its_line_and_the_chunks_that_it_lacks() {
        let shape = Shape::of(&slides()).unwrap();
        let mut lines = Lines::new(shape);
        lines.mark_bad(LineId(3), 9);
        let head = head(&shape, &lines, LineId(3), 77);
        assert_eq!(
            (&head[..8], &head[16..34]),
            (&b"AsterLin"[..], &[77, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 2][..])
        );
        assert_eq!(head[8..12], crc32c(&head[12..4096]).to_le_bytes());
        assert_eq!(head.len(), 8 * 4096);
    }

    #[test]
    fn a_head_and_a_tail_say_what_was_written_and_nothing_if_a_bit_of_them_is_wrong() {
        let shape = Shape::of(&slides()).unwrap();
        let mut lines = Lines::new(shape);
        lines.mark_bad(LineId(3), 63);
        lines.release(LineId(3));
        assert_eq!(lines.choose_next(), Some(LineId(3)));
        lines.open(LineId(3), 77);
        let mut bytes = head(&shape, &lines, LineId(3), 77);
        let head = parse_head(&shape, &bytes).unwrap();
        assert_eq!((head.line, head.sequence), (LineId(3), 77));
        assert!(head.left_out[63] && !head.left_out[..63].contains(&true));
        for bit in 0..8 * SECTOR_BYTES {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_head(&shape, &bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let blocks: Vec<u32> = (0..shape.data_sectors(63)).map(|n| n ^ 5).collect();
        let mut bytes = tail(&shape, &lines, LineId(3), &blocks);
        assert_eq!(parse_tail(&shape, &head, &bytes).as_ref(), Some(&blocks));
        for bit in (0..8 * SECTOR_BYTES).chain((8 * SECTOR_BYTES..8 * 4 * blocks.len()).step_by(9973)) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_tail(&shape, &head, &bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(parse_tail(&shape, &Head { sequence: 78, ..head.clone() }, &bytes), None);
        let mut other = head;
        other.left_out[0] = true;
        assert_eq!(parse_tail(&shape, &other, &bytes), None);
        assert_eq!(parse_head(&shape, &bytes), None, "a tail is no head");
        assert_eq!(parse_head(&shape, &[]), None);
    }

    #[test]
    fn a_tail_lists_all_blocks_and_fits_its_units() {
        let shape = Shape::of(&slides()).unwrap();
        let lines = Lines::new(shape);
        let blocks: Vec<u32> = (0..shape.data_sectors(64)).collect();
        let tail = tail(&shape, &lines, LineId(0), &blocks);
        assert_eq!((tail.len(), tail[4096 + 4 * 1000]), (136 * 4096, (1000 % 256) as u8));
        assert_eq!(tail[12..16], crc32c(&tail[4096..4096 + 4 * blocks.len()]).to_le_bytes());
    }
}
