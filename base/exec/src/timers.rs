//! A timer queue whose near future stands in a ring of buckets. What is later waits in a heap.

use crate::heap::{Heap, SEQUENCES, TimedEvent};
use alloc::boxed::Box;
use alloc::vec::Vec;
use aster_units::Instant;

/// A bucket holds the events of 2^17 ps, about 131 ns, and the ring those of 134 µs.
const BUCKET_SHIFT: u32 = 17;
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / u64::BITS as usize;
/// The most events that an event is put behind in its bucket. One that belongs further back goes to the heap.
const BEHIND_MAX: u32 = 8;
/// Near events that there is room for at once.
const NODES: usize = 256;
const NONE: u32 = u32::MAX;

/// An event in a bucket, or a free place.
#[derive(Clone, Copy)]
struct Node {
    event: TimedEvent,
    /// The next event of the bucket, or the next free place.
    next: u32,
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

/// Timed events, the earliest first. Those of the same time come out in the order in which they were added,
/// and those added as `last` after all others of that time, in the order of their targets.
///
/// The near future stands in a ring of buckets, each an ascending list, and the rest in a heap. Both are
/// ordered by the same key, so it doesn't matter which event stands where: the earliest is the earlier one of
/// the first near event and the heap's first. An event that is earlier than all others when it is added
/// stands at the front, in neither of them, until it comes out or a still earlier one takes its place. Most
/// events of a busy core are of that kind.
pub(crate) struct TimerQueue {
    /// When the earliest event is due; the greatest time when there is none.
    next_at: u64,
    /// An event before all others.
    front: Option<TimedEvent>,
    /// The first near event.
    first: u32,
    /// The bucket, counted from time zero, of the event that came out last. No near event is before it, and
    /// none is [`BUCKETS`] behind it or more: so each stands in a bucket of its own time.
    floor: u64,
    sequence: u64,
    free: u32,
    nodes: Vec<Node>,
    near: usize,
    occupied: Occupied,
    /// The first event of each bucket.
    heads: Box<[u32; BUCKETS]>,
    far: Heap,
}

impl Default for TimerQueue {
    fn default() -> Self {
        TimerQueue {
            next_at: u64::MAX,
            front: None,
            first: NONE,
            floor: 0,
            sequence: 0,
            free: NONE,
            nodes: Vec::with_capacity(NODES),
            near: 0,
            occupied: Occupied::default(),
            heads: Box::new([NONE; BUCKETS]),
            far: Heap::default(),
        }
    }
}

fn bucket_of(event: &TimedEvent) -> usize {
    (event.at >> BUCKET_SHIFT) as usize % BUCKETS
}

impl TimerQueue {
    #[inline]
    fn node(&mut self, event: TimedEvent, next: u32) -> u32 {
        let index = self.free;
        if let Some(node) = self.nodes.get_mut(index as usize) {
            self.free = node.next;
            *node = Node { event, next };
            return index;
        }
        self.nodes.push(Node { event, next });
        self.nodes.len() as u32 - 1
    }
    #[inline]
    fn is_before(&self, event: &TimedEvent, node: u32) -> bool {
        node == NONE || event.key() < self.nodes[node as usize].event.key()
    }
    /// Puts an event into its bucket, unless it belongs too far back there.
    #[inline]
    fn push_near(&mut self, event: TimedEvent) -> bool {
        let bucket = bucket_of(&event);
        let head = self.heads[bucket];
        let index = if self.is_before(&event, head) {
            let index = self.node(event, head);
            self.heads[bucket] = index;
            if head == NONE {
                self.occupied.set(bucket);
            }
            index
        } else {
            let Some(before) = self.place_behind(head, &event) else { return false };
            let index = self.node(event, self.nodes[before as usize].next);
            self.nodes[before as usize].next = index;
            index
        };
        self.near += 1;
        if self.is_before(&event, self.first) {
            self.first = index;
        }
        true
    }
    /// The event of a bucket that another one belongs right behind.
    #[inline]
    fn place_behind(&self, mut at: u32, event: &TimedEvent) -> Option<u32> {
        for _ in 0..BEHIND_MAX {
            let next = self.nodes[at as usize].next;
            if self.is_before(event, next) {
                return Some(at);
            }
            at = next;
        }
        None
    }
    #[inline]
    fn pop_near(&mut self) -> TimedEvent {
        let index = self.first;
        let Node { event, next } = self.nodes[index as usize];
        self.nodes[index as usize].next = core::mem::replace(&mut self.free, index);
        self.near -= 1;
        let bucket = bucket_of(&event);
        self.heads[bucket] = next;
        self.first = next;
        if next == NONE {
            self.occupied.clear(bucket);
            self.first = self.occupied.after(bucket).map_or(NONE, |bucket| self.heads[bucket]);
        }
        event
    }
    #[inline]
    fn first_near(&self) -> Option<&TimedEvent> {
        self.nodes.get(self.first as usize).map(|node| &node.event)
    }
    #[cold]
    fn renumber(&mut self) {
        if let Some(event) = self.front.take() {
            self.far.push(event);
        }
        while self.first != NONE {
            let event = self.pop_near();
            self.far.push(event);
        }
        self.sequence = self.far.renumber();
    }

    // ---- what the executor asks ----

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, target: u32, token: u64) {
        self.push_in(at, target, token, false);
    }
    /// Adds an event; a `last` one comes after all others of its instant.
    #[inline]
    pub(crate) fn push_in(&mut self, at: Instant, target: u32, token: u64, last: bool) {
        if self.sequence == SEQUENCES {
            self.renumber();
        }
        let event = TimedEvent::new(at, self.sequence, target, token, last);
        self.sequence += 1;
        if event.at >= self.next_at {
            return self.put(event);
        }
        self.next_at = event.at;
        // Events of the same time that are added later come before a `last` one.
        let second = core::mem::replace(&mut self.front, (!last).then_some(event));
        if last {
            self.put(event);
        }
        if let Some(second) = second {
            self.put(second);
        }
    }
    /// Puts an event into its bucket or the heap.
    #[inline(never)]
    fn put(&mut self, event: TimedEvent) {
        let is_near = (event.at >> BUCKET_SHIFT).wrapping_sub(self.floor) < BUCKETS as u64;
        if !(is_near && self.push_near(event)) {
            self.far.push(event);
        }
    }
    /// When the earliest event is due. Does not change the queue.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        // An event may be due at the greatest time.
        (self.next_at != u64::MAX || self.len() > 0).then(|| Instant::from_picos(self.next_at))
    }
    /// Takes the earliest event if it is due by `until`.
    #[inline]
    pub(crate) fn pop_due(&mut self, until: Instant) -> Option<(Instant, u32, u64)> {
        if self.next_at > until.as_picos() {
            return None;
        }
        let event = match self.front.take() {
            Some(event) => event,
            None => match (self.first_near(), self.far.first()) {
                (Some(near), Some(far)) if far.key() < near.key() => self.far.pop()?,
                (Some(_), _) => self.pop_near(),
                (None, _) => self.far.pop()?,
            },
        };
        self.floor = event.at >> BUCKET_SHIFT;
        let at = |event: Option<&TimedEvent>| event.map_or(u64::MAX, |event| event.at);
        self.next_at = at(self.first_near()).min(at(self.far.first()));
        Some((Instant::from_picos(event.at), event.target(), event.token))
    }
    /// Drops all events.
    pub(crate) fn clear(&mut self) {
        *self = TimerQueue::default();
    }
    /// Events pending.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.front.is_some()) + self.near + self.far.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::HeapQueue;
    use aster_units::Rng;

    /// How far ahead events are, in picoseconds: of the same instant, the same bucket, the ring, and beyond.
    const REACHES: [u64; 8] = [1, 8, 1 << 16, 1 << 20, 1 << 26, 1 << 28, 1 << 34, 1 << 44];

    fn pushed(
        wheel: &mut TimerQueue,
        heap: &mut HeapQueue,
        at: u64,
        (target, token): (u32, u64),
        last: bool,
    ) {
        let at = Instant::from_picos(at);
        wheel.push_in(at, target, token, last);
        heap.push_in(at, target, token, last);
    }
    fn drained(wheel: &mut TimerQueue, heap: &mut HeapQueue) {
        while let Some(popped) = heap.pop_due(Instant::MAX) {
            assert_eq!(wheel.pop_due(Instant::MAX), Some(popped));
        }
        assert_eq!(wheel.pop_due(Instant::MAX), None);
        assert_eq!((wheel.len(), wheel.next()), (0, None));
    }

    /// Both queues get the same. What comes out is the same, event by event.
    #[test]
    fn the_wheel_gives_what_the_heap_gives() {
        for seed in 0..40 {
            let (mut wheel, mut heap) = (TimerQueue::default(), HeapQueue::default());
            let mut rng = Rng::new(seed);
            let mut now = 0u64;
            for round in 0..4_000u64 {
                for _ in 0..rng.below(4) {
                    let reach = REACHES[rng.below(REACHES.len() as u64) as usize];
                    let of = (rng.below(50) as u32, round);
                    pushed(&mut wheel, &mut heap, now + rng.below(reach), of, rng.below(5) == 0);
                }
                assert_eq!((wheel.next(), wheel.len()), (heap.next(), heap.len()));
                if rng.below(3) == 0 {
                    // As when a run mode moves the clock over a stretch without events.
                    let most = now + rng.below(1 << 27);
                    now = heap.next().map_or(now, |at| now.max(at.as_picos().min(most)));
                }
                for _ in 0..rng.below(4) {
                    let until = Instant::from_picos(now + rng.below(1 << 22));
                    let popped = heap.pop_due(until);
                    assert_eq!(wheel.pop_due(until), popped);
                    now = popped.map_or(now, |(at, ..)| at.as_picos().max(now));
                }
            }
            drained(&mut wheel, &mut heap);
        }
    }

    /// Some of them stand in the heap, and the last ones among them come after those in the bucket.
    #[test]
    fn many_events_of_one_instant_come_in_their_order() {
        let (mut wheel, mut heap) = (TimerQueue::default(), HeapQueue::default());
        for target in (0..100).rev() {
            pushed(&mut wheel, &mut heap, 5, (target, 0), target % 7 == 0);
        }
        assert!(wheel.near > 0 && wheel.far.len() > 0);
        drained(&mut wheel, &mut heap);
    }

    #[test]
    fn an_event_may_be_due_at_the_greatest_time() {
        let (mut wheel, mut heap) = (TimerQueue::default(), HeapQueue::default());
        pushed(&mut wheel, &mut heap, u64::MAX, (1, 0), false);
        assert_eq!((wheel.next(), wheel.pop_due(Instant::from_picos(9))), (Some(Instant::MAX), None));
        drained(&mut wheel, &mut heap);
    }

    #[test]
    fn the_order_survives_new_numbers() {
        let (mut wheel, mut heap) = (TimerQueue::default(), HeapQueue::default());
        wheel.sequence = SEQUENCES - 20;
        for target in 0..40 {
            pushed(&mut wheel, &mut heap, u64::from(target * 7 % 5) << 20, (target, 0), target % 9 == 0);
        }
        assert!(wheel.sequence < 100);
        drained(&mut wheel, &mut heap);
    }
}
