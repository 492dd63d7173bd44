//! The shape of a trace: sizes, streams, gaps between requests, and their rate over time.

use aster_events::Histogram;
use aster_units::Duration;
use aster_workload::RequestKind;
use serde::Serialize;
use std::collections::BTreeMap;

/// Sizes are told apart by so many of their highest bits: those of whole sectors up to 1 MiB exactly.
const SIZE_BITS: u32 = 11;

/// Requests by size.
#[derive(Default)]
pub(super) struct Sizes {
    /// By size, its lowest bits cleared.
    counts: BTreeMap<u64, u64>,
    ends: Option<(u64, u64)>,
}

impl Sizes {
    pub(super) fn count(&mut self, bytes: u64) {
        let bits = u64::BITS - bytes.leading_zeros();
        let low = bits.saturating_sub(SIZE_BITS);
        *self.counts.entry(bytes >> low << low).or_default() += 1;
        let (min, max) = self.ends.unwrap_or((bytes, bytes));
        self.ends = Some((min.min(bytes), max.max(bytes)));
    }

    /// The sizes, which come to so many bytes; `None` if there are none.
    pub(super) fn report(&self, bytes: u64) -> Option<SizeReport> {
        let ((min, max), all) = (self.ends?, self.counts.values().sum::<u64>());
        let quantile = |percent: u64| {
            let rank = (u128::from(all) * u128::from(percent)).div_ceil(100);
            let mut below = 0;
            let mut sizes = self.counts.iter();
            let found = sizes.find(|(_, count)| {
                below += u128::from(**count);
                below >= rank
            });
            found.map_or(max, |(size, _)| *size).max(min)
        };
        let [p50, p90, p99] = [50, 90, 99].map(quantile);
        Some(SizeReport { min, mean: bytes as f64 / all as f64, p50, p90, p99, max })
    }

    /// Requests by the power of two that their size reaches.
    pub(super) fn by_octave(&self) -> [u64; 64] {
        let mut octaves = [0; 64];
        for (size, count) in self.counts.iter().filter(|(size, _)| **size > 0) {
            octaves[size.ilog2() as usize] += count;
        }
        octaves
    }
}

/// Sizes in bytes. Quantiles of sizes above 1 MiB may be a thousandth too small.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct SizeReport {
    /// The smallest.
    pub min: u64,
    /// Their mean.
    pub mean: f64,
    /// Half are no larger.
    pub p50: u64,
    /// Nine of ten are no larger.
    pub p90: u64,
    /// 99 of 100 are no larger.
    pub p99: u64,
    /// The largest.
    pub max: u64,
}

/// Streams that are followed at a time.
const STREAMS: usize = 32;

/// Where the last streams of a device ended.
pub(super) struct Streams {
    /// Where the last request ended; nothing begins at `u64::MAX`.
    last: u64,
    ends: [u64; STREAMS],
    next: usize,
}

impl Default for Streams {
    fn default() -> Self {
        Streams { last: u64::MAX, ends: [u64::MAX; STREAMS], next: 0 }
    }
}

impl Streams {
    /// Whether a request goes on from the last one, and whether it goes on from any stream.
    pub(super) fn follow(&mut self, from: u64, end: u64) -> (bool, bool) {
        let goes_on = self.last == from;
        let stream = self.ends.iter().position(|end| *end == from);
        let place = stream.unwrap_or_else(|| {
            self.next = (self.next + 1) % STREAMS;
            self.next
        });
        self.ends[place] = end;
        self.last = end;
        (goes_on, stream.is_some())
    }
}

/// Times between requests.
#[derive(Default)]
pub(super) struct Gaps {
    first: Option<Duration>,
    last: Duration,
    /// In nanoseconds.
    histogram: Histogram,
    sum: f64,
    squares: f64,
}

impl Gaps {
    pub(super) fn count(&mut self, at: Duration) {
        if self.first.is_some() {
            let gap = at.saturating_sub(self.last);
            self.histogram.record(gap.as_nanos(), 1);
            self.sum += gap.as_secs_f64();
            self.squares += gap.as_secs_f64().powi(2);
        }
        self.first.get_or_insert(at);
        self.last = at;
    }

    /// From the first request to the last.
    pub(super) fn duration(&self) -> Duration {
        self.last.saturating_sub(self.first.unwrap_or(self.last))
    }

    /// `None` if there is one request at most.
    pub(super) fn report(&self) -> Option<GapReport> {
        let n = self.histogram.count();
        let us = |percent| self.histogram.quantile(percent, 100) as f64 / 1e3;
        let mean = self.sum / n as f64;
        let variance = (self.squares / n as f64 - mean.powi(2)).max(0.0);
        (n > 0).then(|| GapReport {
            p50_us: us(50),
            p99_us: us(99),
            variation: (mean > 0.0).then(|| variance.sqrt() / mean),
        })
    }
}

/// Times from request to request.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct GapReport {
    /// The median, in microseconds.
    pub p50_us: f64,
    /// The 99th percentile.
    pub p99_us: f64,
    /// Standard deviation over mean: 1 of a Poisson process, more of bursts; absent if no time passes.
    pub variation: Option<f64>,
}

/// The most intervals of a rate over time.
const INTERVALS_MAX: usize = 128;
/// The first width of an interval. It doubles as the trace gets longer.
const INTERVAL_MIN: Duration = Duration::from_micros(1);

#[derive(Clone, Copy, Default)]
struct Interval {
    requests: u64,
    read_bytes: u64,
    written_bytes: u64,
}

/// Requests over time, in intervals whose width follows the length of the trace.
pub(super) struct Rate {
    first: Option<Duration>,
    width: Duration,
    intervals: Vec<Interval>,
}

impl Default for Rate {
    fn default() -> Self {
        Rate { first: None, width: INTERVAL_MIN, intervals: Vec::new() }
    }
}

impl Rate {
    pub(super) fn count(&mut self, at: Duration, kind: RequestKind, length: u64) {
        let since = at.saturating_sub(*self.first.get_or_insert(at));
        while since.as_picos() / self.width.as_picos() >= INTERVALS_MAX as u64 {
            self.width = Duration::from_picos(self.width.as_picos() * 2);
            let pairs = self.intervals.chunks(2).map(|pair| {
                let mut sum = pair[0];
                for of in &pair[1..] {
                    sum.requests += of.requests;
                    sum.read_bytes = sum.read_bytes.saturating_add(of.read_bytes);
                    sum.written_bytes = sum.written_bytes.saturating_add(of.written_bytes);
                }
                sum
            });
            self.intervals = pairs.collect();
        }
        let at = (since.as_picos() / self.width.as_picos()) as usize;
        if self.intervals.len() <= at {
            self.intervals.resize(at + 1, Interval::default());
        }
        let interval = &mut self.intervals[at];
        interval.requests += 1;
        match kind {
            RequestKind::Read => interval.read_bytes = interval.read_bytes.saturating_add(length),
            RequestKind::Write => interval.written_bytes = interval.written_bytes.saturating_add(length),
            _ => {}
        }
    }

    pub(super) fn report(&self, duration: Duration, gaps: Option<GapReport>) -> RateReport {
        let (seconds, width) = (duration.as_secs_f64(), self.width.as_secs_f64());
        let sum = |of: fn(&Interval) -> u64| self.intervals.iter().map(of).fold(0, u64::saturating_add);
        let per_second = |n: u64| (seconds > 0.0).then(|| n as f64 / seconds);
        let over_time = self.intervals.iter().enumerate().map(|(at, of)| RateInterval {
            from_s: at as f64 * width,
            until_s: ((at + 1) as f64 * width).min(seconds.max(at as f64 * width)),
            requests: of.requests,
            read_bytes: of.read_bytes,
            written_bytes: of.written_bytes,
        });
        // The last interval may be short: what one request makes of it is no rate.
        let whole = self.intervals.len() as f64 * width <= seconds;
        let intervals = &self.intervals[..self.intervals.len() - usize::from(!whole)];
        let busiest = intervals.iter().map(|of| of.requests as f64 / width).reduce(f64::max);
        RateReport {
            requests_per_s: per_second(sum(|of| of.requests)),
            read_mb_per_s: per_second(sum(|of| of.read_bytes)).map(|bytes| bytes / 1e6),
            written_mb_per_s: per_second(sum(|of| of.written_bytes)).map(|bytes| bytes / 1e6),
            busiest_requests_per_s: busiest,
            gaps,
            over_time: over_time.collect(),
        }
    }
}

/// When requests come.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct RateReport {
    /// Requests a second, from the first to the last; absent if no time passes.
    pub requests_per_s: Option<f64>,
    /// 10⁶ bytes read a second.
    pub read_mb_per_s: Option<f64>,
    /// 10⁶ bytes written a second.
    pub written_mb_per_s: Option<f64>,
    /// Requests a second in the busiest whole interval of `over_time`; absent if there is none.
    pub busiest_requests_per_s: Option<f64>,
    /// Times from request to request; absent of a single request.
    pub gaps: Option<GapReport>,
    /// Up to 128 intervals of the same length, the last of which may be shorter.
    pub over_time: Vec<RateInterval>,
}

/// An interval of a trace.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct RateInterval {
    /// Its beginning, from the first request on.
    pub from_s: f64,
    /// Its end.
    pub until_s: f64,
    /// Requests that came in it.
    pub requests: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// Bytes that they write.
    pub written_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_by_quantiles_and_powers_of_two() {
        let mut sizes = Sizes::default();
        assert_eq!(sizes.report(0), None);
        let all = (1..=100u64).map(|n| n * 4096);
        all.clone().for_each(|bytes| sizes.count(bytes));
        let told = sizes.report(all.sum()).unwrap();
        assert_eq!((told.min, told.p50, told.p90, told.p99), (4096, 50 * 4096, 90 * 4096, 99 * 4096));
        assert_eq!((told.max, told.mean), (409_600, 50.5 * 4096.0));
        let octaves = sizes.by_octave();
        assert_eq!(octaves[12..20], [1, 2, 4, 8, 16, 32, 37, 0]);
        assert_eq!(octaves.iter().sum::<u64>(), 100);
    }

    #[test]
    fn interleaved_streams_are_streams_but_not_sequential() {
        let mut streams = Streams::default();
        assert_eq!(streams.follow(0, 10), (false, false));
        assert_eq!(streams.follow(10, 20), (true, true));
        assert_eq!(streams.follow(500, 510), (false, false));
        assert_eq!(streams.follow(20, 30), (false, true));
        assert_eq!(streams.follow(510, 520), (false, true));
        // Nothing goes on where a stream was before.
        assert_eq!(streams.follow(10, 20), (false, false));
        (0..32).for_each(|n| assert_eq!(streams.follow(10_000 * (n + 1), 1), (false, false)));
        assert_eq!(streams.follow(520, 530), (false, false), "32 others came since");
    }

    #[test]
    fn a_rate_widens_its_intervals_and_loses_nothing() {
        let (mut rate, mut gaps) = (Rate::default(), Gaps::default());
        for n in 0..1_000u64 {
            let at = Duration::from_micros(7 + n * 10);
            gaps.count(at);
            rate.count(at, if n % 4 == 0 { RequestKind::Write } else { RequestKind::Read }, 4096);
        }
        let told = rate.report(gaps.duration(), gaps.report());
        assert!(told.over_time.len() <= INTERVALS_MAX && told.over_time.len() > INTERVALS_MAX / 2);
        let sum = |of: fn(&RateInterval) -> u64| told.over_time.iter().map(of).sum::<u64>();
        assert_eq!(sum(|of| of.requests), 1_000);
        assert_eq!((sum(|of| of.read_bytes), sum(|of| of.written_bytes)), (750 * 4096, 250 * 4096));
        assert!((told.requests_per_s.unwrap() - 1_000.0 / 9.99e-3).abs() < 1e-6);
        assert!((told.busiest_requests_per_s.unwrap() / 1e5 - 1.0).abs() < 0.1);
        let gaps = told.gaps.unwrap();
        assert!((gaps.p50_us - 10.0).abs() < 0.02 && gaps.variation.unwrap() < 1e-3, "{gaps:?}");
        let end = told.over_time.last().unwrap().until_s;
        assert!((end - 9.99e-3).abs() < 1e-12, "{end}");
    }
}
