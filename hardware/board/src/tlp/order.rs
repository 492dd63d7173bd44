//! Which packet of a transmitter goes next (PCIe 4.0 §2.4.1, §2.6).

use alloc::collections::VecDeque;
use aster_ports::credits::{Credit, Credits};

/// What a packet is for flow control and for ordering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Memory writes and messages.
    Posted,
    /// Requests that are answered.
    NonPosted,
    /// Answers.
    Completion,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 3] = [Class::Posted, Class::NonPosted, Class::Completion];
    /// Its place in arrays by class.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A packet that waits for its turn.
struct Waits<T> {
    /// Its number among all packets of this transmitter.
    number: u64,
    needs: Credit,
    packet: T,
}

/// The packets of one transmitter that wait, and the credits that it has.
///
/// Packets go in the order in which they came, unless the oldest lacks credits. Then a younger one goes
/// first, if the ordering table lets it pass all that it would pass:
///
/// | may pass → | posted | non-posted | completion |
/// |---|---|---|---|
/// | posted | no | yes | yes |
/// | non-posted | no | no | yes |
/// | completion | no | yes | no |
///
/// "No" among non-posted requests and among completions is stricter than the standard, which leaves both
/// open. Nobody here sends completions with Relaxed Ordering, which could pass posted requests. A posted
/// request is never stuck behind others, so no cycle of waiting can close.
pub(super) struct Waiting<T> {
    queues: [VecDeque<Waits<T>>; 3],
    credits: [Credits; 3],
    packets: u64,
}

impl<T> Waiting<T> {
    /// None waits, and the receiver has granted `initial`, by class.
    pub(super) fn new(initial: [Credit; 3]) -> Self {
        let queues = [VecDeque::new(), VecDeque::new(), VecDeque::new()];
        Waiting { queues, credits: initial.map(Credits::new), packets: 0 }
    }
    /// Adds a packet that needs `needs`.
    pub(super) fn push(&mut self, class: Class, needs: Credit, packet: T) {
        let number = self.packets;
        self.packets += 1;
        self.queues[class.index()].push_back(Waits { number, needs, packet });
    }
    /// Takes the packet that goes next, and its credits.
    pub(super) fn pop(&mut self) -> Option<T> {
        let number = |class: Class| self.queues[class.index()].front().map(|first| first.number);
        let may_go = |class: &Class| {
            self.queues[class.index()].front().is_some_and(|first| {
                let behind_posted = || number(Class::Posted).is_some_and(|posted| posted < first.number);
                let passes = *class == Class::Posted || !behind_posted();
                passes && self.credits[class.index()].may_send(first.needs)
            })
        };
        let class = Class::ALL.into_iter().filter(may_go).min_by_key(|class| number(*class))?;
        let first = self.queues[class.index()].pop_front()?;
        self.credits[class.index()].consume(first.needs);
        Some(first.packet)
    }
    /// The receiver has made room for `more`.
    pub(super) fn grant(&mut self, class: Class, more: Credit) {
        self.credits[class.index()].grant(more);
    }
    /// Packets of a class that wait.
    pub(super) fn of_class(&self, class: Class) -> usize {
        self.queues[class.index()].len()
    }
    /// Packets that wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }
}
