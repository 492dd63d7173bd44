//! The results as figures.

use super::plan::Test;
use super::report::{Measured, Report, SaturationReport, SaturationRound, SweepReport, Track};
use super::steady::{RANGE_PERCENT_MAX, Window};
use super::sweep::{Cell, size_name};
use crate::figure::{Figure, Panel, Scale, Series, Source};

/// All figures that a report has.
pub fn figures(report: &Report) -> Vec<Figure> {
    let of = |test: Test| report.tests.iter().filter(move |sweep| sweep.test == test);
    let mut figures = Vec::new();
    let mut put = |name, label, panels: Vec<Panel>| {
        if !panels.is_empty() {
            figures.push(Figure::of(name, label, panels));
        }
    };
    put(
        "pts-rounds",
        "SNIA PTS: what became of each round until the drive was steady",
        report.tests.iter().map(rounds).collect(),
    );
    put(
        "pts-window",
        "SNIA PTS: the last five rounds of what is tracked, and the bounds of steady state",
        report.tests.iter().flat_map(windows).collect(),
    );
    put(
        "pts-iops",
        "SNIA PTS: IOPS in steady state, by block size and mix",
        of(Test::Iops).map(|sweep| matrix(sweep, "IOPS", |measured| measured.iops)).collect(),
    );
    let large: Vec<Measured> = of(Test::Throughput).flat_map(|sweep| sweep.cells.clone()).collect();
    if !large.is_empty() {
        let title = "Sequential throughput".to_owned();
        put(
            "pts-throughput",
            "SNIA PTS: throughput in steady state",
            vec![by_block(title, "MB/s", &large, |measured| measured.mb_per_s)],
        );
    }
    put(
        "pts-latency",
        "SNIA PTS: times of requests that are alone, in steady state",
        of(Test::Latency)
            .flat_map(|sweep| {
                [
                    matrix(sweep, "mean time, µs", |measured| measured.mean_us),
                    matrix(sweep, "longest time, µs", |measured| measured.max_us),
                ]
            })
            .collect(),
    );
    put(
        "pts-saturation",
        "SNIA PTS: random writes of 4 KiB from a purged drive on",
        report.write_saturation.iter().flat_map(saturation).collect(),
    );
    figures
}

fn series(name: impl Into<String>, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), source: Source::Ours, points }
}

/// Each round of the cells that have the mix of a tracked one.
fn rounds(sweep: &SweepReport) -> Panel {
    let figure = sweep.figure;
    let is_shown =
        |cell: &Cell| sweep.tracked.iter().any(|track| track.cell.read_percent == cell.read_percent);
    let cells: Vec<Cell> = sweep.cells.iter().map(Measured::cell).filter(is_shown).collect();
    let of = |cell: Cell| {
        let value = |round: &Vec<Measured>| {
            round.iter().find(|measured| measured.cell() == cell).map_or(0.0, |m| m.figure(figure))
        };
        let points = sweep.rounds.iter().enumerate().map(|(at, round)| ((at + 1) as f64, value(round)));
        series(cell.name(), points.collect())
    };
    Panel {
        title: sweep.title.clone(),
        x: "round",
        scale: Scale::Linear,
        y: figure.unit(),
        series: cells.into_iter().map(of).collect(),
    }
}

/// The window of each tracked cell: its rounds, their mean, the line through them, and how far they may be
/// apart.
fn windows(sweep: &SweepReport) -> Vec<Panel> {
    let panel = |cell: &Cell, rounds: &[f64], window: &Window| {
        let numbers = window.first_round..=window.last_round();
        // By their places in the window, so that panels share an axis.
        let along = |value: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
            numbers.clone().zip(1u8..).map(|(round, place)| (place.into(), value(round))).collect()
        };
        let half = RANGE_PERCENT_MAX / 2.0 / 100.0;
        let verdict = if window.is_steady { "steady" } else { "not steady" };
        Panel {
            title: format!("{}, {}: {verdict}", sweep.title, cell.name()),
            x: "round of the last five",
            scale: Scale::Steps,
            y: sweep.figure.unit(),
            series: vec![
                series("tracked", along(&|round| rounds[round - 1])),
                series("mean", along(&|_| window.mean)),
                series("line through the rounds", along(&|round| window.line_at(round))),
                series("mean + 10 %", along(&|_| window.mean * (1.0 + half))),
                series("mean - 10 %", along(&|_| window.mean * (1.0 - half))),
            ],
        }
    };
    let of = |track: &Track| Some(panel(&track.cell, &track.rounds, track.window.as_ref()?));
    sweep.tracked.iter().filter_map(of).collect()
}

fn matrix(sweep: &SweepReport, y: &'static str, of: fn(&Measured) -> f64) -> Panel {
    by_block(format!("{}: {y}", sweep.title), y, &sweep.cells, of)
}

/// A series for each mix over block sizes.
fn by_block(title: String, y: &'static str, cells: &[Measured], of: fn(&Measured) -> f64) -> Panel {
    let mut mixes: Vec<u8> = Vec::new();
    for measured in cells {
        if !mixes.contains(&measured.read_percent) {
            mixes.push(measured.read_percent);
        }
    }
    let of_mix = |&read_percent: &u8| {
        let mine = cells.iter().filter(|measured| measured.read_percent == read_percent);
        let mut points: Vec<(f64, f64)> =
            mine.map(|measured| (f64::from(measured.block_bytes) / 1024.0, of(measured))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        series(format!("R/W {}", Cell { read_percent, block_bytes: 0 }.mix_name()), points)
    };
    Panel { title, x: "block size, KiB", scale: Scale::Steps, y, series: mixes.iter().map(of_mix).collect() }
}

/// IOPS over time and over what is written, and times of requests.
fn saturation(report: &SaturationReport) -> Vec<Panel> {
    type Of = fn(&SaturationRound) -> f64;
    let panel = |title: &str, x, at: Of, y, of: Of| Panel {
        title: title.to_owned(),
        x,
        scale: Scale::Linear,
        y,
        series: vec![series(
            format!("R/W 0/100, {}", size_name(4096)),
            report.rounds.iter().map(|round| (at(round), of(round))).collect(),
        )],
    };
    let (iops, writes): (Of, Of) = (|round| round.measured.iops, |round| round.drive_writes);
    vec![
        panel("IOPS over time", "simulated s", |round| round.simulated_s, "IOPS", iops),
        panel("IOPS over what is written", "drive writes", writes, "IOPS", iops),
        panel("mean time", "drive writes", writes, "mean time, µs", |round| round.measured.mean_us),
    ]
}
