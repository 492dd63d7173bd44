use alloc::collections::BinaryHeap;
use aster_units::Instant;
use core::cmp::Ordering;

/// A queue of timed events. Equal times come out in the order they went in.
///
/// The binary heap is as good as a timer wheel here to within noise (design §2); the trait keeps the choice open.
pub trait TimerQueue {
    /// Adds an event.
    fn push(&mut self, at: Instant, target: u32, token: u64);
    /// When the earliest event is due. Does not change the queue.
    fn next(&self) -> Option<Instant>;
    /// Takes the earliest event if it is due by `until`.
    fn pop_due(&mut self, until: Instant) -> Option<(Instant, u32, u64)>;
    /// Drops all events.
    fn clear(&mut self);
    /// Events pending.
    fn len(&self) -> usize;
    /// True when nothing is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    at: u64,
    sequence: u64,
    token: u64,
    target: u32,
}

impl Ord for Entry {
    // Reversed: `BinaryHeap` gives the greatest first, we want the earliest.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}
impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// [`TimerQueue`] on the standard binary heap.
#[derive(Default)]
pub struct BinaryHeapQueue {
    heap: BinaryHeap<Entry>,
    sequence: u64,
}

impl TimerQueue for BinaryHeapQueue {
    #[inline]
    fn push(&mut self, at: Instant, target: u32, token: u64) {
        self.sequence += 1;
        self.heap.push(Entry { at: at.as_picos(), sequence: self.sequence, token, target });
    }
    #[inline]
    fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|e| Instant::from_picos(e.at))
    }
    #[inline]
    fn pop_due(&mut self, until: Instant) -> Option<(Instant, u32, u64)> {
        if self.heap.peek()?.at > until.as_picos() {
            return None;
        }
        let e = self.heap.pop()?;
        Some((Instant::from_picos(e.at), e.target, e.token))
    }
    fn clear(&mut self) {
        self.heap.clear();
    }
    fn len(&self) -> usize {
        self.heap.len()
    }
}
