//! Latencies of a phase, by kind of request, and what the drive had done when each wave of tasks began.

use aster_device::{Device, DriveStats};
use aster_units::{Duration, Instant};
use aster_workload::RequestKind;
use aster_workload::runner::{LatencySink, Statistics};
use hdrhistogram::Histogram;
use std::rc::Rc;

/// Longest latency that is told apart, in nanoseconds: 1,000 s.
const HIGHEST_NS: u64 = 1_000_000_000_000;

/// The beginning of a wave.
pub(crate) struct WaveStart {
    pub(crate) wave: u32,
    pub(crate) at: Instant,
    /// What the drive had done by then.
    pub(crate) stats: DriveStats,
}

/// One histogram a task and kind, three digits, and the waves.
pub(crate) struct Latencies {
    /// By kind in the order of [`Statistics::KINDS`]; most tasks have one or two of them, so one is made at its first request.
    histograms: Vec<[Option<Histogram<u64>>; Statistics::KINDS.len()]>,
    device: Rc<Device>,
    pub(crate) waves: Vec<WaveStart>,
}

pub(crate) fn fresh() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_NS, 3).expect("the bounds are in order")
}

impl Latencies {
    pub(crate) fn new(tasks: usize, device: &Rc<Device>) -> Self {
        let histograms = (0..tasks).map(|_| Default::default()).collect();
        Latencies { histograms, device: Rc::clone(device), waves: Vec::new() }
    }
    /// The requests of one kind of a task; `None` when it had none.
    pub(crate) fn of(&self, task: usize, kind: RequestKind) -> Option<&Histogram<u64>> {
        self.histograms[task][Statistics::index(kind)].as_ref()
    }
}

impl LatencySink for Latencies {
    #[inline]
    fn record(&mut self, task: usize, kind: RequestKind, latency: Duration) {
        let histogram = self.histograms[task][Statistics::index(kind)].get_or_insert_with(fresh);
        histogram.saturating_record(latency.as_nanos());
    }
    fn wave_begins(&mut self, wave: u32, at: Instant) {
        self.waves.push(WaveStart { wave, at, stats: self.device.stats() });
    }
}
