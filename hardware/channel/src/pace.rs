//! A memory that the bus has to wait for: strobes pause between words (rtl/README.md, Memory).

use crate::timing::CycleTable;
use alloc::boxed::Box;
use aster_ports::resource::{WORD_BYTES, Window};
use aster_txn::interface::limits;
use aster_units::Instant;

/// Walks a transaction's words through memory, the Packetizer's FIFOs and the bus. Cycles are counted from the
/// transaction's start. The memory is taken once.
#[derive(Debug)]
pub(crate) struct Pace {
    /// When memory accepted the last words of read bursts: as many as the FIFO holds.
    accepted: Box<[u64; limits::FIFO_WORDS]>,
    words_out: usize,
    next_accepted: u64,
    next_delivered: u64,
    bytes: u64,
    window: Option<(Window, Instant)>,
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

    /// Whether the bus never waits: nobody else's bytes pass first, memory is faster than the strobes, and the first word
    /// that goes into a package, at the cycle `first_inward`, has come by then.
    #[inline]
    pub(crate) fn keeps_up(window: &Window, table: &CycleTable, start: Instant, first_inward: u64) -> bool {
        let word = window.word();
        word.is_zero()
            || window.begin <= start
                && start + word <= table.at(start, table.byte_phases(true).min(table.byte_phases(false)))
                && table.cycle_of(start, start + word) + table.decided_ahead() < first_inward
    }

    /// A transaction begins at `start` whose bytes pass as `window` says.
    pub(crate) fn begin(&mut self, window: Window, start: Instant) {
        self.window = Some((window, start));
        (self.words_out, self.next_accepted, self.next_delivered, self.bytes) = (0, 0, 0, 0);
    }

    /// When memory has accepted the last word read.
    pub(crate) fn over(&self) -> u64 {
        self.next_accepted
    }

    /// A burst whose strobes may begin at `free`: when its first strobe comes and when they end.
    pub(crate) fn burst(&mut self, table: &CycleTable, out: bool, bytes: u32, free: u64) -> (u64, u64) {
        let (window, start) = self.window.expect("a transaction has begun");
        let (mut left, mut first, mut end) = (u64::from(bytes), None, free);
        while left > 0 {
            let word = left.min(WORD_BYTES);
            left -= word;
            self.bytes += word;
            let passed = table.cycle_of(start, window.passed(self.bytes));
            let strobes = table.strobes(out, table.transfers(word as u32, false));
            // Where the bus doesn't wait, the word was there long before.
            let ready = self.ready(out, passed);
            let ready = if ready == 0 { 0 } else { ready + table.decided_ahead() };
            let begin = table.step_from(end.max(ready), end);
            end = begin + strobes;
            first.get_or_insert(begin);
            if out {
                self.accept(passed, end);
            }
        }
        (first.unwrap_or(free), end)
    }

    /// From when on the bus can have the next word: one to the package once memory has delivered it, one from the package
    /// once the FIFO has room.
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
