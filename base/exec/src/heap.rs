//! Timed events in their order, and a heap of them.

use alloc::vec::Vec;
use aster_units::Instant;

/// Children per node of the heap.
const ARITY: usize = 4;

/// Sequence numbers: an entry keeps 31 bits of them. When they are used up, the pending events are
/// renumbered.
pub(crate) const SEQUENCES: u64 = 1 << 31;

/// The bit above the sequence number. It is set in events that come last; these have their target in
/// place of a sequence number.
const LAST: u64 = 1 << 63;

// The time, the order among events of the same time (the sequence number, above the target), and the
// token. 24 bytes.
#[derive(Clone, Copy)]
pub(crate) struct TimedEvent {
    pub(crate) at: u64,
    pub(crate) order: u64,
    pub(crate) token: u64,
}

impl TimedEvent {
    /// Later than all events.
    pub(crate) const NEVER: Self = TimedEvent { at: u64::MAX, order: u64::MAX, token: 0 };

    #[inline]
    pub(crate) fn is_never(&self) -> bool {
        self.order == u64::MAX
    }
    #[inline]
    pub(crate) fn new(at: Instant, sequence: u64, target: u32, token: u64, last: bool) -> Self {
        let order = if last { LAST | u64::from(target) << 32 } else { sequence << 32 };
        TimedEvent { at: at.as_picos(), order: order | u64::from(target), token }
    }
    #[inline]
    pub(crate) fn key(&self) -> u128 {
        u128::from(self.at) << 64 | u128::from(self.order)
    }
    #[inline]
    pub(crate) fn target(&self) -> u32 {
        self.order as u32
    }
}

/// Events, the earliest first.
#[derive(Default)]
pub(crate) struct Heap(Vec<TimedEvent>);

/// Moves `entry`, for which there is a hole at `hole`, towards the root until its parent is earlier.
#[inline]
fn rise(heap: &mut [TimedEvent], mut hole: usize, entry: TimedEvent) {
    while hole > 0 {
        let parent = (hole - 1) / ARITY;
        if heap[parent].key() <= entry.key() {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = entry;
}

/// Replaces the root by `entry`. The entry comes from the end of the heap and most often belongs near the
/// end, so the hole goes down to a leaf first.
#[inline]
fn replace_root(heap: &mut [TimedEvent], entry: TimedEvent) {
    let mut hole = 0;
    loop {
        let first = hole * ARITY + 1;
        let child = match heap.get(first..first + ARITY) {
            Some(four) => {
                let earlier = |a: usize, b: usize| if four[b].key() < four[a].key() { b } else { a };
                first + earlier(earlier(0, 1), earlier(2, 3))
            }
            None if first >= heap.len() => break,
            None => {
                let rest = &heap[first..];
                let mut child = 0;
                for other in 1..rest.len() {
                    if rest[other].key() < rest[child].key() {
                        child = other;
                    }
                }
                first + child
            }
        };
        heap[hole] = heap[child];
        hole = child;
    }
    rise(heap, hole, entry);
}

impl Heap {
    #[inline]
    pub(crate) fn first(&self) -> Option<&TimedEvent> {
        self.0.first()
    }
    #[inline]
    pub(crate) fn push(&mut self, event: TimedEvent) {
        self.0.push(event);
        let last = self.0.len() - 1;
        rise(&mut self.0, last, event);
    }
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<TimedEvent> {
        let first = *self.0.first()?;
        let last = self.0.pop()?;
        if !self.0.is_empty() {
            replace_root(&mut self.0, last);
        }
        Some(first)
    }
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
    /// Gives the events new sequence numbers, from 0 on, and returns the one that comes next.
    #[cold]
    pub(crate) fn renumber(&mut self) -> u64 {
        // A sorted list is a heap.
        self.0.sort_unstable_by_key(TimedEvent::key);
        let numbered = self.0.iter_mut().filter(|entry| entry.order & LAST == 0);
        for (sequence, entry) in numbered.enumerate() {
            entry.order = (sequence as u64) << 32 | u64::from(entry.target());
        }
        self.0.len() as u64
    }
}

/// All events on the heap, as the slow twin of [`TimerQueue`](crate::timers::TimerQueue).
#[cfg(test)]
#[derive(Default)]
pub(crate) struct HeapQueue {
    heap: Heap,
    sequence: u64,
}

#[cfg(test)]
impl HeapQueue {
    pub(crate) fn push_in(&mut self, at: Instant, target: u32, token: u64, last: bool) {
        if self.sequence == SEQUENCES {
            self.sequence = self.heap.renumber();
        }
        self.heap.push(TimedEvent::new(at, self.sequence, target, token, last));
        self.sequence += 1;
    }
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.first().map(|e| Instant::from_picos(e.at))
    }
    pub(crate) fn pop_due(&mut self, until: Instant) -> Option<(Instant, u32, u64)> {
        if self.heap.first()?.at > until.as_picos() {
            return None;
        }
        let first = self.heap.pop()?;
        Some((Instant::from_picos(first.at), first.target(), first.token))
    }
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Rng;

    /// Pops until nothing is due by `until` and compares with the sorted `expected`, which are (time,
    /// target).
    fn drain(queue: &mut HeapQueue, until: u64, expected: &mut Vec<(u64, u32)>) {
        expected.sort_by_key(|&(at, _)| at);
        let due = expected.partition_point(|&(at, _)| at <= until);
        for (at, target) in expected.drain(..due) {
            let popped = queue.pop_due(Instant::from_picos(until));
            assert_eq!(popped, Some((Instant::from_picos(at), target, u64::from(target) << 32)));
        }
        assert_eq!(queue.pop_due(Instant::from_picos(until)), None);
        assert_eq!(queue.len(), expected.len());
    }

    #[test]
    fn events_come_out_by_time_and_equal_ones_in_order_whatever_went_in() {
        let (mut queue, mut expected) = (HeapQueue::default(), Vec::new());
        let mut rng = Rng::new(7);
        let (mut now, mut target) = (0, 0);
        for _ in 0..300 {
            for _ in 0..rng.below(40) {
                let at = now + rng.below(30);
                queue.push_in(Instant::from_picos(at), target, u64::from(target) << 32, false);
                expected.push((at, target));
                target += 1;
            }
            now += rng.below(12);
            drain(&mut queue, now, &mut expected);
        }
        drain(&mut queue, u64::MAX, &mut expected);
    }

    #[test]
    fn the_order_survives_new_numbers() {
        let (mut queue, mut expected) = (HeapQueue::default(), Vec::new());
        queue.sequence = SEQUENCES - 20;
        for target in 0..40 {
            let at = u64::from(target * 7 % 5);
            queue.push_in(Instant::from_picos(at), target, u64::from(target) << 32, false);
            expected.push((at, target));
        }
        assert!(queue.sequence < 100);
        drain(&mut queue, 9, &mut expected);
    }

    #[test]
    fn last_events_come_after_all_others_of_their_instant_in_the_order_of_their_targets() {
        let mut queue = HeapQueue::default();
        let at = Instant::from_picos;
        queue.push_in(at(5), 2, 0, true);
        queue.push_in(at(5), 1, 0, true);
        queue.push_in(at(5), 3, 0, false);
        queue.push_in(at(4), 4, 0, true);
        queue.push_in(at(6), 5, 0, false);
        queue.sequence = queue.heap.renumber();
        queue.push_in(at(5), 6, 0, false);
        queue.push_in(at(5), 0, 0, true);
        let order: Vec<u32> =
            core::iter::from_fn(|| queue.pop_due(at(9)).map(|(_, target, _)| target)).collect();
        assert_eq!(order, [4, 3, 6, 0, 1, 2, 5]);
    }
}
