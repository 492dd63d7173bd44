//! Latencies of a phase, by kind of request.

use aster_units::Duration;
use aster_workload::RequestKind;
use aster_workload::runner::LatencySink;
use hdrhistogram::Histogram;

/// Longest latency that is told apart, in nanoseconds: 1,000 s.
const HIGHEST_NS: u64 = 1_000_000_000_000;

/// One histogram a task and kind, three digits.
pub(crate) struct Latencies(Vec<[Histogram<u64>; 2]>);

fn fresh() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_NS, 3).expect("the bounds are in order")
}

impl Latencies {
    pub(crate) fn new(tasks: usize) -> Self {
        Latencies((0..tasks).map(|_| [fresh(), fresh()]).collect())
    }
    /// The reads (`false`) or everything else (`true`) of a task.
    pub(crate) fn of(&self, task: usize, writes: bool) -> &Histogram<u64> {
        &self.0[task][usize::from(writes)]
    }
}

impl LatencySink for Latencies {
    #[inline]
    fn record(&mut self, task: usize, kind: RequestKind, latency: Duration) {
        let histogram = &mut self.0[task][usize::from(kind != RequestKind::Read)];
        histogram.saturating_record(latency.as_nanos());
    }
}
