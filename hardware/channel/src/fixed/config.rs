//! What a fixed controller is built to know.

use aster_ports::layout::PageLayout;
use aster_units::{CellMode, Duration, Geometry};
use aster_wire::onfi::command_set::OneShot;

/// What a fixed controller is built to know of its packages.
#[derive(Clone, Copy, Debug)]
pub struct FixedConfig {
    /// Page format.
    pub layout: PageLayout,
    /// The array behind the channels.
    pub geometry: Geometry,
    /// How cells are used.
    pub cells: CellMode,
    /// Typical tR by page type.
    pub t_r: [Duration; 3],
    /// Typical tPROG by page type.
    pub t_prog: [Duration; 3],
    /// Typical tBERS.
    pub t_bers: Duration,
    /// Typical reset time.
    pub t_rst: Duration,
    /// The package's commands for programming a TLC word line in one shot, and the typical time of it; none
    /// when the controller isn't built for that (C83).
    pub one_shot: Option<OneShot>,
    /// See `one_shot`.
    pub t_one_shot: Duration,
    /// True when pages pass the scrambler.
    pub scramble: bool,
    /// The controller's clock: what it waits is whole cycles.
    pub clock_period: Duration,
    /// From a status that said busy to the next check.
    pub poll_interval: Duration,
    /// Checks start when the typical time has passed, minus this much.
    pub poll_early: Duration,
    /// Gives up after so many times the typical time.
    pub patience: u32,
    /// A request of one phase that makes an array work ends when the array has begun: whoever sent it looks
    /// at the ready/busy bit and asks for the status (C38). Otherwise the controller polls by itself.
    pub polled: bool,
}
