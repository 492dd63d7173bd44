//! The figures.

use super::SoftssdReport;
use super::map_cache::{MapCachePoint, Pattern};
use super::phases::{Phases, PhasesAt};
use super::plan::Plan;
use super::threads::{Access, QUANTILES, ThreadsPoint};
use crate::figure::{Figure, Panel, Scale, Series, Source};

/// Every figure of the report.
pub fn figures(report: &SoftssdReport, plan: &Plan) -> Vec<Figure> {
    let sequential = [Access::SequentialRead, Access::SequentialWrite];
    let random = [Access::RandomRead, Access::RandomWrite];
    vec![
        throughput("fig8", "Fig 8a, c: sequential throughput by threads", report, sequential),
        latencies("fig8-cdf", "Fig 8b, d: latencies of sequential requests", report, sequential),
        throughput("fig9", "Fig 9a, c: random throughput by threads", report, random),
        latencies("fig9-cdf", "Fig 9b, d: latencies of random requests", report, random),
        phases(report, plan),
        host(report, plan),
        map_cache(report),
    ]
}

fn of(report: &SoftssdReport, access: Access) -> impl Iterator<Item = &ThreadsPoint> {
    report.threads.iter().filter(move |point| point.access == access)
}

fn throughput(name: &'static str, label: &'static str, report: &SoftssdReport, kinds: [Access; 2]) -> Figure {
    let panels = kinds.map(|access| Panel {
        title: access.name().to_owned(),
        x: "threads",
        scale: Scale::Steps,
        y: "MB/s",
        series: vec![Series {
            name: access.name().to_owned(),
            source: Source::Ours,
            points: of(report, access).map(|point| (f64::from(point.threads), point.mb_per_s)).collect(),
        }],
    });
    Figure::of(name, label, panels.into())
}

fn latencies(name: &'static str, label: &'static str, report: &SoftssdReport, kinds: [Access; 2]) -> Figure {
    let panels = kinds.map(|access| Panel {
        title: access.name().to_owned(),
        x: "µs",
        scale: Scale::Linear,
        y: "% of requests",
        series: of(report, access)
            .map(|point| Series {
                name: format!("T = {}", point.threads),
                source: Source::Ours,
                points: point
                    .quantiles_us
                    .iter()
                    .zip(QUANTILES)
                    .map(|(us, share)| (*us, share * 100.0))
                    .collect(),
            })
            .collect(),
    });
    Figure::of(name, label, panels.into())
}

/// Fig 10, with the paper's times for one thread.
fn phases(report: &SoftssdReport, plan: &Plan) -> Figure {
    type Of = fn(&PhasesAt) -> &Phases;
    let paper = &plan.paper.fig_10;
    let kinds: [(&str, Of, Option<f64>); 4] = [
        ("read transfer", |p| &p.read_transfer, Some(paper.read_transfer_us)),
        ("read command", |p| &p.read_command, Some(paper.read_command_us)),
        ("write transfer", |p| &p.write_transfer, Some(paper.write_transfer_us)),
        ("write command", |p| &p.write_command, None),
    ];
    let panels = kinds.map(|(title, of, paper)| {
        let ours = report.phases.iter().map(|at| Series {
            name: format!("T = {}", at.threads),
            source: Source::Ours,
            points: of(at).curve_us.iter().zip(0..).map(|(us, step)| (*us, f64::from(step) * 5.0)).collect(),
        });
        let papers = paper.map(|us| Series {
            name: "T = 1".to_owned(),
            source: Source::Paper("text of 6.4"),
            points: vec![(us, 50.0)],
        });
        Panel {
            title: title.to_owned(),
            x: "µs",
            scale: Scale::Linear,
            y: "% of transactions",
            series: ours.chain(papers).collect(),
        }
    });
    Figure::of("fig10", "Fig 10: phases of flash transactions", panels.into())
}

fn host(report: &SoftssdReport, plan: &Plan) -> Figure {
    let paper = &plan.paper.fig_11;
    let series = |source, software: f64, hardware: f64| Series {
        name: "commands".to_owned(),
        source,
        points: vec![(1.0, software / 1e3), (2.0, hardware / 1e3)],
    };
    let panel = Panel {
        title: "1 software, 2 hardware".to_owned(),
        x: "host interface",
        scale: Scale::Steps,
        y: "1000/s",
        series: vec![
            series(Source::Ours, report.host.software_per_second, report.host.hardware_per_second),
            series(
                Source::Paper("text of 6.5"),
                paper.software_per_second,
                paper.software_per_second * paper.hardware_times,
            ),
        ],
    };
    Figure::of("fig11", "Fig 11: commands per second of the host interface", vec![panel])
}

/// Throughput and hits by the size of the map's cache.
fn map_cache(report: &SoftssdReport) -> Figure {
    type Of = fn(&MapCachePoint) -> f64;
    let panels: [(&str, &str, bool, Of); 4] = [
        ("reads", "MB/s", false, |point| point.mb_per_s),
        ("writes", "MB/s", true, |point| point.mb_per_s),
        ("reads: look-ups that hit", "%", false, |point| point.hit_rate * 100.0),
        ("writes: translation pages programmed", "per 100 requests", true, |point| {
            point.programs_per_request * 100.0
        }),
    ];
    let panels = panels.map(|(title, y, write, of)| Panel {
        title: title.to_owned(),
        x: "% of the map in memory",
        scale: Scale::Steps,
        y,
        series: Pattern::ALL
            .into_iter()
            .map(|pattern| Series {
                name: pattern.name().to_owned(),
                source: Source::Ours,
                points: report
                    .map_cache
                    .iter()
                    .filter(|point| point.pattern == pattern && point.write == write)
                    .map(|point| (point.percent, of(point)))
                    .collect(),
            })
            .collect(),
    });
    Figure::of("map-cache", "Throughput by the part of the map in memory", panels.into())
}
