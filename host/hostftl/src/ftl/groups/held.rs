//! Groups that are kept from being written: the one that has the block group table, and those whose blocks
//! are being exchanged.

use super::{GroupPlace, GroupState, Groups, Members};

impl Groups {
    /// The free group of a die with the most blocks that can be written, of those the last one to be
    /// opened.
    pub fn fullest_free(&self, channel: u8, die: u8) -> Option<GroupPlace> {
        let of = &self.dies[self.info.die(channel, die)];
        let free = of.free.iter().enumerate();
        let (_, &group) = free.max_by_key(|&(at, &n)| (of.groups[usize::from(n)].alive(), at))?;
        Some(GroupPlace { channel, die, group })
    }
    /// The group of a die that has these blocks.
    pub fn with_members(&self, channel: u8, die: u8, blocks: &Members) -> Option<GroupPlace> {
        let group = self.table.of_die(self.info.die(channel, die)).iter().position(|of| of == blocks)?;
        Some(GroupPlace { channel, die, group: group as u16 })
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
