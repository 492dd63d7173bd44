//! Groups: a block of each lane of a channel, of one die (H23, H24). The block group table says which. Lanes
//! with fewer good blocks have no member in the last groups.

mod accesses;
mod held;
#[cfg(test)]
mod region_tests;
mod regions;
mod repair;
mod victims;

pub use accesses::RegionConfig;
pub use repair::Exchange;

pub use super::block_table::Members;

use super::block_table::BlockTable;
use super::fading::Fading;
use super::place::PagePlace;
use crate::driver::ArrayInfo;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use aster_parties::Refresh;
use aster_wire::array::{LANES_MAX, NO_BLOCK};
use core::cmp::Reverse;

/// The place of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GroupPlace {
    /// The channel.
    pub channel: u8,
    /// The die of each of its chips.
    pub die: u8,
    /// The group of that die.
    pub group: u16,
}

impl PagePlace {
    /// The group that the page belongs to.
    pub fn group(&self) -> GroupPlace {
        GroupPlace { channel: self.channel, die: self.die, group: self.group }
    }
}

impl GroupPlace {
    /// A page of the group.
    pub fn page(&self, page: u16, lane: u8) -> PagePlace {
        PagePlace { channel: self.channel, die: self.die, group: self.group, page, lane }
    }
}

/// What a group is for at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupState {
    /// It holds nothing.
    Free,
    /// It is being written.
    Open,
    /// It is written, or closed for another reason.
    Closed,
    /// It holds nothing, and none of its blocks can be written any more.
    Dead,
    /// It holds no data, and isn't free.
    Held,
}

#[derive(Clone, Copy)]
struct Group {
    /// Lanes of which it has a block, as bits.
    has: u8,
    state: GroupState,
    /// Sectors to which the map leads.
    valid: u32,
    /// Pages that have been given out since the last erase.
    written: u32,
    /// Pages of each lane that are on their way.
    programs: [u8; LANES_MAX],
    /// Lanes whose block can't be written any more, as bits. What they hold is read.
    dead: u8,
    /// Its blocks have been erased since they were written.
    erased: bool,
    /// Its number in the order of closing.
    closed_at: u64,
    /// How often it was erased, as far as is known.
    erases: u32,
    /// A page of it could only be read from the others of its row.
    harmed: bool,
    /// It has a row that a loss of power has cut off: the pages of it that are there can't be made of others.
    is_torn: bool,
    /// What reads have told of it.
    fading: Fading,
    /// Accesses of the host's to it since its erase, of the latest ones.
    accesses: u32,
}

impl Group {
    /// A free group with these members, which must be erased before it is written.
    fn of(members: &Members) -> Self {
        Group {
            has: lanes_of(members),
            state: GroupState::Free,
            valid: 0,
            written: 0,
            programs: [0; LANES_MAX],
            dead: 0,
            erased: false,
            closed_at: 0,
            erases: 0,
            harmed: false,
            is_torn: false,
            fading: Fading::default(),
            accesses: 0,
        }
    }
    fn is_alive(&self, lane: usize) -> bool {
        (self.has & !self.dead) >> lane & 1 != 0
    }
    fn alive(&self) -> u32 {
        (self.has & !self.dead).count_ones()
    }
    fn is_settled(&self) -> bool {
        self.programs == [0; LANES_MAX]
    }
}

/// The groups of a die of a channel.
struct Die {
    groups: Box<[Group]>,
    /// Free groups, in the order in which they became free.
    free: VecDeque<u16>,
    /// How often they were erased, together.
    free_erases: u64,
    /// The lanes on which it has blocks that can be written, as bits.
    lanes: u8,
    /// Groups with such blocks, but not of each of these lanes, in the order of their numbers: without one,
    /// nobody need look for what can be repaired.
    broken: Vec<u16>,
}

impl Die {
    /// Which of its free groups is opened next, of those that suit: the first, or by wear.
    fn choose_free(&self, levels: bool, cold: bool, suits: impl Fn(&Group) -> bool) -> Option<usize> {
        let group = |n: u16| &self.groups[usize::from(n)];
        let mut free = self.free.iter().map(|&n| group(n)).enumerate().filter(|(_, group)| suits(group));
        match (levels, cold) {
            (false, _) => free.next().map(|(at, _)| at),
            (true, false) => free.min_by_key(|&(at, group)| (group.erases, at)).map(|(at, _)| at),
            (true, true) => free.max_by_key(|&(at, group)| (group.erases, Reverse(at))).map(|(at, _)| at),
        }
    }
}

/// All groups.
pub struct Groups {
    info: ArrayInfo,
    /// The members of each group.
    table: BlockTable,
    dies: Vec<Die>,
    closings: u64,
    free: usize,
    /// Closed groups to which the map leads nowhere: without one, nobody need look for it.
    stale: usize,
    /// Groups that are harmed: without one, nobody need look for it.
    harmed: usize,
    /// Groups with a row that was cut off.
    torn: usize,
    /// Groups whose data are to be written anew: without one, nobody need look for it.
    fading: usize,
    /// When they are.
    refresh: Refresh,
    /// Lanes of a group that hold no data.
    parity: u32,
    /// Free groups are chosen by their erases, and not by how long they have been free.
    levels: bool,
    /// A group may have become empty that can be made whole.
    may_repair: bool,
    /// A group may have become empty that a closed one can make whole, or the other way round.
    may_split: bool,
    /// A block that groups had went bad.
    has_lost: bool,
    /// Erases of groups since power-on.
    all_erases: u64,
    /// The host's latest accesses, if wear is levelled between regions.
    accesses: Option<accesses::Accesses<GroupPlace>>,
}

impl Groups {
    /// The groups that a table makes of an array. All are free, and must be erased before they are written.
    pub fn of(info: &ArrayInfo, table: BlockTable) -> Self {
        let of_die = |die| {
            let groups: Box<[Group]> = table.of_die(die).iter().map(Group::of).collect();
            let free = (0..groups.len() as u16).collect();
            let mut die = Die { groups, free, free_erases: 0, lanes: 0, broken: Vec::new() };
            die.find_broken();
            die
        };
        let dies: Vec<Die> = (0..info.all_dies()).map(of_die).collect();
        let free = dies.iter().map(|die| die.free.len()).sum();
        let mut groups = Groups {
            info: *info,
            table,
            dies,
            closings: 0,
            free,
            stale: 0,
            harmed: 0,
            torn: 0,
            fading: 0,
            refresh: Refresh::default(),
            parity: 0,
            levels: false,
            may_repair: true,
            may_split: true,
            has_lost: false,
            all_erases: 0,
            accesses: None,
        };
        // A repair may have taken all blocks of a group.
        (0..groups.dies.len()).for_each(|die| groups.bury(die));
        groups
    }
    /// The groups of an array at its first start.
    #[cfg(test)]
    pub fn first(info: &ArrayInfo, is_bad: impl Fn(u8, u8, u8, u16) -> bool) -> Self {
        Groups::of(info, BlockTable::first(info, is_bad))
    }
    /// The same, with a lane of each group for the sum of the others (H33).
    #[must_use]
    pub fn with_parity(self) -> Self {
        let mut groups = Groups { parity: 1, ..self };
        (0..groups.dies.len()).for_each(|die| groups.bury(die));
        groups
    }

    /// The same, choosing free groups by their wear (H29).
    #[must_use]
    pub fn levelled(self) -> Self {
        Groups { levels: true, ..self }
    }

    /// The same, writing data anew at these limits (H32).
    #[must_use]
    pub fn refreshed(self, refresh: Refresh) -> Self {
        Groups { refresh, ..self }
    }

    fn get(&self, at: GroupPlace) -> &Group {
        &self.dies[self.info.die(at.channel, at.die)].groups[usize::from(at.group)]
    }
    fn get_mut(&mut self, at: GroupPlace) -> &mut Group {
        let index = self.info.die(at.channel, at.die);
        &mut self.dies[index].groups[usize::from(at.group)]
    }
    /// The places of all groups, in the order of their numbers: each is another die's than the one before.
    pub fn all(&self) -> Vec<GroupPlace> {
        let most = self.dies.iter().map(|die| die.groups.len()).max().unwrap_or(0);
        let dies = usize::from(self.info.dies);
        let of = |group: usize| {
            let has = move |&(_, die): &(usize, &Die)| group < die.groups.len();
            self.dies.iter().enumerate().filter(has).map(move |(n, _)| GroupPlace {
                channel: (n / dies) as u8,
                die: (n % dies) as u8,
                group: group as u16,
            })
        };
        (0..most).flat_map(of).collect()
    }
    /// Sectors of data of a group that has all its members.
    pub fn sectors(&self) -> u32 {
        (u32::from(self.info.lanes) - self.parity) * self.of_lane()
    }
    fn of_lane(&self) -> u32 {
        u32::from(self.info.pages) * u32::from(self.info.sectors)
    }
    /// The members of all groups.
    pub fn table(&self) -> &BlockTable {
        &self.table
    }
    /// The blocks of a group.
    pub fn members(&self, at: GroupPlace) -> Members {
        self.table.members(self.info.die(at.channel, at.die), at.group)
    }
    /// What it is for.
    pub fn state(&self, at: GroupPlace) -> GroupState {
        self.get(at).state
    }
    /// Sectors of a group to which the map leads.
    pub fn valid(&self, at: GroupPlace) -> u32 {
        self.get(at).valid
    }
    /// Free groups of all dies.
    pub fn all_free(&self) -> usize {
        self.free
    }
    /// Blocks of all groups that can be written with data.
    pub fn blocks_for_data(&self) -> u64 {
        let of = |group: &Group| u64::from(group.alive().saturating_sub(self.parity));
        self.dies.iter().flat_map(|die| die.groups.iter()).map(of).sum()
    }
    /// Whether a group's block of this lane can be written.
    pub fn is_alive(&self, at: GroupPlace, lane: u8) -> bool {
        self.get(at).is_alive(lane.into())
    }
    /// Whether a block that may hold data has gone bad in use, and can't be erased.
    pub fn has_lost(&self) -> bool {
        self.has_lost
    }
    /// A block that is in no group any more had gone bad in use.
    pub fn lost_before(&mut self) {
        self.has_lost = true;
    }
    /// A group's block of this lane can't be written any more. Returns whether it could before.
    pub fn kill(&mut self, at: PagePlace) -> bool {
        let group = self.get_mut(at.group());
        let was_alive = group.is_alive(at.lane.into());
        group.dead |= 1 << at.lane;
        let holds_data = group.state != GroupState::Held;
        self.has_lost |= holds_data;
        (self.may_repair, self.may_split) = (true, true);
        let index = self.info.die(at.channel, at.die);
        if was_alive {
            self.dies[index].find_broken();
        }
        self.bury(index);
        was_alive
    }
    /// A die of a lane doesn't answer any more: none of its blocks can be written, and groups with a sum
    /// are to be emptied. Returns how many blocks could be written before.
    pub fn kill_lane(&mut self, channel: u8, die: u8, lane: u8) -> u64 {
        let (index, parity) = (self.info.die(channel, die), self.parity);
        let (mut killed, mut harmed) = (0, 0);
        for group in &mut self.dies[index].groups {
            killed += u64::from(group.is_alive(lane.into()));
            group.dead |= 1 << lane;
            let holds = group.state == GroupState::Closed && group.has >> lane & 1 != 0;
            if parity > 0 && holds && !group.harmed {
                group.harmed = true;
                harmed += 1;
            }
        }
        self.harmed += harmed;
        (self.has_lost, self.may_repair, self.may_split) = (true, true, true);
        self.dies[index].find_broken();
        self.bury(index);
        killed
    }
    /// Free groups of a die that can't be written any more aren't free.
    fn bury(&mut self, index: usize) {
        let (die, parity) = (&mut self.dies[index], self.parity);
        let (before, groups) = (die.free.len(), &mut die.groups);
        die.free.retain(|&n| {
            let group = &mut groups[usize::from(n)];
            let is_dead = group.alive() <= parity;
            if is_dead {
                group.state = GroupState::Dead;
            }
            !is_dead
        });
        self.free -= before - die.free.len();
        self.count_free(index);
    }
    /// The blocks of a group that can be written, and so be erased.
    pub fn alive(&self, at: GroupPlace) -> Members {
        let (of, members) = (self.get(at), self.members(at));
        core::array::from_fn(|lane| if of.is_alive(lane) { members[lane] } else { NO_BLOCK })
    }
    /// Its blocks have been erased, or are being erased before all else.
    pub fn erased(&mut self, at: GroupPlace) {
        let group = self.get_mut(at);
        let (was_harmed, was_torn) = (group.harmed, group.is_torn);
        (group.erased, group.written, group.harmed, group.is_torn) = (true, 0, false, false);
        (group.erases, group.accesses) = (group.erases + 1, 0);
        if group.state == GroupState::Free {
            self.dies[self.info.die(at.channel, at.die)].free_erases += 1;
        }
        self.all_erases += 1;
        self.harmed -= usize::from(was_harmed);
        self.torn -= usize::from(was_torn);
        self.set_due(at, false);
        self.get_mut(at).fading = Fading::default();
    }
    fn set_due(&mut self, at: GroupPlace, due: bool) -> bool {
        let is_news = self.get_mut(at).fading.set_due(due);
        match (is_news, due) {
            (true, true) => self.fading += 1,
            (true, false) => self.fading -= 1,
            (false, _) => {}
        }
        is_news
    }
    /// A page is being read. True when the data of its group are to be written anew from now on, since its
    /// block has been read too often.
    pub fn count_read(&mut self, at: PagePlace) -> bool {
        let (refresh, pages) = (self.refresh, u32::from(self.info.pages) * u32::from(self.info.lanes));
        let group = self.get_mut(at.group());
        let is_due = group.fading.count_read(at.lane, pages, &refresh);
        is_due && holds_data(group) && self.set_due(at.group(), true)
    }
    /// A read of a page of a group has corrected so many bits in a chunk. True when its data are to be
    /// written anew from now on.
    pub fn corrected(&mut self, at: GroupPlace, bits: u8) -> bool {
        let refresh = self.refresh;
        let group = self.get_mut(at);
        holds_data(group) && group.fading.corrected(bits, &refresh) && self.set_due(at, true)
    }
    /// How often data that are copied out of a group have been moved for their wrong bits then.
    pub fn moves_out(&self, at: GroupPlace) -> u8 {
        self.get(at).fading.moves_out()
    }
    /// Data are copied into a group that have been moved for their wrong bits so often.
    pub fn moved_in(&mut self, at: GroupPlace, moves: u8) {
        self.get_mut(at).fading.moved_in(moves);
    }
    /// Reads, since the last erase, of the block with data that was read most often.
    pub fn most_reads(&self) -> u32 {
        let with_data = self.each().filter(|(group, _)| holds_data(group));
        with_data.map(|(group, _)| group.fading.reads()).max().unwrap_or(0)
    }
    /// The data of a group found no room to be written anew. The next read that tells of it asks again.
    pub fn leave(&mut self, at: GroupPlace) {
        self.set_due(at, false);
    }
    /// How often a group was erased.
    pub fn erases(&self, at: GroupPlace) -> u32 {
        self.get(at).erases
    }
    /// The fewest and the most erases of a group that can be written.
    pub fn wear(&self) -> (u32, u32) {
        let groups = || self.dies.iter().flat_map(|die| die.groups.iter());
        let erases = || groups().filter(|group| group.alive() > self.parity).map(|group| group.erases);
        (erases().min().unwrap_or(0), erases().max().unwrap_or(0))
    }
    /// Erases of groups since power-on.
    pub fn all_erases(&self) -> u64 {
        self.all_erases
    }
    /// Groups have been erased so often, by what was found at power-on. Those of which nothing tells count
    /// as the mean of the others of their die.
    pub fn found_erases(&mut self, known: &BTreeMap<GroupPlace, u32>) {
        let dies = usize::from(self.info.dies);
        for (n, die) in self.dies.iter_mut().enumerate() {
            let (channel, of) = ((n / dies) as u8, (n % dies) as u8);
            let of_group = |group: u16| known.get(&GroupPlace { channel, die: of, group }).copied();
            let all = || (0..die.groups.len() as u16).filter_map(of_group);
            let (sum, count) = (all().map(u64::from).sum::<u64>(), all().count() as u64);
            let mean = (sum + count / 2).checked_div(count).unwrap_or(0) as u32;
            for (group, n) in die.groups.iter_mut().zip(0..) {
                group.erases = of_group(n).unwrap_or(mean);
            }
        }
        (0..self.dies.len()).for_each(|die| self.count_free(die));
    }
    /// A page of a group could only be read from the others of its row: it is to be emptied.
    pub fn harm(&mut self, at: GroupPlace) {
        let group = self.get_mut(at);
        let is_new = !group.harmed;
        group.harmed = true;
        self.harmed += usize::from(is_new);
    }
    /// A row of a group was cut off by a loss of power: it is to be emptied before all others, since its
    /// pages have no sum.
    pub fn tear(&mut self, at: GroupPlace) {
        let group = self.get_mut(at);
        let is_new = !core::mem::replace(&mut group.is_torn, true);
        self.torn += usize::from(is_new);
    }
    /// Whether a group has a row that was cut off.
    pub fn has_torn(&self) -> bool {
        self.torn > 0
    }
    /// Whether it must be erased before it is written.
    pub fn must_be_erased(&self, at: GroupPlace) -> bool {
        !self.get(at).erased
    }
    /// A page of a group is on its way. Returns how many pages of its block are before it.
    pub fn begin(&mut self, at: PagePlace) -> u8 {
        let group = self.get_mut(at.group());
        (group.written, group.erased) = (group.written + 1, false);
        let programs = &mut group.programs[usize::from(at.lane)];
        *programs += 1;
        *programs - 1
    }
    /// Pages of a block that are on their way.
    pub fn on_their_way(&self, at: GroupPlace, lane: u8) -> u8 {
        self.get(at).programs[usize::from(lane)]
    }
    /// Pages on their way of the block of a group that has the most of them.
    pub fn most_on_their_way(&self, at: GroupPlace) -> u8 {
        self.get(at).programs.into_iter().max().unwrap_or(0)
    }
    /// Whether one page of each lane is on its way at most.
    pub fn is_alone(&self, at: GroupPlace) -> bool {
        self.get(at).programs.iter().all(|&programs| programs <= 1)
    }
    /// A page has been programmed, or has failed.
    pub fn end(&mut self, at: PagePlace) {
        let programs = &mut self.get_mut(at.group()).programs[usize::from(at.lane)];
        *programs = programs.checked_sub(1).expect("a page that ends was begun");
    }
    /// A group of which so many written pages were found at power-on, perhaps in blocks that can't be written
    /// any more. Asserts that nothing was known to be in it.
    pub fn found(&mut self, at: GroupPlace, written: u32) {
        self.closings += 1;
        let (closings, index) = (self.closings, self.info.die(at.channel, at.die));
        let of = &mut self.dies[index];
        let group = &mut of.groups[usize::from(at.group)];
        assert!(matches!(group.state, GroupState::Free | GroupState::Dead), "a group is found once");
        (group.state, group.written, group.closed_at) = (GroupState::Closed, written, closings);
        if let Some(place) = of.free.iter().position(|&free| free == at.group) {
            of.free.remove(place);
            of.free_erases -= u64::from(group.erases);
            self.free -= 1;
        }
        self.stale += 1;
    }
    /// Nothing counts any more: all groups that can be written are free. Asserts that no page is on its way.
    pub fn forget_all(&mut self) {
        (self.free, self.stale, self.harmed, self.torn, self.fading) = (0, 0, 0, 0, 0);
        (self.may_repair, self.may_split) = (true, true);
        let parity = self.parity;
        for die in &mut self.dies {
            die.free.clear();
            for (n, group) in (0..).zip(die.groups.iter_mut()) {
                assert!(group.is_settled(), "no page is on its way");
                (group.valid, group.written) = (0, 0);
                (group.harmed, group.is_torn) = (false, false);
                group.fading.set_due(false);
                if group.state == GroupState::Held {
                    continue;
                }
                group.state = if group.alive() <= parity { GroupState::Dead } else { GroupState::Free };
                if group.state == GroupState::Free {
                    die.free.push_back(n);
                    self.free += 1;
                }
            }
        }
        (0..self.dies.len()).for_each(|die| self.count_free(die));
    }
    /// Whether a die, by its number among all, has a free group.
    pub fn has_free(&self, die: usize) -> bool {
        !self.dies[die].free.is_empty()
    }
    /// Opens the group of a die that has been free longest, or by wear: for data that are `cold` the one that
    /// was erased most often, else the one that was erased least often. `None` if none is free.
    pub fn open(&mut self, channel: u8, die: u8, cold: bool) -> Option<u16> {
        let (index, levels) = (self.info.die(channel, die), self.levels);
        let of = &self.dies[index];
        let at = of.choose_free(levels, cold, |_| true)?;
        self.open_free(index, at)
    }
    /// As [`open`](Groups::open) for data that aren't cold, of the groups with a block of each lane; `None`
    /// if none has.
    pub fn open_whole(&mut self, channel: u8, die: u8) -> Option<u16> {
        let (index, lanes) = (self.info.die(channel, die), u32::from(self.info.lanes));
        let of = &self.dies[index];
        let at = of.choose_free(self.levels, false, |group| group.alive() == lanes)?;
        self.open_free(index, at)
    }
    /// Opens a free group of a die, by its place among the free ones.
    fn open_free(&mut self, die: usize, at: usize) -> Option<u16> {
        let of = &mut self.dies[die];
        let n = of.free.remove(at)?;
        let group = &mut of.groups[usize::from(n)];
        group.state = GroupState::Open;
        of.free_erases -= u64::from(group.erases);
        self.free -= 1;
        Some(n)
    }
    /// Closes an open group. Asserts that it is one.
    pub fn close(&mut self, at: GroupPlace) {
        self.closings += 1;
        let closings = self.closings;
        let of = self.get_mut(at);
        assert_eq!(of.state, GroupState::Open, "only an open group is closed");
        (of.state, of.closed_at) = (GroupState::Closed, closings);
        self.stale += usize::from(of.valid == 0);
    }
    /// Frees a closed group. Asserts that it is one, and that the map leads nowhere into it.
    pub fn release(&mut self, at: GroupPlace) {
        let index = self.info.die(at.channel, at.die);
        let die = &mut self.dies[index];
        let of = &mut die.groups[usize::from(at.group)];
        let state = (of.state, of.valid, of.is_settled());
        assert_eq!(state, (GroupState::Closed, 0, true), "only an empty group becomes free");
        self.stale -= 1;
        self.harmed -= usize::from(core::mem::take(&mut of.harmed));
        self.torn -= usize::from(core::mem::take(&mut of.is_torn));
        if of.alive() <= self.parity {
            of.state = GroupState::Dead;
        } else {
            of.state = GroupState::Free;
            die.free_erases += u64::from(of.erases);
            die.free.push_back(at.group);
            self.free += 1;
        }
        (self.may_repair, self.may_split) = (true, true);
    }
    /// The map leads to one more sector of this page.
    pub fn gained(&mut self, at: PagePlace) {
        let group = self.get_mut(at.group());
        group.valid += 1;
        if group.state == GroupState::Closed && group.valid == 1 {
            self.stale -= 1;
        }
    }
    /// The map leads to one sector less of this page.
    pub fn lost(&mut self, at: PagePlace) {
        let group = self.get_mut(at.group());
        assert!(group.valid > 0, "a sector is lost that was there");
        group.valid -= 1;
        if group.state == GroupState::Closed && group.valid == 0 {
            self.stale += 1;
        }
    }
    /// All groups with their places.
    fn each(&self) -> impl Iterator<Item = (&Group, GroupPlace)> {
        let dies = usize::from(self.info.dies);
        self.dies.iter().enumerate().flat_map(move |(n, die)| {
            let (channel, of) = ((n / dies) as u8, (n % dies) as u8);
            let groups = (0..).zip(die.groups.iter());
            groups.map(move |(n, group)| (group, GroupPlace { channel, die: of, group: n }))
        })
    }
}

/// The lanes of these blocks, as bits.
fn lanes_of(members: &Members) -> u8 {
    let lanes = (0..).zip(members).filter(|&(_, &block)| block != NO_BLOCK);
    lanes.fold(0, |lanes, (lane, _)| lanes | 1u8 << lane)
}

/// Whether a group may hold data.
fn holds_data(group: &Group) -> bool {
    matches!(group.state, GroupState::Open | GroupState::Closed)
}
