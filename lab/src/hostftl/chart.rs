//! The figures.

use super::plan::Plan;
use super::{CommandPoint, CopyPoint, HostFtlReport, LoadKind, LoadPoint, WearSample};
use crate::figure::{Figure, Panel, Scale, Series, Source};

type Of = fn(&LoadPoint) -> f64;

/// Every figure of the report.
pub fn figures(report: &HostFtlReport, plan: &Plan) -> Vec<Figure> {
    vec![
        copies(report, plan),
        commands(report, plan),
        block_sizes(report, plan),
        depths(report, plan),
        writes(report, plan),
        reads(report, plan),
        sequential("fig26", "Fig 26: sequential writes", report, plan, 0),
        sequential("fig27", "Fig 27: sequential reads", report, plan, 100),
        rounds(report, plan),
        alone(report, plan),
        wear(report, plan),
    ]
}

fn mix(reads: u8) -> String {
    format!("R/W {reads}/{}", 100 - reads)
}
fn ours(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), source: Source::Ours, points }
}
fn in_flight<'a>(points: impl Iterator<Item = &'a LoadPoint>) -> Vec<(f64, f64)> {
    points.map(|point| (f64::from(point.in_flight()), point.measured.iops)).collect()
}

fn copies(report: &HostFtlReport, plan: &Plan) -> Figure {
    let of = |of: fn(&CopyPoint) -> f64| -> Vec<(f64, f64)> {
        report.copies.iter().map(|point| (f64::from(point.addresses), of(point))).collect()
    };
    let over = |value| report.copies.iter().map(move |point| (f64::from(point.addresses), value)).collect();
    let paper = |value| Series {
        name: "printed".to_owned(),
        source: Source::Paper("text of III.B"),
        points: over(value),
    };
    let panel = |title: &str, y, series| Panel {
        title: title.to_owned(),
        x: "host addresses",
        scale: Scale::Linear,
        y,
        series,
    };
    let panels = vec![
        panel(
            "whole move",
            "MCU cycles",
            vec![
                ours("in a loop", of(|point| point.move_looped)),
                ours("by a table", of(|point| point.move_table)),
            ],
        ),
        panel(
            "copy of host addresses",
            "times as fast",
            vec![ours("by a table", of(CopyPoint::copy_times)), paper(plan.paper.fig_11_copy_times)],
        ),
        panel(
            "whole move",
            "% faster",
            vec![ours("by a table", of(CopyPoint::move_gain_percent)), paper(plan.paper.fig_11_move_percent)],
        ),
    ];
    Figure::of("fig11", "Fig 11: a command's move by a loop and by a table", panels)
}

fn commands(report: &HostFtlReport, plan: &Plan) -> Figure {
    let panel = |&channels: &u8| {
        let points = report.commands.iter().filter(|point| point.channels == channels);
        let bar = |(point, n): (&CommandPoint, u8)| ours(point.name, vec![(n.into(), point.cycles)]);
        Panel {
            title: format!("{channels} of the channels"),
            x: "kind of command",
            scale: Scale::Steps,
            y: "MCU cycles",
            series: points.zip(1..).map(bar).collect(),
        }
    };
    let panels = plan.commands.channels.iter().map(panel).collect();
    Figure::of("fig29", "Fig 29: cycles of the MCU's clock per command", panels)
}

fn block_sizes(report: &HostFtlReport, plan: &Plan) -> Figure {
    let series = plan.random.reads_percent.iter().map(|&reads| {
        let of = |&kib: &u32| report.of(LoadKind::BlockSizes, reads, kib).next();
        let points = plan.random.blocks_kib.iter().filter_map(of);
        let place = |p: &LoadPoint| (f64::from(p.measured.block_bytes >> 10), p.measured.iops);
        ours(mix(reads), points.map(place).collect())
    });
    let panel = Panel {
        title: format!("{} threads of {}", plan.threads, plan.random.matrix_depth),
        x: "KiB",
        scale: Scale::Steps,
        y: "IOPS",
        series: series.collect(),
    };
    Figure::of("fig22", "Fig 22: random requests by block size", vec![panel])
}

fn depths(report: &HostFtlReport, plan: &Plan) -> Figure {
    let series = plan.random.reads_percent.iter().map(|&reads| {
        let points = report.of(LoadKind::Depths, reads, 4).filter(|p| p.threads == plan.threads);
        ours(mix(reads), points.map(|p| (f64::from(p.depth), p.measured.iops)).collect())
    });
    let panel = Panel {
        title: format!("4 KiB, {} threads", plan.threads),
        x: "depth of each",
        scale: Scale::Steps,
        y: "IOPS",
        series: series.collect(),
    };
    Figure::of("fig23", "Fig 23: random requests of 4 KiB by depth", vec![panel])
}

fn papers(points: Vec<(f64, f64)>) -> Series {
    Series { name: "printed".to_owned(), source: Source::Paper("text of V.A"), points }
}

fn writes(report: &HostFtlReport, plan: &Plan) -> Figure {
    let paper = &plan.paper;
    let flat = plan.random.depths.iter().map(|depth| depth * plan.threads);
    let flat = flat.filter(|n| (8..=128).contains(n)).map(|n| (f64::from(n), paper.fig_24_flat_iops));
    let printed = [(4.0, paper.fig_24_oio_4_iops)].into_iter().chain(flat);
    let panel = Panel {
        title: "4 KiB writes".to_owned(),
        x: "in flight",
        scale: Scale::Steps,
        y: "IOPS",
        series: vec![
            ours("steady", in_flight(report.of(LoadKind::Depths, 0, 4))),
            ours("before collection", in_flight(report.of(LoadKind::Prepared, 0, 4))),
            ours("before, sent at once", in_flight(report.of(LoadKind::PreparedAtOnce, 0, 4))),
            papers(printed.chain([(256.0, paper.fig_24_oio_256_iops)]).collect()),
        ],
    };
    Figure::of("fig24", "Fig 24: random writes of 4 KiB by the number in flight", vec![panel])
}

fn reads(report: &HostFtlReport, plan: &Plan) -> Figure {
    let paper = &plan.paper;
    let panel = Panel {
        title: "4 KiB reads".to_owned(),
        x: "in flight",
        scale: Scale::Steps,
        y: "IOPS",
        series: vec![
            ours("steady", in_flight(report.of(LoadKind::Depths, 100, 4))),
            ours("before collection", in_flight(report.of(LoadKind::Prepared, 100, 4))),
            papers(vec![(2.0, paper.fig_25_least_iops), (256.0, paper.fig_25_most_iops)]),
        ],
    };
    Figure::of("fig25", "Fig 25: random reads of 4 KiB by the number in flight", vec![panel])
}

fn sequential(
    name: &'static str,
    label: &'static str,
    report: &HostFtlReport,
    plan: &Plan,
    reads: u8,
) -> Figure {
    let of_size = |&kib: &u32| {
        let points = report.of(LoadKind::Sequential, reads, kib);
        ours(format!("{kib} KiB"), points.map(|p| (f64::from(p.depth), p.measured.mb_per_s)).collect())
    };
    let mut series: Vec<Series> = plan.sequential.blocks_kib.iter().map(of_size).collect();
    if reads == 100 {
        let over = |value: f64| plan.sequential.depths.iter().map(|&n| (n.into(), value)).collect();
        let name = "256 bits at 78.125 MHz".to_owned();
        series.push(Series { name, source: Source::Bound, points: over(plan.paper.path_mb_per_s) });
        let largest = plan.sequential.blocks_kib.last().copied().unwrap_or(0);
        series.push(Series {
            name: format!("{largest} KiB"),
            source: Source::Paper("text of V.B"),
            points: over(plan.paper.fig_27_mb_per_s),
        });
    }
    let panel = Panel {
        title: format!("{} threads", plan.threads),
        x: "depth of each",
        scale: Scale::Steps,
        y: "MB/s",
        series,
    };
    Figure::of(name, label, vec![panel])
}

/// Fig 30: each round of each size, for reads and for writes.
fn rounds(report: &HostFtlReport, plan: &Plan) -> Figure {
    let panel = |&reads: &u8| {
        let of_size = |&kib: &u32| {
            let cell = |round: &Vec<crate::pts::Measured>| {
                round
                    .iter()
                    .find(|m| (m.read_percent, m.block_bytes) == (reads, kib << 10))
                    .map(|m| m.mean_us)
            };
            let rounds = report.latency.rounds.iter().zip(1u8..);
            ours(format!("{kib} KiB"), rounds.filter_map(|(r, n)| Some((n.into(), cell(r)?))).collect())
        };
        Panel {
            title: mix(reads),
            x: "round",
            scale: Scale::Linear,
            y: "mean time, µs",
            series: plan.latency.blocks_kib.iter().map(of_size).collect(),
        }
    };
    let panels = plan.latency.reads_percent.iter().map(panel).collect();
    Figure::of("fig30", "Fig 30: times of requests that are alone, round by round", panels)
}

fn alone(report: &HostFtlReport, plan: &Plan) -> Figure {
    let panel = |title: &str, of: Of, printed: bool| {
        let of_mix = |&reads: &u8| {
            let find = |&kib: &u32| report.of(LoadKind::Alone, reads, kib).next();
            let place = |p: &LoadPoint| (f64::from(p.measured.block_bytes >> 10), of(p));
            ours(mix(reads), plan.latency.blocks_kib.iter().rev().filter_map(find).map(place).collect())
        };
        let mut series: Vec<Series> = plan.latency.reads_percent.iter().map(of_mix).collect();
        if printed {
            let of_paper = [(100, plan.paper.fig_31_read_us), (0, plan.paper.fig_31_write_us)];
            series.extend(of_paper.map(|(reads, us)| Series {
                name: mix(reads),
                source: Source::Paper("text of V.C"),
                points: vec![(4.0, us)],
            }));
        }
        Panel { title: title.to_owned(), x: "KiB", scale: Scale::Steps, y: "µs", series }
    };
    let panels = vec![
        panel("mean", |point| point.measured.mean_us, true),
        panel("longest", |point| point.measured.max_us, false),
    ];
    Figure::of("fig31", "Fig 31: times of requests that are alone", panels)
}

/// Equation (2) over a drive's life, and the block that was erased most often.
fn wear(report: &HostFtlReport, plan: &Plan) -> Figure {
    let panel = |title: &str, y, of: fn(&WearSample) -> f64, bound: Option<f64>| {
        let series = report.wear.iter().map(|life| {
            let points = life.samples.iter().map(|sample| (sample.drive_writes, of(sample)));
            ours(life.kind.title(), points.collect())
        });
        let ends = report.wear.iter().filter_map(|life| life.samples.last());
        let longest = ends.map(|sample| sample.drive_writes).fold(0.0, f64::max);
        let bound = bound.map(|bound| Series {
            name: "cycles that blocks last for".to_owned(),
            source: Source::Bound,
            points: vec![(0.0, bound), (longest, bound)],
        });
        let series = series.chain(bound).collect();
        Panel { title: title.to_owned(), x: "drive writes", scale: Scale::Linear, y, series }
    };
    let panels = vec![
        panel("standard deviation of erases", "erases", |sample| sample.deviation, None),
        panel("most erased block", "erases", |s| s.most.into(), Some(plan.wear.endurance.into())),
    ];
    Figure::of("wear", "Wear over a drive's life, by FTL and levelling", panels)
}
