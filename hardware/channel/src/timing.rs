//! Cycle rules (design §2): every µFSM step lasts whole cycles of the controller clock, ONFI minima rounded up.

use aster_ports::package::{DataMode, Interface};
use aster_units::{Duration, Instant};
use aster_wire::onfi::command;
use aster_wire::onfi::timing::{InterfaceTiming, Timing};

/// ONFI timing parameters of one data mode, under their datasheet names, as the controller keeps them (ONFI 5.1 §4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusTiming {
    /// The data interface and timing mode these are for.
    pub interface: Interface,
    /// CE# setup before the first latch.
    pub t_cs: Duration,
    /// CE# hold after the last cycle.
    pub t_ch: Duration,
    /// CE# high between two selections.
    pub t_ceh: Duration,
    /// One latch cycle (tWC in SDR, tCAD between latches in the synchronous modes).
    pub t_wc: Duration,
    /// Two bytes of data output: 2 tRC in SDR, a clock or strobe cycle in the others.
    pub t_pair_out: Duration,
    /// Two bytes of data input: 2 tWC in SDR, a strobe cycle in the others.
    pub t_pair_in: Duration,
    /// DQS (or data) preamble of a write burst.
    pub t_wpre: Duration,
    /// Postamble of a write burst.
    pub t_wpst: Duration,
    /// Preamble of a read burst.
    pub t_rpre: Duration,
    /// Postamble of a read burst.
    pub t_rpst: Duration,
    /// Last latch to busy: what the C/A Writer waits before it lets go of the chip.
    pub t_wb: Duration,
    /// Command or address latch to data output.
    pub t_whr: Duration,
    /// Address latch to data input.
    pub t_adl: Duration,
    /// Column change to data.
    pub t_ccs: Duration,
    /// Data output to command.
    pub t_rhw: Duration,
}

impl BusTiming {
    /// The minima of an ONFI timing mode. `t_ccs` is the package's, from its parameter page.
    pub fn of_onfi(timing: &Timing, t_ccs: Duration) -> Self {
        let (mode, t_wpre, t_wpst, t_rpre, t_rpst) = match &timing.interface {
            InterfaceTiming::Sdr(_) => {
                (DataMode::Sdr, Duration::ZERO, Duration::ZERO, Duration::ZERO, Duration::ZERO)
            }
            // The clock stretches from the command cycle to the strobes: one tDQSCK or tDQSS and its postamble.
            InterfaceTiming::NvDdr(t) => (DataMode::NvDdr, t.t_wpre, t.t_wpst, t.t_dqsck, t.t_ck),
            InterfaceTiming::NvDdr2(t) => {
                (DataMode::NvDdr2, t.t_cdqss.max(t.t_wpre), t.t_wpst, t.t_rpre + t.t_dqsre, t.t_rpst)
            }
        };
        BusTiming {
            interface: Interface { mode, timing_mode: timing.mode },
            t_cs: timing.t_cs,
            t_ch: timing.t_ch,
            t_ceh: timing.t_ceh,
            t_wc: timing.latch_cycle(),
            t_pair_out: timing.data_out_pair(),
            t_pair_in: timing.data_in_pair(),
            t_wpre,
            t_wpst,
            t_rpre,
            t_rpst,
            t_wb: timing.t_wb,
            t_whr: timing.t_whr,
            t_adl: timing.t_adl,
            t_ccs: t_ccs.max(timing.t_whr),
            t_rhw: timing.t_rhw,
        }
    }
}

/// The controller's own clock and pipeline, the same for the timed model and the RTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineClock {
    /// The clock period (P18: 10 ns).
    pub period: Duration,
    /// Cycles from a push being sampled to the first µFSM step.
    pub fifo_latency: u32,
    /// Cycles between two transactions.
    pub gap: u32,
}

impl Default for EngineClock {
    fn default() -> Self {
        EngineClock { period: Duration::from_nanos(10), fifo_latency: 2, gap: 2 }
    }
}

/// [`BusTiming`] in controller cycles, each rounded up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleTable {
    /// The data interface and timing mode.
    pub interface: Interface,
    /// CE# setup.
    pub chip_setup: u32,
    /// CE# hold.
    pub chip_hold: u32,
    /// From the release of the channel to the start of the next transaction: the controller's gap, or tCEH if that is more.
    pub gap: u32,
    /// A latch.
    pub latch: u32,
    /// Write preamble.
    pub write_preamble: u32,
    /// Write postamble.
    pub write_postamble: u32,
    /// Read preamble.
    pub read_preamble: u32,
    /// Read postamble.
    pub read_postamble: u32,
    /// tWB.
    pub t_wb: u32,
    /// tWHR.
    pub t_whr: u32,
    /// tADL.
    pub t_adl: u32,
    /// tCCS.
    pub t_ccs: u32,
    /// tRHW.
    pub t_rhw: u32,
    /// From the release of the channel to the first latch of the next transaction, at the least: CE# hold, gap, CE# setup
    /// and the latch itself. A wait that outlasts a transaction needs to be kept only as far as these don't.
    pub lead: u32,
    /// Two bytes of data output; bursts round up to a whole cycle as a whole.
    pub pair_out: Duration,
    /// Two bytes of data input.
    pub pair_in: Duration,
    period: Duration,
}

impl CycleTable {
    /// Rounds `timing` up to cycles of `clock`.
    pub fn new(timing: &BusTiming, clock: &EngineClock) -> Self {
        let cycles = |d: Duration| d.cycles_up(clock.period) as u32;
        CycleTable {
            interface: timing.interface,
            chip_setup: cycles(timing.t_cs),
            chip_hold: cycles(timing.t_ch),
            gap: clock.gap.max(cycles(timing.t_ceh)),
            latch: cycles(timing.t_wc).max(1),
            write_preamble: cycles(timing.t_wpre),
            write_postamble: cycles(timing.t_wpst),
            read_preamble: cycles(timing.t_rpre),
            read_postamble: cycles(timing.t_rpst),
            t_wb: cycles(timing.t_wb),
            t_whr: cycles(timing.t_whr),
            t_adl: cycles(timing.t_adl),
            t_ccs: cycles(timing.t_ccs),
            t_rhw: cycles(timing.t_rhw),
            lead: cycles(timing.t_ch)
                + clock.gap.max(cycles(timing.t_ceh))
                + cycles(timing.t_cs)
                + cycles(timing.t_wc).max(1),
            pair_out: timing.t_pair_out,
            pair_in: timing.t_pair_in,
            period: clock.period,
        }
    }

    /// Cycles of the data strobes of `bytes` bytes.
    #[inline]
    pub fn strobes(&self, out: bool, bytes: u32) -> u64 {
        let pair = if out { self.pair_out } else { self.pair_in };
        Duration::from_picos((pair.as_picos() * u64::from(bytes)).div_ceil(2)).cycles_up(self.period).max(1)
    }

    /// The edge of the latch that follows `index` others in a row, the first of them at the edge `first`.
    #[inline]
    pub(crate) fn latch_edge(&self, first: u64, index: usize) -> u64 {
        first + u64::from(self.latch) * index as u64
    }
    /// From one latch to the next in a row.
    #[inline]
    pub(crate) fn latch_time(&self) -> Duration {
        self.period * u64::from(self.latch)
    }
    /// The instant `cycles` after `start`.
    #[inline]
    pub fn at(&self, start: Instant, cycles: u64) -> Instant {
        start + self.period * cycles
    }
}

/// Where the walk stands relative to the events that waits count from. Cycles are counted from the transaction's start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) cycle: u64,
    last_latch: u64,
    last_command: u8,
    latched: bool,
    read_end: Option<u64>,
    ends_in_latch: bool,
}

impl Cursor {
    /// After BEGIN.
    #[inline]
    pub(crate) fn begin(&mut self, table: &CycleTable) {
        self.cycle += u64::from(table.chip_setup);
    }
    /// A command latch, tRHW after a read burst at the earliest; gives its edge.
    #[inline]
    pub(crate) fn command(&mut self, table: &CycleTable, command: u8) -> u64 {
        self.last_command = command;
        self.latches(table, 1)
    }
    /// So many latches in a row, tRHW after a read burst at the earliest; gives the first one's edge.
    #[inline]
    pub(crate) fn latches(&mut self, table: &CycleTable, count: usize) -> u64 {
        if let Some(end) = self.read_end.take() {
            self.cycle = self.cycle.max(end + u64::from(table.t_rhw));
        }
        let first = self.cycle + u64::from(table.latch);
        self.cycle += u64::from(table.latch) * count as u64;
        self.last_latch = self.cycle;
        self.latched = true;
        self.ends_in_latch = true;
        first
    }
    /// Before the strobes of a burst: tCCS after a column change, else tWHR or tADL, counted from the last latch; then
    /// the preamble. Gives the cycle of the first strobe.
    #[inline]
    pub(crate) fn before_burst(&mut self, table: &CycleTable, out: bool) -> u64 {
        if self.latched {
            let wait = match (out, self.last_command) {
                (true, command::CHANGE_READ_COLUMN_CONFIRM) => table.t_ccs,
                (true, _) => table.t_whr,
                (false, command::CHANGE_WRITE_COLUMN) => table.t_ccs.max(table.t_adl),
                (false, _) => table.t_adl,
            };
            self.cycle = self.cycle.max(self.last_latch + u64::from(wait));
        }
        self.cycle += u64::from(if out { table.read_preamble } else { table.write_preamble });
        self.cycle
    }
    /// After the strobes of a burst.
    #[inline]
    pub(crate) fn burst(&mut self, table: &CycleTable, out: bool, bytes: u32) -> u64 {
        self.cycle += table.strobes(out, bytes);
        let last = self.cycle;
        self.cycle += u64::from(if out { table.read_postamble } else { table.write_postamble });
        if out {
            self.read_end = Some(self.cycle);
        }
        self.latched = false;
        self.ends_in_latch = false;
        last
    }
    /// A Timer: it overlaps the waits that count from the last latch.
    #[inline]
    pub(crate) fn timer(&mut self, cycles: u64) {
        let from = if self.latched { self.last_latch } else { self.cycle };
        self.cycle = self.cycle.max(from + cycles);
    }
    /// END: tWB after a latch, tRHW after a read burst (as far as the next transaction can't keep it), then CE# hold.
    #[inline]
    pub(crate) fn end(&mut self, table: &CycleTable) {
        if self.ends_in_latch {
            self.cycle = self.cycle.max(self.last_latch + u64::from(table.t_wb));
        }
        if let Some(read_end) = self.read_end {
            self.cycle =
                self.cycle.max((read_end + u64::from(table.t_rhw)).saturating_sub(u64::from(table.lead)));
        }
        self.cycle += u64::from(table.chip_hold);
    }
}
