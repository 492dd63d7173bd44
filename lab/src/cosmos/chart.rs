//! The figures as pictures.

use super::drive::Mode;
use super::text::row_name;
use super::{CosmosReport, GridPoint, Plan};
use crate::babol::chart::{document, line, said};
use std::io;
use svg::node::element::{Circle, Group, Polyline};

const PANEL: (f64, f64) = (320.0, 220.0);
const MARGIN: (f64, f64) = (64.0, 44.0);
const COLOURS: [&str; 8] =
    ["#08519c", "#d94801", "#3d9970", "#7a5195", "#6baed6", "#fdae6b", "#a1d99b", "#bcbddc"];
/// Lines of the grid.
const LEVELS: u32 = 5;

/// A line: its name and points; `paper` for the paper's own numbers, which are dashed.
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
    paper: bool,
}

struct Panel {
    title: String,
    x: &'static str,
    y: &'static str,
    series: Vec<Series>,
}

/// A figure, to be written.
pub struct Figure {
    /// Its file's name.
    pub file: &'static str,
    label: &'static str,
    panels: Vec<Panel>,
}

impl Figure {
    /// Writes it as SVG: panels side by side.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, mut out: impl io::Write) -> io::Result<()> {
        let series = self.panels.iter().map(|p| p.series.len()).max().unwrap_or(0) as f64;
        let cell = (PANEL.0 + MARGIN.0 + 20.0, PANEL.1 + 2.0 * MARGIN.1 + 14.0 * series);
        let width = cell.0 * self.panels.len() as f64;
        let mut picture = document(width, cell.1, self.label);
        for (at, panel) in self.panels.iter().enumerate() {
            picture = picture.add(draw(panel, (at as f64 * cell.0 + MARGIN.0, MARGIN.1)));
        }
        svg::write(&mut out, &picture)?;
        out.flush()
    }
}

/// Points stand by the order of their x values: doublings and steps are all as wide.
fn draw(panel: &Panel, corner: (f64, f64)) -> Group {
    let mut places: Vec<f64> = panel.series.iter().flat_map(|s| &s.points).map(|p| p.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let most = panel.series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(0.0, f64::max);
    let step = level(most / f64::from(LEVELS));
    let top = (most / step).ceil().max(1.0) * step;
    let x = |value: f64| {
        let place = places.iter().position(|p| *p == value).unwrap_or(0) as f64;
        corner.0 + (place + 0.5) / places.len().max(1) as f64 * PANEL.0
    };
    let y = |value: f64| corner.1 + PANEL.1 * (1.0 - value / top);
    let (right, bottom) = (corner.0 + PANEL.0, corner.1 + PANEL.1);
    let mut group = Group::new()
        .add(said(panel.title.as_str(), (corner.0, corner.1 - 22.0), "start", ""))
        .add(said(panel.y, (corner.0 - 6.0, corner.1 - 8.0), "end", "small"))
        .add(said(panel.x, (right, bottom + 28.0), "end", "small"));
    let mut at = 0.0;
    while at <= top + step / 2.0 {
        let class = if at == 0.0 { "axis" } else { "grid" };
        group = group.add(line(class, (corner.0, y(at)), (right, y(at)))).add(said(
            format!("{at:.0}"),
            (corner.0 - 6.0, y(at) + 4.0),
            "end",
            "small",
        ));
        at += step;
    }
    for &place in &places {
        group = group.add(said(format!("{place:.0}"), (x(place), bottom + 15.0), "middle", "small"));
    }
    for (nth, series) in panel.series.iter().enumerate() {
        let colour = COLOURS[nth % COLOURS.len()];
        let points: Vec<String> =
            series.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
        let mut track =
            Polyline::new().set("class", "track").set("stroke", colour).set("points", points.join(" "));
        if series.paper {
            track = track.set("stroke-dasharray", "5 4");
        }
        group = group.add(track);
        for point in &series.points {
            let dot = Circle::new().set("cx", x(point.0)).set("cy", y(point.1)).set("r", 2.2);
            group = group.add(dot.set("fill", colour));
        }
        let legend = (corner.0, bottom + 40.0 + 14.0 * nth as f64);
        let mark = line("track", (legend.0, legend.1 - 4.0), (legend.0 + 18.0, legend.1 - 4.0));
        group = group.add(mark.set("stroke", colour)).add(said(
            series.name.as_str(),
            (legend.0 + 22.0, legend.1),
            "start",
            "small",
        ));
    }
    group
}

/// The least of 1, 2 and 5 times a power of ten that is at least `value`.
fn level(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= value).unwrap_or(10.0 * power)
}

/// Every figure of the report.
pub fn figures(report: &CosmosReport, plan: &Plan) -> Vec<Figure> {
    vec![
        grid("fig21.svg", "Throughput by channels and ways", "MB/s", &report.throughput, |p| {
            p.found.mb_per_s
        }),
        grid("fig22.svg", "IOPS by channels and ways", "1000/s", &report.random, |p| p.found.iops / 1e3),
        outstanding(report, plan),
        sizes(report),
        clock(report),
        scrambler(report),
        one_shot(report),
        controllers(report),
    ]
}

fn grid(
    file: &'static str,
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
            name: format!("{channels} channels"),
            points: here
                .iter()
                .filter(|p| p.channels == channels)
                .map(|p| (f64::from(p.ways), of(p)))
                .collect(),
            paper: false,
        });
        Panel { title: row_name(mode, write).to_owned(), x: "ways", y, series: series.collect() }
    });
    Figure { file, label, panels: panels.collect() }
}

fn outstanding(report: &CosmosReport, plan: &Plan) -> Figure {
    let table = &report.latency;
    let ios = || table.outstanding.iter().map(|ios| f64::from(*ios));
    let series = table.rows.iter().zip(&plan.paper.table_7.system).flat_map(|(row, paper)| {
        let name = row_name(row.mode, row.write);
        let ours = Series {
            name: name.to_owned(),
            points: ios().zip(row.found.iter().map(|f| f.mb_per_s)).collect(),
            paper: false,
        };
        let little = ios().zip(paper).map(|(ios, us)| (ios, ios * 16_384.0 / us)).collect();
        [ours, Series { name: format!("{name}, paper"), points: little, paper: true }]
    });
    let title = "16 KiB, 8 channels of 8 ways".to_owned();
    let panel = Panel { title, x: "outstanding", y: "MB/s", series: series.collect() };
    Figure { file: "fig24.svg", label: "Throughput by requests outstanding", panels: vec![panel] }
}

fn sizes(report: &CosmosReport) -> Figure {
    type Of = fn(&super::Distribution) -> f64;
    let shown: [(&str, &'static str, Of); 4] = [
        ("Fig 25, read", "µs", |d| d.read_us),
        ("Fig 25, write", "µs", |d| d.write_us),
        ("Fig 26, devC", "KiB", |d| d.deviation_channels),
        ("Fig 26, devW", "KiB", |d| d.deviation_ways),
    ];
    let panels = shown.into_iter().map(|(title, y, of)| {
        let series = super::distribution::ASSIGNERS.iter().map(|(name, _)| Series {
            name: (*name).to_owned(),
            points: report
                .distribution
                .iter()
                .filter(|d| d.assigner == *name)
                .map(|d| (f64::from(d.kib), of(d)))
                .collect(),
            paper: false,
        });
        Panel { title: title.to_owned(), x: "KiB", y, series: series.collect() }
    });
    Figure { file: "fig25-26.svg", label: "Latency and distribution by size", panels: panels.collect() }
}

fn clock(report: &CosmosReport) -> Figure {
    let mut squares: Vec<u8> = report.clock.iter().map(|p| p.square).collect();
    squares.sort_unstable();
    squares.dedup();
    let panels = [false, true].map(|write| {
        let series = squares.iter().map(|square| Series {
            name: format!("{square} channels of {square} ways"),
            points: report
                .clock
                .iter()
                .filter(|p| (p.write, p.square) == (write, *square))
                .map(|p| (f64::from(p.mhz), p.found.mb_per_s))
                .collect(),
            paper: false,
        });
        let title = if write { "write, MLC" } else { "read, MLC" }.to_owned();
        Panel { title, x: "MHz", y: "MB/s", series: series.collect() }
    });
    Figure { file: "fig27.svg", label: "Throughput by the core's clock", panels: panels.into() }
}

fn scrambler(report: &CosmosReport) -> Figure {
    type Of = fn(&super::BitErrors) -> f64;
    let panels = super::scrambler::patterns().map(|pattern| {
        let of: [(&str, Of, bool); 2] = [("Scr", |e| e.scrambled, false), ("NoScr", |e| e.plain, false)];
        let series = of.into_iter().map(|(name, of, paper)| Series {
            name: name.to_owned(),
            points: report
                .scrambler
                .iter()
                .filter(|e| e.pattern == pattern.name)
                .map(|e| (f64::from(e.cycles), of(e)))
                .collect(),
            paper,
        });
        Panel { title: pattern.name.to_owned(), x: "P/E cycles", y: "bits", series: series.collect() }
    });
    Figure {
        file: "fig30.svg",
        label: "Bit errors of a page with and without scrambler",
        panels: panels.into(),
    }
}

fn one_shot(report: &CosmosReport) -> Figure {
    let series = super::one_shot::MODES.into_iter().flat_map(|mode| {
        type Of = fn(&super::Utilisation) -> f64;
        let of: [(&str, Of, bool); 2] =
            [("", |u| u.utilisation, false), (", times alone", |u| u.ideal, true)];
        of.map(|(suffix, of, paper)| Series {
            name: format!("{}{suffix}", row_name(mode, true)),
            points: report
                .one_shot
                .iter()
                .filter(|u| u.mode == mode)
                .map(|u| (f64::from(u.ways), of(u)))
                .collect(),
            paper,
        })
    });
    let title = "large writes, 8 channels".to_owned();
    let panel = Panel { title, x: "ways", y: "%", series: series.collect() };
    Figure { file: "fig32.svg", label: "Channel utilisation by programs", panels: vec![panel] }
}

fn controllers(report: &CosmosReport) -> Figure {
    type Of = fn(&super::Exchange) -> f64;
    let panels = [false, true].map(|random| {
        let of: [(&str, Of); 2] =
            [("asynchronous controller", |e| e.hardware), ("coroutines", |e| e.coroutines)];
        let series = of.into_iter().map(|(name, of)| Series {
            name: name.to_owned(),
            points: report
                .controllers
                .iter()
                .filter(|e| e.random == random)
                .map(|e| (f64::from(e.ways), of(e)))
                .collect(),
            paper: false,
        });
        let title = if random { "random" } else { "sequential" }.to_owned();
        Panel { title, x: "ways", y: "MB/s", series: series.collect() }
    });
    Figure { file: "babol-fig12.svg", label: "Reads by controller", panels: panels.into() }
}
