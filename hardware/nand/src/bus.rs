//! The data interface of a package, and the waits that it asks of the controller.

use aster_ports::package::{DataMode, ProtocolError, StatusTimes};
use aster_units::{Duration, Instant};
use aster_wire::onfi::{DataInterface, Timing};

/// The data interfaces that a package has, and what its parameter page says about the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusConfig {
    /// Fastest SDR timing mode, 0 to 5.
    pub sdr_mode_max: u8,
    /// Fastest NV-DDR timing mode, 0 to 5; `None` without that interface.
    pub nv_ddr_mode_max: Option<u8>,
    /// Fastest NV-DDR2 timing mode, 0 to 7; `None` without that interface.
    pub nv_ddr2_mode_max: Option<u8>,
    /// tCCS, as the parameter page reports it.
    pub t_ccs: Duration,
}

impl BusConfig {
    pub(crate) fn bad_field(&self) -> Option<(&'static str, &'static str)> {
        if self.sdr_mode_max > 5 {
            return Some(("bus.sdr_mode_max", "from 0 to 5"));
        }
        if self.nv_ddr_mode_max.is_some_and(|m| m > 5) {
            return Some(("bus.nv_ddr_mode_max", "from 0 to 5"));
        }
        if self.nv_ddr2_mode_max.is_some_and(|m| m > 7) {
            return Some(("bus.nv_ddr2_mode_max", "from 0 to 7"));
        }
        // The parameter page has 16 bits for it.
        (self.t_ccs.as_nanos() > u64::from(u16::MAX)).then_some(("bus.t_ccs", "at most 65535 ns"))
    }

    /// The timing of a mode, if the package has it.
    pub(crate) fn timing(&self, interface: DataInterface, mode: u8) -> Option<Timing> {
        let max = match interface {
            DataInterface::Sdr => Some(self.sdr_mode_max),
            DataInterface::NvDdr => self.nv_ddr_mode_max,
            DataInterface::NvDdr2 => self.nv_ddr2_mode_max,
        };
        let timing = (mode <= max?).then(|| Timing::of(interface, mode).ok())??;
        Some(timing.with_ccs(self.t_ccs))
    }

    /// The timing after power-on: SDR mode 0 (B12).
    pub(crate) fn power_on(&self) -> Timing {
        Timing::power_on().with_ccs(self.t_ccs)
    }
}

/// The port's name for a data interface.
pub(crate) const fn data_mode(interface: DataInterface) -> DataMode {
    match interface {
        DataInterface::Sdr => DataMode::Sdr,
        DataInterface::NvDdr => DataMode::NvDdr,
        DataInterface::NvDdr2 => DataMode::NvDdr2,
    }
}

/// The latest bus events from which waits count, and the waits of the mode that the package is in.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    mode: DataMode,
    t_adl: Duration,
    t_ccs: Duration,
    t_ceh: Duration,
    t_rhw: Duration,
    t_rr: Duration,
    t_wb: Duration,
    t_whr: Duration,
    t_itc: Duration,
    latched: Option<Instant>,
    confirmed: Option<Instant>,
    column_changed: Option<Instant>,
    addressed_for_data: Option<Instant>,
    data_out: Option<Instant>,
    released: Option<Instant>,
    switched: Option<Instant>,
}

#[inline]
fn wait(
    parameter: &'static str,
    needed: Duration,
    since: Option<Instant>,
    at: Instant,
) -> Result<(), ProtocolError> {
    match since {
        Some(since) if at < since + needed => {
            Err(ProtocolError::Wait { parameter, needed, found: at.since(since) })
        }
        _ => Ok(()),
    }
}

impl Waits {
    pub fn new(timing: &Timing) -> Self {
        Waits {
            mode: data_mode(timing.data_interface()),
            t_adl: timing.t_adl,
            t_ccs: timing.t_ccs,
            t_ceh: timing.t_ceh,
            t_rhw: timing.t_rhw,
            t_rr: timing.t_rr,
            t_wb: timing.t_wb,
            t_whr: timing.t_whr,
            t_itc: timing.t_itc,
            latched: None,
            confirmed: None,
            column_changed: None,
            addressed_for_data: None,
            data_out: None,
            released: None,
            switched: None,
        }
    }

    /// Switches to another mode at `at`, with CE# low. Bursts must wait tITC from then on.
    pub fn switch(&mut self, timing: &Timing, at: Instant) {
        *self = Waits {
            latched: self.latched,
            confirmed: self.confirmed,
            data_out: self.data_out,
            switched: Some(at),
            ..Waits::new(timing)
        };
    }

    pub fn mode(&self) -> DataMode {
        self.mode
    }

    /// Checks the waits before CE# goes low.
    #[inline]
    pub fn before_select(&self, at: Instant) -> Result<(), ProtocolError> {
        wait("tCEH", self.t_ceh, self.released, at)
    }
    /// Checks the waits before a latch.
    #[inline]
    pub fn before_latch(&self, at: Instant) -> Result<(), ProtocolError> {
        wait("tWB", self.t_wb, self.confirmed, at)?;
        wait("tRHW", self.t_rhw, self.data_out, at)
    }
    /// Checks the waits before a burst from a source that became ready at `ready`.
    #[inline]
    pub fn before_data_out(&self, at: Instant, ready: Option<Instant>) -> Result<(), ProtocolError> {
        wait("tITC", self.t_itc, self.switched, at)?;
        wait("tWB", self.t_wb, self.confirmed, at)?;
        wait("tCCS", self.t_ccs, self.column_changed, at)?;
        wait("tWHR", self.t_whr, self.latched, at)?;
        wait("tRR", self.t_rr, ready, at)
    }
    /// Whether a READ STATUS keeps all waits: those before CE# low, before its latch and before its burst.
    #[inline]
    pub fn allow_status(&self, at: &StatusTimes) -> bool {
        let first = at.burst.first;
        self.before_select(at.selected).is_ok()
            && self.before_latch(at.command).is_ok()
            // Its latch is the last one before the burst, and ends a change of column.
            && wait("tITC", self.t_itc, self.switched, first).is_ok()
            && wait("tWB", self.t_wb, self.confirmed, first).is_ok()
            && first >= at.command + self.t_whr
    }
    /// Checks the waits before a burst to the package.
    #[inline]
    pub fn before_data_in(&self, at: Instant) -> Result<(), ProtocolError> {
        wait("tITC", self.t_itc, self.switched, at)?;
        wait("tADL", self.t_adl, self.addressed_for_data, at)?;
        wait("tCCS", self.t_ccs, self.column_changed, at)?;
        wait("tRHW", self.t_rhw, self.data_out, at)
    }

    #[inline]
    pub fn latched(&mut self, at: Instant) {
        self.latched = Some(at);
        // tCCS applies to the data of the chosen column, not to data of another command.
        self.column_changed = None;
    }
    /// Notes that a LUN goes busy after the latch at `at`.
    #[inline]
    pub fn confirmed(&mut self, at: Instant) {
        self.confirmed = Some(at);
    }
    /// Notes that the latch at `at` completed a change of column.
    #[inline]
    pub fn column_changed(&mut self, at: Instant) {
        self.column_changed = Some(at);
    }
    /// Notes that the latch at `at` was the last address before data in.
    #[inline]
    pub fn addressed_for_data(&mut self, at: Instant) {
        self.addressed_for_data = Some(at);
    }
    #[inline]
    pub fn data_out(&mut self, last: Instant) {
        self.data_out = Some(last);
    }
    pub fn released(&mut self, at: Instant) {
        self.released = Some(at);
    }
}
