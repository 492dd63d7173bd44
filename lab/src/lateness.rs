//! Lateness of the requests of a trace that is replayed at recorded times.

use aster_units::Duration;
use aster_workload::runner::Arrived;
use aster_workload::{HeldBy, RequestKind};
use serde::Serialize;

/// Lateness of a trace's requests: from their recorded time of arrival to their issue.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LatenessReport {
    /// Requests with a time of their own. Flushes, which wait for everything before them, are counted
    /// separately.
    pub requests: u64,
    /// Those that were issued later.
    pub late: u64,
    /// Late requests that waited for room in the queue, or came after one that did.
    pub late_for_depth: u64,
    /// Late requests that waited for a flush, or came after one that did.
    pub late_for_flush: u64,
    /// Flushes with a time of their own.
    pub flushes: u64,
    /// Flushes that were issued later, because a request before them was still in flight.
    pub flushes_late: u64,
    /// Share of late requests.
    pub late_share: f64,
    /// Mean over all requests, those in time included.
    pub mean_us: f64,
    /// Largest lateness.
    pub max_us: f64,
    /// When the latest arrived, in simulated seconds from the beginning.
    pub max_at_s: f64,
    /// When the first late one arrived; absent when none was.
    pub first_at_s: Option<f64>,
    /// When the last request arrived: how long the replay should have taken.
    pub arrivals_s: f64,
    /// When the last request was issued.
    pub issues_s: f64,
    /// By time of arrival, at most a hundred intervals; those without a request are left out.
    pub over_time: Vec<LatenessInterval>,
}

/// Requests that arrived in an interval.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LatenessInterval {
    /// Its beginning, in simulated seconds.
    pub from_s: f64,
    /// Its end.
    pub until_s: f64,
    /// Requests that arrived.
    pub requests: u64,
    /// Those that were issued later.
    pub late: u64,
    /// Mean lateness over all of them.
    pub mean_us: f64,
    /// Largest lateness.
    pub max_us: f64,
}

const INTERVALS_MAX: usize = 100;
/// The intervals of a very short replay.
const INTERVAL_MIN: Duration = Duration::from_micros(1);

#[derive(Clone, Copy, Default)]
struct Interval {
    requests: u64,
    late: u64,
    /// In picoseconds: many long ones are more than a [`Duration`] holds.
    sum: u128,
    max: Duration,
}

impl Interval {
    fn add(&mut self, late: Duration) {
        self.requests += 1;
        self.late += u64::from(!late.is_zero());
        self.sum += u128::from(late.as_picos());
        self.max = self.max.max(late);
    }
    fn merge(&mut self, other: &Interval) {
        self.requests += other.requests;
        self.late += other.late;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
    fn mean_us(&self) -> f64 {
        self.sum as f64 / self.requests.max(1) as f64 / 1e6
    }
}

/// Counts late requests in memory that doesn't grow: when there are too many intervals, pairs of them become
/// one.
pub(crate) struct LatenessCount {
    all: Interval,
    late_for_depth: u64,
    late_for_flush: u64,
    flushes: u64,
    flushes_late: u64,
    max_at: Duration,
    first_at: Option<Duration>,
    last_arrival: Duration,
    last_issue: Duration,
    width: Duration,
    intervals: Vec<Interval>,
}

impl Default for LatenessCount {
    fn default() -> Self {
        LatenessCount {
            all: Interval::default(),
            late_for_depth: 0,
            late_for_flush: 0,
            flushes: 0,
            flushes_late: 0,
            max_at: Duration::ZERO,
            first_at: None,
            last_arrival: Duration::ZERO,
            last_issue: Duration::ZERO,
            width: INTERVAL_MIN,
            intervals: Vec::with_capacity(INTERVALS_MAX),
        }
    }
}

impl LatenessCount {
    /// A request has gone.
    pub(crate) fn record(&mut self, &Arrived { kind, at: arrival, late, held_by }: &Arrived) {
        if kind == RequestKind::Flush {
            self.flushes += 1;
            self.flushes_late += u64::from(!late.is_zero());
            return;
        }
        match held_by {
            Some(HeldBy::Depth) => self.late_for_depth += 1,
            Some(HeldBy::Flush) => self.late_for_flush += 1,
            None => {}
        }
        if late > self.all.max {
            self.max_at = arrival;
        }
        if !late.is_zero() {
            self.first_at.get_or_insert(arrival);
        }
        self.all.add(late);
        self.last_arrival = self.last_arrival.max(arrival);
        self.last_issue = self.last_issue.max(arrival + late);
        let place = loop {
            let place = (arrival.as_picos() / self.width.as_picos()) as usize;
            if place < INTERVALS_MAX {
                break place;
            }
            self.halve();
        };
        if place >= self.intervals.len() {
            self.intervals.resize(place + 1, Interval::default());
        }
        self.intervals[place].add(late);
    }

    fn halve(&mut self) {
        let halved = self.intervals.chunks(2).map(|pair| {
            let mut both = pair[0];
            pair[1..].iter().for_each(|second| both.merge(second));
            both
        });
        self.intervals = halved.collect();
        self.width = self.width * 2;
    }

    pub(crate) fn report(&self) -> LatenessReport {
        let seconds = |picos: u64| Duration::from_picos(picos).as_secs_f64();
        let width = self.width.as_picos();
        let told = self.intervals.iter().enumerate().filter(|(_, interval)| interval.requests > 0);
        LatenessReport {
            requests: self.all.requests,
            late: self.all.late,
            late_for_depth: self.late_for_depth,
            late_for_flush: self.late_for_flush,
            flushes: self.flushes,
            flushes_late: self.flushes_late,
            late_share: self.all.late as f64 / self.all.requests.max(1) as f64,
            mean_us: self.all.mean_us(),
            max_us: self.all.max.as_micros_f64(),
            max_at_s: self.max_at.as_secs_f64(),
            first_at_s: self.first_at.map(Duration::as_secs_f64),
            arrivals_s: self.last_arrival.as_secs_f64(),
            issues_s: self.last_issue.as_secs_f64(),
            over_time: told
                .map(|(i, interval)| LatenessInterval {
                    from_s: seconds(i as u64 * width),
                    until_s: seconds((i as u64 + 1) * width),
                    requests: interval.requests,
                    late: interval.late,
                    mean_us: interval.mean_us(),
                    max_us: interval.max.as_micros_f64(),
                })
                .collect(),
        }
    }
}

impl LatenessReport {
    /// A warning; `None` when all were in time.
    pub fn warning(&self) -> Option<String> {
        if self.late == 0 {
            return None;
        }
        let percent = self.late_share * 100.0;
        let percent = if percent < 0.1 { "under 0.1".into() } else { format!("{percent:.1}") };
        let requests = if self.requests == 1 { "request" } else { "requests" };
        let why = match (self.late_for_depth, self.late_for_flush) {
            (_, 0) => "for room in the queue".to_owned(),
            (0, _) => "for a flush before them".to_owned(),
            (depth, flush) => format!("({depth} for room in the queue, {flush} for a flush before them)"),
        };
        Some(format!(
            "the replay fell behind: {} of {} {requests} ({percent} %) waited in the host {why}, {} in the \
             mean over all and {} at most, at {} of the trace; the last one came at {} and went at {}. \
             Latencies count from issue, those of the rows \"from arrival\" from the recorded time",
            self.late,
            self.requests,
            time(self.mean_us),
            time(self.max_us),
            time(self.max_at_s * 1e6),
            time(self.arrivals_s * 1e6),
            time(self.issues_s * 1e6),
        ))
    }
}

/// A time in a readable unit.
fn time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.1} µs"),
        us if us < 1e6 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.3} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(kind: RequestKind, at: u64, late: u64, held_by: HeldBy) -> Arrived {
        let (at, late) = (Duration::from_micros(at), Duration::from_micros(late));
        Arrived { kind, at, late, held_by: Some(held_by).filter(|_| !late.is_zero()) }
    }
    fn of(requests: &[(u64, u64)]) -> LatenessReport {
        let mut lateness = LatenessCount::default();
        for &(arrival, late) in requests {
            lateness.record(&arrived(RequestKind::Read, arrival, late, HeldBy::Depth));
        }
        lateness.report()
    }

    #[test]
    fn the_worst_moment_and_the_share_are_told() {
        let report = of(&[(0, 0), (10, 0), (20, 5), (30, 9), (40, 2)]);
        assert_eq!((report.requests, report.late, report.late_share), (5, 3, 0.6));
        assert_eq!((report.mean_us, report.max_us), (3.2, 9.0));
        assert_eq!((report.max_at_s, report.first_at_s), (30e-6, Some(20e-6)));
        assert_eq!((report.arrivals_s, report.issues_s), (40e-6, 42e-6));
        let warning = report.warning().unwrap();
        for words in ["3 of 5 requests (60.0 %)", "3.2 µs in the mean", "9.0 µs at most, at 30.0 µs"] {
            assert!(warning.contains(words), "{warning}");
        }
        let in_time = of(&[(0, 0), (10, 0)]);
        assert_eq!((in_time.first_at_s, in_time.warning()), (None, None));
    }

    #[test]
    fn what_waited_for_a_flush_did_not_wait_for_room_and_flushes_are_counted_apart() {
        let report = |all: &[(RequestKind, u64, HeldBy)]| {
            let mut lateness = LatenessCount::default();
            all.iter().for_each(|&(kind, late, why)| lateness.record(&arrived(kind, 10, late, why)));
            lateness.report()
        };
        let flush = (RequestKind::Flush, 7, HeldBy::Flush);
        let behind = (RequestKind::Write, 3, HeldBy::Flush);
        let of_three = report(&[flush, behind, (RequestKind::Read, 0, HeldBy::Depth)]);
        assert_eq!((of_three.requests, of_three.late, of_three.flushes, of_three.flushes_late), (2, 1, 1, 1));
        assert_eq!((of_three.max_us, of_three.late_for_depth, of_three.late_for_flush), (3.0, 0, 1));
        let warning = of_three.warning().unwrap();
        assert!(
            warning.contains("1 of 2 requests (50.0 %) waited in the host for a flush before them"),
            "{warning}"
        );
        let both = report(&[behind, (RequestKind::Read, 1, HeldBy::Depth)]).warning().unwrap();
        assert!(both.contains("(1 for room in the queue, 1 for a flush before them)"), "{both}");
        assert_eq!(report(&[flush]).warning(), None, "a flush alone delays nobody");
    }

    #[test]
    fn intervals_grow_with_the_trace_and_count_everything() {
        let requests: Vec<_> = (0..10_000).map(|i| (i * 1_000, i % 7)).collect();
        let report = of(&requests);
        let intervals = &report.over_time;
        assert!((50..=100).contains(&intervals.len()), "{}", intervals.len());
        assert_eq!(intervals.iter().map(|i| i.requests).sum::<u64>(), 10_000);
        assert_eq!(intervals.iter().map(|i| i.late).sum::<u64>(), report.late);
        assert!(intervals.windows(2).all(|pair| pair[0].until_s == pair[1].from_s));
        assert!(intervals.last().unwrap().until_s >= report.arrivals_s);
        assert!(intervals.iter().all(|i| i.max_us == 6.0 && i.mean_us < 6.0));
        // A pause makes no intervals.
        assert_eq!(of(&[(0, 0), (1_000_000, 1)]).over_time.len(), 2);
    }
}
