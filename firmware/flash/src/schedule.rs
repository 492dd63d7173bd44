//! Transaction schedulers: they choose which of the transactions that wait for a channel goes next (B18).
//!
//! Each is an [`Arbiter`]. A drive's profile names one; a drive or a bench can also be built with a custom
//! one (docs/schedulers.md).

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use aster_parties::Arbiter;
use aster_ports::channel::ChannelPort;
use aster_ports::order::TransactionClass;

/// These schedulers pass a transaction over at most this often; then it goes next.
pub const PASSED_OVER_MAX: u32 = 256;

/// Whether the oldest transaction has been passed over too often.
fn starves(channel: &ChannelPort, waiting: &[u16]) -> bool {
    channel.waiting(waiting[0]).passed_over >= PASSED_OVER_MAX
}

/// The LUNs take turns: the next one after the LUN that went last.
#[derive(Debug)]
pub struct RoundRobin {
    slots: usize,
    next: usize,
}

impl RoundRobin {
    /// For a channel of `slots` slots, one per LUN.
    pub fn new(slots: usize) -> Self {
        RoundRobin { slots: slots.max(1), next: 0 }
    }
}

impl Arbiter for RoundRobin {
    fn grant(&mut self, _channel: &ChannelPort, waiting: &[u16]) -> usize {
        let distance = |slot: usize| (slot + self.slots - self.next) % self.slots;
        let slots = waiting.iter().map(|&slot| usize::from(slot) % self.slots);
        let chosen = slots.enumerate().min_by_key(|&(_, slot)| distance(slot));
        let Some((index, slot)) = chosen else { return 0 };
        self.next = (slot + 1) % self.slots;
        index
    }
}

/// The class that stands first in a list goes first; within a class, transactions go in order of issue.
#[derive(Clone, Copy, Debug)]
pub struct ByClass {
    order: [TransactionClass; 4],
}

impl ByClass {
    /// In the order of `order`.
    pub const fn new(order: [TransactionClass; 4]) -> Self {
        ByClass { order }
    }
}

impl Default for ByClass {
    /// Transactions that start an array go first, so that its time runs; then status, data out, data in.
    fn default() -> Self {
        use TransactionClass::{Command, DataIn, DataOut, Status};
        ByClass::new([Command, Status, DataOut, DataIn])
    }
}

impl Arbiter for ByClass {
    fn grant(&mut self, channel: &ChannelPort, waiting: &[u16]) -> usize {
        if starves(channel, waiting) {
            return 0;
        }
        let rank = |class| self.order.iter().position(|&c| c == class);
        first_of(waiting.iter().map(|&slot| rank(channel.waiting(slot).class())))
    }
}

/// The transaction with the fewest bytes goes first: it delays the others least.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortestFirst;

impl Arbiter for ShortestFirst {
    fn grant(&mut self, channel: &ChannelPort, waiting: &[u16]) -> usize {
        if starves(channel, waiting) {
            return 0;
        }
        first_of(waiting.iter().map(|&slot| channel.waiting(slot).bytes()))
    }
}

/// The LUN that has moved the fewest bytes while others waited goes first.
#[derive(Debug)]
pub struct FairShare {
    moved: Vec<u64>,
}

/// Bytes added for each transaction: its latches and waits occupy the channel, too.
const TRANSACTION_WEIGHT: u64 = 64;

impl FairShare {
    /// For a channel of `slots` slots, one per LUN.
    pub fn new(slots: usize) -> Self {
        FairShare { moved: vec![0; slots.max(1)] }
    }
}

impl Arbiter for FairShare {
    fn grant(&mut self, channel: &ChannelPort, waiting: &[u16]) -> usize {
        let slots = self.moved.len();
        let moved = |slot: u16| self.moved[usize::from(slot) % slots];
        let least = || first_of(waiting.iter().map(|&slot| moved(slot)));
        let index = if starves(channel, waiting) { 0 } else { least() };
        let floor = moved(waiting[index]);
        self.moved[usize::from(waiting[index]) % slots] +=
            channel.waiting(waiting[index]).bytes() + TRANSACTION_WEIGHT;
        // A LUN that was idle may catch up only by a bounded amount, so that it can't keep the channel for
        // long.
        let behind = floor.saturating_sub(CREDIT);
        self.moved.iter_mut().for_each(|moved| *moved = (*moved).max(behind));
        index
    }
}

/// How many bytes a LUN may lag behind the others and catch up.
const CREDIT: u64 = 64 * 1024;

/// The index of the least key, the first of equals.
fn first_of<K: Ord>(keys: impl Iterator<Item = K>) -> usize {
    keys.enumerate().min_by(|(i, a), (j, b)| a.cmp(b).then(i.cmp(j))).map_or(0, |(index, _)| index)
}

/// The transaction schedulers that a profile can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TransactionPolicy {
    /// In the order of issue.
    #[default]
    Fifo,
    /// [`RoundRobin`].
    RoundRobin,
    /// [`ByClass`].
    ByClass,
    /// [`ShortestFirst`].
    ShortestFirst,
    /// [`FairShare`].
    FairShare,
}

impl TransactionPolicy {
    /// The arbiter for a channel of `slots` slots; none for the order of issue, which the port keeps without
    /// one.
    pub fn arbiter(self, slots: usize) -> Option<Box<dyn Arbiter>> {
        Some(match self {
            TransactionPolicy::Fifo => return None,
            TransactionPolicy::RoundRobin => Box::new(RoundRobin::new(slots)),
            TransactionPolicy::ByClass => Box::new(ByClass::default()),
            TransactionPolicy::ShortestFirst => Box::new(ShortestFirst),
            TransactionPolicy::FairShare => Box::new(FairShare::new(slots)),
        })
    }
}

#[cfg(test)]
mod tests;
