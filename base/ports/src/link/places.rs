//! Where a link port keeps operations, from the front end's request until the run mode takes them.

use super::op::LinkOp;
use alloc::vec::Vec;
use aster_units::Instant;

/// No place: the end of a list.
const END: u32 = u32::MAX;

/// An operation is two cache lines long. It stays in its place and passes from list to list.
struct Place {
    op: LinkOp,
    /// When it happens, as soon as the link model has said so.
    at: Instant,
    /// The place behind it in its list.
    next: u32,
}

/// Operations in their order, linked through their places.
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: List = List { first: END, last: END };

    #[inline]
    fn is_empty(&self) -> bool {
        self.first == END
    }
    #[inline]
    fn push(&mut self, all: &mut [Place], place: u32) {
        all[place as usize].next = END;
        self.append(all, List { first: place, last: place });
    }
    /// Puts operations behind all others.
    #[inline]
    fn append(&mut self, all: &mut [Place], more: List) {
        match all.get_mut(self.last as usize) {
            Some(last) => last.next = more.first,
            None => self.first = more.first,
        }
        self.last = more.last;
    }
    /// Takes the first place, which is not to be [`END`].
    #[inline]
    fn pop(&mut self, all: &[Place]) -> u32 {
        let place = self.first;
        self.first = all[place as usize].next;
        if self.first == END {
            self.last = END;
        }
        place
    }
}

/// The operations in flight, one place each. The place freed last is used first, so that few places are
/// ever touched.
pub(super) struct Places {
    all: Vec<Place>,
    /// The first free place. Each knows the next.
    free: u32,
    /// Those that the link model hasn't taken yet.
    requested: List,
    /// Those on their way, by direction.
    under_way: [List; 2],
    /// Those that the run mode hasn't taken yet.
    out: List,
    /// The most DMA operations, and the most interrupts.
    bound: usize,
    /// Places that interrupts occupy.
    interrupts: usize,
    /// Vectors whose interrupt found no place, each once. Each one is sent when another interrupt has
    /// left.
    late: Vec<u16>,
}

impl Places {
    pub(super) fn new(bound: usize) -> Self {
        let room = 2 * bound;
        assert!(u32::try_from(room).is_ok_and(|room| room < END), "a link port of {bound} operations");
        Places {
            all: Vec::with_capacity(room),
            free: END,
            requested: List::EMPTY,
            under_way: [List::EMPTY; 2],
            out: List::EMPTY,
            bound,
            interrupts: 0,
            late: Vec::new(),
        }
    }

    /// Puts an operation behind those requested, unless it is an interrupt that has to wait for a place.
    /// Returns whether it is the only one requested.
    #[inline(always)]
    pub(super) fn request(&mut self, op: LinkOp) -> bool {
        if let LinkOp::Interrupt { vector } = op {
            if self.interrupts >= self.bound {
                self.put_late(vector);
                return false;
            }
            self.interrupts += 1;
        }
        let place = self.free;
        let place = match self.all.get_mut(place as usize) {
            Some(free) => {
                self.free = free.next;
                free.op = op;
                place
            }
            None => self.add(op),
        };
        let is_only = self.requested.is_empty();
        self.requested.push(&mut self.all, place);
        is_only
    }
    /// Adds a place: more operations are in flight than ever before.
    #[cold]
    fn add(&mut self, op: LinkOp) -> u32 {
        let place = self.all.len();
        self.all.push(Place { op, at: Instant::ZERO, next: END });
        let (dma, bound) = (self.all.len() - self.interrupts, self.bound);
        assert!(dma <= bound, "a front end has more DMA on the link than the {bound} that it asked for");
        place as u32
    }
    #[cold]
    fn put_late(&mut self, vector: u16) {
        if !self.late.contains(&vector) {
            self.late.push(vector);
        }
    }

    /// All that are requested are out now.
    pub(super) fn pass(&mut self) {
        let requested = core::mem::replace(&mut self.requested, List::EMPTY);
        if !requested.is_empty() {
            self.out.append(&mut self.all, requested);
        }
    }
    /// Sends all that are requested on their way. `when` gets each, and whether it is the first of its
    /// direction there. It says when the operation happens: out by `now` if it is the first, or in its turn.
    #[inline]
    pub(super) fn send(&mut self, now: Instant, mut when: impl FnMut(&LinkOp, bool) -> Instant) {
        while !self.requested.is_empty() {
            let ticket = self.requested.pop(&self.all);
            let place = &mut self.all[ticket as usize];
            let under_way = &mut self.under_way[place.op.direction() as usize];
            let is_first = under_way.is_empty();
            place.at = when(&place.op, is_first);
            let list = if place.at <= now && is_first { &mut self.out } else { under_way };
            list.push(&mut self.all, ticket);
        }
    }
    /// Those of a direction that happen by `now` are out; `told` gets each. Returns when the next one
    /// happens.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        direction: usize,
        now: Instant,
        mut told: impl FnMut(&LinkOp),
    ) -> Option<Instant> {
        let under_way = &mut self.under_way[direction];
        while let Some(place) = self.all.get(under_way.first as usize) {
            if place.at > now {
                return Some(place.at);
            }
            told(&place.op);
            let ticket = under_way.pop(&self.all);
            self.out.push(&mut self.all, ticket);
        }
        None
    }

    /// Whether an operation is out.
    #[inline]
    pub(super) fn has_out(&self) -> bool {
        !self.out.is_empty()
    }
    /// The operation that was the first to be out.
    #[inline]
    pub(super) fn first_out(&self) -> Option<&LinkOp> {
        self.all.get(self.out.first as usize).map(|place| &place.op)
    }
    /// Frees the place of the operation that was the first to be out. There is one.
    #[inline]
    pub(super) fn free_first_out(&mut self) {
        let place = self.out.pop(&self.all);
        self.all[place as usize].next = self.free;
        self.free = place;
    }
    /// Notes that an interrupt has left. Returns the vector that has waited longest, to be sent next.
    #[inline]
    pub(super) fn interrupt_left(&mut self) -> Option<u16> {
        self.interrupts -= 1;
        if self.late.is_empty() { None } else { Some(self.late.remove(0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::DmaDirection;
    use crate::link::op::{MAX_SEGMENTS, Segment};
    use crate::local::Local;
    use alloc::collections::VecDeque;
    use aster_units::Rng;

    /// The slow twin has a queue of the standard library for each list, and moves operations.
    #[derive(Default)]
    struct Queues {
        requested: VecDeque<LinkOp>,
        under_way: [VecDeque<(Instant, LinkOp)>; 2],
        out: VecDeque<LinkOp>,
    }

    impl Queues {
        fn send(&mut self, now: Instant, mut when: impl FnMut(&LinkOp, bool) -> Instant) {
            while let Some(op) = self.requested.pop_front() {
                let under_way = &mut self.under_way[op.direction() as usize];
                let at = when(&op, under_way.is_empty());
                if at <= now && under_way.is_empty() {
                    self.out.push_back(op);
                } else {
                    under_way.push_back((at, op));
                }
            }
        }
        fn deliver(&mut self, direction: usize, now: Instant) -> Option<Instant> {
            while let Some((_, op)) = self.under_way[direction].pop_front_if(|(at, _)| *at <= now) {
                self.out.push_back(op);
            }
            self.under_way[direction].front().map(|(at, _)| *at)
        }
    }

    fn op(rng: &mut Rng, token: u32) -> LinkOp {
        let direction = match rng.below(5) {
            0 => return LinkOp::Interrupt { vector: token as u16 },
            1 | 2 => DmaDirection::ToHost,
            _ => DmaDirection::FromHost,
        };
        let segments = [Segment { address: rng.below(1 << 40), length: 1 + token }; MAX_SEGMENTS];
        LinkOp::Dma { direction, local: Local::Sram { offset: token }, segments, count: 1, token, epoch: 0 }
    }

    #[test]
    fn operations_pass_from_list_to_list_as_they_do_through_queues() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let (mut fast, mut slow) = (Places::new(64), Queues::default());
            let (mut now, mut last_at) = (Instant::ZERO, [Instant::ZERO; 2]);
            for token in 0..400 {
                match rng.below(6) {
                    0 | 1 => {
                        let op = op(&mut rng, token);
                        let under_way: usize = slow.under_way.iter().map(VecDeque::len).sum();
                        if slow.requested.len() + under_way + slow.out.len() < 64 {
                            assert_eq!(fast.request(op), slow.requested.is_empty(), "seed {seed}");
                            slow.requested.push_back(op);
                        }
                    }
                    2 => {
                        let delays: Vec<u64> = slow.requested.iter().map(|_| rng.below(4)).collect();
                        let mut both = [last_at; 2].map(|mut last_at| {
                            let mut delays = delays.iter();
                            (Vec::new(), move |op: &LinkOp| {
                                let last_at = &mut last_at[op.direction() as usize];
                                let delay = delays.next().copied().unwrap_or(0);
                                *last_at = Instant::from_picos(now.as_picos() + delay).max(*last_at);
                                *last_at
                            })
                        });
                        let [(of_fast, fast_at), (of_slow, slow_at)] = &mut both;
                        fast.send(now, |op, is_first| {
                            let at = fast_at(op);
                            of_fast.push((*op, is_first, at));
                            at
                        });
                        slow.send(now, |op, is_first| {
                            let at = slow_at(op);
                            of_slow.push((*op, is_first, at));
                            at
                        });
                        assert_eq!(of_fast, of_slow, "seed {seed}");
                        of_fast.iter().for_each(|(op, _, at)| last_at[op.direction() as usize] = *at);
                    }
                    3 => {
                        let direction = rng.below(2) as usize;
                        let mut told = Vec::new();
                        let before = slow.out.len();
                        let next = fast.deliver(direction, now, |op| told.push(*op));
                        assert_eq!(next, slow.deliver(direction, now), "seed {seed}");
                        assert!(told.iter().eq(slow.out.iter().skip(before)), "seed {seed}");
                    }
                    4 if rng.below(4) == 0 => {
                        fast.pass();
                        slow.out.append(&mut slow.requested);
                    }
                    4 => now = Instant::from_picos(now.as_picos() + rng.below(3)),
                    _ => {
                        assert_eq!(fast.first_out(), slow.out.front(), "seed {seed}");
                        match slow.out.pop_front() {
                            Some(LinkOp::Interrupt { .. }) => {
                                fast.free_first_out();
                                assert_eq!(fast.interrupt_left(), None, "seed {seed}");
                            }
                            Some(LinkOp::Dma { .. }) => fast.free_first_out(),
                            None => {}
                        }
                    }
                }
                assert_eq!(fast.has_out(), !slow.out.is_empty(), "seed {seed}");
            }
        }
    }
}
