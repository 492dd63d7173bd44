//! The configuration of a fixed controller.

use aster_ports::layout::PageLayout;
use aster_units::{CellMode, Duration, Geometry};
use aster_wire::onfi::command_set::OneShot;

/// What a fixed controller is built to know about its packages.
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
    /// The package's commands for programming a TLC word line in one shot; `None` if the controller isn't
    /// built for that (C83).
    pub one_shot: Option<OneShot>,
    /// Typical time of one-shot programming (`one_shot`).
    pub t_one_shot: Duration,
    /// True when pages pass the scrambler.
    pub scramble: bool,
    /// The controller's clock period: it waits whole cycles.
    pub clock_period: Duration,
    /// From a busy status to the next check.
    pub poll_interval: Duration,
    /// Checks start this much before the typical time has passed.
    pub poll_early: Duration,
    /// The controller gives up after this many times the typical time.
    pub patience: u32,
    /// If set, a single-phase request that starts the array ends when the array has started: the sender
    /// watches the ready/busy bit and requests the status (C38). Otherwise the controller polls by
    /// itself.
    pub polled: bool,
    /// If set, the targets of such a request are one multi-plane operation: pages or blocks of different
    /// planes, with the same page number. Statuses and transfers name the plane.
    pub multi_plane: bool,
}
