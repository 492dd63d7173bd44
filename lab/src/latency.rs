//! Latencies of a run by kind of request, and the drive's statistics at the beginning of each wave of tasks.

use crate::lateness::{LatenessCount, LatenessReport};
use crate::report::{Bucket, LatencyReport};
use aster_device::{Device, DriveStats};
use aster_events::Histogram;
use aster_units::{Duration, Instant};
use aster_workload::RequestKind;
use aster_workload::runner::{Arrived, LatencySink, Statistics};
use std::rc::Rc;

/// The beginning of a wave.
pub(crate) struct WaveStart {
    pub(crate) wave: u32,
    pub(crate) at: Instant,
    /// The drive's statistics at that time.
    pub(crate) stats: DriveStats,
}

/// Latencies of one kind of request: their quantiles to three digits, their ends and their mean exactly.
pub(crate) struct Spread {
    /// In nanoseconds.
    histogram: Histogram,
    shortest: Duration,
    longest: Duration,
    /// In picoseconds: many long ones are more than a [`Duration`] holds.
    sum: u128,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { histogram: Histogram::default(), shortest: Duration::MAX, longest: Duration::ZERO, sum: 0 }
    }
}

impl Spread {
    #[inline]
    pub(crate) fn record(&mut self, latency: Duration) {
        self.histogram.record(latency.as_nanos(), 1);
        self.shortest = self.shortest.min(latency);
        self.longest = self.longest.max(latency);
        self.sum += u128::from(latency.as_picos());
    }
    /// The requests of both.
    pub(crate) fn add(&mut self, other: &Spread) {
        self.histogram.merge(&other.histogram);
        self.shortest = self.shortest.min(other.shortest);
        self.longest = self.longest.max(other.longest);
        self.sum += other.sum;
    }
    /// The bins that hold something, in ascending order.
    fn buckets(&self) -> Vec<Bucket> {
        let buckets = self.histogram.buckets();
        buckets.map(|(ns, count)| Bucket { from_ns: *ns.start(), to_ns: *ns.end(), count }).collect()
    }
    /// `None` when there were no requests.
    pub(crate) fn report(&self) -> Option<LatencyReport> {
        let (min_us, max_us) = (self.shortest.as_micros_f64(), self.longest.as_micros_f64());
        // A quantile is the end of its bin, which may lie beyond the largest value.
        let us = |parts, of| (self.histogram.quantile(parts, of) as f64 / 1e3).clamp(min_us, max_us);
        (self.histogram.count() > 0).then(|| LatencyReport {
            min_us,
            mean_us: self.sum as f64 / self.histogram.count() as f64 / 1e6,
            p50_us: us(50, 100),
            p99_us: us(99, 100),
            p999_us: us(999, 1000),
            max_us,
            buckets: self.buckets(),
        })
    }
}

/// A spread per task and kind, and the waves.
pub(crate) struct Latencies {
    /// By kind in the order of [`Statistics::KINDS`]; most tasks have one or two of them, so one is made at
    /// its first request.
    spreads: Vec<[Option<Spread>; Statistics::KINDS.len()]>,
    /// The same from the recorded times of arrival, for tasks that have them, and their lateness.
    from_arrival: Vec<[Option<Spread>; Statistics::KINDS.len()]>,
    lateness: Vec<Option<LatenessCount>>,
    device: Rc<Device>,
    pub(crate) waves: Vec<WaveStart>,
}

impl Latencies {
    pub(crate) fn new(tasks: usize, device: &Rc<Device>) -> Self {
        let spreads = || (0..tasks).map(|_| Default::default()).collect();
        let lateness = (0..tasks).map(|_| None).collect();
        Latencies {
            spreads: spreads(),
            from_arrival: spreads(),
            lateness,
            device: Rc::clone(device),
            waves: Vec::new(),
        }
    }
    /// The requests of one kind of a task; `None` when it had none.
    pub(crate) fn of(&self, task: usize, kind: RequestKind) -> Option<&Spread> {
        self.spreads[task][Statistics::index(kind)].as_ref()
    }
    /// The same from their recorded arrival; `None` when they had no such time.
    pub(crate) fn since_arrival(&self, task: usize, kind: RequestKind) -> Option<&Spread> {
        self.from_arrival[task][Statistics::index(kind)].as_ref()
    }
    /// How late a task's requests were issued; `None` when none had a time of its own.
    pub(crate) fn lateness(&self, task: usize) -> Option<LatenessReport> {
        self.lateness[task].as_ref().map(LatenessCount::report)
    }
}

impl LatencySink for Latencies {
    #[inline]
    fn record(&mut self, task: usize, kind: RequestKind, latency: Duration) {
        self.spreads[task][Statistics::index(kind)].get_or_insert_default().record(latency);
    }
    #[inline]
    fn arrived(&mut self, task: usize, arrived: &Arrived) {
        self.lateness[task].get_or_insert_default().record(arrived);
    }
    #[inline]
    fn record_from_arrival(&mut self, task: usize, kind: RequestKind, latency: Duration) {
        self.from_arrival[task][Statistics::index(kind)].get_or_insert_default().record(latency);
    }
    fn wave_begins(&mut self, wave: u32, at: Instant) {
        self.waves.push(WaveStart { wave, at, stats: self.device.stats() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two reports' requests as one: what a program does with `buckets`.
    fn merged(a: &LatencyReport, b: &LatencyReport) -> Vec<Bucket> {
        let mut counts = std::collections::BTreeMap::new();
        for bucket in a.buckets.iter().chain(&b.buckets) {
            *counts.entry((bucket.from_ns, bucket.to_ns)).or_insert(0) += bucket.count;
        }
        counts.into_iter().map(|((from_ns, to_ns), count)| Bucket { from_ns, to_ns, count }).collect()
    }

    #[test]
    fn histograms_merge_without_loss() {
        let [mut a, mut b, mut both] = [(); 3].map(|()| Spread::default());
        // From 0 to beyond the longest that has a bucket of its own; some in both.
        for nanos in [0, 1, 2047, 2048, 2049, 1_234_567, 999_999_999_999, 1 << 50] {
            a.record(Duration::from_nanos(nanos));
            both.record(Duration::from_nanos(nanos));
            b.record(Duration::from_nanos(nanos / 2));
            both.record(Duration::from_nanos(nanos / 2));
        }
        let (of_a, of_b, of_both) = (a.report().unwrap(), b.report().unwrap(), both.report().unwrap());
        assert_eq!(merged(&of_a, &of_b), of_both.buckets);
        assert_eq!(of_both.buckets.iter().map(|bucket| bucket.count).sum::<u64>(), 16);
        for pair in of_both.buckets.windows(2) {
            assert!(pair[0].from_ns <= pair[0].to_ns && pair[0].to_ns < pair[1].from_ns, "{pair:?}");
        }
        a.add(&b);
        assert_eq!(a.report().unwrap(), of_both);
    }

    #[test]
    fn ends_and_mean_are_exact_and_quantiles_lie_between_them() {
        let mut spread = Spread::default();
        assert_eq!(spread.report(), None);
        // A histogram of three digits tells neither from its neighbours.
        for nanos in [1_234_567, 1_234_569] {
            spread.record(Duration::from_nanos(nanos));
        }
        let report = spread.report().unwrap();
        assert_eq!((report.min_us, report.mean_us, report.max_us), (1234.567, 1234.568, 1234.569));
        assert!(report.min_us <= report.p50_us && report.p999_us <= report.max_us, "{report:?}");
    }
}
