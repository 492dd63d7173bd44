//! Groups: a block of each lane of a channel, of one die (H23, H24). Group *n* is the *n*-th good block of
//! each lane, so bad blocks make groups of blocks with different numbers.

use super::place::PagePlace;
use crate::driver::ArrayInfo;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use aster_wire::array::{LANES_MAX, NO_BLOCK};

/// The blocks of a group, by lane; [`NO_BLOCK`] beyond the channel's lanes.
pub type Members = [u16; LANES_MAX];

/// What a group is for at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupState {
    /// It holds nothing, and is erased when it is opened.
    Free,
    /// It is being written.
    Open,
    /// It is written, or closed for another reason.
    Closed,
}

#[derive(Clone, Copy)]
struct Group {
    members: Members,
    state: GroupState,
    /// Sectors to which the map leads.
    valid: u32,
}

/// The groups of a die of a channel.
struct Die {
    groups: Box<[Group]>,
    /// Free groups, in the order in which they became free.
    free: VecDeque<u16>,
    /// Good blocks of each lane that are in no group.
    spare: [Vec<u16>; LANES_MAX],
}

/// All groups.
pub struct Groups {
    dies_per_channel: usize,
    dies: Vec<Die>,
}

impl Groups {
    /// The groups of an array in which `is_bad` says which blocks of a lane's die may not be used: channel,
    /// die, lane, block. All are free.
    pub fn of(info: &ArrayInfo, is_bad: impl Fn(u8, u8, u8, u16) -> bool) -> Self {
        let lanes = usize::from(info.lanes).min(LANES_MAX);
        let mut dies = Vec::with_capacity(usize::from(info.channels) * usize::from(info.dies));
        for channel in 0..info.channels {
            for die in 0..info.dies {
                let good_of = |lane: usize| -> Vec<u16> {
                    let is_good = |&block: &u16| !is_bad(channel, die, lane as u8, block);
                    (0..info.blocks.min(NO_BLOCK.into()) as u16).filter(is_good).collect()
                };
                let mut spare: [Vec<u16>; LANES_MAX] =
                    core::array::from_fn(|lane| if lane < lanes { good_of(lane) } else { Vec::new() });
                let count = spare[..lanes].iter().map(Vec::len).min().unwrap_or(0);
                let groups = (0..count).map(|n| Group {
                    members: core::array::from_fn(
                        |lane| if lane < lanes { spare[lane][n] } else { NO_BLOCK },
                    ),
                    state: GroupState::Free,
                    valid: 0,
                });
                let groups: Box<[Group]> = groups.collect();
                spare.iter_mut().take(lanes).for_each(|blocks| drop(blocks.drain(..count)));
                dies.push(Die { groups, free: (0..count as u16).collect(), spare });
            }
        }
        Groups { dies_per_channel: info.dies.into(), dies }
    }
    fn die(&self, channel: u8, die: u8) -> &Die {
        &self.dies[usize::from(channel) * self.dies_per_channel + usize::from(die)]
    }
    fn die_mut(&mut self, channel: u8, die: u8) -> &mut Die {
        &mut self.dies[usize::from(channel) * self.dies_per_channel + usize::from(die)]
    }
    fn group_mut(&mut self, at: PagePlace) -> &mut Group {
        &mut self.die_mut(at.channel, at.die).groups[usize::from(at.group)]
    }
    /// Groups of a die.
    pub fn count(&self, channel: u8, die: u8) -> usize {
        self.die(channel, die).groups.len()
    }
    /// Free groups of a die.
    pub fn free(&self, channel: u8, die: u8) -> usize {
        self.die(channel, die).free.len()
    }
    /// Good blocks of a lane that are in no group.
    pub fn spare(&self, channel: u8, die: u8, lane: u8) -> usize {
        self.die(channel, die).spare[usize::from(lane)].len()
    }
    /// The blocks of a group.
    pub fn members(&self, channel: u8, die: u8, group: u16) -> Members {
        self.die(channel, die).groups[usize::from(group)].members
    }
    /// What a group is for, and its sectors to which the map leads.
    pub fn state(&self, channel: u8, die: u8, group: u16) -> (GroupState, u32) {
        let group = self.die(channel, die).groups[usize::from(group)];
        (group.state, group.valid)
    }
    /// Opens the group of a die that has been free longest; `None` if none is free.
    pub fn open(&mut self, channel: u8, die: u8) -> Option<u16> {
        let of = self.die_mut(channel, die);
        let group = of.free.pop_front()?;
        of.groups[usize::from(group)].state = GroupState::Open;
        Some(group)
    }
    /// Closes an open group. Asserts that it is one.
    pub fn close(&mut self, channel: u8, die: u8, group: u16) {
        let of = &mut self.die_mut(channel, die).groups[usize::from(group)];
        assert_eq!(of.state, GroupState::Open, "only an open group is closed");
        of.state = GroupState::Closed;
    }
    /// Frees a closed group. Asserts that it is one, and that the map leads nowhere into it.
    pub fn release(&mut self, channel: u8, die: u8, group: u16) {
        let die = self.die_mut(channel, die);
        let of = &mut die.groups[usize::from(group)];
        assert_eq!((of.state, of.valid), (GroupState::Closed, 0), "only an empty group becomes free");
        of.state = GroupState::Free;
        die.free.push_back(group);
    }
    /// The map leads to one more sector of this page.
    pub fn gained(&mut self, at: PagePlace) {
        self.group_mut(at).valid += 1;
    }
    /// The map leads to one sector less of this page.
    pub fn lost(&mut self, at: PagePlace) {
        let group = self.group_mut(at);
        assert!(group.valid > 0, "a sector is lost that was there");
        group.valid -= 1;
    }
    /// The closed group of a channel that holds the least, of all its dies: die and group.
    pub fn emptiest(&self, channel: u8) -> Option<(u8, u16)> {
        let dies = (0..self.dies_per_channel as u8).flat_map(|die| {
            let groups = (0..).zip(self.die(channel, die).groups.iter());
            let closed = groups.filter(|(_, group)| group.state == GroupState::Closed);
            closed.map(move |(n, group)| (group.valid, die, n))
        });
        dies.min().map(|(_, die, group)| (die, group))
    }
}

/// Which lanes take part in each group: an array of this many.
pub(super) fn lanes_of(members: &Members) -> usize {
    members.iter().filter(|&&block| block != NO_BLOCK).count()
}

impl Groups {
    /// A table of the members of all groups of a die, two bytes each (H24, G26).
    pub fn table(&self, channel: u8, die: u8) -> Vec<u8> {
        let mut bytes = vec![0; self.count(channel, die) * 2 * LANES_MAX];
        let members = self.die(channel, die).groups.iter().flat_map(|group| group.members);
        for (into, block) in bytes.chunks_exact_mut(2).zip(members) {
            into.copy_from_slice(&block.to_le_bytes());
        }
        bytes
    }
}
