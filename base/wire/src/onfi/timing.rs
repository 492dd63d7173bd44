//! Timing parameters under their datasheet names, per data interface and mode (ONFI 5.1, chapter 4: the
//! timing mode tables of SDR, NV-DDR and NV-DDR2).
//!
//! Values are minima unless the name's comment says maximum. A mode doesn't define the parameters that a
//! package reports in its parameter page (tR, tPROG, tBERS, tCCS). tCCS has a default, which
//! [`Timing::with_ccs`] replaces.

mod nvddr;
mod nvddr2;
mod parameters;
mod sdr;

use aster_units::Duration;
use core::fmt;

pub use parameters::{InterfaceTiming, NvDdr2Timing, NvDdrTiming, ResetTimes, SdrTiming, Timing};

/// How data crosses the bus (ONFI 5.1 §4.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DataInterface {
    /// Asynchronous, one byte per WE_n or RE_n cycle.
    Sdr,
    /// Source synchronous with a clock, two bytes per DQS cycle.
    NvDdr,
    /// Source synchronous without a clock, two bytes per DQS cycle; also called toggle mode.
    NvDdr2,
}

impl DataInterface {
    /// The interface as the timing mode feature encodes it.
    pub const fn feature_value(self) -> u8 {
        match self {
            DataInterface::Sdr => 0,
            DataInterface::NvDdr => 1,
            DataInterface::NvDdr2 => 2,
        }
    }
    /// The fastest mode that has a table here.
    pub const fn mode_max(self) -> u8 {
        match self {
            DataInterface::Sdr | DataInterface::NvDdr => 5,
            DataInterface::NvDdr2 => 7,
        }
    }
}

impl fmt::Display for DataInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DataInterface::Sdr => "SDR",
            DataInterface::NvDdr => "NV-DDR",
            DataInterface::NvDdr2 => "NV-DDR2",
        })
    }
}

/// A timing mode that has no table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownMode {
    /// The interface.
    pub interface: DataInterface,
    /// The mode asked for.
    pub mode: u8,
}

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = self.interface.mode_max();
        write!(f, "{} has timing modes 0 to {max}, not {}", self.interface, self.mode)
    }
}

impl core::error::Error for UnknownMode {}

impl Timing {
    /// The mode that every package is in after power-on: SDR mode 0 (ONFI 5.1 §4.1).
    pub fn power_on() -> Self {
        sdr::timing(0)
    }
    /// A mode of a data interface.
    ///
    /// # Errors
    /// When the interface has no such mode.
    pub fn of(interface: DataInterface, mode: u8) -> Result<Self, UnknownMode> {
        if mode > interface.mode_max() {
            return Err(UnknownMode { interface, mode });
        }
        Ok(match interface {
            DataInterface::Sdr => sdr::timing(mode),
            DataInterface::NvDdr => nvddr::timing(mode),
            DataInterface::NvDdr2 => nvddr2::timing(mode),
        })
    }
    /// SDR mode 0 to 5.
    ///
    /// # Errors
    /// For another mode.
    pub fn sdr(mode: u8) -> Result<Self, UnknownMode> {
        Timing::of(DataInterface::Sdr, mode)
    }
    /// NV-DDR mode 0 to 5.
    ///
    /// # Errors
    /// For another mode.
    pub fn nv_ddr(mode: u8) -> Result<Self, UnknownMode> {
        Timing::of(DataInterface::NvDdr, mode)
    }
    /// NV-DDR2 mode 0 to 7.
    ///
    /// # Errors
    /// For another mode.
    pub fn nv_ddr2(mode: u8) -> Result<Self, UnknownMode> {
        Timing::of(DataInterface::NvDdr2, mode)
    }
    /// The same with the tCCS that a parameter page reports.
    #[must_use]
    pub const fn with_ccs(mut self, t_ccs: Duration) -> Self {
        self.t_ccs = t_ccs;
        self
    }
    /// The data interface.
    pub const fn data_interface(&self) -> DataInterface {
        match self.interface {
            InterfaceTiming::Sdr(_) => DataInterface::Sdr,
            InterfaceTiming::NvDdr(_) => DataInterface::NvDdr,
            InterfaceTiming::NvDdr2(_) => DataInterface::NvDdr2,
        }
    }
    /// From one command or address latch to the next: tWC, or tCAD in NV-DDR.
    pub const fn latch_cycle(&self) -> Duration {
        match &self.interface {
            InterfaceTiming::Sdr(t) => t.t_wc,
            InterfaceTiming::NvDdr(t) => t.t_cad,
            InterfaceTiming::NvDdr2(t) => t.t_wc,
        }
    }
    /// The time of two bytes of data in: 2 tWC, or a DQS cycle tDSC.
    pub fn data_in_pair(&self) -> Duration {
        match &self.interface {
            InterfaceTiming::Sdr(t) => t.t_wc * 2,
            InterfaceTiming::NvDdr(t) => t.t_dsc,
            InterfaceTiming::NvDdr2(t) => t.t_dsc,
        }
    }
    /// The time of two bytes of data out: 2 tRC, a clock tCK in NV-DDR, or an RE_n cycle tRC in NV-DDR2.
    pub fn data_out_pair(&self) -> Duration {
        match &self.interface {
            InterfaceTiming::Sdr(t) => t.t_rc * 2,
            InterfaceTiming::NvDdr(t) => t.t_ck,
            InterfaceTiming::NvDdr2(t) => t.t_rc,
        }
    }
    /// The fastest data rate of reads in bytes per second (transfers per second on an 8-bit bus).
    pub fn transfers_per_second(&self) -> u64 {
        2_000_000_000_000 / self.data_out_pair().as_picos()
    }
}

#[cfg(test)]
mod tests;
