//! Blocks that are no members of their group any more, kept in NVRAM as a bit each (H25).
//!
//! A bad block can't be erased, so what it held stays readable after its group has been emptied. Power-on
//! would find its sectors there instead of at their copies. From its group's release on it is therefore not
//! read any more. If the record is lost, power-on reads all blocks: nothing is missing then, but less room
//! may be free.
//!
//! | bytes | content |
//! |---|---|
//! | 0–3 | CRC-32C of the bytes behind |
//! | 4– | a bit for each block: by channel, die, lane and block |

use super::groups::{GroupPlace, Groups};
use crate::driver::ArrayInfo;
use alloc::vec;
use alloc::vec::Vec;
use aster_codec::checksum::crc32c;
use aster_parties::NvramSlice;
use aster_wire::array::{LANES_MAX, NO_BLOCK};

const CRC_BYTES: usize = 4;

/// The retired blocks.
pub(super) struct Retired {
    bits: Vec<u8>,
    info: ArrayInfo,
    /// Where the record lies in the NVRAM.
    at: usize,
}

impl Retired {
    /// Bytes of the record for so many blocks.
    pub const fn bytes(blocks: u64) -> usize {
        CRC_BYTES + blocks.div_ceil(8) as usize
    }
    /// The record at `at`; without any block if there is none or it is damaged.
    pub fn read(nvram: &NvramSlice, at: usize, info: &ArrayInfo) -> Self {
        let luns = u64::from(info.channels) * u64::from(info.dies) * u64::from(info.lanes);
        let mut bytes = vec![0; Retired::bytes(luns * u64::from(info.blocks))];
        nvram.read(at, &mut bytes);
        let (crc, bits) = bytes.split_at(CRC_BYTES);
        let is_good = crc32c(bits).to_le_bytes() == crc;
        let bits = if is_good { bits.to_vec() } else { vec![0; bits.len()] };
        Retired { bits, info: *info, at }
    }
    fn index(&self, (channel, die, lane, block): (u8, u8, u8, u16)) -> (usize, u8) {
        let lane = self.info.die(channel, die) * usize::from(self.info.lanes) + usize::from(lane);
        let bit = lane * self.info.blocks as usize + usize::from(block);
        (bit / 8, 1 << (bit % 8))
    }
    /// Whether a block is: channel, die, lane, block.
    pub fn has(&self, block: (u8, u8, u8, u16)) -> bool {
        let (byte, bit) = self.index(block);
        self.bits[byte] & bit != 0
    }
    /// Retires the blocks of an empty group that can't be written any more.
    pub fn retire(&mut self, nvram: &NvramSlice, groups: &Groups, at: GroupPlace) {
        let (members, alive) = (groups.members(at), groups.alive(at));
        let mut is_new = false;
        for lane in (0..LANES_MAX).filter(|&lane| members[lane] != NO_BLOCK && alive[lane] == NO_BLOCK) {
            let (byte, bit) = self.index((at.channel, at.die, lane as u8, members[lane]));
            is_new |= self.bits[byte] & bit == 0;
            self.bits[byte] |= bit;
        }
        if is_new {
            nvram.write(self.at, &crc32c(&self.bits).to_le_bytes());
            nvram.write(self.at + CRC_BYTES, &self.bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_ports::medium::Nvram;

    #[test]
    fn dead_members_of_a_group_are_retired_and_a_damaged_record_retires_none() {
        let info = ArrayInfo { channels: 1, lanes: 4, dies: 2, planes: 1, blocks: 20, pages: 2, sectors: 4 };
        let bytes = Retired::bytes(8 * 20);
        assert_eq!(bytes, 4 + 20);
        let nvram = NvramSlice::new(&Nvram::volatile(bytes + 3), 0, bytes + 3);
        let mut groups = Groups::first(&info, |_, _, lane, block| (lane, block) == (2, 0));
        let at = GroupPlace { channel: 0, die: 1, group: 5 };
        let mut retired = Retired::read(&nvram, 3, &info);
        retired.retire(&nvram, &groups, at);
        groups.kill(at.page(0, 2));
        retired.retire(&nvram, &groups, at);
        let all = |retired: &Retired| -> Vec<(u8, u8, u16)> {
            let blocks = (0..2u8).flat_map(|die| (0..4u8).map(move |lane| (die, lane)));
            let blocks = blocks.flat_map(|(die, lane)| (0..20).map(move |block| (die, lane, block)));
            blocks.filter(|&(die, lane, block)| retired.has((0, die, lane, block))).collect()
        };
        // The sixth good block of a lane whose first one is bad.
        assert_eq!(all(&Retired::read(&nvram, 3, &info)), [(1, 2, 6)]);
        for at in 3..bytes + 3 {
            let mut byte = [0];
            nvram.read(at, &mut byte);
            nvram.write(at, &[byte[0] ^ 4]);
            assert_eq!(all(&Retired::read(&nvram, 3, &info)), []);
            nvram.write(at, &byte);
        }
    }
}
