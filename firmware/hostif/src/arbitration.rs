//! Which submission queue is fetched from next (NVMe 1.4 §4.13).

use alloc::boxed::Box;
use alloc::vec;
use aster_wire::nvme::features::{ARBITRATION_BURST_UNLIMITED, ArbitrationFeature};

/// Priority classes of weighted round robin (QPRIO): urgent, high, medium, low.
const CLASSES: usize = 4;
const URGENT: usize = 0;

/// The queues of the first word.
const FIRST: u16 = u64::BITS as u16;

/// The I/O submission queues that have something to fetch, one bit each. The admin queue is not here: it
/// is served first and has slots of its own.
///
/// Queues 1 to 64 are in one word. Further ones are in more words, which are looked at only while one of
/// their queues has something to fetch.
#[derive(Debug)]
pub(crate) struct Arbiter {
    ready: u64,
    class: [u64; CLASSES],
    beyond: Beyond,
    /// The queue that was served last in each class, as a bit number.
    last: [u32; CLASSES],
    credits: [u32; CLASSES],
    weighted: bool,
}

/// Queues from 65 on.
#[derive(Debug)]
struct Beyond {
    /// In each class: how many are ready.
    count: [u32; CLASSES],
    /// By word: those that are ready, and those of each class.
    ready: Box<[u64]>,
    class: [Box<[u64]>; CLASSES],
}

impl Beyond {
    fn new(pairs: u16) -> Self {
        let words = || vec![0; usize::from(pairs.saturating_sub(FIRST).div_ceil(FIRST))].into_boxed_slice();
        Beyond { count: [0; CLASSES], ready: words(), class: [(); CLASSES].map(|()| words()) }
    }
    fn reset(&mut self) {
        self.count = [0; CLASSES];
        self.ready.fill(0);
        self.class.iter_mut().for_each(|words| words.fill(0));
    }
    /// The word and the bit of `queue`.
    const fn place(queue: u16) -> (usize, u64) {
        let index = queue - 1 - FIRST;
        ((index / FIRST) as usize, 1 << (index % FIRST))
    }
    fn class_of(&self, word: usize, bit: u64) -> Option<usize> {
        self.class.iter().position(|words| words[word] & bit != 0)
    }
    #[cold]
    fn set_ready(&mut self, queue: u16, ready: bool) {
        let (word, bit) = Self::place(queue);
        if (self.ready[word] & bit != 0) == ready {
            return;
        }
        self.ready[word] ^= bit;
        if let Some(class) = self.class_of(word, bit) {
            self.count[class] = if ready { self.count[class] + 1 } else { self.count[class] - 1 };
        }
    }
    fn add(&mut self, queue: u16, class: usize) {
        let (word, bit) = Self::place(queue);
        self.class[class][word] |= bit;
    }
    fn remove(&mut self, queue: u16) {
        self.set_ready(queue, false);
        let (word, bit) = Self::place(queue);
        self.class.iter_mut().for_each(|words| words[word] &= !bit);
    }
}

impl Arbiter {
    /// An arbiter for queues 1 to `pairs`.
    pub fn new(pairs: u16) -> Self {
        Arbiter {
            ready: 0,
            class: [0; CLASSES],
            beyond: Beyond::new(pairs),
            last: [0; CLASSES],
            credits: [0; CLASSES],
            weighted: false,
        }
    }
    /// Forgets all queues. `weighted` is CC.AMS.
    pub fn reset(&mut self, weighted: bool) {
        (self.ready, self.class, self.weighted) = (0, [0; CLASSES], weighted);
        (self.last, self.credits) = ([0; CLASSES], [0; CLASSES]);
        self.beyond.reset();
    }
    /// Puts `queue` into its class. With plain round robin there is one class.
    pub fn add(&mut self, queue: u16, priority: u8) {
        let class = if self.weighted { usize::from(priority) } else { URGENT };
        if queue > FIRST {
            return self.beyond.add(queue, class);
        }
        self.class[class] |= 1 << (queue - 1);
    }
    pub fn remove(&mut self, queue: u16) {
        if queue > FIRST {
            return self.beyond.remove(queue);
        }
        let bit = 1 << (queue - 1);
        self.ready &= !bit;
        self.class.iter_mut().for_each(|class| *class &= !bit);
    }
    #[inline]
    pub fn set_ready(&mut self, queue: u16, ready: bool) {
        if queue > FIRST {
            return self.beyond.set_ready(queue, ready);
        }
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
        self.ready != 0 || self.beyond.count != [0; CLASSES]
    }
    #[inline]
    fn has_ready(&self, class: usize) -> bool {
        self.ready & self.class[class] != 0 || self.beyond.count[class] != 0
    }
    /// The next queue and how many commands it may send in this turn.
    #[inline]
    pub fn next(&mut self, feature: ArbitrationFeature) -> Option<(u16, u32)> {
        if !self.is_any_ready() {
            return None;
        }
        let burst = match feature.burst() {
            ARBITRATION_BURST_UNLIMITED => u32::MAX,
            log2 => 1 << log2,
        };
        if self.has_ready(URGENT) {
            return Some((self.turn(URGENT), burst));
        }
        let class = self.weighted_class(feature);
        let limit = burst.min(self.credits[class]);
        Some((self.turn(class), limit))
    }
    /// Charges a queue for the commands that it sent in its turn.
    #[inline]
    pub fn used(&mut self, queue: u16, commands: u32) {
        for class in URGENT + 1..CLASSES {
            let is_in = match queue {
                1..=FIRST => self.class[class] & 1 << (queue - 1) != 0,
                _ => {
                    let (word, bit) = Beyond::place(queue);
                    self.beyond.class[class][word] & bit != 0
                }
            };
            if is_in {
                self.credits[class] = self.credits[class].saturating_sub(commands);
            }
        }
    }
    #[inline]
    fn turn(&mut self, class: usize) -> u16 {
        let next = if self.beyond.count[class] == 0 {
            let ready = self.ready & self.class[class];
            // Nothing of this word comes after a queue of another one.
            let after = ready & !(2u64.checked_shl(self.last[class]).unwrap_or(0).wrapping_sub(1));
            if after != 0 { after.trailing_zeros() } else { ready.trailing_zeros() }
        } else {
            self.turn_of_many(class)
        };
        self.last[class] = next;
        next as u16 + 1
    }
    /// The ready queue of `class` that follows the one that was served last, as a bit number.
    #[cold]
    fn turn_of_many(&self, class: usize) -> u32 {
        let ready = |word: usize| match word.checked_sub(1) {
            None => self.ready & self.class[class],
            Some(word) => self.beyond.ready[word] & self.beyond.class[class][word],
        };
        let (words, from) = (1 + self.beyond.ready.len(), self.last[class] + 1);
        let (first, bit) = (from / u64::BITS, from % u64::BITS);
        // At last the first word once more, whole: what comes before `from` in it.
        (0..=words)
            .find_map(|step| {
                let word = (first as usize + step) % words;
                let from = if step == 0 { u64::MAX << bit } else { u64::MAX };
                let found = ready(word) & from;
                (found != 0).then(|| word as u32 * u64::BITS + found.trailing_zeros())
            })
            .expect("a queue of this class is ready")
    }
    /// The highest class that has work and credit. A new round of credits begins when no class has both.
    fn weighted_class(&mut self, feature: ArbitrationFeature) -> usize {
        let find =
            |arbiter: &Self| (URGENT + 1..CLASSES).find(|&c| arbiter.has_ready(c) && arbiter.credits[c] > 0);
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
        let mut arbiter = Arbiter::new(64);
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
        let mut arbiter = Arbiter::new(64);
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

    /// Whatever is ready and whichever class it is in, the next queue is the first one behind the last of
    /// its class, in a ring of all.
    #[test]
    fn any_number_of_queues_takes_turns_as_a_ring_does() {
        for pairs in [1, 63, 64, 65, 128, 129, 1_000, u16::MAX] {
            for weighted in [false, true] {
                follows_a_ring(pairs, weighted);
            }
        }
    }

    fn follows_a_ring(pairs: u16, weighted: bool) {
        let mut arbiter = Arbiter::new(pairs);
        arbiter.reset(weighted);
        // By queue: its class and whether it is ready; by class: the queue served last.
        let mut queues = vec![None; usize::from(pairs) + 1];
        let mut last = [1u16; CLASSES];
        let mut random = 1u64;
        for step in 0..2_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // A few of them, far apart.
            let (dice, stride) = (random >> 33, (pairs / 40).max(1));
            let queue = (random >> 40) as u16 % (pairs / stride) * stride + 1;
            let of_queue = &mut queues[usize::from(queue)];
            match (dice % 8, *of_queue) {
                (0, Some(_)) => {
                    arbiter.remove(queue);
                    *of_queue = None;
                }
                (_, None) => {
                    arbiter.add(queue, (dice >> 8) as u8 % 4);
                    *of_queue = Some((if weighted { (dice >> 8) as usize % 4 } else { URGENT }, false));
                }
                (1..4, Some((class, _))) => {
                    let ready = dice & 16 != 0;
                    arbiter.set_ready(queue, ready);
                    *of_queue = Some((class, ready));
                }
                _ => {
                    let is_ready = |queue: &u16| queues[usize::from(*queue)].is_some_and(|(_, ready)| ready);
                    let any = (1..=pairs).any(|queue| is_ready(&queue));
                    let Some((found, limit)) = arbiter.next(ArbitrationFeature(7)) else {
                        assert!(!any, "{pairs} pairs, step {step}");
                        continue;
                    };
                    let Some((class, true)) = queues[usize::from(found)] else {
                        panic!("{pairs} pairs, step {step}: queue {found} is not ready");
                    };
                    let ring = (1..=pairs).skip(last[class].into()).chain(1..=last[class]);
                    let of_class = |queue: &u16| queues[usize::from(*queue)] == Some((class, true));
                    assert_eq!({ ring }.find(of_class), Some(found), "{pairs} pairs, step {step}");
                    last[class] = found;
                    arbiter.used(found, limit.min(3));
                }
            }
        }
        arbiter.reset(weighted);
        assert!(!arbiter.is_any_ready() && arbiter.next(ArbitrationFeature(7)).is_none());
    }
}
