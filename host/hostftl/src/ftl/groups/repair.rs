//! Repair of groups (H25): a group without a member gets a good block of the same lane and die, of another
//! group that isn't whole either. Both hold nothing then.

use super::victims::is_victim;
use super::{BlockTable, Die, Group, GroupPlace, GroupState, Groups};
use alloc::vec::Vec;
use aster_wire::array::{LANES_MAX, NO_BLOCK};
use core::cmp::Reverse;

/// Blocks that are to make a group whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// The group.
    pub to: GroupPlace,
    /// Which lane's block comes from which group.
    pub from: Vec<(u8, GroupPlace)>,
}

impl Exchange {
    /// Its groups, each once.
    pub fn groups(&self) -> Vec<GroupPlace> {
        let mut groups: Vec<GroupPlace> = self.from.iter().map(|&(_, from)| from).collect();
        groups.push(self.to);
        groups.sort();
        groups.dedup();
        groups
    }
}

/// The lanes of which a group has a block that can be written, as bits.
fn lanes(group: &Group) -> u8 {
    group.has & !group.dead
}

fn lanes_in(bits: u8) -> impl Iterator<Item = u8> {
    (0..LANES_MAX as u8).filter(move |lane| bits >> lane & 1 != 0)
}

impl Die {
    /// A block that can be written has left a group, or has come to one.
    pub(super) fn find_broken(&mut self) {
        self.lanes = self.groups.iter().fold(0, |all, group| all | lanes(group));
        let is_broken = |group: &Group| lanes(group) != 0 && lanes(group) != self.lanes;
        let broken = (0..).zip(self.groups.iter()).filter(|(_, group)| is_broken(group));
        self.broken = broken.map(|(n, _)| n).collect();
    }
    /// The groups that lack a block of a lane.
    fn broken(&self) -> impl Iterator<Item = (u16, &Group)> + Clone {
        self.broken.iter().map(|&n| (n, &self.groups[usize::from(n)]))
    }
}

impl Groups {
    /// Groups with a block of each lane that can be written.
    pub fn whole(&self) -> usize {
        self.each().filter(|(group, _)| group.alive() == u32::from(self.info.lanes)).count()
    }
    /// An exchange that makes a group whole, of groups that hold nothing: the one that lacks least gets its
    /// blocks from those that have least. A group is whole that has a block of each lane on which its die has
    /// any. No more than `room` free groups take part. `None` if there is none: then none will be before a
    /// group becomes free, or loses a block.
    pub fn exchange(&mut self, room: usize) -> Option<Exchange> {
        if !self.may_repair {
            return None;
        }
        let is_free = |&at: &GroupPlace| self.state(at) == GroupState::Free;
        let fits = |of: &Exchange| of.groups().into_iter().filter(is_free).count() <= room;
        let found = (0..self.dies.len()).filter_map(|die| self.exchange_of(die)).find(fits);
        self.may_repair = found.is_some();
        found
    }
    /// A closed group that isn't whole, and a free one: if the first one is emptied, one of them makes the
    /// other one whole. Without such a free group, two closed ones do, and the first to be emptied comes
    /// alone. `None` if there are none: then none will be before a group becomes free, or loses a block.
    pub fn next_split(&mut self) -> Option<(GroupPlace, Option<GroupPlace>)> {
        if !self.may_split {
            return None;
        }
        let found = (0..self.dies.len()).find_map(|die| self.splits_of(die));
        self.may_split = found.is_some();
        found
    }
    /// The closed group with the fewest sectors of those that make this one whole when they are emptied, or
    /// the other way round.
    pub fn completing(&self, at: GroupPlace) -> Option<GroupPlace> {
        let die = self.info.die(at.channel, at.die);
        let all = self.dies[die].lanes;
        let to = lanes(self.get(at));
        let suits = |(n, group): &(u16, &Group)| *n != at.group && self.complete(all, to, lanes(group));
        let closed = self.closed_broken(die).filter(suits);
        closed.min_by_key(|&(n, group)| (group.valid, n)).map(|(n, _)| self.place(die, n))
    }
    fn closed_broken(&self, die: usize) -> impl Iterator<Item = (u16, &Group)> + Clone {
        self.dies[die].broken().filter(|(_, group)| is_victim(group))
    }
    /// Whether one of two groups of these lanes makes the other one whole.
    fn complete(&self, all: u8, a: u8, b: u8) -> bool {
        let completes = |to: u8, from: u8| {
            let (lacks, has) = (all & !to, from.count_ones());
            lacks != 0 && lacks & !from == 0 && (has < self.kept() || has - lacks.count_ones() >= self.kept())
        };
        completes(a, b) || completes(b, a)
    }
    /// There was no room to empty a group for a repair.
    pub fn leave_split(&mut self) {
        self.may_split = false;
    }
    fn place(&self, die: usize, group: u16) -> GroupPlace {
        let dies = usize::from(self.info.dies);
        GroupPlace { channel: (die / dies) as u8, die: (die % dies) as u8, group }
    }
    /// Blocks that a group keeps when it gives others: the copies of a victim must find room in two groups,
    /// and programs may fail. Groups that have fewer give all.
    fn kept(&self) -> u32 {
        u32::from(self.info.lanes) * 5 / 8 + self.parity
    }
    /// Whether a group of `alive` lanes, of which so many were there at first, may give a block.
    fn gives(&self, alive: u32, at_first: u32) -> bool {
        alive > self.kept() || at_first < self.kept()
    }
    fn exchange_of(&self, die: usize) -> Option<Exchange> {
        let of = &self.dies[die];
        let all = of.lanes;
        let is_empty = |group: &Group| matches!(group.state, GroupState::Free | GroupState::Dead);
        let broken = of.broken().filter(|(_, group)| is_empty(group));
        let mut broken: Vec<(u16, u8)> = broken.map(|(n, group)| (n, lanes(group))).collect();
        broken.sort_by_key(|&(n, lanes)| (lanes.count_ones(), Reverse(n)));
        broken.iter().rev().find_map(|&(to, has)| {
            let mut alive: Vec<u32> = broken.iter().map(|(_, lanes)| lanes.count_ones()).collect();
            let mut from = Vec::new();
            for lane in lanes_in(all & !has) {
                let gives = |&n: &usize| {
                    let (_, lanes) = broken[n];
                    lanes >> lane & 1 != 0 && self.gives(alive[n], lanes.count_ones())
                };
                let n = (0..broken.len()).find(gives)?;
                let (group, _) = broken[n];
                alive[n] -= 1;
                from.push((lane, self.place(die, group)));
            }
            Some(Exchange { to: self.place(die, to), from })
        })
    }
    fn splits_of(&self, die: usize) -> Option<(GroupPlace, Option<GroupPlace>)> {
        let of = &self.dies[die];
        // One that is closed, and the one that makes it whole.
        if of.broken.len() < 2 {
            return None;
        }
        let free = of.free.iter().filter(|n| of.broken.binary_search(n).is_ok());
        let mut free = free.map(|&n| self.place(die, n));
        let with_free = free.find_map(|at| Some((self.completing(at)?, Some(at))));
        with_free.or_else(|| {
            let mut closed = self.closed_broken(die).map(|(n, _)| self.place(die, n));
            closed.find_map(|at| Some((self.completing(at)?, None)))
        })
    }
    /// The table as it is after an exchange. The blocks that are replaced are in no group any more.
    pub fn table_after(&self, exchange: &Exchange) -> BlockTable {
        let mut table = self.table.clone();
        for &(lane, from) in &exchange.from {
            let block = self.members(from)[usize::from(lane)];
            table.set(self.info.die(from.channel, from.die), from.group, lane, NO_BLOCK);
            table.set(self.info.die(from.channel, from.die), exchange.to.group, lane, block);
        }
        table
    }
    /// Carries out an exchange between groups that are held. The group counts as erased as often as that one
    /// of them which was erased most often.
    pub fn carry_out(&mut self, exchange: &Exchange) {
        self.table = self.table_after(exchange);
        for &(lane, at) in &exchange.from {
            let of = self.get_mut(at);
            let (erased, erases, is_dead) = (of.erased, of.erases, of.dead & 1 << lane);
            (of.has, of.dead) = (of.has & !(1 << lane), of.dead & !(1 << lane));
            let to = self.get_mut(exchange.to);
            (to.has, to.dead) = (to.has | 1 << lane, to.dead & !(1 << lane) | is_dead);
            (to.erased, to.erases) = (to.erased && erased, to.erases.max(erases));
        }
        // All of them are of one die.
        let die = self.info.die(exchange.to.channel, exchange.to.die);
        self.dies[die].find_broken();
    }
    /// A group that was held is free, if it can be written.
    pub fn give_back(&mut self, at: GroupPlace) {
        let (index, parity) = (self.info.die(at.channel, at.die), self.parity);
        let die = &mut self.dies[index];
        let group = &mut die.groups[usize::from(at.group)];
        assert_eq!(group.state, GroupState::Held, "it was held");
        group.state = if group.alive() <= parity { GroupState::Dead } else { GroupState::Free };
        if group.state == GroupState::Free {
            die.free.push_back(at.group);
            self.free += 1;
        }
        self.count_free(index);
        (self.may_repair, self.may_split) = (true, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::ArrayInfo;
    use aster_units::Rng;

    const INFO: ArrayInfo =
        ArrayInfo { channels: 1, lanes: 4, dies: 2, planes: 1, blocks: 20, pages: 2, sectors: 1 };

    fn at(group: u16) -> GroupPlace {
        GroupPlace { channel: 0, die: 1, group }
    }
    fn groups() -> Groups {
        Groups::first(&INFO, |_, _, _, _| false)
    }
    /// Carries out what can be. Returns the groups that became whole.
    fn repair(groups: &mut Groups) -> Vec<GroupPlace> {
        let mut whole = Vec::new();
        while let Some(exchange) = groups.exchange(usize::MAX) {
            let after = groups.table_after(&exchange);
            exchange.groups().into_iter().for_each(|at| groups.hold(at));
            groups.carry_out(&exchange);
            assert_eq!(*groups.table(), after);
            exchange.groups().into_iter().for_each(|at| groups.give_back(at));
            whole.push(exchange.to);
        }
        whole
    }

    #[test]
    fn a_group_gets_the_block_it_lacks_of_the_groups_that_lack_most() {
        let mut groups = groups();
        groups.kill(at(3).page(0, 1));
        assert_eq!(repair(&mut groups), [], "nothing is spare");
        for (group, lane) in [(7, 2), (9, 0), (9, 2), (9, 3), (11, 0), (11, 1), (11, 3)] {
            groups.kill(at(group).page(0, lane));
        }
        assert_eq!((groups.whole(), groups.all_free()), (36, 40));
        assert_eq!(repair(&mut groups), [at(3), at(7)]);
        // Groups 9 and 11 had one block: they have none any more, and aren't free.
        assert_eq!((groups.whole(), groups.all_free()), (38, 38));
        assert_eq!(groups.members(at(3))[..4], [3, 9, 3, 3]);
        assert_eq!(groups.members(at(7))[..4], [7, 7, 11, 7]);
        assert_eq!(groups.alive(at(9)), [NO_BLOCK; LANES_MAX]);
        assert_eq!(groups.state(at(9)), GroupState::Dead);
    }

    #[test]
    fn groups_that_hold_data_wait_and_a_dead_lane_is_not_missed() {
        let mut groups = groups();
        groups.kill(at(0).page(0, 1));
        groups.kill(at(5).page(0, 2));
        groups.kill(at(5).page(0, 0));
        assert_eq!(groups.open(0, 1, false), Some(0));
        assert_eq!(repair(&mut groups), []);
        groups.close(at(0));
        groups.release(at(0));
        assert_eq!(groups.exchange(1), None, "two groups take part");
        assert_eq!(repair(&mut groups), [], "until another one becomes free, or loses a block");
        groups.kill_lane(0, 1, 3);
        assert_eq!(repair(&mut groups), [at(0)]);
        assert_eq!(groups.members(at(0))[..4], [0, 5, 0, 0]);
        assert_eq!((groups.whole(), groups.alive(at(0))[3]), (20, NO_BLOCK));
    }

    /// H25: what is counted as erases, and what must be erased.
    #[test]
    fn a_repaired_group_counts_as_its_most_erased_block_and_is_erased_if_all_are() {
        for erased in [[true, true], [true, false], [false, true]] {
            let mut groups = groups();
            groups.found_erases(&[(at(2), 5), (at(4), 9)].into());
            for (group, lane, is_erased) in [(2, 0, erased[0]), (4, 3, erased[1])] {
                if is_erased {
                    groups.erased(at(group));
                }
                groups.kill(at(group).page(0, lane));
            }
            assert_eq!(repair(&mut groups), [at(2)]);
            assert_eq!(groups.erases(at(2)), if erased[1] { 10 } else { 9 });
            assert_eq!(groups.must_be_erased(at(2)), erased != [true, true]);
        }
    }

    /// H25: the room of two groups that are left to collection stays as large as it was.
    #[test]
    fn more_groups_stay_whole_and_none_gets_too_small_for_that() {
        let mut random = Rng::new(3);
        let small = |groups: &Groups| groups.each().filter(|(group, _)| group.alive() == 1).count();
        for _ in 0..50 {
            let (mut with, mut without) = (groups(), groups());
            for _ in 0..30 {
                let (die, lane) = (random.below(2) as u8, random.below(4) as u8);
                let place = GroupPlace { channel: 0, die, group: random.below(20) as u16 };
                for groups in [&mut with, &mut without] {
                    groups.kill(place.page(0, lane));
                }
            }
            let room = with.blocks_for_data();
            repair(&mut with);
            assert_eq!(with.blocks_for_data(), room);
            assert!(with.whole() > without.whole() + 3, "{} and {}", with.whole(), without.whole());
            assert!(small(&with) <= small(&without));
        }
    }

    /// Only groups on the list are looked at for a repair.
    #[test]
    fn the_list_of_broken_groups_is_right_after_every_change_of_blocks() {
        let mut random = Rng::new(8);
        let is_broken = |groups: &Groups, die: usize| -> Vec<u16> {
            let of = &groups.dies[die].groups;
            let all = of.iter().fold(0, |all, group| all | lanes(group));
            let each = (0..).zip(of.iter()).map(|(n, group)| (n, lanes(group)));
            each.filter(|&(_, lanes)| lanes != 0 && lanes != all).map(|(n, _)| n).collect()
        };
        // Blocks that were never there make groups that lack them from the beginning.
        let mut groups = Groups::first(&INFO, |_, die, lane, block| (die, lane) == (1, 2) && block > 16);
        assert_eq!(groups.dies[1].broken, [17, 18, 19]);
        for step in 0..200 {
            match random.below(40) {
                0 => _ = groups.kill_lane(0, random.below(2) as u8, random.below(4) as u8),
                1..8 => _ = repair(&mut groups),
                _ => {
                    let (die, group) = (random.below(2) as u8, random.below(20) as u16);
                    let at = GroupPlace { channel: 0, die, group };
                    groups.kill(at.page(0, random.below(4) as u8));
                }
            }
            for die in 0..2 {
                assert_eq!(groups.dies[die].broken, is_broken(&groups, die), "die {die}, step {step}");
            }
        }
        assert!(groups.whole() < 30, "blocks went bad");
    }

    #[test]
    fn a_closed_group_is_emptied_for_a_free_one_that_it_completes() {
        let mut groups = groups();
        for (group, lane) in [(0, 1), (1, 1), (2, 3)] {
            assert_eq!(groups.open(0, 1, false), Some(group));
            groups.kill(at(group).page(0, lane));
            groups.gained(at(group).page(0, 0));
        }
        assert_eq!(groups.next_split(), None);
        groups.close(at(1));
        assert_eq!(groups.next_split(), None);
        groups.close(at(2));
        groups.leave_split();
        groups.kill(at(2).page(0, 3));
        assert_eq!(groups.next_split(), Some((at(2), None)), "the other one is group 1");
        groups.lost(at(0).page(0, 0));
        groups.close(at(0));
        groups.release(at(0));
        // Group 1 lacks the same lane.
        assert_eq!(groups.next_split(), Some((at(2), Some(at(0)))));
        groups.leave_split();
        assert_eq!(groups.next_split(), None);
        groups.lost(at(2).page(0, 0));
        assert_eq!((groups.completing(at(0)), groups.completing(at(1))), (Some(at(2)), Some(at(2))));
        groups.release(at(2));
        assert_eq!(repair(&mut groups), [at(0)]);
        assert_eq!(groups.members(at(0))[..4], [0, 2, 0, 0]);
        // Group 2 has two blocks left, and can't give the one that group 1 lacks.
        assert_eq!(groups.next_split(), None);
    }
}
