//! The form in which sectors with lost blocks are kept on flash.
//!
//! The OOB record says which sectors of a page are incomplete. The sector itself says which of its blocks are
//! lost: a note takes the place of its first block. The first block, unless it is lost too, takes the place
//! of the first lost one. So a note needs no extra room, and another failure affects no more than its own
//! sector.

use aster_codec::checksum::crc32c;
use aster_units::SECTOR_BYTES;

/// Blocks of a sector, one bit each.
pub(crate) type Blocks = u8;
const BLOCK_BYTES: usize = SECTOR_BYTES / Blocks::BITS as usize;

const MAGIC: [u8; 3] = *b"GAP";
const NOTE_BYTES: usize = 8;

/// Turns a sector with lost blocks into the form that is kept on flash.
pub(crate) fn note(sector: &mut [u8], lost: Blocks) {
    assert!(lost != 0, "a note about nothing");
    move_block(sector, 0, first(lost));
    sector[..3].copy_from_slice(&MAGIC);
    sector[3] = lost;
    let crc = crc32c(&sector[..4]);
    sector[4..NOTE_BYTES].copy_from_slice(&crc.to_le_bytes());
}

/// Undoes [`note`] in a sector whose `failed` blocks can't be read. Moves the blocks back to their places and
/// returns which are lost. Without a note all are lost.
pub(crate) fn take_note(sector: &mut [u8], failed: Blocks) -> Blocks {
    if failed & 1 != 0 {
        return Blocks::MAX;
    }
    let lost = sector[3];
    if sector[..3] != MAGIC || sector[4..NOTE_BYTES] != crc32c(&sector[..4]).to_le_bytes() || lost == 0 {
        return Blocks::MAX;
    }
    let moved = first(lost);
    move_block(sector, moved, 0);
    lost | failed | Blocks::from(failed >> moved & 1 != 0)
}

fn first(lost: Blocks) -> usize {
    lost.trailing_zeros() as usize
}
fn move_block(sector: &mut [u8], from: usize, to: usize) {
    sector.copy_within(from * BLOCK_BYTES..(from + 1) * BLOCK_BYTES, to * BLOCK_BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn sector() -> Vec<u8> {
        (0..SECTOR_BYTES).map(|i| (i / BLOCK_BYTES) as u8 + 1).collect()
    }

    proptest! {
        #[test]
        fn what_is_not_lost_comes_back(lost in 1..=Blocks::MAX) {
            let mut bytes = sector();
            note(&mut bytes, lost);
            prop_assert_eq!(take_note(&mut bytes, 0), lost);
            for block in (0..8).filter(|b| lost >> b & 1 == 0) {
                let at = block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES;
                prop_assert!(bytes[at.clone()] == sector()[at], "block {}", block);
            }
        }

        #[test]
        fn what_fails_after_it_was_noted_takes_its_own_block_along(lost in 1..=Blocks::MAX, at in 0..8usize) {
            let mut bytes = sector();
            note(&mut bytes, lost);
            bytes[at * BLOCK_BYTES..][..BLOCK_BYTES].fill(0xAA);
            let now = take_note(&mut bytes, 1 << at);
            let newly = match at {
                0 => Blocks::MAX,
                at if at == first(lost) => 1,
                at => 1 << at,
            };
            prop_assert_eq!(now, lost | newly);
            for block in (0..8).filter(|b| now >> b & 1 == 0) {
                let at = block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES;
                prop_assert!(bytes[at.clone()] == sector()[at], "block {}", block);
            }
        }

        #[test]
        fn a_damaged_note_vouches_for_nothing(lost in 1..=Blocks::MAX, bit in 0..8 * NOTE_BYTES) {
            let mut bytes = sector();
            note(&mut bytes, lost);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(take_note(&mut bytes, 0), Blocks::MAX);
        }
    }
}
