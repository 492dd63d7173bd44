//! Figures 10 and 11.

use super::throughput::Bounds;
use super::{PollingReport, ThroughputReport};
use crate::figure::draw::{document, line, said};
use crate::figure::{Figure, Panel, Series, Source, quoted};
use std::io;
use svg::node::element::Rectangle;

const READ: &str = "#08519c";
const STATUS: &str = "#f16913";
const TRANSFER: &str = "#3d9970";

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
    Figure { name: "fig10", label: "READ throughput by LUNs on the channel", columns, panels }
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
        ("channel", Source::Paper, all(bounds.paper_channel)),
        ("one LUN", Source::Bound, vec![(1.0, bounds.ours_one_lun)]),
        ("one LUN", Source::Paper, vec![(1.0, bounds.paper_one_lun)]),
    ] {
        series.push(Series { name: name.to_owned(), source, points });
    }
    Panel { title: format!("{}, {} MT/s", bounds.package, bounds.rate_mt_s), x: "LUNs", y: "MB/s", series }
}

/// Writes the numbers of Fig 11 as CSV: a line a transaction, and the paper's period, which is all that it
/// prints.
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

const TIMELINE: f64 = 900.0;
const LANE: f64 = 46.0;
const NAMES: f64 = 160.0;

/// Writes Fig 11: when the bus works in one READ. Every check is a box.
///
/// # Errors
/// Those of `out`.
pub fn polling_svg(mut out: impl io::Write, reports: &[PollingReport]) -> io::Result<()> {
    let ends = |r: &PollingReport| r.transactions.last().map_or(0.0, |t| t.until_us);
    let span = reports.iter().map(ends).fold(1.0, f64::max);
    let x = |us: f64| NAMES + us / span * TIMELINE;
    let (width, height) = (NAMES + TIMELINE + 16.0, 30.0 + LANE * reports.len() as f64 + 30.0);
    let mut picture = document(width, height, "Status polling of one READ");
    for (i, report) in reports.iter().enumerate() {
        let top = 24.0 + LANE * i as f64;
        let base = top + 24.0;
        let about = match report.period_us {
            Some(us) => format!("{} checks, {us:.2} µs apart", report.polls),
            None => format!("{} check", report.polls),
        };
        picture = picture
            .add(said(report.controller.to_string(), (8.0, base - 8.0), "start", ""))
            .add(said(about, (8.0, base + 6.0), "start", "small"))
            .add(line("axis", (NAMES, base), (NAMES + TIMELINE, base)));
        for shown in &report.transactions {
            let (colour, tall) = match shown.name {
                "read" => (READ, 22.0),
                "read status" => (STATUS, 14.0),
                _ => (TRANSFER, 22.0),
            };
            let wide = (x(shown.until_us) - x(shown.from_us)).max(0.6);
            let at = Rectangle::new().set("x", x(shown.from_us)).set("y", base - tall);
            picture = picture.add(at.set("width", wide).set("height", tall).set("fill", colour));
        }
    }
    let bottom = height - 22.0;
    let mut tick = 0.0;
    while tick <= span {
        picture = picture.add(said(format!("{tick:.0} µs"), (x(tick), bottom + 14.0), "middle", "small"));
        tick += 20.0;
    }
    for (i, (name, colour)) in
        [("READ", READ), ("READ STATUS", STATUS), ("CHANGE READ COLUMN and data", TRANSFER)]
            .into_iter()
            .enumerate()
    {
        let left = NAMES + 140.0 * i as f64;
        picture = picture
            .add(
                Rectangle::new()
                    .set("x", left)
                    .set("y", 4)
                    .set("width", 10)
                    .set("height", 10)
                    .set("fill", colour),
            )
            .add(said(name, (left + 14.0, 13.0), "start", "small"));
    }
    svg::write(&mut out, &picture)?;
    out.flush()
}
