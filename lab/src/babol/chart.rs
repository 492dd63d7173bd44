//! Figures 10 and 11.

use super::throughput::Bounds;
use super::{PollingReport, Shown, ThroughputReport};
use crate::figure::{Figure, Lane, Panel, Scale, Series, Source, Span, Timeline, quoted};
use std::io;

/// The result of the paper's times of Table I.
const TABLE_I: Source = Source::Paper("by Table I's times");

/// Fig 10: a panel for each package and rate, a line for each controller, and what the times of bus and array
/// allow, by our bytes and by the paper's Table I.
pub fn throughput_figure(report: &ThroughputReport) -> Figure {
    let mut rates: Vec<u32> = report.bounds.iter().map(|b| b.rate_mt_s).collect();
    rates.sort_unstable();
    rates.dedup();
    let by_rate = |rate: &u32| report.bounds.iter().filter(|b| b.rate_mt_s == *rate).collect::<Vec<_>>();
    let rows: Vec<_> = rates.iter().map(by_rate).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(1);
    let panels = rows.into_iter().flatten().map(|bounds| panel(report, bounds)).collect();
    Figure { name: "fig10", label: "Fig 10: READ throughput by LUNs on the channel", columns, panels }
}

fn panel(report: &ThroughputReport, bounds: &Bounds) -> Panel {
    let here =
        report.tracks.iter().filter(|t| (&t.package, t.rate_mt_s) == (&bounds.package, bounds.rate_mt_s));
    let mut series: Vec<_> = here
        .map(|track| Series {
            name: track.controller.to_string(),
            source: Source::Ours,
            points: track.points.iter().map(|p| (f64::from(p.luns), p.mb_per_s)).collect(),
        })
        .collect();
    let luns: Vec<f64> = series.first().map(|s| s.points.iter().map(|p| p.0).collect()).unwrap_or_default();
    // One LUN alternates between array and bus; several are bound by the bus alone.
    let all = |channel| luns.iter().map(|&n| (n, channel)).collect::<Vec<_>>();
    for (name, source, points) in [
        ("channel", Source::Bound, all(bounds.ours_channel)),
        ("channel", TABLE_I, all(bounds.paper_channel)),
        ("one LUN", Source::Bound, vec![(1.0, bounds.ours_one_lun)]),
        ("one LUN", TABLE_I, vec![(1.0, bounds.paper_one_lun)]),
    ] {
        series.push(Series { name: name.to_owned(), source, points });
    }
    let title = format!("{}, {} MT/s", bounds.package, bounds.rate_mt_s);
    Panel { title, x: "LUNs", scale: Scale::Steps, y: "MB/s", series }
}

/// Writes the numbers of Fig 11 as CSV: a line per transaction, and the paper's period, the only number
/// that it prints.
///
/// # Errors
/// Those of `out`.
pub fn polling_csv(mut out: impl io::Write, reports: &[PollingReport], paper_us: f64) -> io::Result<()> {
    writeln!(out, "controller,source,transaction,from_us,until_us,period_us")?;
    for report in reports {
        let name = quoted(&report.controller.to_string());
        let period = report.period_us.map_or(String::new(), |us| us.to_string());
        for shown in &report.transactions {
            writeln!(out, "{name},ours,{},{},{},{period}", shown.name, shown.from_us, shown.until_us)?;
        }
    }
    writeln!(out, "coroutine 1000 MHz,paper,,,,{paper_us}")?;
    out.flush()
}

/// Fig 11: when the bus is in use during one READ. Every status check is a span.
pub fn polling_figure(reports: &[PollingReport]) -> Timeline {
    let lane = |report: &PollingReport| {
        let note = match report.period_us {
            Some(us) => format!("{} checks, {us:.2} µs apart", report.polls),
            None => format!("{} check", report.polls),
        };
        let span = |shown: &Shown| {
            let kind = KINDS.iter().position(|(name, _)| *name == shown.name).unwrap_or(KINDS.len() - 1);
            Span { kind, from: shown.from_us, until: shown.until_us }
        };
        let spans = report.transactions.iter().map(span).collect();
        Lane { name: report.controller.to_string(), note, spans }
    };
    Timeline {
        name: "fig11",
        label: "Fig 11: status polling of one READ",
        x: "µs",
        kinds: KINDS.map(|(_, said)| said).to_vec(),
        lanes: reports.iter().map(lane).collect(),
    }
}

/// Transactions of a READ by name, and as BABOL writes them.
const KINDS: [(&str, &str); 3] =
    [("read", "READ"), ("read status", "READ STATUS"), ("read transfer", "CHANGE READ COLUMN and data")];
