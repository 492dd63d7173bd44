//! A timer queue whose near future stands in a ring of buckets. What is later waits in a heap.

use crate::heap::{Heap, SEQUENCES, TimedEvent};
use alloc::boxed::Box;
use aster_units::Instant;
use core::{array, mem};

/// A bucket holds the events of 2^17 ps, about 131 ns, and the ring those of 134 µs.
const BUCKET_SHIFT: u32 = 17;
const BUCKETS: usize = 1024;
const WORDS: usize = BUCKETS / u64::BITS as usize;
/// The most events that an event is put behind in its bucket. One that belongs further back goes to the heap.
const BEHIND_MAX: u32 = 8;
/// Places for near events, of which the first is [`END`]. An event that finds none goes to the heap.
const NODES: usize = 512;
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

/// Timed events, the earliest first. Those of the same time come out in the order in which they were added,
/// and those added as `last` after all others of that time, in the order of their targets.
///
/// The near future stands in a ring of buckets, each an ascending list, and the rest in a heap. Both are
/// ordered by the same key, so it doesn't matter which event stands where: the earliest is the earlier one of
/// the first near event and the heap's first. An event that is earlier than all others when it is added
/// stands at the front, in neither of them, until it comes out or a still earlier one takes its place. Most
/// events of a busy core are of that kind.
///
/// When a core gets free is an event too, with a number of its own in the order. There are many of them, and
/// mostly one at a time: it has a place apart from all others ([`TimerQueue::push_core`]).
pub(crate) struct TimerQueue {
    /// When the earliest event is due; the greatest time when there is none.
    next_at: u64,
    /// When the earliest one is due but for `core`.
    other_at: u64,
    /// When a core gets free, or [`TimedEvent::NEVER`].
    core: TimedEvent,
    /// Whether an event stands before all others, and which.
    has_front: bool,
    front: TimedEvent,
    /// The first near event.
    first: u16,
    /// The first free place, or [`END`].
    free: u16,
    /// When the heap's first event is due; the greatest time when there is none.
    far_at: u64,
    /// When the event was due that came out last. No near event is in a bucket before its own, and none is
    /// [`BUCKETS`] behind it or more: so each stands in a bucket of its own time.
    came_out_at: u64,
    sequence: u64,
    nodes: Box<[Node; NODES]>,
    occupied: Occupied,
    /// The first event of each bucket.
    heads: Box<[u16; BUCKETS]>,
    far: Heap,
}

impl Default for TimerQueue {
    fn default() -> Self {
        let free = |place: usize| (place + 1) as u16 * u16::from(place + 1 < NODES);
        TimerQueue {
            next_at: u64::MAX,
            other_at: u64::MAX,
            core: TimedEvent::NEVER,
            has_front: false,
            front: TimedEvent::NEVER,
            first: END,
            free: free(0),
            far_at: u64::MAX,
            came_out_at: 0,
            sequence: 0,
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

impl TimerQueue {
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
    #[inline]
    fn push_far(&mut self, event: TimedEvent) {
        self.far.push(event);
        self.far_at = self.far_at.min(event.at);
    }
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
    #[cold]
    fn renumber(&mut self) {
        if mem::take(&mut self.has_front) {
            self.push_far(self.front);
        }
        if !self.core.is_never() {
            let core = mem::replace(&mut self.core, TimedEvent::NEVER);
            self.push_far(core);
        }
        while self.first != END {
            let event = self.pop_near();
            self.push_far(event);
        }
        self.other_at = self.next_at;
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
        if event.at >= self.other_at {
            return self.put(event.at, event.order, event.token);
        }
        self.push_first(event, last);
    }
    /// Adds the event that a core gets free. It comes out as if it had been added by [`TimerQueue::push`].
    #[inline]
    pub(crate) fn push_core(&mut self, at: Instant, target: u32) {
        if !self.core.is_never() {
            return self.push(at, target, 0);
        }
        if self.sequence == SEQUENCES {
            self.renumber();
        }
        self.core = TimedEvent::new(at, self.sequence, target, 0, false);
        self.sequence += 1;
        self.next_at = self.next_at.min(self.core.at);
    }
    /// Adds an event that is due before all others, but for that of `core`.
    #[inline]
    fn push_first(&mut self, event: TimedEvent, last: bool) {
        self.other_at = event.at;
        self.next_at = self.next_at.min(event.at);
        let second = mem::take(&mut self.has_front).then_some(self.front);
        // Events of the same time that are added later come before a `last` one.
        if last {
            self.put(event.at, event.order, event.token);
        } else {
            (self.has_front, self.front) = (true, event);
        }
        if let Some(second) = second {
            self.put(second.at, second.order, second.token);
        }
    }
    /// Puts an event into its bucket or the heap. Takes it in parts, which then stay in registers.
    #[inline(never)]
    fn put(&mut self, at: u64, order: u64, token: u64) {
        let event = TimedEvent { at, order, token };
        let ahead = (at >> BUCKET_SHIFT).wrapping_sub(self.came_out_at >> BUCKET_SHIFT);
        if !(ahead < BUCKETS as u64 && self.push_near(event)) {
            self.push_far(event);
        }
    }
    /// When the earliest event is due. Does not change the queue.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        // An event may be due at the greatest time.
        (self.next_at != u64::MAX || !self.is_empty()).then(|| Instant::from_picos(self.next_at))
    }
    /// When the earliest event is due, if that is by `last`.
    #[inline]
    pub(crate) fn next_by(&self, last: Instant) -> Option<Instant> {
        (!self.is_none_by(last)).then(|| Instant::from_picos(self.next_at))
    }
    /// Whether no event is due by `now`.
    #[inline]
    pub(crate) fn is_none_by(&self, now: Instant) -> bool {
        self.next_at > now.as_picos() || self.next_at == u64::MAX && self.is_empty()
    }
    #[cold]
    fn is_empty(&self) -> bool {
        !self.has_front && self.core.is_never() && self.first == END && self.far.first().is_none()
    }
    /// Takes the earliest event if it is due by `until`.
    #[inline]
    pub(crate) fn pop_due(&mut self, until: Instant) -> Option<(Instant, u32, u64)> {
        if self.next_at > until.as_picos() { None } else { self.pop() }
    }
    /// Takes the earliest event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Instant, u32, u64)> {
        if self.core.at <= self.other_at && self.is_core_first() {
            return Some(self.pop_core());
        }
        let event = if mem::take(&mut self.has_front) {
            self.front
        } else if self.is_far_first() {
            self.pop_far()?
        } else if self.first != END {
            self.pop_near()
        } else {
            return None;
        };
        self.came_out_at = event.at;
        self.other_at = self.node(self.first).event.at.min(self.far_at);
        self.next_at = self.other_at.min(self.core.at);
        Some((Instant::from_picos(event.at), event.target(), event.token))
    }
    /// Takes the event of `core`, which is due before all others.
    #[inline]
    fn pop_core(&mut self) -> (Instant, u32, u64) {
        let core = mem::replace(&mut self.core, TimedEvent::NEVER);
        self.came_out_at = core.at;
        self.next_at = self.other_at;
        (Instant::from_picos(core.at), core.target(), 0)
    }
    /// Whether the event of `core` comes before all others, none of which is earlier.
    #[inline]
    fn is_core_first(&self) -> bool {
        if self.core.at < self.other_at {
            return true;
        }
        let first = if self.has_front {
            self.front.order
        } else if self.is_far_first() {
            self.far.first().map_or(u64::MAX, |event| event.order)
        } else {
            self.node(self.first).event.order
        };
        self.core.order < first
    }
    /// Drops all events.
    pub(crate) fn clear(&mut self) {
        *self = TimerQueue::default();
    }
    /// Events in buckets.
    #[cfg(test)]
    fn near(&self) -> usize {
        let behind = |place: u16| (place != END).then_some(place);
        let bucket = |head: &u16| {
            core::iter::successors(behind(*head), |place| behind(self.node(*place).next)).count()
        };
        self.heads.iter().map(bucket).sum()
    }
    /// Events pending.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let apart = usize::from(self.has_front) + usize::from(!self.core.is_never());
        apart + self.near() + self.far.len()
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
    /// A core gets free, which the heap takes for any event.
    fn freed(wheel: &mut TimerQueue, heap: &mut HeapQueue, at: u64, core: u32) {
        let at = Instant::from_picos(at);
        wheel.push_core(at, core);
        heap.push_in(at, core, 0, false);
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
                    let at = now + rng.below(reach);
                    match rng.below(6) {
                        0 => freed(&mut wheel, &mut heap, at, 1_000 + of.0 % 3),
                        last => pushed(&mut wheel, &mut heap, at, of, last == 1),
                    }
                }
                assert_eq!((wheel.next(), wheel.len()), (heap.next(), heap.len()));
                if rng.below(3) == 0 {
                    // As when a run mode moves the clock over a stretch without events.
                    let most = now + rng.below(1 << 27);
                    now = heap.next().map_or(now, |at| now.max(at.as_picos().min(most)));
                }
                for _ in 0..rng.below(4) {
                    let until = Instant::from_picos(now + rng.below(1 << 22));
                    assert_eq!(wheel.next_by(until), heap.next().filter(|at| *at <= until));
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
        assert!(wheel.near() > 0 && wheel.far.len() > 0);
        drained(&mut wheel, &mut heap);
    }

    /// There are fewer places than events, so that some near ones stand in the heap.
    #[test]
    fn more_near_events_than_there_are_places_come_in_their_order() {
        let (mut wheel, mut heap) = (TimerQueue::default(), HeapQueue::default());
        for round in 0..3 {
            for n in 0..2 * NODES as u64 {
                let at = (round << 27) + n * 7919 % 97_003_541;
                pushed(&mut wheel, &mut heap, at, (n as u32, n), n % 11 == 0);
            }
            assert!(wheel.near() == NODES - 1 && wheel.far.len() > 0);
            for _ in 0..2 * NODES - 5 {
                assert_eq!(wheel.pop_due(Instant::MAX), heap.pop_due(Instant::MAX));
            }
        }
        drained(&mut wheel, &mut heap);
    }

    #[test]
    fn a_core_gets_free_in_its_turn_among_events_of_the_same_instant() {
        let (mut wheel, mut heap) = (TimerQueue::default(), HeapQueue::default());
        for round in 0..4 {
            for target in 0..5 {
                if target == round {
                    freed(&mut wheel, &mut heap, 7, 1_000);
                }
                pushed(&mut wheel, &mut heap, 7, (target, 0), target == 2);
            }
            freed(&mut wheel, &mut heap, 7, 1_001);
            drained(&mut wheel, &mut heap);
        }
        freed(&mut wheel, &mut heap, u64::MAX, 1_000);
        drained(&mut wheel, &mut heap);
    }

    #[test]
    fn an_event_may_be_due_at_the_greatest_time() {
        let (mut wheel, mut heap) = (TimerQueue::default(), HeapQueue::default());
        pushed(&mut wheel, &mut heap, u64::MAX, (1, 0), false);
        assert_eq!((wheel.next(), wheel.pop_due(Instant::from_picos(9))), (Some(Instant::MAX), None));
        assert_eq!(wheel.next_by(Instant::MAX), Some(Instant::MAX));
        drained(&mut wheel, &mut heap);
    }

    #[test]
    fn the_order_survives_new_numbers() {
        let (mut wheel, mut heap) = (TimerQueue::default(), HeapQueue::default());
        wheel.sequence = SEQUENCES - 20;
        for target in 0..40 {
            let at = u64::from(target * 7 % 5) << 20;
            match target {
                12 | 30 => freed(&mut wheel, &mut heap, at, target),
                _ => pushed(&mut wheel, &mut heap, at, (target, 0), target % 9 == 0),
            }
        }
        assert!(wheel.sequence < 100);
        drained(&mut wheel, &mut heap);
    }
}
