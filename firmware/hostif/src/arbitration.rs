//! Which submission queue is fetched from next (NVMe 1.4 §4.13).

use aster_wire::nvme::features::{ARBITRATION_BURST_UNLIMITED, ArbitrationFeature};

/// Priority classes of weighted round robin (QPRIO): urgent, high, medium, low.
const CLASSES: usize = 4;
const URGENT: usize = 0;

/// The I/O submission queues that have something to fetch, one bit each. The admin queue is not here: it
/// is served first and has slots of its own.
#[derive(Debug, Default)]
pub(crate) struct Arbiter {
    ready: u64,
    class: [u64; CLASSES],
    /// The queue that was served last in each class, as a bit number.
    last: [u32; CLASSES],
    credits: [u32; CLASSES],
    weighted: bool,
}

impl Arbiter {
    /// Forgets all queues. `weighted` is CC.AMS.
    pub fn reset(&mut self, weighted: bool) {
        *self = Arbiter { weighted, ..Default::default() };
    }
    /// Puts queue `queue` (1 to 64) into its class. With plain round robin there is one class.
    pub fn add(&mut self, queue: u16, priority: u8) {
        let class = if self.weighted { usize::from(priority) } else { URGENT };
        self.class[class] |= 1 << (queue - 1);
    }
    pub fn remove(&mut self, queue: u16) {
        let bit = 1 << (queue - 1);
        self.ready &= !bit;
        self.class.iter_mut().for_each(|class| *class &= !bit);
    }
    #[inline]
    pub fn set_ready(&mut self, queue: u16, ready: bool) {
        let bit = 1 << (queue - 1);
        if ready {
            self.ready |= bit;
        } else {
            self.ready &= !bit;
        }
    }
    /// Whether [`Arbiter::next`] would return a queue.
    #[inline]
    pub fn is_any_ready(&self) -> bool {
        self.ready != 0
    }
    /// The next queue and how many commands it may send in this turn.
    #[inline]
    pub fn next(&mut self, feature: ArbitrationFeature) -> Option<(u16, u32)> {
        if self.ready == 0 {
            return None;
        }
        let burst = match feature.burst() {
            ARBITRATION_BURST_UNLIMITED => u32::MAX,
            log2 => 1 << log2,
        };
        if self.ready & self.class[URGENT] != 0 {
            return Some((self.turn(URGENT), burst));
        }
        let class = self.weighted_class(feature);
        let limit = burst.min(self.credits[class]);
        Some((self.turn(class), limit))
    }
    /// Charges a queue for the commands that it sent in its turn.
    #[inline]
    pub fn used(&mut self, queue: u16, commands: u32) {
        let bit = 1 << (queue - 1);
        for class in URGENT + 1..CLASSES {
            if self.class[class] & bit != 0 {
                self.credits[class] = self.credits[class].saturating_sub(commands);
            }
        }
    }
    fn turn(&mut self, class: usize) -> u16 {
        let ready = self.ready & self.class[class];
        let after = ready & !((2u64 << self.last[class]).wrapping_sub(1));
        let next = if after != 0 { after.trailing_zeros() } else { ready.trailing_zeros() };
        self.last[class] = next;
        next as u16 + 1
    }
    /// The highest class that has work and credit. A new round of credits begins when no class has both.
    fn weighted_class(&mut self, feature: ArbitrationFeature) -> usize {
        let find = |arbiter: &Self| {
            (URGENT + 1..CLASSES).find(|&c| arbiter.ready & arbiter.class[c] != 0 && arbiter.credits[c] > 0)
        };
        if let Some(class) = find(self) {
            return class;
        }
        let weights = [0, feature.high_weight(), feature.medium_weight(), feature.low_weight()];
        self.credits = weights.map(|weight| u32::from(weight) + 1);
        find(self).expect("a ready queue is in a class, and every class has credit now")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_takes_ready_queues_in_turn() {
        let mut arbiter = Arbiter::default();
        arbiter.reset(false);
        for queue in [1, 2, 64] {
            arbiter.add(queue, 3);
            arbiter.set_ready(queue, true);
        }
        let mut order = [0; 4];
        order.fill_with(|| arbiter.next(ArbitrationFeature(2)).unwrap().0);
        assert_eq!(order, [2, 64, 1, 2]);
        assert_eq!(arbiter.next(ArbitrationFeature(2)).unwrap().1, 4);
        arbiter.remove(64);
        assert_eq!(arbiter.next(ArbitrationFeature(7)).unwrap(), (1, u32::MAX));
    }

    #[test]
    fn weights_share_the_commands_and_urgent_goes_first() {
        let mut arbiter = Arbiter::default();
        arbiter.reset(true);
        for (queue, priority) in [(1, 1), (2, 3), (3, 0)] {
            arbiter.add(queue, priority);
            arbiter.set_ready(queue, true);
        }
        let feature = ArbitrationFeature(7).with_high_weight(2).with_low_weight(0);
        assert_eq!(arbiter.next(feature).unwrap().0, 3);
        arbiter.set_ready(3, false);
        let mut counts = [0u32; 3];
        for _ in 0..40 {
            let (queue, limit) = arbiter.next(feature).unwrap();
            let commands = limit.min(1);
            arbiter.used(queue, commands);
            counts[usize::from(queue)] += commands;
        }
        assert_eq!(counts, [0, 30, 10]);
    }
}
