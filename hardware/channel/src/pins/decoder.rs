//! Decodes the pins (`rtl/README.md`, Pins): latches at their edges, bursts strobe by strobe.
//!
//! Times are in phases from power-on, so that an edge in the wrong phase of a cycle is found.

use alloc::vec::Vec;
use aster_ports::package::DataMode;
use aster_ports::pins::PinsOut;
use aster_txn::Latch;
use aster_txn::interface::{CycleRegisters, limits};

/// Phases of a cycle.
pub(crate) const PHASES: u64 = limits::PHASES as u64;

/// A burst of the transaction on the bus. It is needed because pins alone don't show where one burst ends
/// and the next begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BurstShape {
    /// True when the package drives the bytes.
    pub out: bool,
    /// Strobes.
    pub transfers: u32,
}

/// What happens on the bus. `burst` counts the bursts of the transaction.
pub(crate) trait Activity {
    /// From now on exactly these chip enables are asserted.
    fn chips(&mut self, at: u64, chips: u32);
    /// A latch cycle begins at `from` and has its edge at `edge`.
    fn latch(&mut self, from: u64, edge: u64, latch: Latch);
    /// Returns the byte that the package drives at a strobe. The transfers of a burst count from 0.
    fn byte(&mut self, burst: usize, transfer: u32, at: u64) -> u8;
    /// A burst of data out has ended. `first` is its first strobe, `last` the end of its last byte.
    fn burst_out(&mut self, burst: usize, first: u64, last: u64);
    /// A burst of data in has ended.
    fn burst_in(&mut self, burst: usize, first: u64, last: u64, bytes: &[u8]);
    /// A strobe that belongs to no burst.
    fn stray(&mut self, at: u64);
}

/// The pins of one phase.
#[derive(Clone, Copy)]
struct Levels {
    cle: bool,
    ale: bool,
    we: bool,
    re: bool,
    dqs: Option<bool>,
    dq: u8,
}

impl Levels {
    #[inline]
    fn of(pins: &PinsOut, phase: u64) -> Levels {
        let bit = |byte: u8| byte >> phase & 1 == 1;
        Levels {
            cle: bit(pins.cle),
            ale: bit(pins.ale),
            we: bit(pins.we_n),
            re: bit(pins.re_n),
            dqs: pins.dqs_enable.then(|| bit(pins.dqs)),
            dq: if pins.dq_enable { (pins.dq >> (8 * phase)) as u8 } else { 0xff },
        }
    }
    /// CLE and ALE at once: data in NV-DDR.
    #[inline]
    fn both(self) -> bool {
        self.cle && self.ale
    }
    #[inline]
    fn latch(self) -> Option<Latch> {
        match (self.cle, self.ale) {
            (true, false) => Some(Latch::Command(self.dq)),
            (false, true) => Some(Latch::Address(self.dq)),
            _ => None,
        }
    }
}

/// Reads a channel's pins cycle by cycle.
pub(crate) struct Decoder {
    mode: DataMode,
    table: CycleRegisters,
    bursts: Vec<BurstShape>,
    /// The burst that the next strobe belongs to, and the strobes that it has had.
    burst: usize,
    strobed: u32,
    first: u64,
    bytes: Vec<u8>,
    before: PinsOut,
    we_fell: u64,
    /// Since when RE# is low in NV-DDR2, which asks the package for data.
    asked: Option<u64>,
    /// CLK has risen on a data output cycle of NV-DDR and hasn't fallen yet. A byte comes with each of
    /// the two edges.
    output_cycle: bool,
    /// The end of the last burst's postamble: no strobe of the next burst can come before.
    ended: u64,
    lanes: u64,
}

#[inline]
fn up_to_cycle(phases: u64) -> u64 {
    phases.next_multiple_of(PHASES)
}

/// Whether a pin stays all cycle at the level it had at the end of the cycle before.
#[inline]
fn still(before: u8, now: u8) -> bool {
    now == if before & 0x80 == 0 { 0 } else { 0xff }
}

impl Decoder {
    pub fn new() -> Self {
        Decoder {
            mode: DataMode::Sdr,
            table: CycleRegisters::default(),
            bursts: Vec::with_capacity(limits::WORDS),
            burst: 0,
            strobed: 0,
            first: 0,
            bytes: Vec::new(),
            before: PinsOut::IDLE,
            we_fell: 0,
            asked: None,
            output_cycle: false,
            ended: 0,
            lanes: 0,
        }
    }

    /// Begins a transaction that is driven in `mode` with the timing of `table` and has these bursts.
    pub fn begin(
        &mut self,
        mode: DataMode,
        table: &CycleRegisters,
        bursts: impl IntoIterator<Item = BurstShape>,
    ) {
        self.mode = mode;
        self.table = *table;
        self.bursts.clear();
        self.bursts.extend(bursts);
        self.burst = 0;
        self.strobed = 0;
        self.bytes.clear();
        self.asked = None;
        self.output_cycle = false;
        self.ended = 0;
    }

    /// Decodes one cycle of the pins. Returns the bytes that the package drives in it.
    #[inline]
    pub fn cycle(&mut self, cycle: u64, pins: &PinsOut, bus: &mut impl Activity) -> u64 {
        let before = self.before;
        if *pins == before
            && still(pins.we_n, pins.we_n)
            && still(pins.re_n, pins.re_n)
            && still(pins.dqs, pins.dqs)
        {
            return self.lanes;
        }
        if pins.ce_n != before.ce_n {
            bus.chips(cycle * PHASES, !pins.ce_n);
        }
        self.before = *pins;
        let quiet = still(before.we_n, pins.we_n)
            && still(before.re_n, pins.re_n)
            && still(before.cle, pins.cle)
            && still(before.ale, pins.ale)
            && still(before.dqs, pins.dqs)
            && before.dqs_enable == pins.dqs_enable;
        // No package sees the pins while no chip is selected.
        if !quiet && pins.ce_n != u32::MAX {
            self.phases(cycle * PHASES, &before, pins, bus);
        }
        self.lanes
    }

    fn phases(&mut self, base: u64, before: &PinsOut, pins: &PinsOut, bus: &mut impl Activity) {
        // Levels from before a chip was selected don't make an edge.
        let selected = before.ce_n != u32::MAX;
        let mut was = if selected { Levels::of(before, PHASES - 1) } else { Levels::of(pins, 0) };
        let mut lane = 0;
        for phase in 0..PHASES {
            let (at, now) = (base + phase, Levels::of(pins, phase));
            let strobed = match self.mode {
                DataMode::Sdr => self.sdr(at, was, now, bus),
                DataMode::NvDdr => self.nv_ddr(at, was, now, bus),
                DataMode::NvDdr2 => self.nv_ddr2(at, was, now, bus),
            };
            if strobed && let Some(byte) = self.strobe_out(at, bus) {
                if lane == 0 {
                    self.lanes = 0;
                }
                self.lanes |= u64::from(byte) << (8 * lane);
                lane += 1;
            }
            was = now;
        }
    }

    /// WE# in SDR and NV-DDR2, which latches at its rising edge. For a byte of data in, returns where the
    /// byte began.
    #[inline]
    fn write_enable(&mut self, at: u64, was: Levels, now: Levels, bus: &mut impl Activity) -> Option<u64> {
        match (was.we, now.we) {
            (true, false) => self.we_fell = at,
            (false, true) => match was.latch() {
                // WE# is low for the second half of the cycle.
                Some(latch) => self.latch(at - 2 * (at - self.we_fell), at, latch, bus),
                None => return Some(self.we_fell),
            },
            _ => {}
        }
        None
    }

    fn latch(&mut self, from: u64, edge: u64, latch: Latch, bus: &mut impl Activity) {
        self.asked = None;
        bus.latch(from, edge, latch);
    }

    /// Decodes a phase in SDR. Like its siblings for the other modes, it returns whether the package
    /// drives a byte from here on.
    fn sdr(&mut self, at: u64, was: Levels, now: Levels, bus: &mut impl Activity) -> bool {
        if let Some(from) = self.write_enable(at, was, now, bus) {
            self.strobe_in(at, from, was.dq, bus);
        }
        was.re && !now.re
    }

    fn nv_ddr2(&mut self, at: u64, was: Levels, now: Levels, bus: &mut impl Activity) -> bool {
        if self.write_enable(at, was, now, bus).is_some() {
            bus.stray(at);
        }
        self.data_strobe(at, was, now, bus);
        let edge = was.re != now.re;
        if edge && (now.cle || now.ale) {
            // The strobe of a burst that is over is released.
            self.asked = None;
            return false;
        }
        match self.asked {
            _ if !edge => false,
            None => {
                // The preamble, or the end of the postamble.
                self.asked = (!now.re).then_some(at);
                false
            }
            Some(since) => {
                let data = self.is_past_preamble(at, since);
                if !data {
                    self.asked = None;
                }
                data
            }
        }
    }

    fn nv_ddr(&mut self, at: u64, was: Levels, now: Levels, bus: &mut impl Activity) -> bool {
        let rises = !was.we && now.we;
        if rises && let Some(latch) = was.latch() {
            let length = u64::from(self.table.latch) * PHASES;
            self.latch(at.saturating_sub(length), at, latch, bus);
        }
        if now.re {
            self.data_strobe(at, was, now, bus);
        }
        if was.we == now.we {
            return false;
        }
        let strobe = if rises { now.both() && !now.re } else { self.output_cycle };
        self.output_cycle = rises && strobe;
        strobe
    }

    /// Whether an edge at `at` can be a strobe of the next burst, if the package has been asked for data
    /// since `since`.
    fn is_past_preamble(&self, at: u64, since: u64) -> bool {
        let out = self.bursts.get(self.burst).is_some_and(|b| b.out);
        let begins = since.max(self.ended) + u64::from(self.table.read_preamble) * PHASES;
        out && (self.strobed > 0 || at >= begins)
    }

    /// DQS in NV-DDR and NV-DDR2: each edge is in the middle of a byte. In NV-DDR, DQ comes half a period
    /// of CLK (the length of a byte) after the edge of the data input cycle that the byte belongs to.
    #[inline]
    fn data_strobe(&mut self, at: u64, was: Levels, now: Levels, bus: &mut impl Activity) {
        if let (Some(before), Some(level)) = (was.dqs, now.dqs)
            && before != level
        {
            let length = u64::from(self.table.byte_phases_in);
            let behind = length / 2 + if self.mode == DataMode::NvDdr { length } else { 0 };
            self.strobe_in(at, at - behind, now.dq, bus);
        }
    }

    fn strobe_in(&mut self, at: u64, from: u64, byte: u8, bus: &mut impl Activity) {
        let Some(BurstShape { out: false, transfers }) = self.bursts.get(self.burst).copied() else {
            return bus.stray(at);
        };
        if self.strobed == 0 {
            self.first = from;
        }
        self.bytes.push(byte);
        self.strobed += 1;
        if self.strobed == transfers {
            let last = up_to_cycle(from + u64::from(self.table.byte_phases_in));
            bus.burst_in(self.burst, self.first, last, &self.bytes);
            self.bytes.clear();
            self.next_burst(last + u64::from(self.table.write_postamble) * PHASES);
        }
    }

    fn strobe_out(&mut self, at: u64, bus: &mut impl Activity) -> Option<u8> {
        let Some(BurstShape { out: true, transfers }) = self.bursts.get(self.burst).copied() else {
            bus.stray(at);
            return None;
        };
        if self.strobed == 0 {
            self.first = at;
        }
        let byte = bus.byte(self.burst, self.strobed, at);
        self.strobed += 1;
        if self.strobed == transfers {
            let last = up_to_cycle(at + u64::from(self.table.byte_phases_out));
            bus.burst_out(self.burst, self.first, last);
            self.next_burst(last + u64::from(self.table.read_postamble) * PHASES);
        }
        Some(byte)
    }

    fn next_burst(&mut self, ended: u64) {
        self.burst += 1;
        self.strobed = 0;
        self.ended = ended;
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
