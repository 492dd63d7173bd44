//! Figures as SVG.

use super::data::{Figure, Panel, Series, Source};
use std::io;
use svg::Document;
use svg::node::element::{Circle, Group, Line, Polyline, Rectangle, Style, Text};

const STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1f2933}.small{font-size:10px;fill:#616e7c}\
    .grid{stroke:#e4e7eb}.axis{stroke:#616e7c}.cap{stroke:#9aa5b1;stroke-dasharray:5 4}\
    .track{fill:none;stroke-width:1.8}.ground{fill:#fff}";
const COLOURS: [&str; 8] =
    ["#08519c", "#d94801", "#3d9970", "#7a5195", "#6baed6", "#fdae6b", "#a1d99b", "#bcbddc"];
const PANEL: (f64, f64) = (320.0, 220.0);
const MARGIN: (f64, f64) = (64.0, 44.0);
/// Lines of the grid.
const LEVELS: u32 = 5;
/// Between two lines of a legend.
const LEGEND: f64 = 14.0;

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

impl Figure {
    /// Writes it as SVG.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_svg(&self, mut out: impl io::Write) -> io::Result<()> {
        let figure = self;
        // One legend above all panels, if all have the same.
        let legend = figure.panels.first().map(entries).unwrap_or_default();
        let shared = figure.panels.len() > 1 && figure.panels.iter().all(|panel| entries(panel) == legend);
        let columns = figure.columns.max(1);
        let lines = figure.panels.iter().map(|p| p.series.len()).max().unwrap_or(0);
        let (above, below) = if shared { (lines.div_ceil(columns) + 1, 0) } else { (0, lines) };
        let cell = (PANEL.0 + MARGIN.0 + 20.0, PANEL.1 + 2.0 * MARGIN.1 + LEGEND * below as f64);
        let rows = figure.panels.len().div_ceil(columns) as f64;
        let head = LEGEND * above as f64;
        let mut picture = document(cell.0 * columns as f64, head + cell.1 * rows, figure.label);
        for (at, panel) in figure.panels.iter().enumerate() {
            let (row, column) = ((at / columns) as f64, (at % columns) as f64);
            let axes = Axes::of(figure, panel, (column * cell.0 + MARGIN.0, head + row * cell.1 + MARGIN.1));
            picture = picture.add(draw(panel, &axes));
            if !shared {
                for (nth, entry) in entries(panel).iter().enumerate() {
                    let down = axes.corner.1 + PANEL.1 + 40.0 + LEGEND * nth as f64;
                    picture = picture.add(entry.draw((axes.corner.0, down)));
                }
            }
        }
        for (nth, entry) in legend.iter().enumerate().filter(|_| shared) {
            let (row, column) = ((nth / columns) as f64, (nth % columns) as f64);
            picture = picture.add(entry.draw((column * cell.0 + MARGIN.0, LEGEND * (row + 1.0))));
        }
        svg::write(&mut out, &picture)?;
        out.flush()
    }
}

/// A line of a legend.
#[derive(PartialEq)]
struct Entry {
    said: String,
    colour: &'static str,
    dashes: Option<&'static str>,
    /// A single point of the paper: no line is drawn, and the legend shows the ring.
    is_ring: bool,
}

/// The legend of a panel. The paper's line and a bound have the colour of the corresponding line of ours.
fn entries(panel: &Panel) -> Vec<Entry> {
    let entry = |series: &Series| {
        let named = panel.series.iter().position(|other| other.name == series.name).unwrap_or(0);
        let (suffix, dashes) = match series.source {
            Source::Ours => ("", None),
            Source::Bound => (", at most", Some("2 3")),
            Source::Paper => (", paper", Some("7 4")),
        };
        Entry {
            said: format!("{}{suffix}", series.name),
            colour: COLOURS[named % COLOURS.len()],
            dashes,
            is_ring: dashes.is_some() && series.points.len() == 1,
        }
    };
    panel.series.iter().map(entry).collect()
}

impl Entry {
    fn draw(&self, at: (f64, f64)) -> Group {
        let mut mark =
            line("track", (at.0, at.1 - 4.0), (at.0 + 18.0, at.1 - 4.0)).set("stroke", self.colour);
        if let Some(dashes) = self.dashes {
            mark = mark.set("stroke-dasharray", dashes);
        }
        let text = said(self.said.as_str(), (at.0 + 22.0, at.1), "start", "small");
        if self.is_ring {
            return Group::new().add(ring((at.0 + 9.0, at.1 - 4.0), self.colour)).add(text);
        }
        Group::new().add(mark).add(text)
    }
}

/// A point that isn't ours.
fn ring(at: (f64, f64), colour: &'static str) -> Circle {
    let dot = Circle::new().set("cx", at.0).set("cy", at.1);
    dot.set("r", 3).set("fill", "none").set("stroke", colour)
}

/// Where values lie in a panel.
struct Axes {
    corner: (f64, f64),
    /// Points are placed by the order of their x values, at equal distances.
    places: Vec<f64>,
    step: f64,
    top: f64,
}

impl Axes {
    /// Of all panels of the figure that share an axis.
    fn of(figure: &Figure, panel: &Panel, corner: (f64, f64)) -> Self {
        let points = |same: fn(&Panel, &Panel) -> bool| {
            let panels = figure.panels.iter().filter(move |other| same(other, panel));
            panels.flat_map(|p| &p.series).flat_map(|s| &s.points)
        };
        let mut places: Vec<f64> = points(|a, b| a.x == b.x).map(|point| point.0).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let most = points(|a, b| a.y == b.y).map(|point| point.1).fold(0.0, f64::max);
        let step = level(most / f64::from(LEVELS));
        Axes { corner, places, step, top: (most / step).ceil().max(1.0) * step }
    }
    fn x(&self, value: f64) -> f64 {
        let place = self.places.iter().position(|p| *p == value).unwrap_or(0) as f64;
        self.corner.0 + (place + 0.5) / self.places.len().max(1) as f64 * PANEL.0
    }
    fn y(&self, value: f64) -> f64 {
        self.corner.1 + PANEL.1 * (1.0 - value / self.top)
    }
}

fn draw(panel: &Panel, axes: &Axes) -> Group {
    let corner = axes.corner;
    let (right, bottom) = (corner.0 + PANEL.0, corner.1 + PANEL.1);
    let mut group = Group::new()
        .add(said(panel.title.as_str(), (corner.0, corner.1 - 22.0), "start", ""))
        .add(said(panel.y, (corner.0 - 6.0, corner.1 - 8.0), "end", "small"))
        .add(said(panel.x, (right, bottom + 28.0), "end", "small"));
    // As many digits behind the point as the step has.
    let digits = (-axes.step.log10().floor()).clamp(0.0, 9.0) as usize;
    for nth in 0..=(axes.top / axes.step).round() as u32 {
        let at = f64::from(nth) * axes.step;
        let class = if nth == 0 { "axis" } else { "grid" };
        let down = axes.y(at);
        group = group.add(line(class, (corner.0, down), (right, down))).add(said(
            format!("{at:.digits$}"),
            (corner.0 - 6.0, down + 4.0),
            "end",
            "small",
        ));
    }
    for &place in &axes.places {
        group = group.add(said(place_name(place), (axes.x(place), bottom + 15.0), "middle", "small"));
    }
    for (series, Entry { colour, dashes, .. }) in panel.series.iter().zip(entries(panel)) {
        let points = series.points.iter().map(|p| format!("{:.1},{:.1}", axes.x(p.0), axes.y(p.1)));
        let points = points.collect::<Vec<_>>().join(" ");
        let mut track = Polyline::new().set("class", "track").set("stroke", colour).set("points", points);
        if let Some(dashes) = dashes {
            track = track.set("stroke-dasharray", dashes);
        }
        group = group.add(track);
        for point in &series.points {
            let at = (axes.x(point.0), axes.y(point.1));
            let dot = Circle::new().set("cx", at.0).set("cy", at.1);
            group = group.add(match series.source {
                Source::Ours => dot.set("r", 2.2).set("fill", colour),
                _ => ring(at, colour),
            });
        }
    }
    group
}

/// A value on the axis in as few digits as identify it.
fn place_name(place: f64) -> String {
    let digits = (0..6).find(|digits| {
        let scale = 10f64.powi(*digits);
        ((place * scale).round() / scale - place).abs() <= 1e-9 * place.abs()
    });
    format!("{place:.0$}", digits.unwrap_or(6) as usize)
}

/// The least of 1, 2 and 5 times a power of ten that is at least `value`.
fn level(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_as_exact_as_their_steps() {
        let panel = |x: f64, y: f64| {
            let points = vec![(1.0, 0.0), (x, y)];
            let series = Series { name: "s".into(), source: Source::Ours, points };
            Panel { title: "t".into(), x: "x", y: "y", series: vec![series] }
        };
        let drawn = |x, y| {
            let figure = Figure { name: "f", label: "l", columns: 1, panels: vec![panel(x, y)] };
            let mut out = Vec::new();
            figure.write_svg(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let low = drawn(1.5, 0.23);
        for tick in ["\n0.05\n", "\n0.15\n", "\n0.25\n", "\n1.5\n"] {
            assert!(low.contains(tick), "no {tick:?} in {low}");
        }
        assert!(drawn(8.0, 1000.0).contains("\n400\n") && drawn(8.0, 3.0).contains("\n2\n"));
        assert_eq!([0.3, 0.1 + 0.2, 1000.0, 12.25].map(place_name), ["0.3", "0.3", "1000", "12.25"]);
    }
}
