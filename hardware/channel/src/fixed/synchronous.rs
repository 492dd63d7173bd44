//! The arbiter of the synchronous controller (BABOL's Fig 4).

/// Grants the channel round robin: to the first LUN that wants it after the one that had it last.
#[derive(Default)]
pub(super) struct RoundRobin {
    next: u16,
}

impl RoundRobin {
    pub(super) fn choose(&mut self, waiting: &[u16]) -> usize {
        // Slots before `next` wrap round to large distances.
        let behind = |slot: u16| slot.wrapping_sub(self.next);
        let chosen = (0..waiting.len()).min_by_key(|&i| behind(waiting[i]));
        let chosen = chosen.expect("somebody wants the channel");
        self.next = waiting[chosen].wrapping_add(1);
        chosen
    }
}
