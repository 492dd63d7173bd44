//! Groups that are kept from being written: the one that has the block group table, and those whose blocks
//! are being exchanged.

use super::{Group, GroupPlace, GroupState, Groups, Members};
use aster_wire::array::NO_BLOCK;
use core::ops::Range;

impl Groups {
    /// The free group of a die with the most blocks that can be written, of those the last one to be
    /// opened. It isn't `but`.
    pub fn fullest_free(&self, channel: u8, die: u8, but: Option<GroupPlace>) -> Option<GroupPlace> {
        let of = &self.dies[self.info.die(channel, die)];
        let suits = |&n: &u16| but != Some(GroupPlace { channel, die, group: n });
        let free = of.free.iter().enumerate().filter(|(_, n)| suits(n));
        let (_, &group) = free.max_by_key(|&(at, &n)| (of.groups[usize::from(n)].alive(), at))?;
        Some(GroupPlace { channel, die, group })
    }
    /// The group of a die that has one of these blocks, of these lanes.
    pub fn with_some_of(
        &self,
        channel: u8,
        die: u8,
        blocks: &Members,
        lanes: Range<u8>,
    ) -> Option<GroupPlace> {
        let lanes = usize::from(lanes.start)..usize::from(lanes.end);
        let is_same = |(of, block): (&u16, &u16)| of == block && *block != NO_BLOCK;
        let has_some = |of: &Members| of[lanes.clone()].iter().zip(&blocks[lanes.clone()]).any(is_same);
        let group = self.table.of_die(self.info.die(channel, die)).iter().position(has_some)?;
        Some(GroupPlace { channel, die, group: group as u16 })
    }
    /// Where the table goes for its wear (H27, H30): the free group of its die that was erased most often, if
    /// that is so many times more often than the table's own, and it has as many blocks.
    pub fn more_worn_free(&self, table: GroupPlace, difference: u32) -> Option<GroupPlace> {
        let (of, own) = (&self.dies[self.info.die(table.channel, table.die)], self.get(table));
        let suits = |group: &Group| group.alive() >= own.alive() && group.erases >= own.erases + difference;
        let free = of.free.iter().filter(|&&n| suits(&of.groups[usize::from(n)]));
        let &group = free.max_by_key(|&&n| (of.groups[usize::from(n)].erases, n))?;
        Some(GroupPlace { group, ..table })
    }
    /// A group that is held has pages that count for nothing: it is erased before it is written.
    pub fn spoil(&mut self, at: GroupPlace) {
        let group = self.get_mut(at);
        assert_eq!(group.state, GroupState::Held, "it was held");
        group.erased = false;
    }
    /// A group that holds nothing isn't free any more. Asserts that it was, or can't be written.
    pub fn hold(&mut self, at: GroupPlace) {
        let index = self.info.die(at.channel, at.die);
        let die = &mut self.dies[index];
        let group = &mut die.groups[usize::from(at.group)];
        assert!(matches!(group.state, GroupState::Free | GroupState::Dead), "it holds nothing");
        group.state = GroupState::Held;
        let before = die.free.len();
        die.free.retain(|&free| free != at.group);
        self.free -= before - die.free.len();
        self.count_free(index);
    }
}
