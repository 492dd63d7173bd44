use alloc::vec::Vec;
use aster_events::{Event, EventSink};
use aster_units::{Instant, mix64};

/// A 64-bit hash over the values and times of all events, in order: two runs with the same digest did the
/// same at the same times. It is not cryptographic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    hash: u64,
    events: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Digest { hash: SEED, events: 0 }
    }
}

/// Where hashing begins and what each step adds: the fractional bits of the golden ratio. Without it zeroes
/// would hash to zero.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

impl Digest {
    #[inline]
    fn fold(&mut self, word: u64) {
        self.hash = mix64(self.hash ^ word).wrapping_add(SEED);
    }
    /// The hash so far.
    pub fn hash(&self) -> u64 {
        self.hash
    }
    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }
}

impl EventSink for Digest {
    fn event(&mut self, at: Instant, event: &Event) {
        self.events += 1;
        self.fold(at.as_picos());
        self.fold(event.kind() as u64);
        event.for_each_field(|_, value| self.fold(value));
    }
}

/// The first events of a run, up to a bound, and the digest of all of them.
#[derive(Clone, Debug)]
pub struct TraceLog {
    events: Vec<(Instant, Event)>,
    capacity: usize,
    digest: Digest,
}

impl TraceLog {
    /// A log that keeps the first `capacity` events. Its memory is allocated now.
    pub fn new(capacity: usize) -> Self {
        TraceLog { events: Vec::with_capacity(capacity), capacity, digest: Digest::default() }
    }
    /// The events that were kept.
    pub fn events(&self) -> &[(Instant, Event)] {
        &self.events
    }
    /// Events that came after the log was full.
    pub fn dropped(&self) -> u64 {
        self.digest.events() - self.events.len() as u64
    }
    /// The digest over all events, the dropped ones too.
    pub fn digest(&self) -> Digest {
        self.digest
    }
    /// Where two logs first differ, as an index into the kept events; `None` if the events that both kept
    /// are equal. If the digests are equal, too, the runs were equal.
    pub fn first_difference(&self, other: &TraceLog) -> Option<usize> {
        let common = self.events.iter().zip(&other.events).position(|(a, b)| a != b);
        let shorter = self.events.len().min(other.events.len());
        // A log that is full says nothing about what comes after.
        let ended = |log: &TraceLog| log.events.len() == shorter && log.dropped() == 0;
        let lengths_differ = self.events.len() != other.events.len() && (ended(self) || ended(other));
        common.or(lengths_differ.then_some(shorter))
    }
}

impl EventSink for TraceLog {
    fn event(&mut self, at: Instant, event: &Event) {
        self.digest.event(at, event);
        if self.events.len() < self.capacity {
            self.events.push((at, *event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(capacity: usize, events: &[(u64, u16)]) -> TraceLog {
        let mut log = TraceLog::new(capacity);
        for &(at, vector) in events {
            log.event(Instant::from_picos(at), &Event::InterruptSent { vector });
        }
        log
    }

    #[test]
    fn the_digest_changes_with_time_value_kind_order_and_number() {
        let base = log(0, &[(1, 0), (2, 0)]).digest().hash();
        let others = [&[(1, 0), (3, 0)][..], &[(1, 0), (2, 1)], &[(2, 0), (1, 0)], &[(1, 0)], &[]];
        for other in others {
            assert_ne!(log(0, other).digest().hash(), base, "{other:?}");
        }
        assert_eq!(log(9, &[(1, 0), (2, 0)]).digest().hash(), base);
        let mut kind = Digest::default();
        kind.event(Instant::from_picos(1), &Event::CommandFinished { command: 0 });
        assert_ne!(kind.hash(), log(0, &[(1, 0)]).digest().hash());
    }

    #[test]
    fn a_log_keeps_the_first_events_and_digests_the_rest() {
        let full = log(1, &[(1, 5), (2, 6)]);
        assert_eq!(full.events(), [(Instant::from_picos(1), Event::InterruptSent { vector: 5 })]);
        assert_eq!((full.dropped(), full.digest()), (1, log(9, &[(1, 5), (2, 6)]).digest()));
    }

    #[test]
    fn the_first_difference_of_two_runs_is_found() {
        let run = [(1, 5), (2, 6), (3, 7)];
        let same = log(9, &run);
        assert_eq!(same.first_difference(&log(9, &run)), None);
        assert_eq!(same.first_difference(&log(9, &[(1, 5), (2, 9), (3, 7)])), Some(1));
        assert_eq!(same.first_difference(&log(9, &run[..2])), Some(2));
        assert_eq!(same.first_difference(&log(2, &run)), None, "what was dropped is no difference");
    }
}
