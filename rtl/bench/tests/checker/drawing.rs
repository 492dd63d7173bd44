//! Pins of one chip drawn by hand.

use aster_rtl_bench::replay::{self, PinState};
use aster_units::Duration;
use aster_wire::onfi::Timing;

/// The step of a drawing.
const STEP: Duration = Duration::from_picos(500);

/// Pins over time, in nanoseconds from the start; halves are steps.
pub struct Drawing(Vec<PinState>);

/// Steps of nanoseconds.
fn steps(nanoseconds: f64) -> usize {
    let steps = nanoseconds * 2.0;
    assert!(steps.fract() == 0.0, "{nanoseconds} ns is not a multiple of 0.5 ns");
    steps as usize
}

impl Drawing {
    /// The chip selected, and nothing else.
    pub fn new(length: f64) -> Self {
        Drawing(vec![PinState { ce_n: false, ..PinState::IDLE }; steps(length)])
    }
    pub fn set(&mut self, from: f64, to: f64, change: impl Fn(&mut PinState)) {
        self.0[steps(from)..steps(to)].iter_mut().for_each(change);
    }
    /// CE# high from here to the end.
    pub fn high(&mut self, from: f64) {
        let end = self.0.len() as f64 / 2.0;
        self.set(from, end, |p| p.ce_n = true);
    }
    /// A command latch whose WE# rises at `edge`, with CLE from `cle` to 5 ns after the edge.
    pub fn command(&mut self, cle: f64, edge: f64, value: u8) {
        self.set(cle, edge + 5.0, |p| (p.cle, p.dq) = (true, Some(value)));
        self.set(edge - 15.0, edge, |p| p.we_n = false);
    }
    /// The parameters that the checker finds violated.
    pub fn found(&self, timing: &Timing) -> Vec<String> {
        replay::violations(&self.0, timing, STEP)
    }
}
