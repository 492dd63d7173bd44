//! Tasks that are reported together: the copies of a job, the jobs of a reporting group, or all tasks of a
//! run.

use crate::latency::{Latencies, Spread};
use crate::lateness::LatenessReport;
use crate::report::{KindReport, LatencyReport, TotalReport};
use aster_units::Instant;
use aster_workload::RequestKind;
use aster_workload::runner::Statistics;
use std::ops::Range;

/// The most names of jobs in one row.
const NAMED_MAX: usize = 3;

/// Some tasks together. Rates count from the first measured request of any of them to the last.
pub(crate) struct Merged {
    pub(crate) name: String,
    kinds: Vec<(RequestKind, u64, u64, Spread)>,
    /// From recorded arrival, of the kinds that have such times.
    since_arrival: Vec<(RequestKind, LatencyReport)>,
    /// Of a trace, which is one task alone.
    pub(crate) lateness: Option<LatenessReport>,
    pub(crate) slipped_s: Option<f64>,
    seconds: f64,
    pub(crate) checked_blocks: u64,
    pub(crate) failures: u64,
    pub(crate) first_failure: Option<String>,
}

impl Merged {
    /// The tasks of `range`.
    pub(crate) fn of(range: Range<usize>, statistics: &[Statistics], latencies: &Latencies) -> Self {
        let tasks = &statistics[range.clone()];
        let kind = |kind: RequestKind| {
            let of =
                |get: fn(&Statistics, RequestKind) -> u64| tasks.iter().map(|task| get(task, kind)).sum();
            let (requests, bytes): (u64, u64) = (of(|t, k| t.of(k).requests), of(|t, k| t.of(k).bytes));
            let mut spread = Spread::default();
            range.clone().filter_map(|task| latencies.of(task, kind)).for_each(|task| spread.add(task));
            (requests > 0).then_some((kind, requests, bytes, spread))
        };
        let from: Option<Instant> = tasks.iter().filter_map(|task| task.measured_from).min();
        let until: Option<Instant> = tasks.iter().filter_map(|task| task.measured_until).max();
        let seconds = from.zip(until).map_or(0.0, |(from, until)| until.since(from).as_secs_f64());
        let arrival = |kind: RequestKind| {
            let mut spread = Spread::default();
            range
                .clone()
                .filter_map(|task| latencies.since_arrival(task, kind))
                .for_each(|task| spread.add(task));
            Some((kind, spread.report()?))
        };
        let slipped = tasks.iter().map(|task| task.slipped.as_secs_f64()).fold(0.0, f64::max);
        Merged {
            since_arrival: Statistics::KINDS.into_iter().filter_map(arrival).collect(),
            lateness: range.clone().find_map(|task| latencies.lateness(task)),
            slipped_s: (slipped > 0.0).then_some(slipped),
            name: name_of(tasks),
            kinds: Statistics::KINDS.into_iter().filter_map(kind).collect(),
            seconds,
            checked_blocks: tasks.iter().map(|task| task.checked_blocks).sum(),
            failures: tasks.iter().map(|task| task.failures).sum(),
            first_failure: tasks.iter().find_map(|task| task.first_failure.as_ref()).map(ToString::to_string),
        }
    }

    /// Whether they wrote anything.
    pub(crate) fn writes(&self) -> bool {
        self.kinds.iter().any(|(kind, _, bytes, _)| *kind == RequestKind::Write && *bytes > 0)
    }

    /// A report for each kind of request that they made.
    pub(crate) fn kinds(&self) -> Vec<KindReport> {
        let report = |(kind, requests, bytes, spread): &(RequestKind, u64, u64, Spread)| KindReport {
            kind: kind_name(*kind),
            requests: *requests,
            bytes: *bytes,
            iops: rate(*requests as f64, self.seconds),
            // A flush moves no data: 0 MB/s would be misleading.
            mb_per_s: rate(*bytes as f64 / 1e6, self.seconds).filter(|_| *kind != RequestKind::Flush),
            latency: spread.report(),
            latency_from_arrival: self.since_arrival.iter().find(|(k, _)| k == kind).map(|(_, l)| l.clone()),
        };
        self.kinds.iter().map(report).collect()
    }

    /// By kind, and all of them.
    pub(crate) fn total(&self) -> TotalReport {
        let moves = |kind: RequestKind| matches!(kind, RequestKind::Read | RequestKind::Write);
        let any_moves = self.kinds.iter().any(|(kind, ..)| moves(*kind));
        let (mut requests, mut bytes, mut spread) = (0, 0, Spread::default());
        for (kind, of_kind, bytes_of_kind, spread_of_kind) in &self.kinds {
            if *kind == RequestKind::Flush {
                continue;
            }
            requests += of_kind;
            bytes += if any_moves && !moves(*kind) { 0 } else { *bytes_of_kind };
            spread.add(spread_of_kind);
        }
        let all = (requests > 0).then(|| KindReport {
            kind: "all",
            requests,
            bytes,
            iops: rate(requests as f64, self.seconds),
            mb_per_s: rate(bytes as f64 / 1e6, self.seconds),
            latency: spread.report(),
            latency_from_arrival: None,
        });
        TotalReport { kinds: self.kinds(), all }
    }
}

/// One task's own name; of several those of their jobs, each once.
fn name_of(tasks: &[Statistics]) -> String {
    if let [only] = tasks {
        return if only.group.is_some() { only.job.clone() } else { only.name.clone() };
    }
    let mut names: Vec<&str> = Vec::new();
    for task in tasks {
        if !names.contains(&task.job.as_str()) {
            names.push(&task.job);
        }
    }
    match names.len().checked_sub(NAMED_MAX) {
        Some(more @ 1..) => format!("{} and {more} more", names[..NAMED_MAX].join(" + ")),
        _ => names.join(" + "),
    }
}

/// The name of a kind of request in reports.
const fn kind_name(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Flush => "flush",
        RequestKind::Trim => "trim",
        RequestKind::WriteZeroes => "write zeroes",
    }
}

/// An amount per simulated second; `None` when no simulated time passed.
pub(crate) fn rate(amount: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| amount / seconds)
}
