//! `[board.power]`: what the board tells of its power.

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
