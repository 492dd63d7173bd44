//! Work that waits for a latency to pass. All of a kind waits equally long, so it stays in order.

use aster_exec::Fifo;
use aster_units::Instant;

/// Items and when each is due, the oldest first.
#[derive(Debug)]
pub(crate) struct Delayed<T> {
    items: Fifo<(Instant, T)>,
}

impl<T: Copy> Delayed<T> {
    /// A queue that takes `most` items without more memory.
    pub fn with_capacity(most: usize) -> Self {
        Delayed { items: Fifo::with_capacity(most) }
    }
    /// Appends an item that is due at `at`. Returns whether a timer is needed: items that are due at the same
    /// instant share one.
    #[must_use = "what is due has to be looked at"]
    #[inline]
    pub fn push(&mut self, at: Instant, item: T) -> bool {
        let last = self.items.back().map(|&(last, _)| last);
        debug_assert!(last.is_none_or(|last| last <= at), "later items are due later");
        self.items.push_back((at, item));
        last != Some(at)
    }
    /// Takes the next item that is due at `now`.
    pub fn next_due(&mut self, now: Instant) -> Option<T> {
        self.items.pop_front_if(|&(at, _)| at <= now).map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_units::Duration;

    #[test]
    fn items_of_one_instant_share_a_timer_and_come_in_order() {
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let mut delayed = Delayed::with_capacity(4);
        assert!(delayed.push(at(1), 'a'));
        assert!(!delayed.push(at(1), 'b'));
        assert!(delayed.push(at(2), 'c'));
        assert_eq!(delayed.next_due(at(0)), None);
        assert_eq!([delayed.next_due(at(1)), delayed.next_due(at(1))], [Some('a'), Some('b')]);
        assert_eq!(delayed.next_due(at(1)), None, "the third is due later");
        assert_eq!(delayed.next_due(at(3)), Some('c'));
    }
}
