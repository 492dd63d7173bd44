//! Which page is written next: consecutive pages go to consecutive channels, then lanes, then dies, so that
//! each is transferred while those before are programmed (H22, pipelined).

use super::groups::Groups;
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
    /// Dies whose open group must be erased before its first page.
    unerased: Vec<bool>,
    /// Pages chosen so far, skipped turns included.
    turn: u64,
}

impl Frontier {
    /// Pointers of an array in which no group is open.
    pub fn new(info: &ArrayInfo) -> Self {
        let dies = usize::from(info.channels) * usize::from(info.dies);
        Frontier { info: *info, open: vec![None; dies], unerased: vec![false; dies], turn: 0 }
    }
    fn turns(&self) -> u64 {
        u64::from(self.info.channels) * u64::from(self.info.lanes) * u64::from(self.info.dies)
    }
    /// The next page. A die without an open group is passed over if none of its groups is free, or no more
    /// than `reserve` are in the array; `None` if all are passed over. The page must be submitted before
    /// another is asked for, since pages of a block are written in order.
    pub fn next(&mut self, groups: &mut Groups, reserve: usize) -> Option<NextPage> {
        for _ in 0..self.turns() {
            let turn = self.turn;
            self.turn += 1;
            let (channels, lanes) = (u64::from(self.info.channels), u64::from(self.info.lanes));
            let channel = (turn % channels) as u8;
            let lane = (turn / channels % lanes) as u8;
            let die = (turn / (channels * lanes) % u64::from(self.info.dies)) as u8;
            if let Some(next) = self.of_lane(groups, reserve, (channel, die, lane)) {
                return Some(next);
            }
        }
        None
    }
    fn of_lane(
        &mut self,
        groups: &mut Groups,
        reserve: usize,
        (channel, die, lane): (u8, u8, u8),
    ) -> Option<NextPage> {
        let index = usize::from(channel) * usize::from(self.info.dies) + usize::from(die);
        let opens = self.open[index].is_none();
        let mut open = match self.open[index] {
            Some(open) => open,
            None if groups.all_free() <= reserve => return None,
            None => OpenGroup { group: groups.open(channel, die)?, ..OpenGroup::default() },
        };
        let page = open.next[usize::from(lane)];
        // The other lanes of the group have pages left, and take their turns.
        let usable = page < self.info.pages && groups.is_alive(channel, die, open.group, lane);
        open.next[usize::from(lane)] += u16::from(usable);
        let is_full = (0..self.info.lanes).all(|lane| {
            let full = open.next[usize::from(lane)] == self.info.pages;
            full || !groups.is_alive(channel, die, open.group, lane)
        });
        self.open[index] = (!is_full).then_some(open);
        if is_full {
            groups.close(channel, die, open.group);
        }
        let at = PagePlace { channel, die, group: open.group, page, lane };
        if !usable {
            // A group that was opened for a lane that it hasn't any more is erased with its next page.
            self.unerased[index] |= opens;
            return None;
        }
        let opens = opens || core::mem::take(&mut self.unerased[index]);
        Some(NextPage { at, opens })
    }
    /// No group is open any more.
    pub fn reset(&mut self) {
        self.open.fill(None);
        self.unerased.fill(false);
    }
}
