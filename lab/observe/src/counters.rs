use aster_events::{Event, EventKind, EventSink};
use aster_units::Instant;

/// The most fields that an event has.
const FIELDS_MAX: usize = {
    let (mut most, mut i) = (0, 0);
    while i < EventKind::COUNT {
        let fields = EventKind::ALL[i].fields().len();
        most = if fields > most { fields } else { most };
        i += 1;
    }
    most
};

/// How often each kind of event happened, and the sum of each of its fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    counts: [u64; EventKind::COUNT],
    sums: [[u64; FIELDS_MAX]; EventKind::COUNT],
}

impl Default for Counters {
    fn default() -> Self {
        Counters { counts: [0; EventKind::COUNT], sums: [[0; FIELDS_MAX]; EventKind::COUNT] }
    }
}

impl Counters {
    /// Events of a kind.
    pub fn count(&self, kind: EventKind) -> u64 {
        self.counts[kind as usize]
    }
    /// The sum of a field over all events of a kind, in the field's unit. It saturates. `None` when the
    /// kind has no field of that name.
    pub fn sum(&self, kind: EventKind, field: &str) -> Option<u64> {
        let at = kind.fields().iter().position(|&name| name == field)?;
        Some(self.sums[kind as usize][at])
    }
    /// All counts in the order of declaration.
    pub fn counts(&self) -> impl Iterator<Item = (EventKind, u64)> + '_ {
        EventKind::ALL.iter().copied().zip(self.counts)
    }
}

impl EventSink for Counters {
    fn event(&mut self, _at: Instant, event: &Event) {
        let kind = event.kind() as usize;
        self.counts[kind] += 1;
        let mut sums = self.sums[kind].iter_mut();
        event.for_each_field(|_, value| {
            if let Some(sum) = sums.next() {
                *sum = sum.saturating_add(value);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_and_their_fields_summed_by_kind() {
        let mut counters = Counters::default();
        for (slot, bytes) in [(1, 100), (2, 250)] {
            counters.event(Instant::ZERO, &Event::TransactionEnded { channel: 7, slot, bytes });
        }
        counters.event(Instant::ZERO, &Event::TransactionFailed { channel: 0, slot: 9 });
        assert_eq!(counters.count(EventKind::TransactionEnded), 2);
        assert_eq!(counters.sum(EventKind::TransactionEnded, "bytes"), Some(350));
        assert_eq!(counters.sum(EventKind::TransactionEnded, "slot"), Some(3));
        assert_eq!(counters.sum(EventKind::TransactionEnded, "lpn"), None);
        assert_eq!(counters.counts().map(|(_, n)| n).sum::<u64>(), 3);
    }

    #[test]
    fn a_sum_stops_at_the_largest_number() {
        let mut counters = Counters::default();
        for _ in 0..2 {
            let event = Event::CommandStarted { command: 0, offset: u64::MAX - 1, length: 1 };
            counters.event(Instant::ZERO, &event);
        }
        assert_eq!(counters.sum(EventKind::CommandStarted, "offset"), Some(u64::MAX));
    }
}
