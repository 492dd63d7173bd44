//! Which page is written next: consecutive pages go to consecutive channels, then lanes, then dies, so that
//! each is transferred while those before are programmed (H22, pipelined).

use super::groups::{Groups, lanes_of};
use super::place::PagePlace;
use crate::driver::ArrayInfo;
use alloc::vec;
use alloc::vec::Vec;
use aster_wire::array::LANES_MAX;

/// The open group of a die, and the next page of each of its lanes.
#[derive(Clone, Copy, Default)]
struct OpenGroup {
    group: u16,
    next: [u16; LANES_MAX],
}

/// A page to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NextPage {
    /// Where.
    pub at: PagePlace,
    /// Its group was opened for it: all members must be erased first.
    pub opens: bool,
}

/// The write pointers.
pub struct Frontier {
    info: ArrayInfo,
    open: Vec<Option<OpenGroup>>,
    /// Pages chosen so far, skipped turns included.
    turn: u64,
}

impl Frontier {
    /// Pointers of an array in which no group is open.
    pub fn new(info: &ArrayInfo) -> Self {
        let dies = usize::from(info.channels) * usize::from(info.dies);
        Frontier { info: *info, open: vec![None; dies], turn: 0 }
    }
    fn turns(&self) -> u64 {
        u64::from(self.info.channels) * u64::from(self.info.lanes) * u64::from(self.info.dies)
    }
    /// The next page. A die without a free group is passed over; `None` if all are. The page must be
    /// submitted before another is asked for, since pages of a block are written in order.
    pub fn next(&mut self, groups: &mut Groups) -> Option<NextPage> {
        for _ in 0..self.turns() {
            let turn = self.turn;
            self.turn += 1;
            let (channels, lanes) = (u64::from(self.info.channels), u64::from(self.info.lanes));
            let channel = (turn % channels) as u8;
            let lane = (turn / channels % lanes) as u8;
            let die = (turn / (channels * lanes) % u64::from(self.info.dies)) as u8;
            if let Some(next) = self.of_lane(groups, channel, die, lane) {
                return Some(next);
            }
        }
        None
    }
    fn of_lane(&mut self, groups: &mut Groups, channel: u8, die: u8, lane: u8) -> Option<NextPage> {
        let index = usize::from(channel) * usize::from(self.info.dies) + usize::from(die);
        let opens = self.open[index].is_none();
        let mut open = match self.open[index] {
            Some(open) => open,
            None => OpenGroup { group: groups.open(channel, die)?, ..OpenGroup::default() },
        };
        let page = open.next[usize::from(lane)];
        if page == self.info.pages {
            // The other lanes of the group have pages left, and take their turns.
            return None;
        }
        open.next[usize::from(lane)] += 1;
        let lanes = lanes_of(&groups.members(channel, die, open.group));
        let full = open.next[..lanes].iter().all(|&next| next == self.info.pages);
        self.open[index] = if full {
            groups.close(channel, die, open.group);
            None
        } else {
            Some(open)
        };
        Some(NextPage { at: PagePlace { channel, die, group: open.group, page, lane }, opens })
    }
}
