//! The figures.

use super::controllers::Exchange;
use super::distribution::{self, Distribution};
use super::grid::GridPoint;
use super::mode::{Mode, row_name};
use super::one_shot::{self, Utilisation};
use super::plan::Plan;
use super::report::CosmosReport;
use super::scrambler::{self, BitErrors};
use crate::figure::{Figure, Panel, Scale, Series, Source};
use crate::words::counted;

/// Every figure of the report.
pub fn figures(report: &CosmosReport, plan: &Plan) -> Vec<Figure> {
    vec![
        throughput(report, plan),
        grid("fig22", "Fig 22: IOPS by channels and ways", "1000/s", &report.random, |p| p.found.iops / 1e3),
        outstanding(report, plan),
        sizes(report),
        clock(report, plan),
        scrambler(report),
        one_shot(report),
        controllers(report, plan),
    ]
}

/// Fig 21, with the paper's numbers for eight channels of eight ways.
fn throughput(report: &CosmosReport, plan: &Plan) -> Figure {
    let label = "Fig 21: throughput by channels and ways";
    let mut figure = grid("fig21", label, "MB/s", &report.throughput, |p| p.found.mb_per_s);
    let paper = &plan.paper.fig_21;
    for (mode, write, mb_per_s) in
        [(Mode::Slc, false, paper.read), (Mode::Mlc, false, paper.read), (Mode::Mlc, true, paper.write_mlc)]
    {
        let name = row_name(mode, write);
        let panel = figure.panels.iter_mut().find(|panel| panel.title == name);
        let points = vec![(8.0, mb_per_s)];
        panel.into_iter().for_each(|panel| {
            panel.series.push(Series {
                name: "8 channels".to_owned(),
                source: Source::Paper("text on Fig 21"),
                points: points.clone(),
            });
        });
    }
    figure
}

fn grid(
    name: &'static str,
    label: &'static str,
    y: &'static str,
    points: &[GridPoint],
    of: impl Fn(&GridPoint) -> f64,
) -> Figure {
    let kinds = [(Mode::Slc, false), (Mode::Mlc, false), (Mode::Slc, true), (Mode::Mlc, true)];
    let panels = kinds.into_iter().map(|(mode, write)| {
        let here: Vec<&GridPoint> = points.iter().filter(|p| (p.mode, p.write) == (mode, write)).collect();
        let mut channels: Vec<u16> = here.iter().map(|p| p.channels).collect();
        channels.dedup();
        let series = channels.into_iter().map(|channels| Series {
            name: counted(channels, "channel"),
            points: here
                .iter()
                .filter(|p| p.channels == channels)
                .map(|p| (f64::from(p.ways), of(p)))
                .collect(),
            source: Source::Ours,
        });
        Panel {
            title: row_name(mode, write).to_owned(),
            x: "ways",
            scale: Scale::Steps,
            y,
            series: series.collect(),
        }
    });
    Figure::of(name, label, panels.collect())
}

fn outstanding(report: &CosmosReport, plan: &Plan) -> Figure {
    let table = &report.latency;
    let ios = || table.outstanding.iter().map(|ios| f64::from(*ios));
    let series = table.rows.iter().zip(&plan.paper.table_7.system).flat_map(|(row, paper)| {
        let name = row_name(row.mode, row.write);
        let ours = Series {
            name: name.to_owned(),
            points: ios().zip(row.found.iter().map(|f| f.mb_per_s)).collect(),
            source: Source::Ours,
        };
        let little = ios().zip(paper).map(|(ios, us)| (ios, ios * 16_384.0 / us)).collect();
        [
            ours,
            Series {
                name: name.to_owned(),
                points: little,
                source: Source::Paper("Table 7's latencies, by Little's law"),
            },
        ]
    });
    let title = "16 KiB, 8 channels of 8 ways".to_owned();
    let panel = Panel { title, x: "outstanding", scale: Scale::Steps, y: "MB/s", series: series.collect() };
    Figure::of("fig24", "Fig 24: throughput by requests outstanding", vec![panel])
}

fn sizes(report: &CosmosReport) -> Figure {
    type Of = fn(&Distribution) -> f64;
    let shown: [(&str, &'static str, Of); 4] = [
        ("Fig 25, read", "µs", |d| d.read_us),
        ("Fig 25, write", "µs", |d| d.write_us),
        ("Fig 26, devC", "KiB", |d| d.deviation_channels),
        ("Fig 26, devW", "KiB", |d| d.deviation_ways),
    ];
    let panels = shown.into_iter().map(|(title, y, of)| {
        let series = distribution::ASSIGNERS.iter().map(|(name, _)| Series {
            name: (*name).to_owned(),
            points: report
                .distribution
                .iter()
                .filter(|d| d.assigner == *name)
                .map(|d| (f64::from(d.kib), of(d)))
                .collect(),
            source: Source::Ours,
        });
        Panel { title: title.to_owned(), x: "KiB", scale: Scale::Steps, y, series: series.collect() }
    });
    Figure::of("fig25-26", "Figs 25 and 26: latency and distribution by size", panels.collect())
}

/// Fig 27. The paper's points are our throughput at the highest clock, minus the largest loss that its
/// text states for the lowest clock.
fn clock(report: &CosmosReport, plan: &Plan) -> Figure {
    let mut squares: Vec<u8> = report.clock.iter().map(|p| p.square).collect();
    squares.sort_unstable();
    squares.dedup();
    let panels = [false, true].map(|write| {
        let series = squares.iter().flat_map(|&square| {
            let here = report.clock.iter().filter(move |p| (p.write, p.square) == (write, square));
            let points: Vec<_> = here.map(|p| (f64::from(p.mhz), p.found.mb_per_s)).collect();
            let name = format!("{} of {}", counted(square, "channel"), counted(square, "way"));
            let paper = paper_loss(plan, square, write).and_then(|percent| {
                let fastest = points.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
                let slowest = points.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
                Some((slowest.0, fastest.1 * (1.0 - percent / 100.0)))
            });
            let paper = paper.map(|point| Series {
                name: name.clone(),
                source: Source::Paper("least that the text of 7.1 leaves of ours"),
                points: vec![point],
            });
            [Some(Series { name: name.clone(), source: Source::Ours, points }), paper].into_iter().flatten()
        });
        let title = if write { "write, MLC" } else { "read, MLC" }.to_owned();
        Panel { title, x: "MHz", scale: Scale::Steps, y: "MB/s", series: series.collect() }
    });
    Figure::of("fig27", "Fig 27: throughput by the core's clock", panels.into())
}

/// The largest loss from the highest clock to the lowest that the text states, percent.
fn paper_loss(plan: &Plan, square: u8, write: bool) -> Option<f64> {
    let paper = &plan.paper.clock;
    match (square, write) {
        (2, _) => Some(paper.loss_2_percent),
        (8, false) => Some(paper.loss_8_read_percent),
        (8, true) => Some(paper.loss_8_write_percent),
        _ => None,
    }
}

fn scrambler(report: &CosmosReport) -> Figure {
    type Of = fn(&BitErrors) -> f64;
    let panels = scrambler::patterns().map(|pattern| {
        let of: [(&str, Of); 2] = [("Scr", |e| e.scrambled), ("NoScr", |e| e.plain)];
        let series = of.into_iter().map(|(name, of)| Series {
            name: name.to_owned(),
            points: report
                .scrambler
                .iter()
                .filter(|e| e.pattern == pattern.name)
                .map(|e| (f64::from(e.cycles), of(e)))
                .collect(),
            source: Source::Ours,
        });
        Panel {
            title: pattern.name.to_owned(),
            x: "P/E cycles",
            scale: Scale::Steps,
            y: "bits",
            series: series.collect(),
        }
    });
    let label = "Fig 30: bit errors of a page with and without scrambler";
    Figure::of("fig30", label, panels.into())
}

fn one_shot(report: &CosmosReport) -> Figure {
    let series = one_shot::MODES.into_iter().flat_map(|mode| {
        type Of = fn(&Utilisation) -> f64;
        // The result if only bus and array took time.
        let of: [(Of, Source); 2] = [(|u| u.utilisation, Source::Ours), (|u| u.ideal, Source::Bound)];
        of.map(|(of, source)| Series {
            name: row_name(mode, true).to_owned(),
            points: report
                .one_shot
                .iter()
                .filter(|u| u.mode == mode)
                .map(|u| (f64::from(u.ways), of(u)))
                .collect(),
            source,
        })
    });
    let title = "large writes, 8 channels".to_owned();
    let panel = Panel { title, x: "ways", scale: Scale::Steps, y: "%", series: series.collect() };
    Figure::of("fig32", "Fig 32: channel utilisation by programs", vec![panel])
}

/// BABOL's Fig 12. The paper's point is our throughput in hardware, minus the largest loss by coroutines
/// that its text states.
fn controllers(report: &CosmosReport, plan: &Plan) -> Figure {
    type Of = fn(&Exchange) -> f64;
    let paper = &plan.paper.babol_12;
    let panels =
        [(false, paper.sequential_percent), (true, paper.random_percent)].map(|(random, percent)| {
            let here = || report.controllers.iter().filter(move |e| e.random == random);
            let of: [(&str, Of); 2] =
                [("asynchronous controller", |e| e.hardware), ("coroutines", |e| e.coroutines)];
            let ours = of.into_iter().map(|(name, of)| Series {
                name: name.to_owned(),
                points: here().map(|e| (f64::from(e.ways), of(e))).collect(),
                source: Source::Ours,
            });
            let full = here().find(|e| e.ways == 8);
            let point = full.map(|e| (8.0, e.hardware * (1.0 - percent / 100.0)));
            let lost = Series {
                name: "coroutines".to_owned(),
                points: point.into_iter().collect(),
                source: Source::Paper("least that the text leaves of ours"),
            };
            let title = if random { "random" } else { "sequential" }.to_owned();
            Panel { title, x: "ways", scale: Scale::Steps, y: "MB/s", series: ours.chain([lost]).collect() }
        });
    Figure::of("babol-fig12", "BABOL's Fig 12: reads by controller", panels.into())
}
