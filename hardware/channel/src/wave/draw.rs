use super::{Change, Label, Level, Signal};
use alloc::vec::Vec;
use aster_ports::package::{BurstTiming, DataMode};
use aster_txn::Latch;
use aster_units::{Duration, Instant};

/// CLE, ALE and DQ are drawn to change 1/`SETUP_PART` of the cycle after its beginning, and to be
/// released as long after its edge. The channel reports edges, not set-up times.
const SETUP_PART: u64 = 4;

/// Draws one transaction's cycles as pin changes.
#[derive(Default)]
pub(super) struct Pen {
    changes: Vec<Change>,
    /// When the pins of the last cycle are released, unless the next cycle uses them before.
    hold: Option<Instant>,
}

impl Pen {
    fn set(&mut self, at: Instant, signal: Signal, level: Level) {
        self.changes.push(Change { at, signal, level });
    }
    fn pin(&mut self, at: Instant, signal: Signal, high: bool) {
        self.set(at, signal, if high { Level::High } else { Level::Low });
    }
    fn label(&mut self, at: Instant, signal: Signal, label: Label) {
        self.set(at, signal, Level::Text(label));
    }

    /// What was drawn since the last call of [`Pen::clear`].
    pub(super) fn changes(&self) -> &[Change] {
        &self.changes
    }
    pub(super) fn clear(&mut self) {
        self.changes.clear();
        self.hold = None;
    }

    pub(super) fn name(&mut self, at: Instant, label: Label) {
        self.label(at, Signal::Transaction, label);
    }
    pub(super) fn chip(&mut self, at: Instant, way: u8, selected: bool) {
        self.pin(at, Signal::ChipEnable(way), !selected);
    }

    /// Releases the last cycle's pins, at `by` at the latest.
    pub(super) fn let_go(&mut self, by: Instant) {
        if let Some(hold) = self.hold.take() {
            let at = hold.min(by);
            self.pin(at, Signal::CommandLatchEnable, false);
            self.pin(at, Signal::AddressLatchEnable, false);
            self.set(at, Signal::Data, Level::Byte(None));
            self.label(at, Signal::Cycle, Label::Idle);
        }
    }

    /// A latch cycle: WE# falls in its middle and rises at the latching edge.
    pub(super) fn latch(&mut self, from: Instant, edge: Instant, latch: Latch) {
        let cycle = edge.since(from);
        let margin = cycle / SETUP_PART;
        let (command, byte, label) = match latch {
            Latch::Command(byte) => (true, byte, Label::Command(byte)),
            Latch::Address(byte) => (false, byte, Label::Address(byte)),
        };
        self.let_go(from + margin);
        self.label(from + margin, Signal::Cycle, label);
        self.pin(from + margin, Signal::CommandLatchEnable, command);
        self.pin(from + margin, Signal::AddressLatchEnable, !command);
        self.set(from + margin, Signal::Data, Level::Byte(Some(byte)));
        self.pin(from + cycle / 2, Signal::WriteEnable, false);
        self.pin(edge, Signal::WriteEnable, true);
        self.hold = Some(edge + margin);
    }

    /// A burst: each byte has an equal share of the time from the first to the last strobe.
    pub(super) fn burst(&mut self, timing: BurstTiming, out: bool, bytes: &[u8]) {
        let count = bytes.len() as u64;
        if count == 0 {
            return;
        }
        let span = timing.last.since(timing.first);
        let share = |i: u64| timing.first + Duration::from_picos(part(span.as_picos(), i, count));
        self.let_go(timing.first);
        let length = bytes.len() as u32;
        let label = if out { Label::DataOut(length) } else { Label::DataIn(length) };
        self.label(timing.first, Signal::Cycle, label);
        if timing.mode == DataMode::NvDdr {
            // CLE and ALE both high are a data cycle. W/R# says who drives (ONFI 5.1 §4.4).
            self.pin(timing.first, Signal::CommandLatchEnable, true);
            self.pin(timing.first, Signal::AddressLatchEnable, true);
            self.pin(timing.first, Signal::ReadEnable, !out);
        }
        for (i, &byte) in bytes.iter().enumerate() {
            let (from, to) = (share(i as u64), share(i as u64 + 1));
            self.byte(timing.mode, out, i % 2 == 1, (from, to), byte);
        }
        if timing.mode != DataMode::Sdr {
            // A burst of an odd length leaves the strobes away from their idle level.
            self.pin(timing.last, Signal::Strobe, false);
            self.pin(timing.last, Signal::ReadEnable, true);
        }
        let sdr_input = timing.mode == DataMode::Sdr && !out;
        let margin = if sdr_input { (span / count) / SETUP_PART } else { Duration::ZERO };
        self.hold = Some(timing.last + margin);
    }

    fn byte(&mut self, mode: DataMode, out: bool, odd: bool, (from, to): (Instant, Instant), byte: u8) {
        let share = to.since(from);
        let half = from + share / 2;
        let data = Level::Byte(Some(byte));
        match (mode, out) {
            // The package drives from RE#'s fall; the controller samples at its rise.
            (DataMode::Sdr, true) => {
                self.pin(from, Signal::ReadEnable, false);
                self.set(from, Signal::Data, data);
                self.pin(half, Signal::ReadEnable, true);
            }
            (DataMode::Sdr, false) => {
                self.set(from + share / SETUP_PART, Signal::Data, data);
                self.pin(half, Signal::WriteEnable, false);
                self.pin(to, Signal::WriteEnable, true);
            }
            // The package's data changes with DQS.
            (_, true) => {
                if mode == DataMode::NvDdr2 {
                    self.pin(from, Signal::ReadEnable, odd);
                }
                self.pin(from, Signal::Strobe, !odd);
                self.set(from, Signal::Data, data);
            }
            // The controller centres DQS in its data.
            (_, false) => {
                self.set(from, Signal::Data, data);
                self.pin(half, Signal::Strobe, !odd);
            }
        }
    }
}

/// `i` of `count` equal parts of `whole`, without overflow or drift.
fn part(whole: u64, i: u64, count: u64) -> u64 {
    (u128::from(whole) * u128::from(i) / u128::from(count)) as u64
}
