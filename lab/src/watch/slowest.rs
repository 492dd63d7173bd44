//! Keeps events of the slowest commands.

use aster_units::Duration;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most items that are kept per command; further ones are left out.
const ITEMS_MAX: usize = 100_000;

/// The items of a command, in order of arrival.
struct Kept<T> {
    items: Vec<(u64, T)>,
    /// When its last item arrived, counted in items.
    heard: u64,
}

/// The rank of a command: its duration, and for equal ones which came first.
type Rank = (Duration, Reverse<u64>);

/// Items of commands; keeps those of the `most` slowest commands. Among equal ones the first are kept.
///
/// Memory is bounded: besides the kept commands it tracks at most `open_max` commands that have not ended,
/// and a bounded number of items for each.
pub(super) struct Slowest<T> {
    most: usize,
    open_max: usize,
    heard: u64,
    open: BTreeMap<u64, Kept<T>>,
    best: BTreeMap<Rank, Vec<(u64, T)>>,
}

impl<T> Slowest<T> {
    pub(super) fn new(most: usize, open_max: usize) -> Self {
        Slowest { most, open_max, heard: 0, open: BTreeMap::new(), best: BTreeMap::new() }
    }

    /// Adds an item of a command.
    pub(super) fn hear(&mut self, command: u64, item: T) {
        self.heard += 1;
        let heard = self.heard;
        let kept = self.open.entry(command).or_insert(Kept { items: Vec::new(), heard });
        kept.heard = heard;
        if kept.items.len() < ITEMS_MAX {
            kept.items.push((heard, item));
        }
        if self.open.len() > self.open_max {
            // Drop the oldest: most likely it has ended, and an item arrived after its end.
            let oldest = self.open.iter().min_by_key(|(_, kept)| kept.heard).map(|(command, _)| *command);
            oldest.and_then(|command| self.open.remove(&command));
        }
    }

    /// A command has ended; decides whether to keep it.
    pub(super) fn ended(&mut self, command: u64, took: Duration, counts: bool) {
        let Some(kept) = self.open.remove(&command).filter(|_| counts) else { return };
        self.best.insert((took, Reverse(command)), kept.items);
        if self.best.len() > self.most {
            self.best.pop_first();
        }
    }

    /// The kept items, in order of arrival.
    pub(super) fn finish(self) -> impl Iterator<Item = T> {
        let mut items: Vec<(u64, T)> = self.best.into_values().flatten().collect();
        items.sort_by_key(|(heard, _)| *heard);
        items.into_iter().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(most: usize, tell: impl FnOnce(&mut Slowest<&'static str>)) -> Vec<&'static str> {
        let mut slowest = Slowest::new(most, 8);
        tell(&mut slowest);
        slowest.finish().collect()
    }

    #[test]
    fn the_slowest_stay_in_the_order_of_what_was_heard() {
        let got = kept(2, |s| {
            for (command, item) in [(1, "a"), (2, "b"), (1, "c"), (3, "d"), (4, "e"), (5, "x")] {
                s.hear(command, item);
            }
            s.ended(3, Duration::from_micros(5), true);
            s.ended(1, Duration::from_micros(9), true);
            s.ended(2, Duration::from_micros(5), true);
            s.ended(4, Duration::from_micros(99), false);
        });
        assert_eq!(
            got,
            ["a", "b", "c"],
            "of equals the first command stays, what doesn't count and what has no end go"
        );
    }

    #[test]
    fn commands_without_an_end_are_forgotten() {
        let got = kept(2, |s| {
            (0..100).for_each(|command| s.hear(command, "lost"));
            assert!(s.open.len() <= 8);
            s.hear(200, "kept");
            s.ended(200, Duration::from_micros(1), true);
        });
        assert_eq!(got, ["kept"]);
    }
}
