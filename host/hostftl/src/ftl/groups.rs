//! Groups: a block of each lane of a channel, of one die (H23, H24). Group *n* is the *n*-th good block of
//! each lane, so bad blocks make groups of blocks with different numbers.

use super::place::PagePlace;
use crate::driver::ArrayInfo;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
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
    /// It holds nothing, and none of its blocks can be written any more.
    Dead,
}

#[derive(Clone, Copy)]
struct Group {
    members: Members,
    state: GroupState,
    /// Sectors to which the map leads.
    valid: u32,
    /// Pages that are on their way.
    programs: u32,
    /// Lanes whose block can't be written any more, as bits. What they hold is read.
    dead: u8,
    /// Some of its sectors can't be read, so that collecting it would not free it.
    stuck: bool,
}

impl Group {
    fn is_dead(&self) -> bool {
        (0..LANES_MAX).all(|lane| self.members[lane] == NO_BLOCK || self.dead >> lane & 1 != 0)
    }
}

/// The groups of a die of a channel.
struct Die {
    groups: Box<[Group]>,
    /// Free groups, in the order in which they became free.
    free: VecDeque<u16>,
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
                let good: [Vec<u16>; LANES_MAX] =
                    core::array::from_fn(|lane| if lane < lanes { good_of(lane) } else { Vec::new() });
                let count = good[..lanes].iter().map(Vec::len).min().unwrap_or(0);
                let groups = (0..count).map(|n| Group {
                    members: core::array::from_fn(|lane| if lane < lanes { good[lane][n] } else { NO_BLOCK }),
                    state: GroupState::Free,
                    valid: 0,
                    programs: 0,
                    dead: 0,
                    stuck: false,
                });
                let groups: Box<[Group]> = groups.collect();
                dies.push(Die { groups, free: (0..count as u16).collect() });
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
    /// The blocks of a group.
    pub fn members(&self, channel: u8, die: u8, group: u16) -> Members {
        self.die(channel, die).groups[usize::from(group)].members
    }
    /// Sectors of a group to which the map leads.
    pub fn valid(&self, channel: u8, die: u8, group: u16) -> u32 {
        self.die(channel, die).groups[usize::from(group)].valid
    }
    /// Free groups of all dies.
    pub fn all_free(&self) -> usize {
        self.dies.iter().map(|die| die.free.len()).sum()
    }
    /// Whether a group's block of this lane can be written.
    pub fn is_alive(&self, channel: u8, die: u8, group: u16, lane: u8) -> bool {
        let group = &self.die(channel, die).groups[usize::from(group)];
        group.members[usize::from(lane)] != NO_BLOCK && group.dead >> lane & 1 == 0
    }
    /// A group's block of this lane can't be written any more. Returns whether it could before.
    pub fn kill(&mut self, at: PagePlace) -> bool {
        let group = self.group_mut(at);
        let was_alive = group.dead >> at.lane & 1 == 0;
        group.dead |= 1 << at.lane;
        was_alive
    }
    /// The blocks of a group that can be written, and so be erased.
    pub fn alive(&self, channel: u8, die: u8, group: u16) -> Members {
        let of = self.members(channel, die, group);
        let is_alive = |lane: usize| self.is_alive(channel, die, group, lane as u8);
        core::array::from_fn(|lane| if is_alive(lane) { of[lane] } else { NO_BLOCK })
    }
    /// A page of a group is on its way.
    pub fn begin(&mut self, at: PagePlace) {
        self.group_mut(at).programs += 1;
    }
    /// A page has been programmed, or has failed.
    pub fn end(&mut self, at: PagePlace) {
        let group = self.group_mut(at);
        group.programs = group.programs.checked_sub(1).expect("a page that ends was begun");
    }
    /// A sector of this group can't be read.
    pub fn stick(&mut self, at: PagePlace) {
        self.group_mut(at).stuck = true;
    }
    /// A group of which pages were found at power-on. Asserts that it was free.
    pub fn found(&mut self, channel: u8, die: u8, group: u16) {
        let of = self.die_mut(channel, die);
        assert_eq!(of.groups[usize::from(group)].state, GroupState::Free, "a group is found once");
        of.groups[usize::from(group)].state = GroupState::Closed;
        of.free.retain(|&free| free != group);
    }
    /// Nothing counts any more: all groups that can be written are free. Asserts that no page is on its way.
    pub fn forget_all(&mut self) {
        for die in &mut self.dies {
            die.free.clear();
            for (n, group) in (0..).zip(die.groups.iter_mut()) {
                assert_eq!(group.programs, 0, "no page is on its way");
                (group.valid, group.stuck) = (0, false);
                if group.is_dead() {
                    group.state = GroupState::Dead;
                } else {
                    group.state = GroupState::Free;
                    die.free.push_back(n);
                }
            }
        }
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
        let state = (of.state, of.valid, of.programs);
        assert_eq!(state, (GroupState::Closed, 0, 0), "only an empty group becomes free");
        of.stuck = false;
        if of.is_dead() {
            of.state = GroupState::Dead;
        } else {
            of.state = GroupState::Free;
            die.free.push_back(group);
        }
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
    /// The closed group that holds the least, of all dies: channel, die, group, and its valid sectors. Groups
    /// whose pages are on their way are left out, and those that can't be emptied.
    pub fn emptiest(&self) -> Option<(u8, u8, u16, u32)> {
        let closed = self.dies.iter().enumerate().flat_map(|(n, die)| {
            let (channel, of) = ((n / self.dies_per_channel) as u8, (n % self.dies_per_channel) as u8);
            let is_victim = |group: &Group| {
                let settled = group.state == GroupState::Closed && group.programs == 0;
                settled && (!group.stuck || group.valid == 0)
            };
            let groups = (0..).zip(die.groups.iter()).filter(move |(_, group)| is_victim(group));
            groups.map(move |(group, state)| (state.valid, channel, of, group))
        });
        closed.min().map(|(valid, channel, die, group)| (channel, die, group, valid))
    }
}
