//! The near future of a timer queue in a ring of buckets. What is later waits in a heap.

use crate::heap::{Heap, TimedEvent};
use alloc::boxed::Box;
use core::{array, mem};

/// A bucket holds the events of 2^17 ps, about 131 ns, and the ring those of 134 µs.
const BUCKET_SHIFT: u32 = 17;
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / u64::BITS as usize;
/// The most events that an event is put behind in its bucket. One that belongs further back goes to the heap.
const BEHIND_MAX: u32 = 8;
/// Places for near events, of which the first is [`END`]. An event that finds none goes to the heap.
pub(crate) const NODES: usize = 512;
/// The place behind the last event of each bucket. Its event is later than any other, so that comparisons
/// need not ask whether there is one.
const END: u16 = 0;

/// An event in a bucket, or a free place.
#[derive(Clone, Copy)]
struct Node {
    event: TimedEvent,
    /// The next event of the bucket, or the next free place.
    next: u16,
}

/// Which buckets hold events: a bit each, and a bit for each word of them.
#[derive(Clone, Copy, Default)]
struct Occupied {
    words: [u64; WORDS],
    any: u64,
}

impl Occupied {
    #[inline]
    fn set(&mut self, bucket: usize) {
        self.words[bucket / 64] |= 1 << (bucket % 64);
        self.any |= 1 << (bucket / 64);
    }
    #[inline]
    fn clear(&mut self, bucket: usize) {
        let word = &mut self.words[bucket / 64];
        *word &= !(1 << (bucket % 64));
        if *word == 0 {
            self.any &= !(1 << (bucket / 64));
        }
    }
    /// The first bucket with events behind `bucket`, which has none, around the ring.
    #[inline]
    fn after(&self, bucket: usize) -> Option<usize> {
        let word = bucket / 64;
        let here = self.words[word] >> (bucket % 64);
        if here != 0 {
            return Some(bucket + here.trailing_zeros() as usize);
        }
        // Later words, then from the beginning up to and including this one.
        let later = self.any & (u64::MAX << word << 1);
        let word = match (later, self.any) {
            (0, 0) => return None,
            (0, any) => any.trailing_zeros() as usize,
            (later, _) => later.trailing_zeros() as usize,
        };
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

/// Timed events. The near future stands in a ring of buckets, each an ascending list, and the rest in a heap.
/// Both are ordered by the same key, so it doesn't matter which event stands where: the earliest is the
/// earlier one of the first near event and the heap's first.
pub(crate) struct Wheel {
    /// The first near event.
    first: u16,
    /// The first free place, or [`END`].
    free: u16,
    /// When the heap's first event is due; the greatest time when there is none.
    far_at: u64,
    nodes: Box<[Node; NODES]>,
    occupied: Occupied,
    /// The first event of each bucket.
    heads: Box<[u16; BUCKETS]>,
    far: Heap,
}

impl Default for Wheel {
    fn default() -> Self {
        let free = |place: usize| (place + 1) as u16 * u16::from(place + 1 < NODES);
        Wheel {
            first: END,
            free: free(0),
            far_at: u64::MAX,
            nodes: Box::new(array::from_fn(|place| Node { event: TimedEvent::NEVER, next: free(place) })),
            occupied: Occupied::default(),
            heads: Box::new([END; BUCKETS]),
            far: Heap::default(),
        }
    }
}

#[inline]
fn bucket_of(event: &TimedEvent) -> usize {
    (event.at >> BUCKET_SHIFT) as usize % BUCKETS
}

impl Wheel {
    #[inline]
    fn node(&self, place: u16) -> &Node {
        &self.nodes[usize::from(place) % NODES]
    }
    #[inline]
    fn node_mut(&mut self, place: u16) -> &mut Node {
        &mut self.nodes[usize::from(place) % NODES]
    }
    #[inline]
    fn is_before(&self, event: &TimedEvent, place: u16) -> bool {
        event.key() < self.node(place).event.key()
    }
    /// Puts an event into its bucket, unless there is no place left or it belongs too far back there.
    #[inline]
    fn push_near(&mut self, event: TimedEvent) -> bool {
        let place = self.free;
        if place == END {
            return false;
        }
        let bucket = bucket_of(&event);
        let head = self.heads[bucket];
        let next = if self.is_before(&event, head) {
            self.heads[bucket] = place;
            if head == END {
                self.occupied.set(bucket);
            }
            if self.is_before(&event, self.first) {
                self.first = place;
            }
            head
        } else {
            let Some(before) = self.place_behind(head, &event) else { return false };
            mem::replace(&mut self.node_mut(before).next, place)
        };
        self.free = mem::replace(self.node_mut(place), Node { event, next }).next;
        true
    }
    /// The event of a bucket that another one belongs right behind.
    #[inline]
    fn place_behind(&self, mut place: u16, event: &TimedEvent) -> Option<u16> {
        for _ in 0..BEHIND_MAX {
            let next = self.node(place).next;
            if self.is_before(event, next) {
                return Some(place);
            }
            place = next;
        }
        None
    }
    /// Takes the first near event; there is one.
    #[inline]
    fn pop_near(&mut self) -> TimedEvent {
        let place = self.first;
        let free = mem::replace(&mut self.free, place);
        let Node { event, next } = *self.node(place);
        self.node_mut(place).next = free;
        let bucket = bucket_of(&event);
        self.heads[bucket] = next;
        self.first = next;
        if next == END {
            self.occupied.clear(bucket);
            self.first = self.occupied.after(bucket).map_or(END, |bucket| self.heads[bucket]);
        }
        event
    }
    fn push_far(&mut self, event: TimedEvent) {
        self.far.push(event);
        self.far_at = self.far_at.min(event.at);
    }
    #[cold]
    fn pop_far(&mut self) -> Option<TimedEvent> {
        let event = self.far.pop();
        self.far_at = self.far.first().map_or(u64::MAX, |event| event.at);
        event
    }
    /// Whether the heap's first event is earlier than the first near one. Mostly it is much later.
    #[inline]
    fn is_far_first(&self) -> bool {
        let near = &self.node(self.first).event;
        self.far_at <= near.at && self.far.first().is_some_and(|far| far.key() < near.key())
    }

    /// Puts an event where it belongs. No event is earlier than `since`, in whose bucket the ring begins: so
    /// each near event stands in a bucket of its own time.
    #[inline]
    pub(crate) fn put(&mut self, since: u64, event: TimedEvent) {
        let ahead = (event.at >> BUCKET_SHIFT).wrapping_sub(since >> BUCKET_SHIFT);
        if !(ahead < BUCKETS as u64 && self.push_near(event)) {
            self.push_far(event);
        }
    }
    /// Takes the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<TimedEvent> {
        if self.is_far_first() {
            self.pop_far()
        } else if self.first != END {
            Some(self.pop_near())
        } else {
            None
        }
    }
    /// When the earliest event is due; the greatest time when there is none.
    #[inline]
    pub(crate) fn next_at(&self) -> u64 {
        self.node(self.first).event.at.min(self.far_at)
    }
    /// The earliest event, or one that never comes.
    #[cold]
    pub(crate) fn first(&self) -> TimedEvent {
        let near = self.node(self.first).event;
        match self.far.first() {
            Some(far) if far.key() < near.key() => *far,
            _ => near,
        }
    }
    /// Gives all events new numbers, in their order. Returns how many there are.
    #[cold]
    pub(crate) fn renumber(&mut self) -> u64 {
        while self.first != END {
            let event = self.pop_near();
            self.push_far(event);
        }
        self.far.renumber()
    }
    /// Events in buckets.
    #[cfg(test)]
    pub(crate) fn near(&self) -> usize {
        let behind = |place: u16| (place != END).then_some(place);
        let bucket = |head: &u16| {
            core::iter::successors(behind(*head), |place| behind(self.node(*place).next)).count()
        };
        self.heads.iter().map(bucket).sum()
    }
    /// Events in the heap.
    #[cfg(test)]
    pub(crate) fn far(&self) -> usize {
        self.far.len()
    }
}
