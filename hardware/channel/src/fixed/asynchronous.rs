//! The control path of the asynchronous controller: Cosmos+'s flash channel controller (C14–C18).
//!
//! A flash control word (FCW) describes each segment before the bus is free for it. The word passes the
//! filters, to which users can add their own, and queues at the dispatcher, which has one queue of high
//! and one of normal priority (P14). When the bus is free, the dispatcher hands the head of a queue to
//! the flash driver.

use super::segment::Waits;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_exec::Fifo;
use aster_parties::{AccessCounts, Answer, ControlWord, Filter, Passage, Segment};
use aster_ports::channel::Chooser;
use aster_units::{Instant, LunIndex};
use core::cell::RefCell;

/// Waits that are constants in Cosmos+'s low-level NAND controller (P18), multiples of its 10 ns cycle.
pub mod waits {
    use aster_units::Duration;

    /// Address latch to data input.
    pub const ADDRESS_TO_DATA: Duration = Duration::from_nanos(320);
    /// E0h to data output.
    pub const COLUMN_TO_DATA: Duration = Duration::from_nanos(340);
    /// 70h to status.
    pub const STATUS: Duration = Duration::from_nanos(100);
    /// After an operation's last cycle, before the chip is released: the operation's own 40 ns and 140 ns
    /// of CE# hold.
    pub const AFTER: Duration = Duration::from_nanos(40 + 140);
    /// SET FEATURES' last byte to the end: the package's tFEAT, since the controller doesn't poll.
    pub const SET_FEATURES: Duration = Duration::from_nanos(1_200);
    /// GET FEATURES' address to data output, for the same reason.
    pub const GET_FEATURES: Duration = Duration::from_nanos(1_100);
}

pub(super) const WAITS: Waits = Waits {
    address_to_data: waits::ADDRESS_TO_DATA,
    column_to_data: waits::COLUMN_TO_DATA,
    status: waits::STATUS,
    after: waits::AFTER,
    set_features: waits::SET_FEATURES,
    get_features: waits::GET_FEATURES,
};

/// Control words that each of the dispatcher's queues holds (P14).
pub const DISPATCH_QUEUE: usize = 16;

/// Counts accesses, and answers [`ControlWord::Statistics`] (C16, C18).
#[derive(Clone, Copy, Debug, Default)]
pub struct StatisticsFilter(AccessCounts);

impl Filter for StatisticsFilter {
    fn pass(&mut self, _: Instant, word: &ControlWord) -> Passage {
        match word {
            ControlWord::Access { segment, .. } => {
                self.0.count(segment.kind);
                Passage::Down
            }
            ControlWord::Statistics => Passage::Up(Answer::Statistics(self.0)),
            ControlWord::QueueCounts => Passage::Down,
        }
    }
}

/// The words of the slots, by priority, in the order of their arrival. A slot has at most one word.
#[derive(Default)]
struct Queues {
    high: Fifo<u16>,
    normal: Fifo<u16>,
    // Words that found their queue full.
    outside: VecDeque<(u16, bool)>,
}

impl Queues {
    fn of(&mut self, high: bool) -> &mut Fifo<u16> {
        if high { &mut self.high } else { &mut self.normal }
    }
    fn enter(&mut self, slot: u16, high: bool) -> bool {
        // A word doesn't overtake those that wait for room in the same queue.
        let is_outside = |&(_, wants_high): &(u16, bool)| wants_high == high;
        let fits = self.of(high).len() < DISPATCH_QUEUE
            && (self.outside.is_empty() || !self.outside.iter().any(is_outside));
        if fits {
            self.of(high).push_back(slot);
        } else {
            self.outside.push_back((slot, high));
        }
        fits
    }
    /// The next of the words outside that fits now.
    #[inline]
    fn next_inside(&mut self) -> Option<u16> {
        if self.outside.is_empty() {
            return None;
        }
        let room = |queue: &Fifo<u16>| queue.len() < DISPATCH_QUEUE;
        let (high, normal) = (room(&self.high), room(&self.normal));
        let at = self.outside.iter().position(|&(_, wants_high)| if wants_high { high } else { normal })?;
        let (slot, wants_high) = self.outside.remove(at)?;
        self.of(wants_high).push_back(slot);
        Some(slot)
    }
}

/// Filters and dispatcher of one channel.
pub(super) struct ControlPath {
    filters: RefCell<Vec<Box<dyn Filter>>>,
    queues: Rc<RefCell<Queues>>,
}

/// The result of sending an access down the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Descent {
    /// It is in a queue, from which the driver can take it.
    Queued,
    /// Its queue is full; [`ControlPath::next_inside`] reports when it has entered the queue.
    Outside,
    /// A filter refused it.
    Refused,
}

impl ControlPath {
    pub(super) fn new(slots: usize) -> Self {
        let queues = Queues {
            high: Fifo::with_capacity(DISPATCH_QUEUE),
            normal: Fifo::with_capacity(DISPATCH_QUEUE),
            outside: VecDeque::with_capacity(slots),
        };
        ControlPath { filters: RefCell::default(), queues: Rc::new(RefCell::new(queues)) }
    }
    pub(super) fn insert(&self, filter: Box<dyn Filter>) {
        self.filters.borrow_mut().push(filter);
    }
    /// The part of the dispatcher that hands the driver its next word.
    pub(super) fn dispatcher(&self) -> Chooser {
        let mut dispatcher = Dispatcher(Rc::clone(&self.queues));
        Box::new(move |_, waiting| dispatcher.choose(waiting))
    }

    fn filtered(&self, at: Instant, word: &ControlWord) -> Passage {
        let mut filters = self.filters.borrow_mut();
        let passed = filters.iter_mut().map(|filter| filter.pass(at, word));
        passed.into_iter().find(|passage| *passage != Passage::Down).unwrap_or(Passage::Down)
    }

    /// Sends an access of `slot` down the path.
    #[inline]
    pub(super) fn send(&self, at: Instant, slot: u16, lun: LunIndex, segment: Segment) -> Descent {
        let word = ControlWord::Access { lun, segment };
        if self.filtered(at, &word) != Passage::Down {
            return Descent::Refused;
        }
        match self.queues.borrow_mut().enter(slot, segment.kind.starts_array()) {
            true => Descent::Queued,
            false => Descent::Outside,
        }
    }
    /// A slot whose word has now entered its queue.
    pub(super) fn next_inside(&self) -> Option<u16> {
        self.queues.borrow_mut().next_inside()
    }
    /// Sends an administrative word down the path and returns the answer (C18).
    pub(super) fn ask(&self, at: Instant, word: &ControlWord) -> Answer {
        match (self.filtered(at, word), word) {
            (Passage::Up(answer), _) => answer,
            (Passage::Down, ControlWord::QueueCounts) => {
                let queues = self.queues.borrow();
                Answer::QueueCounts { high: queues.high.len(), normal: queues.normal.len() }
            }
            (Passage::Down, _) => Answer::Refused,
        }
    }
}

/// Hands the driver the head of the high-priority queue, or else that of the normal one.
struct Dispatcher(Rc<RefCell<Queues>>);

impl Dispatcher {
    fn choose(&mut self, waiting: &[u16]) -> usize {
        let Queues { high, normal, .. } = &mut *self.0.borrow_mut();
        let head = high.pop_front().or_else(|| normal.pop_front());
        let chosen = head.and_then(|slot| waiting.iter().position(|&w| w == slot));
        chosen.expect("the driver has exactly the words of the queues")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queues() -> (Rc<RefCell<Queues>>, Dispatcher) {
        let queues = Rc::new(RefCell::new(Queues::default()));
        (Rc::clone(&queues), Dispatcher(queues))
    }

    #[test]
    fn the_high_priority_queue_goes_first_and_each_queue_keeps_its_order() {
        let (queues, mut dispatcher) = queues();
        for (slot, high) in [(3, false), (1, true), (2, false), (0, true)] {
            assert!(queues.borrow_mut().enter(slot, high));
        }
        let mut waiting = alloc::vec![3, 1, 2, 0];
        let mut order = Vec::new();
        while !waiting.is_empty() {
            let chosen = dispatcher.choose(&waiting);
            order.push(waiting.remove(chosen));
        }
        assert_eq!(order, [1, 0, 3, 2]);
    }

    #[test]
    fn words_beyond_sixteen_wait_outside_until_a_head_has_gone() {
        let (queues, mut dispatcher) = queues();
        let bound = DISPATCH_QUEUE as u16;
        for slot in 0..bound {
            assert!(queues.borrow_mut().enter(slot, false));
        }
        assert!(!queues.borrow_mut().enter(bound, false));
        assert!(queues.borrow_mut().enter(bound + 1, true), "the other queue has room");
        assert_eq!(queues.borrow_mut().next_inside(), None);
        let mut waiting: Vec<u16> = (0..bound).chain([bound + 1]).collect();
        let first = dispatcher.choose(&waiting);
        assert_eq!(waiting.remove(first), bound + 1);
        assert_eq!(queues.borrow_mut().next_inside(), None, "the full queue is as full as before");
        let second = dispatcher.choose(&waiting);
        assert_eq!(waiting.remove(second), 0);
        assert_eq!(queues.borrow_mut().next_inside(), Some(bound));
        assert_eq!(queues.borrow_mut().next_inside(), None);
    }
}
