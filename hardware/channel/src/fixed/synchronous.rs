//! The arbiter of the synchronous controller (BABOL's Fig 4).

use alloc::boxed::Box;
use alloc::rc::Rc;
use aster_ports::channel::{Arbiter, ChannelPort};
use core::cell::Cell;

/// Which slots want the channel only to start their array: a request line beside the arbiter's other one.
pub(super) type Starts = Rc<[Cell<bool>]>;

pub(super) fn starts(slots: usize) -> Starts {
    (0..slots).map(|_| Cell::new(false)).collect()
}

/// Grants the channel round robin: of the LUNs that want it, the one that comes next after the one that had it last.
///
/// Those that start their array go before those that move data or ask for a status, in a round of their own. In one
/// round for all, a LUN that has moved its page starts the next one only when every other LUN has moved its own: soon all of
/// them start, work and move in step, and the channel idles while they work.
pub(super) struct RoundRobin {
    starts: Starts,
    next_start: u16,
    next: u16,
}

impl RoundRobin {
    pub(super) fn new(starts: &Starts) -> Box<Self> {
        Box::new(RoundRobin { starts: Rc::clone(starts), next_start: 0, next: 0 })
    }
}

/// The index of the slot that comes first from `next` on, all the way round.
fn round(waiting: &[u16], next: u16, wanted: impl Fn(u16) -> bool) -> Option<usize> {
    let wants = waiting.iter().enumerate().filter(|&(_, &slot)| wanted(slot));
    // Slots before `next` wrap round to large distances.
    wants.min_by_key(|&(_, &slot)| slot.wrapping_sub(next)).map(|(at, _)| at)
}

impl RoundRobin {
    pub(super) fn choose(&mut self, waiting: &[u16]) -> usize {
        let starts = |slot: u16| self.starts[usize::from(slot)].get();
        if let Some(at) = round(waiting, self.next_start, starts) {
            self.next_start = waiting[at].wrapping_add(1);
            return at;
        }
        let at = round(waiting, self.next, |_| true).expect("somebody wants the channel");
        self.next = waiting[at].wrapping_add(1);
        at
    }
}

impl Arbiter for RoundRobin {
    fn grant(&mut self, _: &ChannelPort, waiting: &[u16]) -> usize {
        self.choose(waiting)
    }
}
