//! The pace of a memory for which the bus has to wait: strobes pause between words (rtl/README.md,
//! Memory).

use crate::timing::CycleTable;
use alloc::boxed::Box;
use aster_ports::resource::{WORD_BYTES, Window};
use aster_txn::interface::limits;
use aster_units::Instant;

/// Walks a transaction's words through memory, the Packetizer's FIFOs and the bus. Cycles are counted
/// from the transaction's start. Its memory is allocated once.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When memory accepted the latest words of read bursts, as many as the FIFO holds.
    accepted: Box<[u64; limits::FIFO_WORDS]>,
    words_out: usize,
    next_accepted: u64,
    next_delivered: u64,
    bytes: u64,
    window: Option<(Window, Instant)>,
}

/// A word's strobes: the cycle of the first one, and the cycle after the last.
struct Word {
    begin: u64,
    end: u64,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Pace {
            accepted: Box::new([0; limits::FIFO_WORDS]),
            words_out: 0,
            next_accepted: 0,
            next_delivered: 0,
            bytes: 0,
            window: None,
        }
    }

    /// Whether the bus never waits: no other user's bytes pass first, memory is faster than the strobes,
    /// and the first word into a package, at cycle `first_inward`, has arrived by then.
    #[inline]
    pub(crate) fn keeps_up(window: &Window, table: &CycleTable, start: Instant, first_inward: u64) -> bool {
        let word = window.word();
        word.is_zero()
            || window.begin <= start
                && start + word <= table.at(start, table.byte_phases(true).min(table.byte_phases(false)))
                && table.cycle_of(start, start + word) + table.decided_ahead() < first_inward
    }

    /// Begins a transaction at `start`, whose bytes pass as `window` says.
    pub(crate) fn begin(&mut self, window: Window, start: Instant) {
        self.window = Some((window, start));
        (self.words_out, self.next_accepted, self.next_delivered, self.bytes) = (0, 0, 0, 0);
    }

    /// When memory has accepted the last word read.
    pub(crate) fn over(&self) -> u64 {
        self.next_accepted
    }

    /// Adds a burst whose strobes may begin at `free`. Returns the cycle of the first strobe and the end
    /// of the strobes.
    pub(crate) fn burst(&mut self, table: &CycleTable, out: bool, bytes: u32, free: u64) -> (u64, u64) {
        let (mut left, mut first, mut end) = (u64::from(bytes), None, free);
        while left > 0 {
            let word = left.min(WORD_BYTES);
            left -= word;
            let step = self.word(table, out, word, end);
            first.get_or_insert(step.begin);
            end = step.end;
            // The last word may be a shorter one.
            let whole = left.saturating_sub(1) / WORD_BYTES;
            if whole > 0 && self.never_waits_again(table, out, &step) {
                left -= whole * WORD_BYTES;
                end = self.skip(table, out, whole, &step);
            } else if whole > 0 && out {
                let piled = self.pile_up(table, whole, end);
                left -= piled * WORD_BYTES;
                end += piled * table.strobes(out, table.transfers(WORD_BYTES as u32, false));
            }
        }
        (first.unwrap_or(free), end)
    }

    /// Adds one word, whose strobes may begin at `free`.
    fn word(&mut self, table: &CycleTable, out: bool, bytes: u64, free: u64) -> Word {
        let (window, start) = self.window.expect("a transaction has begun");
        self.bytes += bytes;
        let passed = table.cycle_of(start, window.passed(self.bytes));
        // If the bus doesn't wait, the word arrived long before.
        let ready = self.ready(out, passed);
        let ready = if ready == 0 { 0 } else { ready + table.decided_ahead() };
        let begin = table.step_from(free.max(ready), free);
        let end = begin + table.strobes(out, table.transfers(bytes as u32, false));
        if out {
            self.accept(passed, end);
        }
        Word { begin, end }
    }

    /// Whether the whole words after `word` follow without a pause, because memory is no slower than the
    /// strobes. Into a package: if a word arrives in time, the next one also passes memory in time. Out
    /// of a package: memory has taken the word as soon as it arrived. From then on the FIFO empties as
    /// fast as it fills and is never full, since memory accepts the words in it one cycle or more apart.
    fn never_waits_again(&self, table: &CycleTable, out: bool, word: &Word) -> bool {
        let (window, _) = self.window.expect("a transaction has begun");
        let strobes = table.strobes(out, table.transfers(WORD_BYTES as u32, false));
        let memory_is_faster = window.word() <= table.at(Instant::ZERO, strobes).since(Instant::ZERO);
        let room = table.decided_ahead() + 1 < limits::FIFO_WORDS as u64;
        memory_is_faster && (!out || (room && self.next_accepted == word.end + 1))
    }

    /// Adds up to `most` whole words out of a package, from `free` on, while the FIFO has room so that
    /// the bus doesn't wait. It stops when memory takes words as they come. Returns their number. The
    /// effect is that of [`Pace::word`] for each.
    fn pile_up(&mut self, table: &CycleTable, most: u64, free: u64) -> u64 {
        let (window, start) = self.window.expect("a transaction has begun");
        let strobes = table.strobes(true, table.transfers(WORD_BYTES as u32, false));
        let decided = table.decided_ahead() + 1;
        let mut words = window.words_behind(self.bytes);
        let mut passing = table.cycles_from(start);
        let (mut end, mut piled) = (free, 0);
        while piled < most {
            let oldest = self.accepted[self.words_out % limits::FIFO_WORDS];
            if self.words_out >= limits::FIFO_WORDS && oldest + decided > end {
                break;
            }
            end += strobes;
            piled += 1;
            self.accept(passing.up_to(words.pass()), end);
            if self.next_accepted == end + 1 {
                break;
            }
        }
        self.bytes += piled * WORD_BYTES;
        piled
    }

    /// Adds `words` whole words after `word` without a pause. Returns the cycle in which the last one's
    /// strobes end.
    fn skip(&mut self, table: &CycleTable, out: bool, words: u64, word: &Word) -> u64 {
        let (window, start) = self.window.expect("a transaction has begun");
        let strobes = table.strobes(out, table.transfers(WORD_BYTES as u32, false));
        let end = word.end + words * strobes;
        self.bytes += words * WORD_BYTES;
        if out {
            // Each word is accepted when its strobes end. The last ones are kept, as many as the FIFO
            // holds.
            let kept = words.min(limits::FIFO_WORDS as u64);
            self.words_out += (words - kept) as usize;
            for nth in words - kept + 1..=words {
                self.accepted[self.words_out % limits::FIFO_WORDS] = word.end + nth * strobes;
                self.words_out += 1;
            }
            self.next_accepted = end + 1;
        } else {
            // A word arrives when it has passed memory, but at least one cycle after the word before.
            let passed = table.cycle_of(start, window.passed(self.bytes));
            self.next_delivered = passed.max(self.next_delivered - 1 + words) + 1;
        }
        end
    }

    /// When the next word can go over the bus: a word to the package when memory has delivered it, a word
    /// from the package when the FIFO has room.
    fn ready(&mut self, out: bool, passed: u64) -> u64 {
        if out {
            let full = self.words_out >= limits::FIFO_WORDS;
            return if full { self.accepted[self.words_out % limits::FIFO_WORDS] + 1 } else { 0 };
        }
        let delivered = passed.max(self.next_delivered);
        self.next_delivered = delivered + 1;
        delivered + 1
    }

    /// Memory takes a word whose strobes have ended.
    fn accept(&mut self, passed: u64, end: u64) {
        let accepted = passed.max(self.next_accepted).max(end);
        self.accepted[self.words_out % limits::FIFO_WORDS] = accepted;
        self.words_out += 1;
        self.next_accepted = accepted + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{BusTiming, EngineClock};
    use aster_ports::resource::Bandwidth;
    use aster_units::Duration;
    use aster_wire::onfi::{DataInterface, Timing};
    use proptest::prelude::*;

    fn table(interface: DataInterface, timing_mode: u8, period_ps: u64) -> CycleTable {
        let timing = Timing::of(interface, timing_mode).unwrap();
        let bus = BusTiming::of_onfi(&timing, Duration::from_nanos(300));
        let clock = EngineClock { period: Duration::from_picos(period_ps), fifo_latency: 2, gap: 2 };
        CycleTable::new(&bus, &clock).unwrap()
    }

    proptest! {
        /// The RTL goes word by word. Skipping must not change the result.
        #[test]
        fn skipped_words_are_those_that_nothing_delays(
            which in 0usize..4,
            period in prop_oneof![Just(10_000u64), 2_600..13_000u64],
            rate in prop_oneof![Just(0u64), 50_000_000..6_000_000_000u64],
            // Memory that is slightly faster or slightly slower than the strobes of one of the
            // directions.
            near in prop::option::of((any::<bool>(), prop_oneof![Just(10_000u64), 9_500..10_500u64])),
            before in 0u64..40_000,
            bursts in prop::collection::vec((any::<bool>(), 1u32..20_000, 0u64..400), 1..5),
        ) {
            let (interface, timing_mode) = [
                (DataInterface::Sdr, 0),
                (DataInterface::NvDdr, 5),
                (DataInterface::NvDdr2, 4),
                (DataInterface::NvDdr2, 7),
            ][which];
            let table = table(interface, timing_mode, period);
            let rate = near.map_or(rate, |(out, share)| {
                let strobes = table.strobes(out, WORD_BYTES);
                (WORD_BYTES * 1_000_000_000_000).div_ceil(strobes * period) * share / 10_000
            });
            let memory = Bandwidth::new(rate);
            // Another user's bytes pass first.
            memory.reserve(Instant::ZERO, before);
            let start = Instant::ZERO + Duration::from_nanos(500);
            let all: u64 = bursts.iter().map(|(_, bytes, _)| u64::from(*bytes)).sum();
            let window = memory.window(start, all);
            let (mut skipping, mut stepping) = (Pace::new(), Pace::new());
            skipping.begin(window, start);
            stepping.begin(window, start);
            let mut free = 20;
            for (out, bytes, gap) in bursts {
                free = table.step_from(free + gap, 0);
                let skipped = skipping.burst(&table, out, bytes, free);
                let (mut left, mut first, mut end) = (u64::from(bytes), None, free);
                while left > 0 {
                    let word = left.min(WORD_BYTES);
                    left -= word;
                    let step = stepping.word(&table, out, word, end);
                    first.get_or_insert(step.begin);
                    end = step.end;
                }
                prop_assert_eq!(skipped, (first.unwrap(), end));
                prop_assert_eq!(skipping.over(), stepping.over());
                prop_assert_eq!(skipping.next_delivered, stepping.next_delivered);
                prop_assert_eq!(skipping.words_out, stepping.words_out);
                free = end;
            }
            // The words in the FIFO, as many as there have been.
            let kept = stepping.words_out.min(limits::FIFO_WORDS);
            for back in 1..=kept {
                let at = (stepping.words_out - back) % limits::FIFO_WORDS;
                prop_assert_eq!(skipping.accepted[at], stepping.accepted[at]);
            }
        }
    }
}
