//! A measurement's results, as a table for people and as JSON for programs.

use crate::lateness::LatenessReport;
use crate::limits::HostLimit;
use crate::provenance::Provenance;
use crate::spare::Spare;
use crate::traces::TraceReport;
use crate::warning::Warning;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Latencies of one kind of request, in microseconds of simulated time.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LatencyReport {
    /// Shortest.
    pub min_us: f64,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Longest.
    pub max_us: f64,
    /// How many requests had which latency: bins of three digits with the same bounds in every report, so
    /// that reports merge by adding counts. Empty ones are left out. In JSON an array of `[from_ns, to_ns,
    /// count]`.
    #[serde(serialize_with = "on_one_line")]
    pub buckets: Vec<Bucket>,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The shortest latency in it, in nanoseconds.
    pub from_ns: u64,
    /// The longest; latencies above 1,000 s are in the last bin.
    pub to_ns: u64,
    /// Requests.
    pub count: u64,
}

/// One line per number would make the report unreadable.
fn on_one_line<S: Serializer>(buckets: &[Bucket], serializer: S) -> Result<S::Ok, S::Error> {
    let all: Vec<_> = buckets.iter().map(|of| (of.from_ns, of.to_ns, of.count)).collect();
    let text = serde_json::to_string(&all).and_then(RawValue::from_string);
    text.map_err(serde::ser::Error::custom)?.serialize(serializer)
}

/// Requests of one kind.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct KindReport {
    /// The kind: `read`, `write`, `flush`, `trim` or `write zeroes` of a drive; `read`, `program` or `erase`
    /// of a channel.
    pub kind: &'static str,
    /// Requests completed.
    pub requests: u64,
    /// Requested bytes; for a trim the deallocated ones.
    pub bytes: u64,
    /// Requests per simulated second; absent when no simulated time passed.
    pub iops: Option<f64>,
    /// 10⁶ bytes per simulated second; absent when no simulated time passed, and for flushes, which have no
    /// bytes.
    pub mb_per_s: Option<f64>,
    /// Their latencies, from issue to completion; absent when there were none.
    pub latency: Option<LatencyReport>,
    /// The same from the recorded time of arrival, including waiting in the host, for a trace that is
    /// replayed at recorded times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_from_arrival: Option<LatencyReport>,
}

/// How erases spread over blocks.
#[derive(Clone, Copy, Debug, Serialize, PartialEq)]
pub struct EraseReport {
    /// Erases of the least erased block.
    pub min: u32,
    /// Mean over blocks.
    pub mean: f64,
    /// Erases of the most erased block.
    pub max: u32,
}

/// The firmware's work in a span of time: the sources of write amplification.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq)]
pub struct FirmwareReport {
    /// Pages programmed, by reason. The sum may differ from the arrays' count by the programs in flight at
    /// either end.
    pub programs: ProgramReport,
    /// Victim blocks, for any reason.
    pub victims: u64,
    /// Victims emptied for wear levelling.
    pub levelled: u64,
    /// Victims emptied to refresh their data.
    pub refreshed: u64,
    /// Times that the map was stored.
    pub checkpoints: u64,
    /// Log pages written.
    pub log_pages: u64,
    /// Slices that found their page in the data buffer.
    pub buffer_hits: u64,
    /// Slices that did not.
    pub buffer_misses: u64,
    /// Uncorrectable 4 KiB sectors, counted at each read.
    pub uncorrectable_sectors: u64,
}

/// Pages programmed, by their reason.
#[derive(Clone, Copy, Debug, Default, Serialize, PartialEq)]
pub struct ProgramReport {
    /// Evicted from the data buffer.
    pub host: u64,
    /// Moved by garbage collection, wear levelling and refresh.
    pub gc: u64,
    /// Stored map and log.
    pub metadata: u64,
    /// To complete a word line, so that its pages are safe.
    pub padding: u64,
}

/// The drive's work in a span of time.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct DriveReport {
    /// Bytes programmed over bytes written by the host; absent without host writes.
    pub waf: Option<f64>,
    /// Share of the time that channels were owned, mean over channels; absent when no simulated time passed.
    pub channel_utilisation: Option<f64>,
    /// Mapping units read by the host, in whole or part.
    pub pages_read: u64,
    /// Those of them that were never written, or trimmed: they read as zeroes without touching flash.
    pub pages_read_unmapped: u64,
    /// Pages read from flash.
    pub flash_reads: u64,
    /// Pages programmed.
    pub flash_programs: u64,
    /// Blocks erased.
    pub flash_erases: u64,
    /// The firmware's part of it.
    pub firmware: FirmwareReport,
    /// What only this drive's parts count, by name: its flash scheduler and its ECC engine. Names that end
    /// with `_highest` are of the whole time since power-on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<&'static str, u64>,
    /// Simulated seconds that it took.
    pub simulated_s: f64,
}

/// The outcome of a job's steady-state criterion.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct SteadyReport {
    /// The criterion, as in the job: `iops_slope:0.3%`.
    pub criterion: String,
    /// The window, simulated seconds.
    pub duration_s: f64,
    /// When it was reached, simulated seconds from the job's start; absent when it was not.
    pub attained_s: Option<f64>,
    /// The last full window's slope or largest difference from the mean, in `value_unit`; absent when no
    /// window was full.
    pub value: Option<f64>,
    /// `%` of the mean if the criterion is in percent, else `mean_unit`; for a slope per check interval.
    pub value_unit: &'static str,
    /// The last full window's mean, in `mean_unit`.
    pub mean: Option<f64>,
    /// `requests/s`, `bytes/s` or `ns`.
    pub mean_unit: &'static str,
}

impl SteadyReport {
    /// A note about the job of that name.
    pub fn note(&self, job: &str) -> String {
        let criterion = &self.criterion;
        match (self.attained_s, self.value) {
            (Some(at), _) => format!("{job}: steady after {at:.2} s, {criterion} over {} s", self.duration_s),
            (None, Some(value)) => {
                let unit = self.value_unit;
                format!(
                    "{job}: not steady: {criterion} over {} s was at {value:.3} {unit} when the job ended",
                    self.duration_s
                )
            }
            (None, None) => {
                format!("{job}: not steady: it ended before a window of {} s was full", self.duration_s)
            }
        }
    }
}

/// serde passes a reference.
fn is_false(value: &bool) -> bool {
    !value
}

/// One task of a run.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct TaskReport {
    /// Its name, with a number if several have the same; for a reporting group the names of its jobs.
    pub name: String,
    /// Copies of jobs in this row: more than one only for a reporting group.
    pub copies: usize,
    /// A report for each kind of request that it made; none when every request failed.
    pub kinds: Vec<KindReport>,
    /// The drive's work from the task's beginning to its end; absent when other tasks ran at the same time.
    pub drive: Option<DriveReport>,
    /// The outcome of its steady-state criterion; absent if the job has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_state: Option<SteadyReport>,
    /// The end of another job, by `exitall`, ended it before its time.
    #[serde(skip_serializing_if = "is_false")]
    pub ended_by_another: bool,
    /// Blocks whose content was checked.
    pub checked_blocks: u64,
    /// Requests that failed or returned wrong content.
    pub failures: u64,
    /// The first failure as text.
    pub first_failure: Option<String>,
    /// The lateness of its requests, for a trace that is replayed at recorded times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<LatenessReport>,
    /// How much later than recorded its last request was issued, for a trace whose gaps are kept; absent when
    /// nothing had to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slipped_s: Option<f64>,
}

/// One run on one drive.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct RunReport {
    /// The run's name.
    pub name: String,
    /// The tasks, or groups of them.
    pub tasks: Vec<TaskReport>,
    /// All tasks together.
    pub total: TotalReport,
    /// The drive's work from the first task's beginning to the last one's end.
    #[serde(flatten)]
    pub drive: DriveReport,
    /// The whole drive's erases at the end.
    pub erases: EraseReport,
    /// What only this drive's translation counts, or the FTL of its host, by name: at the end, since
    /// power-on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub translation: BTreeMap<&'static str, u64>,
    /// What the drive's blocks are for, and the WAF that theory expects; absent with another translation than
    /// our page-mapping FTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare: Option<Spare>,
    /// Wall-clock seconds that it took.
    pub wall_s: f64,
    /// It was stopped early: the figures cover the work until then.
    pub interrupted: bool,
    /// The error that ended it early: the figures cover the work until then. Absent without an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// All warnings that the terminal shows.
    pub warnings: Vec<Warning>,
    /// Where the figures come from, and how to repeat them; absent if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The trace that was replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceReport>,
    /// Requests of the work that the host interface could not satisfy.
    pub limits: Vec<HostLimit>,
}

/// All tasks of a run together, from the first measured request of any to the last.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct TotalReport {
    /// By kind of request.
    pub kinds: Vec<KindReport>,
    /// All requests except flushes; the bytes are those of reads and writes if there are any. Absent when
    /// there were none.
    pub all: Option<KindReport>,
}

impl RunReport {
    /// True when requests had times of their own, and none was late.
    pub fn went_in_time(&self) -> bool {
        let mut timed = self.tasks.iter().filter_map(|task| task.lateness.as_ref()).peekable();
        timed.peek().is_some() && timed.all(|lateness| lateness.late == 0)
    }
    /// Failures of all tasks.
    pub fn failures(&self) -> u64 {
        self.tasks.iter().map(|t| t.failures).sum()
    }
}

/// `names`, with numbers appended to duplicates so that all are distinct.
pub(crate) fn told_apart(names: &[String]) -> Vec<String> {
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    taken.extend(names.iter().filter(|name| is_alone(name)).cloned());
    let numbered = |name: &String| {
        if is_alone(name) {
            return name.clone();
        }
        let free = (1..).map(|n| format!("{name} #{n}")).find(|numbered| !taken.contains(numbered));
        let free = free.expect("numbers don't end");
        taken.insert(free.clone());
        free
    };
    names.iter().map(numbered).collect()
}

const COLUMNS: usize = 13;
const HEADER: [&str; COLUMNS] = [
    "workload",
    "MB/s",
    "IOPS",
    "mean µs",
    "p50",
    "p99",
    "p99.9",
    "failed",
    "WAF",
    "channels",
    "erases",
    "simulated",
    "sim/wall",
];
const FAILED: usize = 7;

type Row = [String; COLUMNS];

const ABSENT: &str = "–";

fn shown<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or(ABSENT.into(), text)
}

/// The runs as one table, with a line for each task and kind. Figures of a whole task stand in its first
/// line; those of a run with several lines have a line of their own.
pub fn table(runs: &[RunReport]) -> String {
    let mut rows: Vec<Row> = vec![HEADER.map(str::to_owned)];
    for run in runs {
        let first = rows.len();
        run.tasks.iter().for_each(|task| rows.extend(rows_of(task)));
        if let [only, ..] = &mut rows[first..]
            && run.tasks.len() == 1
            && run.tasks[0].kinds.len() < 2
        {
            put_run(only, run);
        } else {
            let mut total = Row::default();
            if let Some(all) = &run.total.all {
                put_kind(&mut total, all);
            }
            total[0] = "all of it".into();
            put_run(&mut total, run);
            rows.push(total);
        }
    }
    // A column of zeroes is hidden.
    let hidden = runs.iter().all(|run| run.failures() == 0).then_some(FAILED);
    let columns: Vec<usize> = (0..COLUMNS).filter(|&c| hidden != Some(c)).collect();
    lay_out(&rows, &columns)
}

fn rows_of(task: &TaskReport) -> Vec<Row> {
    let both = task.kinds.len() > 1;
    let late = task.lateness.as_ref().is_some_and(|lateness| lateness.late > 0);
    let mut rows: Vec<Row> = Vec::new();
    for kind in &task.kinds {
        rows.push(row_of(task, kind, both));
        // If all were in time, both are the same.
        rows.extend(
            kind.latency_from_arrival.as_ref().filter(|_| late).map(|latency| arrival_row(kind, latency)),
        );
    }
    if rows.is_empty() {
        let mut row = Row::default();
        row[0] = task.name.clone();
        row[1..FAILED].fill(ABSENT.into());
        rows.push(row);
    }
    rows[0][FAILED] = task.failures.to_string();
    if let Some(drive) = &task.drive {
        put_drive(&mut rows[0], drive);
    }
    rows
}
fn row_of(task: &TaskReport, kind: &KindReport, both: bool) -> Row {
    let mut row = Row::default();
    row[0] = if both { format!("{}, {}", task.name, plural(kind.kind)) } else { task.name.clone() };
    put_kind(&mut row, kind);
    row
}
fn put_kind(row: &mut Row, kind: &KindReport) {
    let us = |f: fn(&LatencyReport) -> f64| shown(kind.latency.as_ref(), |l| micros(f(l)));
    row[1..FAILED].clone_from_slice(&[
        shown(kind.mb_per_s, low),
        shown(kind.iops, |iops| if iops >= 9.95 { thousands(iops) } else { low(iops) }),
        us(|l| l.mean_us),
        us(|l| l.p50_us),
        us(|l| l.p99_us),
        us(|l| l.p999_us),
    ]);
}
/// The row of a kind's latencies from the recorded times.
fn arrival_row(kind: &KindReport, latency: &LatencyReport) -> Row {
    let mut row = Row::default();
    row[0] = format!("  {} from arrival", plural(kind.kind));
    let cells = [latency.mean_us, latency.p50_us, latency.p99_us, latency.p999_us].map(micros);
    row[3..FAILED].clone_from_slice(&cells);
    row
}
/// The plural of a kind of request.
fn plural(kind: &str) -> String {
    match kind {
        "flush" => "flushes".into(),
        // The command's name has no plural.
        "write zeroes" => kind.into(),
        _ => format!("{kind}s"),
    }
}
fn put_drive(row: &mut Row, drive: &DriveReport) {
    row[8] = shown(drive.waf, |waf| format!("{waf:.2}"));
    row[9] = shown(drive.channel_utilisation, |share| format!("{:.0} %", share * 100.0));
    row[11] = format!("{:.2} s", drive.simulated_s);
}
fn put_run(row: &mut Row, run: &RunReport) {
    put_drive(row, &run.drive);
    row[10] = format!("{}/{:.1}/{}", run.erases.min, run.erases.mean, run.erases.max);
    row[12] = format!("{:.2}", run.drive.simulated_s / run.wall_s.max(1e-9));
}

fn lay_out(rows: &[Row], columns: &[usize]) -> String {
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(|&c| width(c)).collect();
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        for (&c, width) in columns.iter().zip(&widths) {
            let cell = &row[c];
            let pad = width - cell.chars().count();
            let gap = if c == 0 { "" } else { "  " };
            let (before, after) = if c == 0 { (0, pad) } else { (pad, 0) };
            let _ = write!(out, "{gap}{:before$}{cell}{:after$}", "", "");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
        if i == 0 {
            let total = widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
            out.push_str(&"─".repeat(total));
            out.push('\n');
        }
    }
    out
}

fn micros(us: f64) -> String {
    if us < 1000.0 { format!("{us:.1}") } else { format!("{us:.0}") }
}

/// A rate; below 10 with two significant digits, however low it is.
fn low(rate: f64) -> String {
    let digits =
        if rate >= 9.95 || rate <= 0.0 { 0 } else { (1.0 - rate.log10().floor()).clamp(1.0, 6.0) as usize };
    format!("{rate:.digits$}")
}

/// A rate with `digits` digits after the point, or more if it would round to zero.
pub fn rate_text(rate: f64, digits: usize) -> String {
    if rate > 0.0 && rate < 9.95 { low(rate) } else { format!("{rate:.digits$}") }
}

/// A whole number in groups of three digits.
pub(crate) fn thousands(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (i, d) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(d);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(waf: f64, simulated_s: f64) -> DriveReport {
        let channel_utilisation = (simulated_s > 0.0).then_some(waf / 10.0);
        DriveReport {
            waf: Some(waf),
            channel_utilisation,
            pages_read: 0,
            pages_read_unmapped: 0,
            flash_reads: 0,
            flash_programs: 0,
            flash_erases: 0,
            firmware: FirmwareReport::default(),
            parts: Default::default(),
            simulated_s,
        }
    }
    fn kind(kind: &'static str, iops: Option<f64>) -> KindReport {
        let latency = LatencyReport {
            min_us: 80.0,
            mean_us: 99.96,
            p50_us: 90.0,
            p99_us: 1500.4,
            p999_us: 2000.0,
            max_us: 2001.0,
            buckets: vec![Bucket { from_ns: 80_000, to_ns: 80_063, count: 1 }],
        };
        let mb_per_s = iops.map(|_| 12.4);
        KindReport {
            kind,
            requests: 1,
            bytes: 4096,
            iops,
            mb_per_s,
            latency: Some(latency),
            latency_from_arrival: None,
        }
    }
    fn task(name: &str, kinds: Vec<KindReport>, drive: Option<DriveReport>) -> TaskReport {
        let name = name.into();
        TaskReport {
            name,
            copies: 1,
            kinds,
            drive,
            steady_state: None,
            ended_by_another: false,
            checked_blocks: 0,
            failures: 0,
            first_failure: None,
            lateness: None,
            slipped_s: None,
        }
    }
    fn run(tasks: Vec<TaskReport>) -> RunReport {
        RunReport {
            name: "r".into(),
            total: TotalReport { kinds: vec![], all: Some(kind("all", Some(0.25))) },
            tasks,
            drive: drive(1.5, 2.0),
            erases: EraseReport { min: 0, mean: 1.0, max: 3 },
            translation: BTreeMap::new(),
            spare: None,
            wall_s: 1.0,
            interrupted: false,
            error: None,
            warnings: vec![],
            provenance: None,
            trace: None,
            limits: Vec::new(),
        }
    }
    fn lines(runs: &[RunReport]) -> Vec<String> {
        table(runs).lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_line_up_and_numbers_are_grouped() {
        let mixed = task("mixed", vec![kind("read", Some(1_234_567.0)), kind("write", Some(89.0))], None);
        let lines = lines(&[run(vec![mixed])]);
        assert!(lines[2].contains("1,234,567") && lines[2].starts_with("mixed, reads "));
        let end = |line: &str, text: &str| line.find(text).map(|at| line[..at + text.len()].chars().count());
        assert_eq!(end(&lines[0], "IOPS"), end(&lines[2], "1,234,567"));
        assert_eq!(end(&lines[0], "sim/wall"), Some(lines[4].chars().count()));
        assert!(lines[2].contains("1500"), "microseconds from 1000 on lose their fraction");
    }

    #[test]
    fn what_belongs_to_several_rows_stands_once() {
        // One row: everything in it.
        let alone = task("a", vec![kind("write", Some(9.0))], Some(drive(1.5, 2.0)));
        let one = lines(&[run(vec![alone])]);
        assert_eq!(one.len(), 3);
        assert!(one[2].contains("1.50") && one[2].contains("15 %") && one[2].contains("0/1.0/3"), "{one:?}");
        // One after the other: each task has its own figures, the run's totals are in the last line.
        let tasks = vec![
            task("a", vec![kind("write", Some(9.0))], Some(drive(1.25, 0.5))),
            task("b", vec![kind("read", Some(9.0)), kind("write", Some(9.0))], Some(drive(3.75, 1.5))),
        ];
        let own = lines(&[run(tasks)]);
        assert!(own[2].starts_with("a ") && own[2].contains("1.25") && own[2].contains("0.50 s"), "{own:?}");
        assert!(own[3].contains("3.75") && !own[4].contains("3.75"), "{own:?}");
        assert!(own[5].starts_with("all of it ") && own[5].contains("1.50") && own[5].contains("2.00 s"));
        assert_eq!(own.iter().filter(|line| line.contains("0/1.0/3")).count(), 1);
        // At the same time: the drive's work can't be separated.
        let tasks = ["a", "b"].map(|name| task(name, vec![kind("write", Some(9.0))], None));
        let together = lines(&[run(tasks.into())]);
        assert!(!together[2].contains('%') && !together[3].contains('%') && together[4].contains("15 %"));
        // The total has figures of its own, and a rate below one request per second isn't shown as zero.
        let cells: Vec<&str> = together[4].split_whitespace().take(6).collect();
        assert_eq!(cells, ["all", "of", "it", "12", "0.25", "100.0"]);
    }

    #[test]
    fn a_low_rate_is_no_zero() {
        for (rate, text) in
            [(0.0, "0"), (0.000_4, "0.00040"), (0.03, "0.030"), (0.41, "0.41"), (4.2, "4.2"), (12.4, "12")]
        {
            assert_eq!(low(rate), text);
        }
        assert_eq!([0.0, 0.04, 12.34].map(|rate| rate_text(rate, 1)), ["0.0", "0.040", "12.3"]);
    }

    #[test]
    fn tasks_of_one_name_are_told_apart() {
        let names = ["a", "b", "a", "a"].map(String::from);
        assert_eq!(told_apart(&names), ["a #1", "b", "a #2", "a #3"]);
        let names = ["a", "a #1", "a"].map(String::from);
        assert_eq!(told_apart(&names), ["a #2", "a #1", "a #3"]);
    }

    #[test]
    fn rows_are_named_by_the_kind_of_request() {
        let kinds = ["write", "flush", "trim", "write zeroes"].map(|name| kind(name, Some(1.0)));
        let rows = lines(&[run(vec![task("t", kinds.into(), None)])]);
        for (row, name) in rows[2..].iter().zip(["writes", "flushes", "trims", "write zeroes"]) {
            assert!(row.starts_with(&format!("t, {name} ")), "{rows:?}");
        }
    }

    #[test]
    fn a_task_of_failures_has_its_row() {
        let failed = TaskReport { failures: 7, ..task("broken", vec![], Some(drive(1.5, 2.0))) };
        let text = lines(&[run(vec![failed])]);
        assert!(text[0].contains("failed"), "{text:?}");
        assert!(
            text[2].starts_with("broken ") && text[2].split_whitespace().any(|cell| cell == "7"),
            "{text:?}"
        );
        let fine = lines(&[run(vec![task("fine", vec![], None)])]);
        assert!(!fine[0].contains("failed") && fine[2].starts_with("fine "), "{fine:?}");
    }

    #[test]
    fn without_simulated_time_there_is_no_rate() {
        let quick = KindReport { mb_per_s: None, ..kind("read", None) };
        let report = run(vec![task("quick", vec![quick], Some(drive(1.0, 0.0)))]);
        let json = serde_json::to_value(&report).unwrap();
        assert!(json["tasks"][0]["kinds"][0]["iops"].is_null());
        let histogram = &json["tasks"][0]["kinds"][0]["latency"]["buckets"];
        assert_eq!(*histogram, serde_json::json!([[80_000, 80_063, 1]]));
        assert!(json["tasks"][0]["kinds"][0]["mb_per_s"].is_null());
        assert!(json["tasks"][0]["drive"]["channel_utilisation"].is_null());
        assert_eq!(json["waf"], 1.5, "the run's own stand at the top");
        assert!(lines(&[report])[2].contains(ABSENT));
    }
}
