//! The pace of a memory for which the bus has to wait: strobes pause between words (rtl/README.md,
//! Memory).

use crate::timing::CycleTable;
use aster_exec::Fifo;
use aster_ports::resource::{WORD_BYTES, Window};
use aster_txn::interface::limits;
use aster_units::Instant;

/// Words that the FIFO between bus and memory holds.
const FIFO: u64 = limits::FIFO_WORDS as u64;

/// Walks a transaction's words through memory, the Packetizer's FIFOs and the bus. Cycles are counted
/// from the transaction's start. Its memory is allocated once.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When memory accepted the latest words of read bursts, as many as the FIFO holds. Each row has one
    /// of them at least, so there are no more rows than words.
    rows: Fifo<Row>,
    words_out: u64,
    next_accepted: u64,
    next_delivered: u64,
    bytes: u64,
    window: Option<(Window, Instant)>,
}

/// Words out of a package that memory accepts by one rule. A row ends where the next one begins.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// The number of its first word in the transaction.
    first: u64,
    accepted: Accepted,
}

/// When memory accepts the words of a row.
#[derive(Clone, Copy, Debug)]
enum Accepted {
    /// The first one in cycle `from`, each of the others `apart` cycles after the one before.
    Evenly { from: u64, apart: u64 },
    /// Whole words, each when it has passed. The first one passes behind `behind` bytes.
    AsTheyPass { behind: u64 },
}

/// A word's strobes: the cycle of the first one, and the cycle after the last.
struct Word {
    begin: u64,
    end: u64,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Pace {
            rows: Fifo::with_capacity(limits::FIFO_WORDS),
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
    #[inline]
    pub(crate) fn begin(&mut self, window: Window, start: Instant) {
        self.window = Some((window, start));
        self.rows.clear();
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
            if left < WORD_BYTES {
                continue;
            }
            let mut never_waits = self.never_waits_again(table, out, end);
            if out && !never_waits {
                let more = self.pile_up(table, left / WORD_BYTES, end);
                left -= more * WORD_BYTES;
                end += more * strobes_of_word(table, out);
                never_waits = self.never_waits_again(table, out, end);
            }
            // All but a last word that is shorter.
            let whole = left / WORD_BYTES;
            if never_waits && whole > 0 {
                self.skip(table, out, whole, end);
                left -= whole * WORD_BYTES;
                end += whole * strobes_of_word(table, out);
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
        let ready = if out { self.room_from(table) } else { self.deliver(passed) };
        let ready = if ready == 0 { 0 } else { ready + table.decided_ahead() };
        let begin = table.step_from(free.max(ready), free);
        let end = begin + table.strobes(out, table.transfers(bytes as u32, false));
        if out {
            // Memory takes a word whose strobes have ended.
            self.accept(table, 1, Accepted::at(passed.max(self.next_accepted).max(end)));
        }
        Word { begin, end }
    }

    /// Whether the whole words after one whose strobes end at `end` follow without a pause, because memory is
    /// no slower than the strobes. Into a package: if a word arrives in time, the next one also passes memory
    /// in time. Out of a package: memory has taken the word as soon as it arrived. From then on the FIFO
    /// empties as fast as it fills and is never full, since memory accepts the words in it one cycle or more
    /// apart.
    fn never_waits_again(&self, table: &CycleTable, out: bool, end: u64) -> bool {
        let (window, _) = self.window.expect("a transaction has begun");
        let strobes = strobes_of_word(table, out);
        let memory_is_faster = window.word() <= table.at(Instant::ZERO, strobes).since(Instant::ZERO);
        let room = table.decided_ahead() + 1 < FIFO;
        memory_is_faster && (!out || (room && self.next_accepted == end + 1))
    }

    /// Adds up to `most` whole words out of a package, from `free` on, that come while memory is behind
    /// and the FIFO has room, so that the bus doesn't wait. It ends with the first word that memory takes
    /// as it comes. Returns their number. The effect is that of [`Pace::word`] for each. If it is 0,
    /// [`Pace::word`] goes on.
    ///
    /// Why one look is enough for all of them: the strobes of word n, counted from 1, end at
    /// `free` + n · `strobes`. Memory accepts the word then, or when it has passed, or one cycle after the
    /// word before, whichever is last. It is behind as long as the first of the three isn't.
    ///
    /// - If a word takes a cycle or less to pass, a word has passed one cycle after the word before at the
    ///   latest, and that one wasn't accepted before it had passed. So only the first has to pass: from
    ///   then on memory accepts one in each cycle, and word n is in time if the first cycle + n − 1 is no
    ///   later than the end of its strobes.
    /// - If it takes more than a cycle, words pass one cycle or more apart. So if the first is accepted
    ///   when it has passed, so is each of the others. If it takes no longer than its strobes, how late a
    ///   word passes never grows from one to the next, so bisection finds the first that is in time. If
    ///   it takes longer, how late a word passes never shrinks, and memory stays behind.
    ///
    /// Each word also needs the place of the word that came [`FIFO`] words before. If memory is no slower
    /// than the strobes, the times of a row are no further apart than the strobes. So if the first word of
    /// a row has left its place in time, so has each of the others, and one look for each row is enough.
    /// Behind a slower memory, only the words are added that find the FIFO's places empty.
    fn pile_up(&mut self, table: &CycleTable, most: u64, free: u64) -> u64 {
        let (window, start) = self.window.expect("a transaction has begun");
        let (strobes, behind) = (strobes_of_word(table, true), self.bytes);
        let cycles = |cycles| table.at(start, cycles).since(start);
        let passed = |nth| table.cycle_of(start, window.passed(behind + nth * WORD_BYTES));
        let end_of = |nth| free + nth * strobes;
        let first = passed(1).max(self.next_accepted);
        let most = if window.word() <= cycles(strobes) {
            self.with_room(table, most, first, free)
        } else {
            most.min(FIFO.saturating_sub(self.words_out))
        };
        if most == 0 || first <= end_of(1) {
            return 0;
        }
        // The rule for those that come too early, and the number of the first that doesn't.
        let (accepted, in_time) = if window.word() <= cycles(1) {
            // A transfer takes two phases at least, so a word takes two cycles.
            (Accepted::Evenly { from: first, apart: 1 }, (first - 1 - free).div_ceil(strobes - 1))
        } else if self.next_accepted <= passed(1) {
            let (mut late, mut in_time) = (1, most + 1);
            // Words pass evenly, as strobes come evenly. So where the strobes are caught up with is known but
            // for a word, which cycles are rounded by.
            let gain = cycles(strobes).saturating_sub(window.word()).as_picos();
            let nearly = 1 + cycles(first - end_of(1)).as_picos().checked_div(gain).unwrap_or(most);
            for near in [nearly.saturating_sub(1), nearly + 1] {
                if late < near && near < in_time {
                    if passed(near) <= end_of(near) { in_time = near } else { late = near }
                }
            }
            while late + 1 < in_time {
                let middle = late + (in_time - late) / 2;
                if passed(middle) <= end_of(middle) { in_time = middle } else { late = middle }
            }
            (Accepted::AsTheyPass { behind }, in_time)
        } else {
            return 0;
        };
        let late = most.min(in_time - 1);
        self.accept(table, late, accepted);
        if in_time <= most {
            self.accept(table, 1, Accepted::at(end_of(in_time)));
        }
        let piled = most.min(in_time);
        self.bytes += piled * WORD_BYTES;
        piled
    }

    /// How many of the next `most` words find room in the FIFO if their strobes follow without a pause
    /// from `free` on, and the first of them is accepted at `first`. Only if memory is no slower than the
    /// strobes ([`Pace::pile_up`]).
    fn with_room(&self, table: &CycleTable, most: u64, first: u64, free: u64) -> u64 {
        let strobes = strobes_of_word(table, true);
        let oldest = self.words_out.saturating_sub(FIFO);
        let coming = Row { first: self.words_out, accepted: Accepted::at(first) };
        let stopped = self.rows.iter().chain([&coming]).find_map(|row| {
            let word = row.first.max(oldest);
            // So many words come before the one that takes this word's place.
            let before = word + FIFO - self.words_out;
            let room_from = || self.accepted_at(table, row, word) + 1 + table.decided_ahead();
            (before < most && room_from() > free + before * strobes).then_some(before)
        });
        stopped.unwrap_or(most)
    }

    /// Adds `words` whole words without a pause, whose strobes begin at `free`.
    fn skip(&mut self, table: &CycleTable, out: bool, words: u64, free: u64) {
        let (window, start) = self.window.expect("a transaction has begun");
        self.bytes += words * WORD_BYTES;
        if out {
            // Each word is accepted when its strobes end.
            let strobes = strobes_of_word(table, out);
            self.accept(table, words, Accepted::Evenly { from: free + strobes, apart: strobes });
        } else {
            // A word arrives when it has passed memory, but at least one cycle after the word before.
            let passed = table.cycle_of(start, window.passed(self.bytes));
            self.next_delivered = passed.max(self.next_delivered - 1 + words) + 1;
        }
    }

    /// When the FIFO has room for the next word from the package.
    fn room_from(&self, table: &CycleTable) -> u64 {
        match (self.words_out.checked_sub(FIFO), self.rows.front()) {
            (Some(oldest), Some(row)) => self.accepted_at(table, row, oldest) + 1,
            _ => 0,
        }
    }

    /// Memory delivers a word to the package that has passed. Returns when it can go over the bus.
    fn deliver(&mut self, passed: u64) -> u64 {
        let delivered = passed.max(self.next_delivered);
        self.next_delivered = delivered + 1;
        delivered + 1
    }

    /// Memory takes a row of `words`.
    #[inline]
    fn accept(&mut self, table: &CycleTable, words: u64, accepted: Accepted) {
        let row = Row { first: self.words_out, accepted };
        self.words_out += words;
        self.next_accepted = self.accepted_at(table, &row, self.words_out - 1) + 1;
        // Words that have left the FIFO aren't needed any more.
        let oldest = self.words_out.saturating_sub(FIFO);
        while !self.rows.is_empty() && self.rows.get(1).unwrap_or(&row).first <= oldest {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
    }

    /// When memory accepts `word`, which is one of `row`.
    #[inline]
    fn accepted_at(&self, table: &CycleTable, row: &Row, word: u64) -> u64 {
        let nth = word - row.first;
        match row.accepted {
            Accepted::Evenly { from, apart } => from + nth * apart,
            Accepted::AsTheyPass { behind } => {
                let (window, start) = self.window.expect("a transaction has begun");
                table.cycle_of(start, window.passed(behind + (nth + 1) * WORD_BYTES))
            }
        }
    }
}

impl Accepted {
    /// One word in this cycle.
    fn at(cycle: u64) -> Self {
        Accepted::Evenly { from: cycle, apart: 0 }
    }
}

/// Cycles of the strobes of a whole word.
fn strobes_of_word(table: &CycleTable, out: bool) -> u64 {
    table.strobes(out, table.transfers(WORD_BYTES as u32, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{BusTiming, EngineClock};
    use alloc::vec::Vec;
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

    /// The same word by word, as the RTL goes.
    struct Stepping {
        window: Window,
        start: Instant,
        accepted: Vec<u64>,
        delivered: Option<u64>,
        bytes: u64,
    }

    impl Stepping {
        fn burst(&mut self, table: &CycleTable, out: bool, bytes: u32, free: u64) -> (u64, u64) {
            let (mut left, mut first, mut end) = (u64::from(bytes), None, free);
            while left > 0 {
                let word = left.min(WORD_BYTES);
                left -= word;
                self.bytes += word;
                let passed = table.cycle_of(self.start, self.window.passed(self.bytes));
                let ready = if out {
                    let oldest = self.accepted.len().checked_sub(limits::FIFO_WORDS);
                    oldest.map_or(0, |oldest| self.accepted[oldest] + 1 + table.decided_ahead())
                } else {
                    let delivered = passed.max(self.delivered.map_or(0, |last| last + 1));
                    self.delivered = Some(delivered);
                    delivered + 1 + table.decided_ahead()
                };
                let begin = table.step_from(end.max(ready), end);
                first.get_or_insert(begin);
                end = begin + table.strobes(out, table.transfers(word as u32, false));
                if out {
                    self.accepted.push(passed.max(self.accepted.last().map_or(0, |last| last + 1)).max(end));
                }
            }
            (first.unwrap(), end)
        }
    }

    proptest! {
        /// Skipping must not change the result.
        #[test]
        fn skipped_words_are_those_that_nothing_delays(
            which in 0usize..4,
            period in prop_oneof![Just(10_000u64), 2_600..13_000u64],
            rate in prop_oneof![Just(0u64), 50_000_000..6_000_000_000u64],
            // Memory that is slightly faster or slightly slower than the strobes of one of the
            // directions, or than a cycle.
            near in prop::option::of((
                prop::option::of(any::<bool>()),
                prop_oneof![Just(10_000u64), 9_500..10_500u64],
            )),
            // Others have reserved little or much.
            before in prop_oneof![0u64..40_000, 10_000..80_000u64],
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
                let strobes = out.map_or(1, |out| table.strobes(out, WORD_BYTES));
                (WORD_BYTES * 1_000_000_000_000).div_ceil(strobes * period) * share / 10_000
            });
            let memory = Bandwidth::new(rate);
            // Another user's bytes pass first.
            memory.reserve(Instant::ZERO, before);
            let start = Instant::ZERO + Duration::from_nanos(500);
            let all: u64 = bursts.iter().map(|(_, bytes, _)| u64::from(*bytes)).sum();
            let window = memory.window(start, all);
            let (mut skipping, mut free) = (Pace::new(), 20);
            skipping.begin(window, start);
            let mut stepping = Stepping { window, start, accepted: Vec::new(), delivered: None, bytes: 0 };
            for (out, bytes, gap) in bursts {
                free = table.step_from(free + gap, 0);
                let stepped = stepping.burst(&table, out, bytes, free);
                prop_assert_eq!(skipping.burst(&table, out, bytes, free), stepped);
                prop_assert_eq!(skipping.bytes, stepping.bytes);
                prop_assert_eq!(skipping.over(), stepping.accepted.last().map_or(0, |last| last + 1));
                prop_assert_eq!(skipping.next_delivered, stepping.delivered.map_or(0, |last| last + 1));
                prop_assert_eq!(skipping.words_out, stepping.accepted.len() as u64);
                // The words in the FIFO.
                let oldest = stepping.accepted.len().saturating_sub(limits::FIFO_WORDS);
                for (word, accepted) in stepping.accepted.iter().enumerate().skip(oldest) {
                    let row = skipping.rows.iter().filter(|row| row.first <= word as u64).last().unwrap();
                    prop_assert_eq!(skipping.accepted_at(&table, row, word as u64), *accepted);
                }
                prop_assert!(skipping.rows.len() <= limits::FIFO_WORDS);
                free = stepped.1;
            }
        }
    }
}
