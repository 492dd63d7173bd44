//! Cycle rules (design §2): every µFSM step lasts whole cycles of the controller clock, and ONFI minima
//! are rounded up. These are the RTL's rules (rtl/README.md), from the same table.

use aster_ports::package::{DataMode, Interface};
use aster_txn::interface::{CycleRegisters, limits};
use aster_units::{Duration, Instant};
use aster_wire::onfi::command;
use aster_wire::onfi::timing::{InterfaceTiming, Timing};
use core::fmt;
use core::ops::Deref;

const PHASES: u64 = limits::PHASES as u64;

/// ONFI timing parameters of one data mode, under their datasheet names, as the controller keeps them (ONFI
/// 5.1 §4).
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
    /// One latch cycle (tWC in SDR, tCAD between latches in the synchronous modes). It is at least twice
    /// tWP, since WE# is low for half of it. In NV-DDR2, DQS is held low for tWPSTH of it if it follows a
    /// burst.
    pub t_wc: Duration,
    /// How long CLE, ALE and DQ stay after a latch's edge: the greatest of tCLH, tALH and tDH (tCALH and
    /// tCAH).
    pub t_hold: Duration,
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
    /// Last latch to busy: the C/A Writer waits this long before it releases the chip.
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
        let zero = Duration::ZERO;
        let (mode, t_wpre, t_wpst, t_rpre, t_rpst, t_hold, t_latch) = match &timing.interface {
            InterfaceTiming::Sdr(t) => {
                (DataMode::Sdr, zero, zero, zero, zero, t.t_clh.max(t.t_alh).max(t.t_dh), t.t_wp * 2)
            }
            // The clock runs from the command cycle to the strobes: one tDQSCK or tDQSS and its
            // postamble.
            InterfaceTiming::NvDdr(t) => {
                (DataMode::NvDdr, t.t_wpre, t.t_wpst, t.t_dqsck, t.t_ck, t.t_calh.max(t.t_cah), zero)
            }
            InterfaceTiming::NvDdr2(t) => (
                DataMode::NvDdr2,
                t.t_cdqss.max(t.t_wpre),
                t.t_wpst,
                t.t_rpre + t.t_dqsre,
                t.t_rpst,
                t.t_calh.max(t.t_cah),
                (t.t_wp * 2).max(t.t_calh.max(t.t_cah) + t.t_wpsth),
            ),
        };
        BusTiming {
            interface: Interface { mode, timing_mode: timing.mode },
            t_cs: timing.t_cs,
            t_ch: timing.t_ch,
            t_ceh: timing.t_ceh,
            t_wc: timing.latch_cycle().max(t_latch),
            t_hold,
            t_pair_out: timing.data_out_pair(),
            // In SDR a byte is strobed by WE#, as a latch is.
            t_pair_in: match mode {
                DataMode::Sdr => timing.data_in_pair().max(t_latch * 2),
                _ => timing.data_in_pair(),
            },
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

    /// The same timing with data strobes slowed down to at most `bytes_per_second`, which must not be 0.
    /// A controller may drive a package slower than its mode allows (B21: NV-DDR2 at 100 MT/s, for which
    /// the standard has no mode).
    #[must_use]
    pub fn at_most(self, bytes_per_second: u64) -> Self {
        let pair = Duration::of_transfer(2, bytes_per_second);
        BusTiming { t_pair_out: self.t_pair_out.max(pair), t_pair_in: self.t_pair_in.max(pair), ..self }
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

/// [`BusTiming`] in controller cycles, each rounded up, as the controller keeps it in its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleTable {
    /// The data interface and timing mode.
    pub interface: Interface,
    registers: CycleRegisters,
    period: Duration,
}

impl Deref for CycleTable {
    type Target = CycleRegisters;
    #[inline]
    fn deref(&self) -> &CycleRegisters {
        &self.registers
    }
}

/// The controller clock is too fast for an entry of the cycle table to fit its register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockTooFast {
    /// The entry's name.
    pub entry: &'static str,
    /// The interface whose table it is.
    pub interface: Interface,
}

impl fmt::Display for ClockTooFast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Interface { mode, timing_mode } = self.interface;
        write!(
            f,
            "so fast a controller clock takes more cycles than the register '{}' can count in {mode:?} mode \
             {timing_mode}",
            self.entry
        )
    }
}

impl CycleTable {
    /// Rounds `timing` up to cycles of `clock`.
    ///
    /// # Errors
    /// If the clock is so fast that an entry needs more cycles than its register holds.
    pub fn new(timing: &BusTiming, clock: &EngineClock) -> Result<Self, ClockTooFast> {
        let period = clock.period;
        let too_fast = |entry| ClockTooFast { entry, interface: timing.interface };
        let fit = |cycles: u64| u16::try_from(cycles).unwrap_or(u16::MAX);
        let mode = timing.interface.mode;
        // In NV-DDR every step begins on an edge of CLK, whose period is whole cycles.
        let grain = match mode {
            DataMode::NvDdr => timing.t_pair_in.cycles_up(period).max(1),
            _ => 1,
        };
        let grains = |cycles: u64| cycles.div_ceil(grain) * grain;
        let cycles = |d: Duration| fit(grains(d.cycles_up(period)));
        let phases = |d: Duration| (d.as_picos() * PHASES).div_ceil(period.as_picos());
        // A transfer's strobe is low for one half and high for the other. The output serialiser has a
        // resolution of whole phases.
        let byte_phases = |pair: Duration| match mode {
            DataMode::Sdr => fit(2 * phases(pair).div_ceil(4)),
            DataMode::NvDdr => fit(grain * PHASES / 2),
            DataMode::NvDdr2 => fit(phases(pair).div_ceil(2)).max(2),
        };
        let latch = cycles(timing.t_wc).max(grain as u16);
        let latch_hold = match mode {
            DataMode::NvDdr => fit(grain * PHASES / 2),
            _ => fit(phases(timing.t_hold)),
        };
        let chip_setup = cycles(timing.t_cs).max(grain as u16);
        let chip_hold = cycles(timing.t_ch).max(grain as u16);
        let gap = fit(grains(u64::from(clock.gap).max(timing.t_ceh.cycles_up(period))));
        // tRHW ends where WE# falls, half a latch before its edge; in NV-DDR it ends at CLK's edge.
        let to_first_fall = if mode == DataMode::NvDdr { latch } else { latch / 2 };
        let registers = CycleRegisters {
            mode: match mode {
                DataMode::Sdr => 0,
                DataMode::NvDdr => 1,
                DataMode::NvDdr2 => 2,
            },
            grain: fit(grain),
            chip_setup,
            chip_hold,
            gap,
            latch,
            latch_from: match mode {
                DataMode::NvDdr => fit(u64::from(latch) * PHASES).saturating_sub(latch_hold),
                _ => latch_hold,
            },
            latch_hold,
            write_preamble: cycles(timing.t_wpre),
            write_postamble: cycles(timing.t_wpst),
            read_preamble: cycles(timing.t_rpre),
            read_postamble: cycles(timing.t_rpst),
            byte_phases_out: byte_phases(timing.t_pair_out),
            byte_phases_in: byte_phases(timing.t_pair_in),
            t_wb: cycles(timing.t_wb),
            t_whr: cycles(timing.t_whr),
            t_adl: cycles(timing.t_adl),
            t_ccs: cycles(timing.t_ccs),
            t_rhw: cycles(timing.t_rhw),
            lead: chip_hold.saturating_add(gap).saturating_add(chip_setup).saturating_add(to_first_fall),
        };
        registers.pack().map_err(too_fast)?;
        Ok(CycleTable { interface: timing.interface, registers, period })
    }

    /// The entries, as the controller's registers hold them.
    pub fn registers(&self) -> &CycleRegisters {
        &self.registers
    }

    /// Phases that one transfer of data output, or input, takes.
    #[inline]
    pub(crate) fn byte_phases(&self, out: bool) -> u64 {
        u64::from(if out { self.registers.byte_phases_out } else { self.registers.byte_phases_in })
    }

    /// The number of transfers of a burst of `bytes`. It is even in modes with two bytes per strobe
    /// cycle. Register data (`twice`) come twice (ONFI 5.1, READ ID, READ STATUS, GET and SET FEATURES in
    /// the DDR interfaces).
    #[inline]
    pub(crate) fn transfers(&self, bytes: u32, twice: bool) -> u64 {
        let bytes = u64::from(bytes);
        match (self.interface.mode, twice) {
            (DataMode::Sdr, _) => bytes,
            (_, true) => 2 * bytes,
            (_, false) => bytes.next_multiple_of(2),
        }
    }

    /// Cycles of the data strobes of this many transfers.
    #[inline]
    pub fn strobes(&self, out: bool, transfers: u64) -> u64 {
        (transfers * self.byte_phases(out)).div_ceil(PHASES)
    }

    /// `wait` in cycles, rounded up to where a step can begin.
    #[inline]
    pub(crate) fn wait(&self, wait: Duration) -> u64 {
        let grain = u64::from(self.registers.grain);
        let cycles = wait.cycles_up(self.period);
        if grain == 1 { cycles } else { cycles.div_ceil(grain) * grain }
    }

    /// How many cycles ahead the controller decides that a word begins. In NV-DDR, CLE and ALE announce
    /// data half a period before CLK's rise.
    #[inline]
    pub(crate) fn decided_ahead(&self) -> u64 {
        if self.interface.mode == DataMode::NvDdr { u64::from(self.registers.grain) } else { 0 }
    }

    /// The first cycle from `cycle` on in which a step can begin, `aligned` being one.
    #[inline]
    pub(crate) fn step_from(&self, cycle: u64, aligned: u64) -> u64 {
        aligned + (cycle - aligned).next_multiple_of(u64::from(self.registers.grain))
    }

    /// The edge of latch `index` in a row of latches, counted from 0, whose first edge is `first`.
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
    /// The first cycle, counted from `start`, that begins at `at` or later.
    #[inline]
    pub(crate) fn cycle_of(&self, start: Instant, at: Instant) -> u64 {
        if at <= start { 0 } else { at.since(start).cycles_up(self.period) }
    }
}

/// The position of the walk, and the events from which waits count. Cycles are counted from the
/// transaction's start.
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
    /// A command latch, at least tRHW after a read burst. Returns its edge.
    #[inline]
    pub(crate) fn command(&mut self, table: &CycleTable, command: u8) -> u64 {
        self.last_command = command;
        self.latches(table, 1)
    }
    /// `count` latches in a row, at least tRHW after a read burst. Returns the first one's edge.
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
    /// The time before a burst's strobes: tCCS after a column change, else tWHR or tADL, counted from the
    /// last latch; then the preamble. Returns the cycle of the first strobe.
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
    /// The strobes of a burst, which last until `last`, and its postamble.
    #[inline]
    pub(crate) fn burst(&mut self, table: &CycleTable, out: bool, last: u64) {
        self.cycle = last + u64::from(if out { table.read_postamble } else { table.write_postamble });
        if out {
            self.read_end = Some(self.cycle);
        }
        self.latched = false;
        self.ends_in_latch = false;
    }
    /// A Timer: it overlaps the waits that count from the last latch.
    #[inline]
    pub(crate) fn timer(&mut self, cycles: u64) {
        let from = if self.latched { self.last_latch } else { self.cycle };
        self.cycle = self.cycle.max(from + cycles);
    }
    /// END: tWB after a latch, tRHW after a read burst (except for the part that the next transaction
    /// keeps), then CE# hold.
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
