//! The packages at the pins. What the decoder reads from the bus becomes calls of [`Package`].

use super::bursts::{self, Burst};
use super::decoder::{Activity, PHASES};
use super::memory::AxiMemory;
use crate::stages::Stages;
use alloc::vec::Vec;
use aster_ports::channel::{BusTap, TxnError};
use aster_ports::dram::Buffers;
use aster_ports::package::{BurstTiming, DataIn, DataMode, DataOut, Package, ProtocolError};
use aster_txn::{Latch, Path, Txn};
use aster_units::{Duration, Instant};

/// Bus activity that is kept until its transaction has ended: a [`BusTap`] needs the transaction's end
/// first.
pub(crate) enum Seen {
    Chips(Instant, u32),
    Latch(Instant, Instant, Latch),
    Burst(BurstTiming, bool, Vec<u8>),
    Ready(Instant, usize, bool),
}

impl Seen {
    pub fn tell(&self, tap: &mut dyn BusTap) {
        match self {
            Seen::Chips(at, chips) => tap.chips(*at, *chips),
            Seen::Latch(from, edge, latch) => tap.latch(*from, *edge, *latch),
            Seen::Burst(timing, out, bytes) => tap.burst(*timing, *out, bytes),
            Seen::Ready(at, way, ready) => tap.ready(*at, *way, *ready),
        }
    }
}

/// What the packages did with the transaction on the bus.
pub(crate) struct Transcript {
    /// The chip enables asserted.
    chips: u32,
    /// The first error, and when. From then on the packages are not selected any more.
    objection: Option<(Instant, TxnError)>,
    /// The burst that `shown` is for.
    shown_for: Option<usize>,
    shown: Vec<u8>,
    shown_twice: bool,
    /// The activity for a tap; kept only if there is one.
    seen: Option<Vec<Seen>>,
}

impl Transcript {
    pub fn new() -> Self {
        Transcript {
            chips: 0,
            objection: None,
            shown_for: None,
            shown: Vec::new(),
            shown_twice: false,
            seen: None,
        }
    }

    /// A transaction begins.
    pub fn begin(&mut self, watched: bool) {
        self.objection = None;
        self.shown_for = None;
        self.seen = watched.then(Vec::new);
    }

    /// What went wrong.
    pub fn objection(&self) -> Option<(Instant, TxnError)> {
        self.objection
    }
    /// Takes the activity for a tap.
    pub fn take_seen(&mut self) -> Vec<Seen> {
        self.seen.take().unwrap_or_default()
    }
}

/// Everything at the pins in one cycle.
pub(crate) struct Bus<'a, P> {
    pub packages: &'a mut [P],
    pub stages: &'a mut Stages,
    pub dram: &'a Buffers,
    pub memory: &'a mut AxiMemory,
    pub txn: Option<&'a Txn>,
    pub bursts: &'a [Burst],
    pub mode: DataMode,
    pub period: Duration,
    pub transcript: &'a mut Transcript,
}

impl<P: Package> Bus<'_, P> {
    fn time(&self, phases: u64) -> Instant {
        Instant::ZERO + self.period * phases / PHASES
    }
    fn timing(&self, first: u64, last: u64) -> BurstTiming {
        BurstTiming { first: self.time(first), last: self.time(last), mode: self.mode }
    }
    fn see(&mut self, seen: impl FnOnce() -> Seen) {
        if let Some(all) = self.transcript.seen.as_mut() {
            all.push(seen());
        }
    }

    /// Whether register data come twice in this mode (ONFI 5.1 §4).
    fn doubles(&self) -> bool {
        self.mode != DataMode::Sdr
    }

    /// Calls `each` with every selected package. The first error ends the transaction for all packages,
    /// although the hardware runs the transaction to its end.
    fn selected(&mut self, at: Instant, mut each: impl FnMut(&mut P) -> Result<(), ProtocolError>) {
        if self.transcript.objection.is_some() {
            return;
        }
        let mut chips = self.transcript.chips;
        while chips != 0 {
            let way = chips.trailing_zeros() as usize;
            if let Some(package) = self.packages.get_mut(way)
                && let Err(error) = each(package)
            {
                return self.object(at, error.into());
            }
            chips &= chips - 1;
        }
    }

    #[cold]
    fn object(&mut self, at: Instant, error: TxnError) {
        if self.transcript.objection.is_some() {
            return;
        }
        self.transcript.objection = Some((at, error));
        let chips = self.transcript.chips;
        for (_, package) in self.packages.iter_mut().enumerate().filter(|(way, _)| chips >> way & 1 == 1) {
            // The transaction has failed already; an objection to the release adds nothing.
            let _ = package.select(at, false);
        }
    }

    /// Reads from the package what it will drive in a burst whose first strobe is now.
    fn show(&mut self, burst: usize, at: Instant) {
        self.transcript.shown_for = Some(burst);
        self.transcript.shown.clear();
        self.transcript.shown_twice = false;
        let chips = self.transcript.chips;
        if self.transcript.objection.is_some() || !chips.is_power_of_two() {
            return;
        }
        let Some(package) = self.packages.get_mut(chips.trailing_zeros() as usize) else { return };
        let Some(shown) = package.shows(at) else { return };
        self.transcript.shown_twice = shown.twice;
        let raw_bytes = self.stages.layout().raw_bytes();
        let length = match &shown.data {
            DataOut::Bytes(bytes) => bytes.len() as u32,
            DataOut::Page { column, .. } | DataOut::Erased { column, .. } => {
                raw_bytes.saturating_sub(u32::from(column.0))
            }
        };
        self.transcript.shown = self.stages.bus_bytes(&shown.data, length);
    }

    /// The bytes of a burst as the package counts them. `twice` says whether each byte comes twice.
    fn length(&self, burst: &Burst, twice: bool) -> usize {
        match (self.doubles(), twice, burst.path) {
            (true, true, _) => burst.transfers as usize / 2,
            (true, false, Path::Mailbox) => burst.transfers as usize,
            _ => burst.bytes as usize,
        }
    }
}

impl<P: Package> Activity for Bus<'_, P> {
    fn chips(&mut self, at: u64, chips: u32) {
        let at = self.time(at);
        let chips = chips & ((1u64 << self.packages.len()) - 1) as u32;
        let before = core::mem::replace(&mut self.transcript.chips, chips);
        self.see(|| Seen::Chips(at, chips));
        if chips == 0 && self.transcript.seen.is_some() {
            for way in 0..self.packages.len() {
                let ready = self.packages[way].ready(at);
                self.see(|| Seen::Ready(at, way, ready));
            }
        }
        if self.transcript.objection.is_some() {
            return;
        }
        let changed = before ^ chips;
        for way in (0..self.packages.len()).filter(|way| changed >> way & 1 == 1) {
            if let Err(error) = self.packages[way].select(at, chips >> way & 1 == 1) {
                return self.object(at, error.into());
            }
        }
    }

    fn latch(&mut self, from: u64, edge: u64, latch: Latch) {
        let (from, at) = (self.time(from), self.time(edge));
        self.see(|| Seen::Latch(from, at, latch));
        self.selected(at, |package| package.latch(at, latch));
    }

    fn byte(&mut self, burst: usize, transfer: u32, at: u64) -> u8 {
        if self.transcript.shown_for != Some(burst) {
            self.show(burst, self.time(at));
        }
        let twice = self.transcript.shown_twice && self.doubles();
        let at = if twice { transfer / 2 } else { transfer };
        self.transcript.shown.get(at as usize).copied().unwrap_or(0xff)
    }

    fn burst_out(&mut self, index: usize, first: u64, last: u64) {
        let burst = self.bursts[index];
        let timing = self.timing(first, last);
        let length = self.length(&burst, self.transcript.shown_twice);
        if self.transcript.seen.is_some() {
            let mut bytes = self.transcript.shown.clone();
            bytes.resize(length, 0xff);
            self.see(|| Seen::Burst(timing, true, bytes));
        }
        self.transcript.shown_for = None;
        if self.transcript.chips.count_ones() > 1 {
            return self.object(timing.first, TxnError::Protocol(ProtocolError::Contention));
        }
        self.selected(timing.first, |package| package.data_out(timing, length as u32, |_| ()));
        if let Some(refusal) = burst.refusal {
            self.object(timing.first, refusal);
        }
    }

    fn burst_in(&mut self, index: usize, first: u64, last: u64, strobed: &[u8]) {
        let burst = self.bursts[index];
        let timing = self.timing(first, last);
        let chips = self.transcript.chips;
        let twice = self.packages.get(chips.trailing_zeros() as usize).is_some_and(P::takes_twice);
        let step = if twice && self.doubles() { 2 } else { 1 };
        let bytes: Vec<u8> = strobed.iter().copied().step_by(step).take(self.length(&burst, twice)).collect();
        if let Some(refusal) = burst.refusal {
            self.object(timing.first, refusal);
        }
        self.see(|| Seen::Burst(timing, false, bytes.clone()));
        // The bytes on the bus are the code words of a page. The package may keep the page plain, as it
        // does with the timed model.
        let memory = &*self.memory.window(burst.descriptor);
        let page = match self.txn {
            Some(txn)
                if burst.path == Path::Page
                    && memory.get(burst.at..burst.at + bytes.len()) == Some(&bytes[..]) =>
            {
                Some(bursts::page(&burst, txn, self.dram))
            }
            _ => None,
        };
        self.selected(timing.first, |package| {
            let data = match page {
                Some(page) => DataIn::Page(page),
                None => DataIn::Bytes(&bytes),
            };
            package.data_in(timing, bytes.len() as u32, data)
        });
    }

    fn stray(&mut self, at: u64) {
        let at = self.time(at);
        self.object(at, TxnError::Hardware { what: "a strobe that belongs to no burst" });
    }
}
