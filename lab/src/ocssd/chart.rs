//! The figures.

use super::OcssdReport;
use super::convoy::Work;
use super::load::{LoadReport, OverTime};
use super::plan::{Ftl, Plan};
use super::slides::{SlidesRow, Workload};
use super::sweep::{STEPS, SweepPoint};
use crate::figure::{Figure, Lane, Panel, Scale, Series, Source, Span, Timeline};
use std::collections::BTreeSet;

/// Points of a line over time.
const POINTS: usize = 100;
/// Sizes of which there are fewer, in percent of the commands, aren't shown.
const RARE_PERCENT: f64 = 0.5;
/// Channels in the pictures of Fig 38.
const CHANNELS: u16 = 2;

/// Every figure of the report but the timelines.
pub fn figures(report: &OcssdReport, plan: &Plan) -> Vec<Figure> {
    vec![
        throughput(report),
        latencies("fig34", "Fig 34: latencies of writes that the host sees, pblk", report, |p| &p.host_us),
        latencies("fig35", "Fig 35: latencies of writes in the drive, pblk", report, |p| &p.drive_us),
        over_time(
            "fig36",
            "Fig 36: commands outstanding in the drive, means over hundredths of the run",
            "commands",
            report,
            plan,
            &[("commands", |load| &load.outstanding)],
        ),
        over_time(
            "fig37",
            "Fig 37: active channels, and active ways of each channel, means over hundredths of the run",
            "active",
            report,
            plan,
            &[("channels", |load| &load.channels), ("ways of a channel", |load| &load.ways)],
        ),
        slides_latencies(report),
        slides_sizes(report),
    ]
}

fn throughput(report: &OcssdReport) -> Figure {
    let panels = [true, false].map(|write| Panel {
        title: if write { "writes" } else { "reads" }.to_owned(),
        x: "outstanding",
        scale: Scale::Steps,
        y: "MB/s",
        series: Ftl::ALL
            .iter()
            .map(|&ftl| {
                let points = report.sweep.iter().filter(|point| point.ftl == ftl && point.write == write);
                Series {
                    name: ftl.name().to_owned(),
                    source: Source::Ours,
                    points: points.map(|point| (f64::from(point.outstanding), point.mb_per_s)).collect(),
                }
            })
            .collect(),
    });
    Figure::of("fig33", "Fig 33: throughput of 16 KiB requests", panels.into())
}

/// A curve of quantiles as points of time and percent.
fn cdf(name: String, quantiles: &[f64]) -> Series {
    let percent = |step: usize| step as f64 * 100.0 / f64::from(STEPS);
    let points = quantiles.iter().enumerate().map(|(step, us)| (*us, percent(step))).collect();
    Series { name, source: Source::Ours, points }
}

fn latencies(
    name: &'static str,
    label: &'static str,
    report: &OcssdReport,
    of: fn(&SweepPoint) -> &Vec<f64>,
) -> Figure {
    let writes = report.sweep.iter().filter(|point| point.ftl == Ftl::Pblk && point.write);
    let panel = Panel {
        title: "writes of 16 KiB".to_owned(),
        x: "µs",
        scale: Scale::Linear,
        y: "% of commands",
        series: writes.map(|point| cdf(format!("{} outstanding", point.outstanding), of(point))).collect(),
    };
    Figure::of(name, label, vec![panel])
}

type OfLoad = fn(&LoadReport) -> &OverTime;

fn over_time(
    name: &'static str,
    label: &'static str,
    y: &'static str,
    report: &OcssdReport,
    plan: &Plan,
    lines: &[(&'static str, OfLoad)],
) -> Figure {
    let step_ms = f64::from(plan.load.sample_us) / 1e3;
    let points = |over_time: &OverTime| -> Vec<(f64, f64)> {
        // So many samples would be a bar as high as they differ.
        let each = over_time.samples.len().div_ceil(POINTS).max(1);
        let means = over_time.samples.chunks(each).map(|part| part.iter().sum::<f64>() / part.len() as f64);
        (0u32..).map(|n| (f64::from(n) + 0.5) * each as f64 * step_ms).zip(means).collect()
    };
    let panels =
        report.load.iter().filter(|load| load.one_write_per_lun && !load.slow_lun).map(|load| Panel {
            title: format!("{} {}", load.ftl.name(), if load.write { "writes" } else { "reads" }),
            x: "ms",
            scale: Scale::Linear,
            y,
            series: lines
                .iter()
                .map(|(line, of)| Series {
                    name: (*line).to_owned(),
                    source: Source::Ours,
                    points: points(of(load)),
                })
                .collect(),
        });
    Figure::of(name, label, panels.collect())
}

fn of_workload(report: &OcssdReport, workload: Workload) -> impl Iterator<Item = &SlidesRow> {
    report.slides.iter().filter(move |row| row.workload == workload)
}

fn slides_latencies(report: &OcssdReport) -> Figure {
    let panels = Workload::ALL.map(|workload| Panel {
        title: workload.name().to_owned(),
        x: "µs",
        scale: Scale::Log,
        y: "% of requests",
        series: of_workload(report, workload).map(|row| cdf(row.drive(), &row.quantiles_us)).collect(),
    });
    Figure::of("slides-latency", "The slides' workloads: latencies, one request outstanding", panels.into())
}

fn slides_sizes(report: &OcssdReport) -> Figure {
    let panels = Workload::ALL.map(|workload| Panel {
        title: workload.name().to_owned(),
        x: "KiB of a command",
        scale: Scale::Steps,
        y: "% of commands",
        series: of_workload(report, workload)
            .map(|row| {
                let all = row.sizes.iter().map(|size| size.commands).sum::<u64>().max(1) as f64;
                let shares =
                    row.sizes.iter().map(|s| (s.bytes as f64 / 1024.0, s.commands as f64 / all * 100.0));
                let points = shares.filter(|(_, percent)| *percent >= RARE_PERCENT).collect();
                Series { name: row.drive(), source: Source::Ours, points }
            })
            .collect(),
    });
    let label = "The slides' workloads: sizes of the drive's commands (O16), of half a percent or more";
    Figure::of("slides-sizes", label, panels.into())
}

/// Fig 38: what the ways do around a slow program of one LUN, with pblk's rule and without it.
pub fn timelines(report: &OcssdReport, plan: &Plan) -> Vec<Timeline> {
    let names = [
        ("fig38-convoy", "Fig 38: one slow LUN under pblk, one write per LUN: the others idle behind it"),
        ("fig38-cure", "Fig 38: the same with any number of writes per LUN"),
    ];
    let writes = report.load.iter().filter(|load| load.slow_lun);
    writes
        .zip(names)
        .map(|(load, (name, label))| Timeline {
            name,
            label,
            x: "µs",
            kinds: Work::ALL.map(|(_, name)| name).into(),
            lanes: lanes(load, plan),
        })
        .collect()
}

/// Ways of the first channels, the slow LUN's among them.
fn lanes(load: &LoadReport, plan: &Plan) -> Vec<Lane> {
    let width = f64::from(plan.load.timeline_us);
    let slow = load.spans.iter().find(|span| span.work == Work::SlowProgram);
    let slow = slow.map(|span| (span.channel, span.way));
    let last = slow.map_or(0, |(channel, _)| channel).max(CHANNELS - 1);
    let places: BTreeSet<(u16, u8)> = load
        .spans
        .iter()
        .map(|span| (span.channel, span.way))
        .filter(|(channel, _)| *channel <= last)
        .collect();
    let of = |(channel, way): (u16, u8)| {
        let spans = load.spans.iter().filter(move |span| (span.channel, span.way) == (channel, way));
        let kind = |work: Work| Work::ALL.iter().position(|(known, _)| *known == work).unwrap_or_default();
        let spans: Vec<Span> = spans
            .map(|span| Span { kind: kind(span.work), from: span.from_us, until: span.until_us })
            .collect();
        let busy: f64 = spans.iter().map(|span| span.until - span.from).sum();
        let which = if slow == Some((channel, way)) { ", slow" } else { "" };
        Lane {
            name: format!("channel {channel}, way {way}{which}"),
            note: format!("{:.0} % busy", busy / width * 100.0),
            spans,
        }
    };
    places.into_iter().map(of).collect()
}
