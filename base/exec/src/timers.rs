//! A timer queue: what is mostly next stands apart, all else in a wheel.

use crate::heap::{SEQUENCES, TimedEvent};
use crate::wheel::Wheel;
use aster_units::Instant;
use core::cell::{Cell, RefCell};

/// Timed events, the earliest first. Those of the same time come out in the order in which they were added,
/// and those added as `last` after all others of that time, in the order of their targets.
///
/// Events stand in a [`Wheel`], but for two. An event that is earlier than all others when it is added stands
/// at the front until it comes out or a still earlier one takes its place. Most events of a busy core are of
/// that kind. When a core gets free is an event too, with a number of its own in the order. There are many of
/// them, and mostly one at a time: it has a place apart from all others ([`TimerQueue::push_core`]).
///
/// What is looked at for each event stands in cells, so that only who goes to the wheel borrows something.
pub(crate) struct TimerQueue {
    /// When the earliest event is due; the greatest time when there is none.
    next_at: Cell<u64>,
    /// When the earliest one is due but for `core`.
    other_at: Cell<u64>,
    /// When the earliest one of the wheel is due.
    wheel_at: Cell<u64>,
    /// When a core gets free, and the place of that in the order; [`TimedEvent::NEVER`]'s when none does.
    core_at: Cell<u64>,
    core_order: Cell<u64>,
    /// Whether an event stands before all others, and which.
    has_front: Cell<bool>,
    front: Cell<TimedEvent>,
    /// When the event was due that came out last. All others are due then or later.
    came_out_at: Cell<u64>,
    sequence: Cell<u64>,
    wheel: RefCell<Wheel>,
}

impl Default for TimerQueue {
    fn default() -> Self {
        TimerQueue {
            next_at: Cell::new(u64::MAX),
            other_at: Cell::new(u64::MAX),
            wheel_at: Cell::new(u64::MAX),
            core_at: Cell::new(u64::MAX),
            core_order: Cell::new(u64::MAX),
            has_front: Cell::new(false),
            front: Cell::new(TimedEvent::NEVER),
            came_out_at: Cell::new(0),
            sequence: Cell::new(0),
            wheel: RefCell::default(),
        }
    }
}

impl TimerQueue {
    /// The next number in the order.
    #[inline]
    fn number(&self) -> u64 {
        if self.sequence.get() == SEQUENCES {
            self.renumber();
        }
        let number = self.sequence.get();
        self.sequence.set(number + 1);
        number
    }
    #[cold]
    fn renumber(&self) {
        if self.has_front.take() {
            let TimedEvent { at, order, token } = self.front.get();
            self.put(at, order, token);
        }
        if self.has_core() {
            self.put(self.core_at.replace(u64::MAX), self.core_order.replace(u64::MAX), 0);
        }
        self.sequence.set(self.wheel.borrow_mut().renumber());
        self.other_at.set(self.wheel_at.get());
    }
    #[inline]
    fn has_core(&self) -> bool {
        self.core_order.get() != u64::MAX
    }
    /// Puts an event into the wheel. Takes it in parts, which then stay in registers.
    #[inline(never)]
    fn put(&self, at: u64, order: u64, token: u64) {
        self.wheel.borrow_mut().put(self.came_out_at.get(), TimedEvent { at, order, token });
        self.wheel_at.set(self.wheel_at.get().min(at));
    }

    // ---- what the executor asks ----

    /// Adds an event.
    #[inline]
    pub(crate) fn push(&self, at: Instant, target: u32, token: u64) {
        self.push_in(at, target, token, false);
    }
    /// Adds an event; a `last` one comes after all others of its instant.
    #[inline]
    pub(crate) fn push_in(&self, at: Instant, target: u32, token: u64, last: bool) {
        let event = TimedEvent::new(at, self.number(), target, token, last);
        if event.at >= self.other_at.get() {
            return self.put(event.at, event.order, event.token);
        }
        self.push_first(event, last);
    }
    /// Adds the event that a core gets free. It comes out as if it had been added by [`TimerQueue::push`].
    #[inline]
    pub(crate) fn push_core(&self, at: Instant, target: u32) {
        if self.has_core() {
            return self.push_further_core(at, target);
        }
        let event = TimedEvent::new(at, self.number(), target, 0, false);
        self.core_at.set(event.at);
        self.core_order.set(event.order);
        self.next_at.set(self.next_at.get().min(event.at));
    }
    /// A core gets free while another one is waited for.
    #[cold]
    fn push_further_core(&self, at: Instant, target: u32) {
        self.push(at, target, 0);
    }
    /// Adds an event that is due before all others, but for that of a core.
    #[inline]
    fn push_first(&self, event: TimedEvent, last: bool) {
        self.other_at.set(event.at);
        self.next_at.set(self.next_at.get().min(event.at));
        let second = self.has_front.take().then(|| self.front.get());
        // Events of the same time that are added later come before a `last` one.
        if last {
            self.put(event.at, event.order, event.token);
        } else {
            self.has_front.set(true);
            self.front.set(event);
        }
        if let Some(second) = second {
            self.put(second.at, second.order, second.token);
        }
    }
    /// When the earliest event is due. Does not change the queue.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next_by(Instant::MAX)
    }
    /// When the earliest event is due, if that is by `last`.
    #[inline]
    pub(crate) fn next_by(&self, last: Instant) -> Option<Instant> {
        (!self.is_none_by(last)).then(|| Instant::from_picos(self.next_at.get()))
    }
    /// Whether no event is due by `now`.
    #[inline]
    pub(crate) fn is_none_by(&self, now: Instant) -> bool {
        // An event may be due at the greatest time.
        self.next_at.get() > now.as_picos() || self.next_at.get() == u64::MAX && self.is_empty()
    }
    #[cold]
    fn is_empty(&self) -> bool {
        !self.has_front.get() && !self.has_core() && self.wheel.borrow().first().is_never()
    }
    /// Takes the earliest event if it is due by `until`.
    #[inline]
    pub(crate) fn pop_due(&self, until: Instant) -> Option<(Instant, u32, u64)> {
        if self.next_at.get() > until.as_picos() { None } else { self.pop() }
    }
    /// Takes the earliest event.
    #[inline]
    pub(crate) fn pop(&self) -> Option<(Instant, u32, u64)> {
        if self.core_at.get() <= self.other_at.get() && self.is_core_first() {
            return Some(self.pop_core());
        }
        let event = if self.has_front.take() { self.front.get() } else { self.pop_wheel()? };
        self.came_out_at.set(event.at);
        self.other_at.set(self.wheel_at.get());
        self.next_at.set(self.other_at.get().min(self.core_at.get()));
        Some((Instant::from_picos(event.at), event.target(), event.token))
    }
    #[inline]
    fn pop_wheel(&self) -> Option<TimedEvent> {
        let mut wheel = self.wheel.borrow_mut();
        let event = wheel.pop();
        self.wheel_at.set(wheel.next_at());
        event
    }
    /// Takes the event of a core, which is due before all others.
    #[inline]
    fn pop_core(&self) -> (Instant, u32, u64) {
        let (at, order) = (self.core_at.replace(u64::MAX), self.core_order.replace(u64::MAX));
        self.came_out_at.set(at);
        self.next_at.set(self.other_at.get());
        (Instant::from_picos(at), order as u32, 0)
    }
    /// Whether the event of a core comes before all others, none of which is earlier.
    #[inline]
    fn is_core_first(&self) -> bool {
        self.core_at.get() < self.other_at.get() || self.core_order.get() < self.other_order()
    }
    /// The place in the order of the earliest event but for that of a core.
    #[cold]
    fn other_order(&self) -> u64 {
        if self.has_front.get() { self.front.get().order } else { self.wheel.borrow().first().order }
    }
    /// Drops all events.
    pub(crate) fn clear(&self) {
        for at in [&self.next_at, &self.other_at, &self.wheel_at, &self.core_at, &self.core_order] {
            at.set(u64::MAX);
        }
        self.has_front.set(false);
        *self.wheel.borrow_mut() = Wheel::default();
    }
    /// Events pending.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let wheel = self.wheel.borrow();
        usize::from(self.has_front.get()) + usize::from(self.has_core()) + wheel.near() + wheel.far()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::HeapQueue;
    use crate::wheel::NODES;
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
        assert!(wheel.wheel.borrow().near() > 0 && wheel.wheel.borrow().far() > 0);
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
            assert!(wheel.wheel.borrow().near() == NODES - 1 && wheel.wheel.borrow().far() > 0);
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
        wheel.sequence.set(SEQUENCES - 20);
        for target in 0..40 {
            let at = u64::from(target * 7 % 5) << 20;
            match target {
                12 | 30 => freed(&mut wheel, &mut heap, at, target),
                _ => pushed(&mut wheel, &mut heap, at, (target, 0), target % 9 == 0),
            }
        }
        assert!(wheel.sequence.get() < 100);
        drained(&mut wheel, &mut heap);
    }
}
