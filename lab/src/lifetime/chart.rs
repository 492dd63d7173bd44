//! Lives as a picture: how often blocks were erased, and the spare that is left.

use super::{Life, Report, Sample};
use crate::figure::draw::{document, line, said};
use aster_device::profile::LevellingName;
use std::io;
use svg::node::element::{Group, Polygon, Polyline};

const PANEL: (f64, f64) = (420.0, 240.0);
const SPARE: f64 = 70.0;
const MARGIN: (f64, f64) = (64.0, 44.0);
/// Lines of a panel's grid.
const LEVELS: u32 = 5;
const BAND: &str = "#c6dbef";
const MEAN: &str = "#08519c";
const LEFT: &str = "#3d9970";

/// Writes the lives side by side, over the same drive writes: the band from the least to the most erased
/// block with the mean in it, the cycles that blocks last for as a dashed line, and below the spare that
/// SMART tells.
///
/// # Errors
/// Those of `out`.
pub fn svg(mut out: impl io::Write, report: &Report) -> io::Result<()> {
    let samples = || report.lives.iter().flat_map(|life| &life.samples);
    let longest = samples().map(|s| s.drive_writes).fold(1.0, f64::max);
    let most = samples().map(|s| f64::from(s.erases_max)).fold(report.wear_out_cycles as f64, f64::max);
    let scale = Scale { longest, most: most * 1.05 };
    let cell = (PANEL.0 + MARGIN.0 + 24.0, PANEL.1 + SPARE + 3.0 * MARGIN.1);
    let mut picture = document(
        cell.0 * report.lives.len() as f64,
        cell.1,
        "Erases of blocks over a drive's life, without wear levelling and with either kind",
    );
    for (at, life) in report.lives.iter().enumerate() {
        let corner = (at as f64 * cell.0 + MARGIN.0, MARGIN.1);
        picture = picture.add(draw(life, report.wear_out_cycles as f64, &scale, corner));
    }
    svg::write(&mut out, &picture)?;
    out.flush()
}

/// Writes the numbers that are drawn as CSV: a line a sample of each life.
///
/// # Errors
/// Those of `out`.
pub fn csv(mut out: impl io::Write, report: &Report) -> io::Result<()> {
    writeln!(
        out,
        "wear_levelling,drive_writes,erases_min,erases_mean,erases_max,wear_out_cycles,available_spare_percent"
    )?;
    for life in &report.lives {
        let levelling = match life.wear_levelling {
            LevellingName::None => "none",
            LevellingName::Dynamic => "dynamic",
            LevellingName::Static => "static",
        };
        for s in &life.samples {
            writeln!(
                out,
                "{levelling},{},{},{},{},{},{}",
                s.drive_writes,
                s.erases_min,
                s.erases_mean,
                s.erases_max,
                report.wear_out_cycles,
                s.available_spare
            )?;
        }
    }
    out.flush()
}

struct Scale {
    longest: f64,
    most: f64,
}

fn title(life: &Life) -> String {
    let levelling = match life.wear_levelling {
        LevellingName::None => "no wear levelling",
        LevellingName::Dynamic => "dynamic wear levelling",
        LevellingName::Static => "static wear levelling",
    };
    let end = if life.read_only { "read-only after" } else { "still written after" };
    format!("{levelling}: {end} {:.0} drive writes", life.drive_writes)
}

fn draw(life: &Life, cycles: f64, scale: &Scale, corner: (f64, f64)) -> Group {
    let (right, bottom) = (corner.0 + PANEL.0, corner.1 + PANEL.1);
    let x = |s: &Sample| corner.0 + s.drive_writes / scale.longest * PANEL.0;
    let y = |erases: f64| bottom - erases / scale.most * PANEL.1;
    let track = |of: &dyn Fn(&Sample) -> f64| -> Vec<String> {
        life.samples.iter().map(|s| format!("{:.1},{:.1}", x(s), of(s))).collect()
    };
    let mut band = track(&|s| y(s.erases_min.into()));
    band.extend(track(&|s| y(s.erases_max.into())).into_iter().rev());
    let mut group = Group::new().add(said(title(life), (corner.0, corner.1 - 22.0), "start", "")).add(said(
        "erases of a block: least, mean, most",
        (corner.0, corner.1 - 8.0),
        "start",
        "small",
    ));
    for level in 0..=LEVELS {
        let share = f64::from(level) / f64::from(LEVELS);
        let class = if level == 0 { "axis" } else { "grid" };
        let (across, down) = (corner.0 + share * PANEL.0, y(share * scale.most));
        group = group
            .add(line(class, (corner.0, down), (right, down)))
            .add(said(format!("{:.0}", share * scale.most), (corner.0 - 6.0, down + 4.0), "end", "small"))
            .add(said(format!("{:.0}", share * scale.longest), (across, bottom + 15.0), "middle", "small"));
    }
    let (top, floor) = (bottom + MARGIN.1, bottom + MARGIN.1 + SPARE);
    let spare = track(&|s| floor - f64::from(s.available_spare) / 100.0 * SPARE);
    group
        .add(said("drive writes", (right, bottom + 28.0), "end", "small"))
        .add(Polygon::new().set("fill", BAND).set("points", band.join(" ")))
        .add(polyline(MEAN, &track(&|s| y(s.erases_mean))))
        .add(line("cap", (corner.0, y(cycles)), (right, y(cycles))))
        .add(said("available spare, 100 % at the top", (corner.0, top - 4.0), "start", "small"))
        .add(line("axis", (corner.0, floor), (right, floor)))
        .add(line("grid", (corner.0, top), (right, top)))
        .add(polyline(LEFT, &spare))
}

fn polyline(colour: &str, points: &[String]) -> Polyline {
    Polyline::new().set("class", "track").set("stroke", colour).set("points", points.join(" "))
}
