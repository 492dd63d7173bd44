//! Figures 10 and 11 as pictures.

use super::throughput::Track;
use super::{Controller, PollingReport, ThroughputReport};
use std::io;
use svg::Document;
use svg::node::element::{Circle, Group, Line, Polyline, Rectangle, Style, Text};

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1f2933}.small{font-size:10px;fill:#616e7c}\
    .grid{stroke:#e4e7eb}.axis{stroke:#616e7c}.cap{stroke:#9aa5b1;stroke-dasharray:5 4}\
    .track{fill:none;stroke-width:1.8}.ground{fill:#fff}";
/// Coroutines from the slowest core to the fastest.
const WARM: [&str; 6] = ["#fdd0a2", "#fdae6b", "#fd8d3c", "#f16913", "#d94801", "#8c2d04"];
const SYNCHRONOUS: &str = "#08519c";
const ASYNCHRONOUS: &str = "#3d9970";

const PANEL: (f64, f64) = (300.0, 210.0);
const MARGIN: (f64, f64) = (52.0, 34.0);
/// Between two lines of the grid, MB/s.
const GRID: f64 = 50.0;

pub(crate) fn document(width: f64, height: f64, label: &str) -> Document {
    Document::new()
        .set("viewBox", (0, 0, width.ceil() as i64, height.ceil() as i64))
        .set("width", width.ceil() as i64)
        .set("role", "img")
        .set("aria-label", label)
        .add(Style::new(STYLE))
        .add(Rectangle::new().set("class", "ground").set("width", "100%").set("height", "100%"))
}

pub(crate) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Line {
    Line::new().set("class", class).set("x1", from.0).set("y1", from.1).set("x2", to.0).set("y2", to.1)
}

pub(crate) fn said(text: impl Into<String>, at: (f64, f64), anchor: &str, class: &str) -> Text {
    Text::new(text).set("x", at.0).set("y", at.1).set("text-anchor", anchor).set("class", class)
}

/// The colours of all controllers, in the order of the tracks.
fn colours(controllers: &[Controller]) -> Vec<&'static str> {
    let coroutines = controllers.iter().filter(|c| matches!(c, Controller::Coroutine { .. })).count();
    let mut nth = 0;
    let colour = |controller: &Controller| match controller {
        Controller::Synchronous => SYNCHRONOUS,
        Controller::Asynchronous => ASYNCHRONOUS,
        Controller::Coroutine { .. } => {
            nth += 1;
            WARM[(nth * WARM.len()).div_ceil(coroutines.max(1)).clamp(1, WARM.len()) - 1]
        }
    };
    controllers.iter().map(colour).collect()
}

/// Writes Fig 10: a panel for each package and rate, a line for each controller; the dashed line is what the bus allows.
///
/// # Errors
/// Those of `out`.
pub fn throughput_svg(mut out: impl io::Write, report: &ThroughputReport) -> io::Result<()> {
    let mut rates: Vec<u32> = report.bounds.iter().map(|b| b.rate_mt_s).collect();
    rates.sort_unstable();
    rates.dedup();
    let mut packages: Vec<&str> = report.bounds.iter().map(|b| b.package.as_str()).collect();
    packages.dedup();
    let mut controllers: Vec<Controller> = Vec::new();
    report.tracks.iter().for_each(|t| {
        if !controllers.contains(&t.controller) {
            controllers.push(t.controller);
        }
    });
    let colours = colours(&controllers);
    let cell = (PANEL.0 + MARGIN.0 + 16.0, PANEL.1 + 2.0 * MARGIN.1 + 8.0);
    let legend = 24.0;
    let (width, height) = (cell.0 * packages.len() as f64, cell.1 * rates.len() as f64 + legend);
    let mut picture = document(width, height, "READ throughput by LUNs on the channel");
    for bounds in &report.bounds {
        let column = packages.iter().position(|p| *p == bounds.package).unwrap_or(0) as f64;
        let row = rates.iter().position(|r| *r == bounds.rate_mt_s).unwrap_or(0) as f64;
        let corner = (column * cell.0 + MARGIN.0, row * cell.1 + MARGIN.1 + legend);
        let here = |t: &&Track| t.package == bounds.package && t.rate_mt_s == bounds.rate_mt_s;
        let tracks: Vec<&Track> = report.tracks.iter().filter(here).collect();
        let title = format!("{}, {} MT/s", bounds.package, bounds.rate_mt_s);
        let with_colour = tracks.iter().map(|t| {
            let at = controllers.iter().position(|c| *c == t.controller).unwrap_or(0);
            (*t, colours[at])
        });
        picture = picture.add(panel(corner, &title, bounds.ours_channel, &with_colour.collect::<Vec<_>>()));
    }
    let step = width / controllers.len().max(1) as f64;
    for (i, (controller, colour)) in controllers.iter().zip(&colours).enumerate() {
        let x = i as f64 * step + 10.0;
        picture = picture.add(line("track", (x, 14.0), (x + 18.0, 14.0)).set("stroke", *colour)).add(said(
            controller.to_string(),
            (x + 22.0, 18.0),
            "start",
            "small",
        ));
    }
    svg::write(&mut out, &picture)?;
    out.flush()
}

fn panel(corner: (f64, f64), title: &str, cap: f64, tracks: &[(&Track, &str)]) -> Group {
    let luns = tracks.iter().flat_map(|(t, _)| &t.points).map(|p| p.luns).max().unwrap_or(1);
    let top = (cap / GRID).ceil() * GRID;
    let x = |n: u8| corner.0 + (f64::from(n) - 0.5) / f64::from(luns) * PANEL.0;
    let y = |mb_per_s: f64| corner.1 + PANEL.1 * (1.0 - mb_per_s / top);
    let right = corner.0 + PANEL.0;
    let mut group = Group::new().add(said(title, (corner.0, corner.1 - 10.0), "start", ""));
    let mut level = 0.0;
    while level <= top {
        let class = if level == 0.0 { "axis" } else { "grid" };
        group = group.add(line(class, (corner.0, y(level)), (right, y(level)))).add(said(
            format!("{level:.0}"),
            (corner.0 - 6.0, y(level) + 4.0),
            "end",
            "small",
        ));
        level += GRID;
    }
    for n in 1..=luns {
        group = group.add(said(n.to_string(), (x(n), corner.1 + PANEL.1 + 15.0), "middle", "small"));
    }
    group = group
        .add(line("cap", (corner.0, y(cap)), (right, y(cap))))
        .add(said("LUNs", (right, corner.1 + PANEL.1 + 28.0), "end", "small"))
        .add(said("MB/s", (corner.0 - 6.0, corner.1 - 10.0), "end", "small"));
    for (track, colour) in tracks {
        let points: Vec<String> =
            track.points.iter().map(|p| format!("{:.1},{:.1}", x(p.luns), y(p.mb_per_s))).collect();
        group = group.add(
            Polyline::new().set("class", "track").set("stroke", *colour).set("points", points.join(" ")),
        );
        for p in &track.points {
            let dot = Circle::new().set("cx", x(p.luns)).set("cy", y(p.mb_per_s));
            group = group.add(dot.set("r", 2.2).set("fill", *colour));
        }
    }
    group
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
                "read" => (SYNCHRONOUS, 22.0),
                "read status" => (WARM[3], 14.0),
                _ => (ASYNCHRONOUS, 22.0),
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
        [("READ", SYNCHRONOUS), ("READ STATUS", WARM[3]), ("CHANGE READ COLUMN and data", ASYNCHRONOUS)]
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
