//! Which page is written next: consecutive pages go to consecutive channels, then lanes, then dies, so that
//! each is transferred while those before are programmed (H22, pipelined).
//!
//! Pages of the host and copies of collection go to groups of their own: data that were copied once have
//! lived longer, and change less.

use super::groups::{GroupPlace, Groups};
use super::place::PagePlace;
use crate::driver::ArrayInfo;
use alloc::vec;
use alloc::vec::Vec;
use aster_wire::array::LANES_MAX;

/// Whose pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// The host's.
    Host,
    /// Copies of collection.
    Copies,
}

/// How many streams there are, each with an open group of each die.
pub const STREAMS: usize = 2;

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

/// The write pointers.
pub struct Frontier {
    info: ArrayInfo,
    /// The open groups of each die.
    open: Vec<[Option<OpenGroup>; STREAMS]>,
    /// Pages of each stream that were chosen so far, skipped turns included.
    turns: [u64; STREAMS],
}

impl Frontier {
    /// Pointers of an array in which no group is open.
    pub fn new(info: &ArrayInfo) -> Self {
        let dies = usize::from(info.channels) * usize::from(info.dies);
        Frontier { info: *info, open: vec![[None; STREAMS]; dies], turns: [0; STREAMS] }
    }
    fn round(&self) -> u64 {
        u64::from(self.info.channels) * u64::from(self.info.lanes) * u64::from(self.info.dies)
    }
    /// The next page of a stream. A die without an open group is passed over if none of its groups is free,
    /// or no more than `reserve` are in the array; `None` if all are passed over. The page must be submitted
    /// before another is asked for, since pages of a block are written in order.
    pub fn next(&mut self, groups: &mut Groups, stream: Stream, reserve: usize) -> Option<NextPage> {
        for _ in 0..self.round() {
            let turn = self.turns[stream as usize];
            self.turns[stream as usize] += 1;
            let (channels, lanes) = (u64::from(self.info.channels), u64::from(self.info.lanes));
            let channel = (turn % channels) as u8;
            let lane = (turn / channels % lanes) as u8;
            let die = (turn / (channels * lanes) % u64::from(self.info.dies)) as u8;
            if let Some(next) = self.of_lane(groups, (stream, reserve), (channel, die, lane)) {
                return Some(next);
            }
        }
        None
    }
    fn of_lane(
        &mut self,
        groups: &mut Groups,
        (stream, reserve): (Stream, usize),
        (channel, die, lane): (u8, u8, u8),
    ) -> Option<NextPage> {
        let index = usize::from(channel) * usize::from(self.info.dies) + usize::from(die);
        let slot = &mut self.open[index][stream as usize];
        let mut open = match *slot {
            Some(open) => open,
            None if groups.all_free() <= reserve => return None,
            None => OpenGroup { group: groups.open(channel, die)?, ..OpenGroup::default() },
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
        *slot = (!is_full).then_some(open);
        if is_full {
            groups.close(of);
        }
        usable.then_some(NextPage { at: of.page(page, lane), opens })
    }
    /// No group is open any more.
    pub fn reset(&mut self) {
        self.open.fill([None; STREAMS]);
    }
}
