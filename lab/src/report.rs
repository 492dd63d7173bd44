//! What a measurement found, as a table for people and as JSON for programs.

use serde::Serialize;
use std::fmt::Write;

/// Latencies of one kind of request, in microseconds of simulated time.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct LatencyReport {
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
}

/// Requests of one kind.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct KindReport {
    /// `read` or `write` (which counts everything that isn't a read).
    pub kind: &'static str,
    /// Requests completed.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Requests a simulated second.
    pub iops: f64,
    /// 10⁶ bytes a simulated second.
    pub mb_per_s: f64,
    /// Their latencies; absent when there were none.
    pub latency: Option<LatencyReport>,
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

/// One task of a run.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// Reads and writes.
    pub kinds: Vec<KindReport>,
    /// Blocks whose content was checked.
    pub checked_blocks: u64,
    /// Requests that failed or brought wrong content.
    pub failures: u64,
    /// The first failure in words.
    pub first_failure: Option<String>,
}

/// One run on one drive.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct RunReport {
    /// The run's name.
    pub name: String,
    /// The tasks.
    pub tasks: Vec<TaskReport>,
    /// Bytes programmed over bytes written by the host; absent without host writes.
    pub waf: Option<f64>,
    /// Share of the time that channels were owned, mean over channels.
    pub channel_utilisation: f64,
    /// Pages read from flash.
    pub flash_reads: u64,
    /// Pages programmed.
    pub flash_programs: u64,
    /// Blocks erased.
    pub flash_erases: u64,
    /// The whole drive's erases at the end.
    pub erases: EraseReport,
    /// Simulated seconds that the run took.
    pub simulated_s: f64,
    /// Seconds of the wall clock that it took.
    pub wall_s: f64,
}

impl RunReport {
    /// Failures of all tasks.
    pub fn failures(&self) -> u64 {
        self.tasks.iter().map(|t| t.failures).sum()
    }
}

const HEADER: [&str; 12] = [
    "workload",
    "MB/s",
    "IOPS",
    "mean µs",
    "p50",
    "p99",
    "p99.9",
    "WAF",
    "channels",
    "erases",
    "simulated",
    "sim/wall",
];

/// The runs as one table: a line for each task and kind.
pub fn table(runs: &[RunReport]) -> String {
    let mut rows: Vec<[String; 12]> = vec![HEADER.map(str::to_owned)];
    for run in runs {
        for task in &run.tasks {
            for kind in &task.kinds {
                let both = task.kinds.len() > 1;
                let name = if both { format!("{}, {}s", task.name, kind.kind) } else { task.name.clone() };
                let us = |f: fn(&LatencyReport) -> f64| {
                    kind.latency.as_ref().map_or("–".into(), |l| micros(f(l)))
                };
                rows.push([
                    name,
                    // No simulated time passed: everything stayed in a buffer that costs nothing.
                    if kind.iops > 0.0 { format!("{:.0}", kind.mb_per_s) } else { "–".into() },
                    if kind.iops > 0.0 { thousands(kind.iops) } else { "–".into() },
                    us(|l| l.mean_us),
                    us(|l| l.p50_us),
                    us(|l| l.p99_us),
                    us(|l| l.p999_us),
                    run.waf.map_or("–".into(), |w| format!("{w:.2}")),
                    format!("{:.0} %", run.channel_utilisation * 100.0),
                    format!("{}/{:.1}/{}", run.erases.min, run.erases.mean, run.erases.max),
                    format!("{:.2} s", run.simulated_s),
                    format!("{:.2}", run.simulated_s / run.wall_s.max(1e-9)),
                ]);
            }
        }
    }
    let widths: [usize; 12] =
        std::array::from_fn(|c| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0));
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        for (c, (cell, width)) in row.iter().zip(widths).enumerate() {
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

fn thousands(n: f64) -> String {
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

    #[test]
    fn columns_line_up_and_numbers_are_grouped() {
        let latency =
            LatencyReport { mean_us: 99.96, p50_us: 90.0, p99_us: 1500.4, p999_us: 2000.0, max_us: 2001.0 };
        let kind = |kind, iops| KindReport {
            kind,
            requests: 1,
            bytes: 4096,
            iops,
            mb_per_s: 12.4,
            latency: Some(latency.clone()),
        };
        let run = RunReport {
            name: "r".into(),
            tasks: vec![TaskReport {
                name: "mixed".into(),
                kinds: vec![kind("read", 1_234_567.0), kind("write", 89.0)],
                checked_blocks: 0,
                failures: 0,
                first_failure: None,
            }],
            waf: Some(1.5),
            channel_utilisation: 0.5,
            flash_reads: 0,
            flash_programs: 0,
            flash_erases: 0,
            erases: EraseReport { min: 0, mean: 1.0, max: 3 },
            simulated_s: 2.0,
            wall_s: 1.0,
        };
        let text = table(&[run]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[2].contains("1,234,567") && lines[2].starts_with("mixed, reads "));
        let ends: Vec<_> = [0, 2, 3].iter().map(|&i| lines[i].chars().count()).collect();
        assert!(ends.windows(2).all(|w| w[0] == w[1]), "{text}");
        assert!(lines[2].contains("1500"), "microseconds from 1000 on lose their fraction");
    }
}
