//! Fig 27: throughput by the core's clock (C78), and what the core spends its time on (C79).

use super::drive::{Measured, Setup};
use super::grid;
use super::mode::Mode;
use super::plan::Plan;
use crate::experiment::ExperimentError;
use serde::Serialize;

/// A drive at a clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockPoint {
    /// Channels and ways.
    pub square: u8,
    /// Writes, or reads.
    pub write: bool,
    /// The core's clock.
    pub mhz: u32,
    /// The result.
    pub found: Measured,
}

/// Fig 27: MLC mode, drives with as many ways as channels.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<ClockPoint>, ExperimentError> {
    let mut points = Vec::new();
    let total = (2 * plan.squares.len() * plan.clocks_mhz.len()) as f64;
    for write in [false, true] {
        for &square in &plan.squares {
            for &mhz in &plan.clocks_mhz {
                told(points.len() as f64 / total)?;
                let setup = Setup {
                    channels: u16::from(square),
                    ways: square,
                    clock_mhz: mhz,
                    ..Setup::full(Mode::Mlc)
                };
                let found = grid::point(plan, &setup, write, false)?;
                points.push(ClockPoint { square, write, mhz, found });
            }
        }
    }
    Ok(points)
}
