//! Which group is emptied: one that holds nothing, one that makes room, one for its wear, or one whose data
//! are better written elsewhere.

use super::{Group, GroupPlace, GroupState, Groups};
use alloc::vec::Vec;
use aster_parties::{ClosedBlocks, VictimPolicy};
use aster_units::LunIndex;
use core::cmp::Reverse;

impl Groups {
    /// A closed group to which the map leads nowhere.
    pub fn empty(&self) -> Option<GroupPlace> {
        if self.stale == 0 {
            return None;
        }
        self.victims(|group| group.valid == 0).map(|(_, at)| at).next()
    }
    /// The closed group with the fewest valid sectors of those that were closed before they were full, by a
    /// loss of power. They give more room than others of as many valid sectors.
    pub fn emptiest_short(&self) -> Option<GroupPlace> {
        let is_short = |group: &Group| group.written < group.alive() * u32::from(self.info.pages);
        let row = self.widest() * u32::from(self.info.sectors);
        let short = self.victims(|group| is_short(group) && self.gains(group, row));
        short.min_by_key(|(group, at)| (group.valid, *at)).map(|(_, at)| at)
    }
    /// The group that `policy` chooses of the die with the fewest free groups; of several such dies, the one
    /// with the fewest valid sectors. Often most dies have none, and all must have their turn. Groups that
    /// give a row of pages are offered, and if there is none and `all` are, those that give anything at all:
    /// of short blocks a row is a large part.
    pub fn chosen(&self, policy: &mut dyn VictimPolicy, all: bool) -> Option<GroupPlace> {
        let (sectors, lanes) = (u32::from(self.info.sectors), self.widest());
        // Copies end with padding: of a page, or of a row with its sum.
        let least = if self.parity == 0 { sectors } else { (lanes - self.parity) * sectors };
        let chosen = self.chosen_for(policy, lanes * sectors);
        chosen.or_else(|| if all { self.chosen_for(policy, least) } else { None })
    }
    /// The lanes of the group that can be written on most.
    fn widest(&self) -> u32 {
        let alive = self.dies.iter().flat_map(|die| die.groups.iter()).map(Group::alive);
        alive.max().unwrap_or(0).max(self.parity)
    }
    fn chosen_for(&self, policy: &mut dyn VictimPolicy, least: u32) -> Option<GroupPlace> {
        let mut of_die = |n: usize| {
            let die = &self.dies[n];
            let of = |each: &dyn Fn(&Group) -> u32| -> Vec<u32> { die.groups.iter().map(each).collect() };
            let closed_at: Vec<u64> = die.groups.iter().map(|group| group.closed_at).collect();
            let valid = of(&|group| match is_victim(group) && self.gains(group, least) {
                true => group.valid,
                false => ClosedBlocks::NOT_OFFERED,
            });
            let facts = (&valid[..], &closed_at[..], &of(&|group| group.erases)[..]);
            let lun = LunIndex(n as u32);
            let chosen = policy.choose(&ClosedBlocks::new(lun, self.sectors(), self.closings, facts)?);
            let dies = usize::from(self.info.dies);
            let (channel, die) = ((n / dies) as u8, (n % dies) as u8);
            Some(GroupPlace { channel, die, group: chosen.0 as u16 })
        };
        let free = |die: &usize| self.dies[*die].free.len();
        let mut dies: Vec<usize> = (0..self.dies.len()).collect();
        dies.sort_by_key(free);
        let mut tied = dies.chunk_by(|a, b| free(a) == free(b));
        tied.find_map(|dies| dies.iter().filter_map(|&n| of_die(n)).min_by_key(|at| (self.valid(*at), *at)))
    }
    /// The group that was closed first of those of a die that were erased less often than its most worn one,
    /// by `window` at least (H27, H30): nobody has written its data for long. Of the die with the most uneven
    /// wear that has one, and free groups with room for its data: the one that was erased most often may lack
    /// blocks.
    pub fn coldest(&self, window: u32) -> Option<GroupPlace> {
        let dies = usize::from(self.info.dies);
        let uneven = self.dies.iter().enumerate().filter_map(|(n, die)| {
            let room = self.room(n);
            let most =
                die.groups.iter().filter(|group| group.alive() > self.parity).map(|group| group.erases);
            let most = most.max()?;
            let behind = |group: &Group| most.saturating_sub(group.erases);
            let closed = (0..).zip(die.groups.iter()).filter(|(_, group)| is_victim(group));
            let uneven =
                closed.filter(|(_, group)| behind(group) >= window && u64::from(group.valid) <= room);
            let spread = uneven.clone().map(|(_, group)| behind(group)).max()?;
            let (group, _) = uneven.min_by_key(|(_, group)| group.closed_at)?;
            let (channel, die) = ((n / dies) as u8, (n % dies) as u8);
            Some((spread, GroupPlace { channel, die, group }))
        });
        uneven.max_by_key(|&(spread, at)| (spread, Reverse(at))).map(|(_, at)| at)
    }
    /// The sectors for which the free groups of a die, by its number among all, have room.
    pub(super) fn room(&self, die: usize) -> u64 {
        let of = &self.dies[die];
        let lanes = |&n: &u16| of.groups[usize::from(n)].alive().saturating_sub(self.parity);
        let lanes: u32 = of.free.iter().map(lanes).sum();
        u64::from(lanes) * u64::from(self.info.pages) * u64::from(self.info.sectors)
    }
    /// A closed group that is harmed, first of all one with a row that was cut off.
    pub fn harmed(&self) -> Option<GroupPlace> {
        if self.torn > 0 {
            return self.victims(|group| group.is_torn).map(|(_, at)| at).next();
        }
        if self.harmed == 0 {
            return None;
        }
        self.victims(|group| group.harmed).map(|(_, at)| at).next()
    }
    /// The closed group, of those whose data are to be written anew, that was closed first.
    pub fn fading(&self) -> Option<GroupPlace> {
        if self.fading == 0 {
            return None;
        }
        let due = self.victims(|group| group.fading.is_due());
        due.min_by_key(|(group, at)| (group.closed_at, *at)).map(|(_, at)| at)
    }
    /// An open group whose data are to be written anew.
    pub fn fading_open(&self) -> Option<GroupPlace> {
        if self.fading == 0 {
            return None;
        }
        let is_due = |group: &Group| group.state == GroupState::Open && group.fading.is_due();
        self.each().find(|(group, _)| is_due(group)).map(|(_, at)| at)
    }
    /// Whether its room is larger by so many sectors than its copies are.
    fn gains(&self, group: &Group, least: u32) -> bool {
        group.valid + least <= group.alive().saturating_sub(self.parity) * self.of_lane()
    }
    fn victims(&self, which: impl Fn(&Group) -> bool) -> impl Iterator<Item = (&Group, GroupPlace)> {
        self.each().filter(move |(group, _)| is_victim(group) && which(group))
    }
}

/// Whether a group may be emptied: it is closed, and none of its pages is on its way.
pub(super) fn is_victim(group: &Group) -> bool {
    group.state == GroupState::Closed && group.is_settled()
}
