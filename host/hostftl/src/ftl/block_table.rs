//! The block group table (H24, G26): the blocks of each group, as an array of eight block indexes.

use crate::driver::ArrayInfo;
use alloc::boxed::Box;
use alloc::vec;
use aster_wire::array::{LANES_MAX, NO_BLOCK};

/// The blocks of a group, by lane; [`NO_BLOCK`] where it has none.
pub type Members = [u16; LANES_MAX];

/// The table: of each channel, die and group the members. It takes 4 channels × 2 dies × groups × 8 × 2 B
/// (equation 1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockTable {
    /// Groups of each die: as many as a lane of it has blocks.
    groups: usize,
    entries: Box<[Members]>,
}

impl BlockTable {
    /// The table of an array that was never started (H25). Group *n* has the *n*-th good block of each lane,
    /// so bad blocks make groups of blocks with different numbers. `is_bad` says which blocks of a lane's die
    /// may not be used: channel, die, lane, block.
    pub fn first(info: &ArrayInfo, is_bad: impl Fn(u8, u8, u8, u16) -> bool) -> Self {
        let groups = info.blocks.min(NO_BLOCK.into()) as u16;
        let mut table = BlockTable::empty(info);
        for channel in 0..info.channels {
            for die in 0..info.dies {
                for lane in 0..info.lanes.min(LANES_MAX as u8) {
                    let good = (0..groups).filter(|&block| !is_bad(channel, die, lane, block));
                    for (group, block) in (0..).zip(good) {
                        table.set(info.die(channel, die), group, lane, block);
                    }
                }
            }
        }
        table
    }
    /// A table of groups without members.
    pub fn empty(info: &ArrayInfo) -> Self {
        let groups = info.blocks.min(NO_BLOCK.into()) as usize;
        BlockTable { groups, entries: vec![[NO_BLOCK; LANES_MAX]; info.all_dies() * groups].into() }
    }
    /// The members of a group of a die, by its number among all.
    pub fn members(&self, die: usize, group: u16) -> Members {
        self.entries[die * self.groups + usize::from(group)]
    }
    /// A group has this block of a lane from now on, or [`NO_BLOCK`].
    pub fn set(&mut self, die: usize, group: u16, lane: u8, block: u16) {
        self.entries[die * self.groups + usize::from(group)][usize::from(lane)] = block;
    }
    /// The members of all groups, in the order of channel, die and group.
    pub fn entries(&self) -> &[Members] {
        &self.entries
    }
    /// The same, to be written.
    pub fn entries_mut(&mut self) -> &mut [Members] {
        &mut self.entries
    }
    /// The members of each group of a die, up to the last one that has any.
    pub fn of_die(&self, die: usize) -> &[Members] {
        let of = &self.entries[die * self.groups..][..self.groups];
        let last = of.iter().rposition(|members| *members != [NO_BLOCK; LANES_MAX]);
        &of[..last.map_or(0, |last| last + 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G26: the formula, for the paper's numbers and for the array that Aster gives the paper's drive.
    #[test]
    fn a_table_has_sixteen_bytes_for_each_group() {
        let of = |dies, blocks| {
            let info = ArrayInfo { channels: 4, lanes: 8, dies, planes: 2, blocks, pages: 512, sectors: 4 };
            size_of_val(&*BlockTable::first(&info, |_, _, _, _| false).entries)
        };
        assert_eq!(of(2, 2048), 256 << 10);
        // 8 chips of 2 dies on each channel, and 4,096 groups: 4 MiB.
        assert_eq!(of(16, 4096), 4 << 20);
    }
}
