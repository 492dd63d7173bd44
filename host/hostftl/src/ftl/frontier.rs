//! Which page is written next: consecutive pages go to consecutive channels, then lanes, then dies, so that
//! each is transferred while those before are programmed (H22, pipelined).
//!
//! Pages of the host, its composite pages, copies of collection and those of wear levelling go to groups of
//! their own: data that were copied once have lived longer, and change less. A composite page is the same
//! page of all lanes of a group, and the next one is another channel's, then another die's (H22).

use super::config::Parity;
use super::groups::{GroupPlace, Groups};
use super::oob::BEHIND_MAX;
use super::place::PagePlace;
use crate::driver::ArrayInfo;
use alloc::vec;
use alloc::vec::Vec;
use aster_wire::array::LANES_MAX;

/// Programs of a block that the host has on their way at most while free groups are few. All that wait would
/// go to the few open groups otherwise, fill the drive's slots and hold up collection.
pub const AHEAD: u8 = 1;

/// How many programs of a block may be on their way, and what becomes of its turn when as many are.
#[derive(Clone, Copy)]
struct Pace {
    ahead: u8,
    /// Nobody takes its turn: the order of lanes stays. If others took it, the commands that the drive holds
    /// at a time would soon be those of a few lanes.
    keeps_order: bool,
}

impl Pace {
    /// While free groups are few.
    const SLOW: Pace = Pace { ahead: AHEAD, keeps_order: false };
    /// As many as a record can count.
    const FULL: Pace = Pace { ahead: BEHIND_MAX, keeps_order: true };
    /// For what can't wait.
    const ANY: Pace = Pace { ahead: u8::MAX, keeps_order: false };
}

/// Whose pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// The host's.
    Host,
    /// Copies of collection.
    Copies,
    /// The host's composite pages.
    Composite,
    /// Copies of groups that are emptied for their wear: data that nobody has written for long.
    Cold,
}

impl Stream {
    /// Whether its pages are copies.
    pub fn is_of_copies(self) -> bool {
        matches!(self, Stream::Copies | Stream::Cold)
    }
}

/// How many streams there are, each with an open group of each die.
const STREAMS: usize = 4;

/// The open group of a die, and the next page of each of its lanes.
#[derive(Clone, Copy, Default)]
struct OpenGroup {
    group: u16,
    next: [u16; LANES_MAX],
    /// A page of it has been given out.
    begun: bool,
}

/// A page to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextPage {
    /// Where.
    pub at: PagePlace,
    /// It is the first of its group: all members must have been erased before.
    pub opens: bool,
}

/// Why a page has no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoPlace {
    /// No group is open that has room, and none may be opened.
    Group,
    /// All that have room have their programs on their way.
    Busy,
}

/// A composite page to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextRow {
    /// This page of all lanes of this group.
    At {
        /// The group.
        of: GroupPlace,
        /// The page of each of its blocks.
        page: u16,
        /// It is the first of its group: all members must have been erased before.
        opens: bool,
    },
    /// Not before another group is free.
    Wait,
    /// Not before a program of an open group has ended.
    Busy,
    /// No group that is free has a block of each lane.
    NotWhole,
}

/// A row to be written with the sum of its pages on one lane (H33).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SummedRow {
    /// The group.
    pub of: GroupPlace,
    /// The page of each of its blocks.
    pub page: u16,
    /// It is the first of its group: all members must have been erased before.
    pub opens: bool,
    /// The lanes of the data, as bits.
    pub data: u8,
    /// The lane of their sum.
    pub parity: u8,
}

impl SummedRow {
    /// Pages of data that it takes.
    pub fn room(&self) -> usize {
        self.data.count_ones() as usize
    }
    /// All of its lanes, as bits.
    pub fn lanes(&self) -> u8 {
        self.data | 1 << self.parity
    }
}

/// The write pointers.
pub struct Frontier {
    info: ArrayInfo,
    /// The open groups of each die.
    open: Vec<[Option<OpenGroup>; STREAMS]>,
    /// Pages of each stream that were chosen so far, skipped turns included.
    turns: [u64; STREAMS],
    /// The only die that a stream goes to, by channel and die.
    confined: Option<(Stream, (u8, u8))>,
    /// The host's.
    pace: Pace,
    /// The host writes no region whose free groups were erased so much more often than another's (H29).
    window: Option<u32>,
}

impl Frontier {
    /// Pointers of an array in which no group is open.
    pub fn new(info: &ArrayInfo) -> Self {
        Frontier {
            info: *info,
            open: vec![[None; STREAMS]; info.all_dies()],
            turns: [0; STREAMS],
            confined: None,
            pace: Pace::FULL,
            window: None,
        }
    }
    /// The same, with a bound for the wear of regions.
    #[must_use]
    pub fn with_window(self, window: Option<u32>) -> Self {
        Frontier { window, ..self }
    }
    fn round(&self) -> u64 {
        u64::from(self.info.channels) * u64::from(self.info.lanes) * u64::from(self.info.dies)
    }
    /// The host has [`AHEAD`] programs of a block on their way at most, or as many as a record can count.
    pub fn pace(&mut self, is_slow: bool) {
        self.pace = if is_slow { Pace::SLOW } else { Pace::FULL };
    }
    /// A stream goes to this die alone. All others go to all, and with `None` it does.
    pub fn confine(&mut self, to: Option<(Stream, (u8, u8))>) {
        self.confined = to;
    }
    fn takes(&self, stream: Stream, at: (u8, u8)) -> bool {
        self.confined.is_none_or(|(confined, only)| confined != stream || only == at)
    }
    /// Whether a stream opens a group of this die.
    fn opens(&self, groups: &Groups, stream: Stream, (channel, die): (u8, u8)) -> bool {
        let is_bound = !stream.is_of_copies();
        !self.window.is_some_and(|window| is_bound && groups.is_worn(channel, die, window))
    }
    /// The next page of a stream. A die without an open group is passed over if none of its groups is free,
    /// or no more than `reserve` are in the array; `None` if all are passed over. The page must be submitted
    /// before another is asked for, since pages of a block are written in order.
    pub fn next(&mut self, groups: &mut Groups, stream: Stream, reserve: usize) -> Option<NextPage> {
        let next = self.next_of(groups, (stream, reserve), Pace::FULL);
        // Each open block has as many on their way as a record can count.
        let next = if next == Err(NoPlace::Busy) {
            self.next_of(groups, (stream, reserve), Pace::ANY)
        } else {
            next
        };
        next.ok()
    }
    /// The same for the host, at its [pace](Frontier::pace).
    pub fn next_paced(
        &mut self,
        groups: &mut Groups,
        stream: Stream,
        reserve: usize,
    ) -> Result<NextPage, NoPlace> {
        self.next_of(groups, (stream, reserve), self.pace)
    }
    fn next_of(
        &mut self,
        groups: &mut Groups,
        (stream, reserve): (Stream, usize),
        pace: Pace,
    ) -> Result<NextPage, NoPlace> {
        let mut none = NoPlace::Group;
        for _ in 0..self.round() {
            let turn = self.turns[stream as usize];
            self.turns[stream as usize] += 1;
            let (channels, lanes) = (u64::from(self.info.channels), u64::from(self.info.lanes));
            let channel = (turn % channels) as u8;
            let lane = (turn / channels % lanes) as u8;
            let die = (turn / (channels * lanes) % u64::from(self.info.dies)) as u8;
            if !self.takes(stream, (channel, die)) {
                continue;
            }
            if let Some(open) = self.open[self.info.die(channel, die)][stream as usize] {
                let of = GroupPlace { channel, die, group: open.group };
                if groups.on_their_way(of, lane) >= pace.ahead {
                    none = NoPlace::Busy;
                    if pace.keeps_order {
                        self.turns[stream as usize] = turn;
                        break;
                    }
                    continue;
                }
            }
            if let Some(next) = self.of_lane(groups, (stream, reserve), (channel, die, lane)) {
                return Ok(next);
            }
        }
        Err(none)
    }
    fn of_lane(
        &mut self,
        groups: &mut Groups,
        (stream, reserve): (Stream, usize),
        (channel, die, lane): (u8, u8, u8),
    ) -> Option<NextPage> {
        let may_open = || groups.all_free() > reserve && self.opens(groups, stream, (channel, die));
        let slot = self.open[self.info.die(channel, die)][stream as usize];
        let mut open = match slot {
            Some(open) => open,
            None if !may_open() => return None,
            None => OpenGroup {
                group: groups.open(channel, die, stream == Stream::Cold)?,
                ..OpenGroup::default()
            },
        };
        let of = GroupPlace { channel, die, group: open.group };
        let page = open.next[usize::from(lane)];
        // The other lanes of the group have pages left, and take their turns.
        let usable = page < self.info.pages && groups.is_alive(of, lane);
        let opens = usable && !open.begun;
        open.begun |= usable;
        open.next[usize::from(lane)] += u16::from(usable);
        let is_full = (0..self.info.lanes)
            .all(|lane| open.next[usize::from(lane)] == self.info.pages || !groups.is_alive(of, lane));
        self.open[self.info.die(channel, die)][stream as usize] = (!is_full).then_some(open);
        if is_full {
            groups.close(of);
        }
        usable.then_some(NextPage { at: of.page(page, lane), opens })
    }
    /// The next composite page, at the host's [pace](Frontier::pace). As with [`next`](Frontier::next) no
    /// group is opened when no more than `reserve` are free, and the page must be submitted before another is
    /// asked for.
    pub fn next_row(&mut self, groups: &mut Groups, reserve: usize) -> NextRow {
        let (channels, dies) = (u64::from(self.info.channels), u64::from(self.info.dies));
        let mut none = NextRow::NotWhole;
        for _ in 0..channels * dies {
            let turn = self.turns[Stream::Composite as usize];
            self.turns[Stream::Composite as usize] += 1;
            let (channel, die) = ((turn % channels) as u8, (turn / channels % dies) as u8);
            let slot = self.open[self.info.die(channel, die)][Stream::Composite as usize];
            let opened = match slot {
                Some(open)
                    if groups.most_on_their_way(GroupPlace { channel, die, group: open.group })
                        >= self.pace.ahead =>
                {
                    none = NextRow::Busy;
                    if self.pace.keeps_order {
                        self.turns[Stream::Composite as usize] = turn;
                        break;
                    }
                    None
                }
                Some(open) => Some(open),
                None if groups.all_free() <= reserve => {
                    none = if none == NextRow::Busy { none } else { NextRow::Wait };
                    None
                }
                None if !self.opens(groups, Stream::Composite, (channel, die)) => None,
                None => {
                    groups.open_whole(channel, die).map(|group| OpenGroup { group, ..OpenGroup::default() })
                }
            };
            let Some(mut open) = opened else { continue };
            let of = GroupPlace { channel, die, group: open.group };
            let (page, opens) = (open.next[0], !open.begun);
            (open.begun, open.next) = (true, [page + 1; LANES_MAX]);
            let rest = (page + 1 < self.info.pages).then_some(open);
            self.open[self.info.die(channel, die)][Stream::Composite as usize] = rest;
            if rest.is_none() {
                groups.close(of);
            }
            return NextRow::At { of, page, opens };
        }
        none
    }
    /// The next row of a stream with a sum, on the lanes that can be written: as with
    /// [`next`](Frontier::next), but it is the next one until it [is taken](Frontier::take_summed).
    pub fn next_summed(
        &mut self,
        groups: &mut Groups,
        to: (Stream, usize),
        parity: Parity,
    ) -> Option<SummedRow> {
        let next = self.next_summed_of(groups, to, parity, Pace::FULL);
        let next = if next == Err(NoPlace::Busy) {
            self.next_summed_of(groups, to, parity, Pace::ANY)
        } else {
            next
        };
        next.ok()
    }
    /// The same for the host, at its [pace](Frontier::pace).
    pub fn next_summed_paced(
        &mut self,
        groups: &mut Groups,
        to: (Stream, usize),
        parity: Parity,
    ) -> Result<SummedRow, NoPlace> {
        self.next_summed_of(groups, to, parity, self.pace)
    }
    fn next_summed_of(
        &mut self,
        groups: &mut Groups,
        (stream, reserve): (Stream, usize),
        parity: Parity,
        pace: Pace,
    ) -> Result<SummedRow, NoPlace> {
        let mut none = NoPlace::Group;
        let (channels, dies) = (u64::from(self.info.channels), u64::from(self.info.dies));
        for _ in 0..channels * dies {
            let turn = self.turns[stream as usize];
            let (channel, die) = ((turn % channels) as u8, (turn / channels % dies) as u8);
            if !self.takes(stream, (channel, die)) {
                self.turns[stream as usize] += 1;
                continue;
            }
            let opens = groups.all_free() > reserve && self.opens(groups, stream, (channel, die));
            let slot = &mut self.open[self.info.die(channel, die)][stream as usize];
            if slot.is_none() && opens {
                *slot = groups
                    .open(channel, die, stream == Stream::Cold)
                    .map(|group| OpenGroup { group, ..OpenGroup::default() });
            }
            let Some(open) = *slot else {
                self.turns[stream as usize] += 1;
                continue;
            };
            let of = GroupPlace { channel, die, group: open.group };
            if groups.most_on_their_way(of) >= pace.ahead {
                none = NoPlace::Busy;
                if pace.keeps_order {
                    break;
                }
                self.turns[stream as usize] += 1;
                continue;
            }
            let alive = (0..self.info.lanes).filter(|&lane| groups.is_alive(of, lane));
            let lanes = alive.clone().fold(0u8, |lanes, lane| lanes | 1 << lane);
            let count = lanes.count_ones() as usize;
            if count < 2 {
                // What is left of it has room for no sum beside data.
                *slot = None;
                groups.close(of);
                continue;
            }
            let last = match parity {
                Parity::Fixed => count - 1,
                Parity::Rotating => usize::from(of.group) % count,
            };
            let parity = alive.clone().nth(last).expect("it has two lanes");
            let data = lanes & !(1 << parity);
            return Ok(SummedRow { of, page: open.next[0], opens: !open.begun, data, parity });
        }
        Err(none)
    }
    /// The next row of a stream is submitted.
    pub fn take_summed(&mut self, groups: &mut Groups, stream: Stream, row: &SummedRow) {
        self.turns[stream as usize] += 1;
        let slot = &mut self.open[self.info.die(row.of.channel, row.of.die)][stream as usize];
        let is_full = row.page + 1 == self.info.pages;
        let group = row.of.group;
        *slot = (!is_full).then_some(OpenGroup { group, next: [row.page + 1; LANES_MAX], begun: true });
        if is_full {
            groups.close(row.of);
        }
    }
    /// Dies that have no open group for copies and could open one.
    pub fn without_copies(&self, groups: &Groups) -> usize {
        let could = |&(die, open): &(usize, &[Option<OpenGroup>; STREAMS])| {
            open[Stream::Copies as usize].is_none() && groups.has_free(die)
        };
        self.open.iter().enumerate().filter(could).count()
    }
    /// No more pages go to this group.
    pub fn abandon(&mut self, groups: &mut Groups, of: GroupPlace) {
        for slot in &mut self.open[self.info.die(of.channel, of.die)] {
            if slot.take_if(|open| open.group == of.group).is_some() {
                groups.close(of);
            }
        }
    }
    /// No more pages go to the groups of a die that are open.
    pub fn abandon_die(&mut self, groups: &mut Groups, channel: u8, die: u8) {
        for open in self.open[self.info.die(channel, die)].iter_mut().filter_map(Option::take) {
            groups.close(GroupPlace { channel, die, group: open.group });
        }
    }
    /// All open groups are closed: the drive has lost its power, and nothing may be programmed behind a page
    /// that is torn.
    pub fn close_all(&mut self, groups: &mut Groups) {
        let dies = usize::from(self.info.dies);
        for (n, die) in self.open.iter_mut().enumerate() {
            for open in die.iter_mut().filter_map(Option::take) {
                let (channel, die) = ((n / dies) as u8, (n % dies) as u8);
                groups.close(GroupPlace { channel, die, group: open.group });
            }
        }
    }
    /// No group is open any more.
    pub fn reset(&mut self) {
        self.open.fill([None; STREAMS]);
    }
}
