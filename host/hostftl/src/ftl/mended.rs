//! Members of a stored block group table that can't be: blocks that the die doesn't have, that no group may
//! have, or that another group has as well (H25).
//!
//! Only such a member is dropped. Its group gets a block of the same lane that no group has: data are found
//! by the members of groups, so that those of a block in no group would be missing, and older versions of
//! them would come back.

use super::block_table::BlockTable;
use super::groups::GroupPlace;
use crate::driver::ArrayInfo;
use alloc::vec;
use alloc::vec::Vec;
use aster_wire::array::{LANES_MAX, NO_BLOCK};

/// What a block may be to a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fit {
    /// It can be written.
    Good,
    /// It has gone bad in use, and may hold data that are in no other.
    Bad,
    /// It has gone bad in use, and its group was emptied after that.
    Emptied,
    /// No group may have it.
    Never,
}

/// Drops the members that can't be, and puts blocks of no group in their place, as far as there are any.
/// `fit` says what a block may be: die, by its number among all, lane and block. Returns the group of each
/// member that was dropped.
pub(super) fn mend(
    table: &mut BlockTable,
    info: &ArrayInfo,
    fit: impl Fn(usize, u8, u16) -> Fit,
) -> Vec<GroupPlace> {
    let blocks = info.blocks.min(NO_BLOCK.into()) as u16;
    let dies = usize::from(info.dies);
    let mut mended = vec![];
    for die in 0..info.all_dies() {
        let groups = table.of_die(die).len() as u16;
        for lane in 0..LANES_MAX as u8 {
            let mut is_taken = vec![false; blocks.into()];
            let mut may_have = |block: u16| {
                let is_there = lane < info.lanes && block < blocks && fit(die, lane, block) != Fit::Never;
                is_there && !core::mem::replace(&mut is_taken[usize::from(block)], true)
            };
            let mut dropped = vec![];
            for group in 0..groups {
                let block = table.members(die, group)[usize::from(lane)];
                if block != NO_BLOCK && !may_have(block) {
                    table.set(die, group, lane, NO_BLOCK);
                    dropped.push(group);
                }
            }
            if dropped.is_empty() {
                continue;
            }
            let of_lane = 0..if lane < info.lanes { blocks } else { 0 };
            let of_none = of_lane.filter(|&block| !is_taken[usize::from(block)]);
            let mut of_none: Vec<(Fit, u16)> = of_none.map(|block| (fit(die, lane, block), block)).collect();
            of_none.retain(|(fit, _)| matches!(fit, Fit::Good | Fit::Bad));
            of_none.sort();
            for (&group, (_, block)) in dropped.iter().zip(of_none) {
                table.set(die, group, lane, block);
            }
            let (channel, die) = ((die / dies) as u8, (die % dies) as u8);
            mended.extend(dropped.into_iter().map(|group| GroupPlace { channel, die, group }));
        }
    }
    mended
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: ArrayInfo =
        ArrayInfo { channels: 2, lanes: 4, dies: 2, planes: 1, blocks: 6, pages: 8, sectors: 1 };

    /// Lane 1 of the last die: block 0 is bad from the factory, 3 went bad with data, and 4 without.
    fn fit(die: usize, lane: u8, block: u16) -> Fit {
        match (die, lane, block) {
            (3, 1, 0) => Fit::Never,
            (3, 1, 3) => Fit::Bad,
            (3, 1, 4) => Fit::Emptied,
            _ => Fit::Good,
        }
    }
    fn table() -> BlockTable {
        BlockTable::first(&INFO, |channel, die, lane, block| {
            fit(INFO.die(channel, die), lane, block) == Fit::Never
        })
    }
    fn at(group: u16) -> GroupPlace {
        GroupPlace { channel: 1, die: 1, group }
    }

    #[test]
    fn a_table_of_blocks_that_groups_may_have_stays_as_it_is() {
        let mut whole = table();
        whole.set(3, 2, 1, NO_BLOCK);
        let before = whole.clone();
        assert_eq!(mend(&mut whole, &INFO, fit), []);
        assert_eq!(whole, before, "and what it lacks is not given to it");
    }

    #[test]
    fn a_member_that_cannot_be_becomes_the_block_that_no_group_has() {
        let good = table();
        assert_eq!(good.members(3, 1)[1], 2);
        // Beyond the die, bad from the factory, that of the group before, and that of the next group.
        for unknown in [6, 0xfffe, 0, 1] {
            let mut damaged = good.clone();
            damaged.set(3, 1, 1, unknown);
            assert_eq!(mend(&mut damaged, &INFO, fit), [at(1)], "{unknown}");
            assert_eq!(damaged, good, "{unknown}");
        }
        let mut damaged = good.clone();
        damaged.set(3, 1, 1, 3);
        // Group 2 has block 3 as well.
        assert_eq!(mend(&mut damaged, &INFO, fit), [at(2)]);
        assert_eq!((damaged.members(3, 1)[1], damaged.members(3, 2)[1]), (3, 2));
        // A lane that the array doesn't have.
        let mut damaged = good.clone();
        damaged.set(3, 1, 5, 2);
        assert_eq!(mend(&mut damaged, &INFO, fit), [at(1)]);
        assert_eq!(damaged, good);
    }

    #[test]
    fn good_blocks_come_before_bad_ones_and_an_emptied_one_is_never_taken() {
        let mut damaged = table();
        for group in 0..5 {
            damaged.set(3, group, 1, 9);
        }
        assert_eq!(mend(&mut damaged, &INFO, fit), [0, 1, 2, 3, 4].map(at));
        let of_lane = |table: &BlockTable| [0, 1, 2, 3, 4].map(|group| table.members(3, group)[1]);
        assert_eq!(of_lane(&damaged), [1, 2, 5, 3, NO_BLOCK]);
    }
}
