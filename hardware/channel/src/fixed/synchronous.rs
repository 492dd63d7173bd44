//! The arbiter of the synchronous controller (BABOL's Fig 4).

use aster_ports::channel::{Arbiter, ChannelPort};

/// Grants the channel round robin: of the LUNs that want it, the one that comes next after the one that had it last.
#[derive(Default)]
pub(super) struct RoundRobin {
    next: u16,
}

impl RoundRobin {
    pub(super) fn grant(&mut self, waiting: &[u16]) -> usize {
        let behind = |slot: u16| slot.wrapping_sub(self.next);
        // Slots before `next` wrap round to large distances.
        let chosen = (0..waiting.len()).min_by_key(|&i| behind(waiting[i])).unwrap_or(0);
        self.next = waiting[chosen].wrapping_add(1);
        chosen
    }
}

impl Arbiter for RoundRobin {
    fn grant(&mut self, _: &ChannelPort, waiting: &[u16]) -> usize {
        RoundRobin::grant(self, waiting)
    }
}
