//! `[board.power]`, `[board.thermal]` and `[board.emmc]`: what the board tells of its power, how warm it
//! gets, and its eMMC.

use serde::{Deserialize, Serialize};

/// The power that the PCIe function tells its host (PCIe 4.0 §7.5.2.3; H4).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PowerProfile {
    /// The most that the drive takes in D0, and gives off as heat.
    pub d0_w: f64,
    /// The same in D3hot.
    pub d3hot_w: f64,
}

/// How warm the drive gets (H1, H4): a heat capacity behind a thermal resistance, and what the work gives
/// off. At power-on the drive is as warm as the air.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ThermalProfile {
    /// The air around the drive.
    pub ambient_c: f64,
    /// How much warmer than the air a watt keeps the drive, in kelvins.
    pub kelvin_per_watt: f64,
    /// How long the drive takes to come within 1/e of a new temperature.
    pub time_constant_ms: u32,
    /// What a drive that does nothing gives off.
    pub idle_w: f64,
    /// Energy of the array for a page that is read.
    pub read_uj: f64,
    /// For a page that is programmed.
    pub program_uj: f64,
    /// For a block that is erased.
    pub erase_uj: f64,
    /// Energy of a byte on a flash bus.
    pub bus_byte_nj: f64,
    /// Energy of a byte on the host link.
    pub link_byte_nj: f64,
    /// How often the firmware reads the sensor while the drive works.
    pub sample_ms: u32,
    /// From this temperature on the drive slows itself down.
    pub alarm_c: f64,
    /// Until it has cooled to this one.
    pub cooled_c: f64,
    /// Dies of each array controller that work while the drive is hot; of the whole drive where it has no
    /// array controllers.
    pub throttle_dies: u16,
    /// A second threshold, from which on it slows itself down more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical: Option<CriticalHeatProfile>,
    /// The controller's junction, with a sensor of its own. Absent: it is as warm as the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<ControllerHeatProfile>,
}

/// A second threshold of the temperature.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CriticalHeatProfile {
    /// From this temperature on the drive slows itself down more, until it has cooled to
    /// `board.thermal.alarm_c`.
    pub from_c: f64,
    /// Dies of each array controller that work meanwhile: fewer than `board.thermal.throttle_dies`.
    pub dies: u16,
}

/// How warm the controller's junction gets above the board.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerHeatProfile {
    /// How much warmer than the board a watt of the controller keeps its junction, in kelvins.
    pub kelvin_per_watt: f64,
    /// How long the junction takes to come within 1/e of a new difference.
    pub time_constant_ms: u32,
    /// The part of `board.thermal.idle_w` that the controller gives off.
    pub idle_w: f64,
    /// Energy of a cycle of a core.
    pub cycle_nj: f64,
}

/// An eMMC beside the NAND (S24). Its time for a block of 4 KiB is that of a command.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EmmcProfile {
    /// A block of 4 KiB is read.
    pub read_us: f64,
    /// A block of 4 KiB is written.
    pub write_us: f64,
}
