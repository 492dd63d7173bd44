//! How figures look, in SVG and in PNG alike. Panels have one size, whatever is in them.

use super::canvas::{
    Brush, CONTENT_FROM, Canvas, INK, MARGIN, PALE, SMALL, Shape, failed, font, heading, legend_height,
    on_canvas, svg,
};
use super::data::{Figure, Panel, Series, Source};
use super::scale::axes;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::io;

/// A panel with its title and the writing along its axes, pixels.
const CELL: (u32, u32) = (560, 400);
/// Points of a line that have discs.
const DOTS_MAX: usize = 24;
/// What the writing along the axes takes.
const BELOW: u32 = 52;
const BESIDE: u32 = 76;
const GRID: RGBColor = RGBColor(228, 231, 235);

/// Colours of series, by the order in which their names come; those of Okabe and Ito, which most eyes tell
/// apart, and two more.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(94, 60, 153),
    RGBColor(140, 86, 75),
    RGBColor(110, 110, 110),
];

impl Figure {
    /// Writes it as SVG.
    ///
    /// # Errors
    /// Those of `out`, and what can't be drawn.
    pub fn write_svg(&self, mut out: impl io::Write) -> io::Result<()> {
        let text = svg(self.pixels(), |root| paint(self, root))?;
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Writes it as PNG, of [`Figure::pixels`].
    ///
    /// # Errors
    /// Those of `out`, and what can't be drawn.
    pub fn write_png(&self, out: impl io::Write) -> io::Result<()> {
        on_canvas(self.pixels(), out, |root| paint(self, root))
    }

    /// Width and height of its pictures.
    pub fn pixels(&self) -> (u32, u32) {
        let columns = self.columns.max(1);
        let width = CELL.0 * columns as u32 + 2 * MARGIN;
        let rows = self.panels.len().div_ceil(columns) as u32;
        (width, CONTENT_FROM + legend_height(&keys(self), width) + CELL.1 * rows + MARGIN)
    }
}

/// The names of a figure's series, each once, in their order.
fn names(figure: &Figure) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    names
}

/// How the series at `at` of a panel is drawn.
fn brush(figure: &Figure, panel: &Panel, at: usize) -> Brush {
    let series = &panel.series[at];
    let nth = names(figure).iter().position(|other| *other == series.name).unwrap_or(0);
    let below = || panel.series[..at].iter().filter(|below| series.hides(below)).count();
    let hidden = if series.source == Source::Ours { below() } else { 0 };
    let shape = match hidden {
        0 => shape(series.source, series.points.len()),
        hidden => Shape::Over(hidden.min(8) as u8),
    };
    Brush { colour: COLOURS[nth % COLOURS.len()], shape }
}

impl Series {
    /// Whether it would hide another of ours that is drawn below it: all points of the two are within a
    /// hundredth of each other, which is less than a line is wide.
    fn hides(&self, below: &Series) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= 0.01 * a.abs().max(b.abs());
        let pairs = || self.points.iter().zip(&below.points);
        below.source == Source::Ours
            && self.points.len() == below.points.len()
            && pairs().all(|(above, below)| near(above.0, below.0) && near(above.1, below.1))
    }
}

fn shape(source: Source, points: usize) -> Shape {
    match (source, points) {
        (Source::Ours, ..=DOTS_MAX) => Shape::Dots,
        (Source::Ours, _) => Shape::Line,
        (Source::Bound | Source::Simulation, 1) => Shape::Cross,
        (Source::Bound | Source::Simulation, _) => Shape::Dotted,
        (Source::Paper(_) | Source::Theory, 1) => Shape::Box,
        (Source::Paper(_) | Source::Theory, _) => Shape::DashedBoxes,
    }
}

/// The legend: a colour for each name, then in grey what is not measured here.
fn keys(figure: &Figure) -> Vec<(String, Brush)> {
    let all = || figure.panels.iter().flat_map(|panel| (0..panel.series.len()).map(move |at| (panel, at)));
    let mut keys: Vec<(String, Brush)> = Vec::new();
    for name in names(figure) {
        let named = || all().filter(|(panel, at)| panel.series[*at].name == name);
        let ours = named().find(|(panel, at)| panel.series[*at].source == Source::Ours);
        let over = named().find(|&(panel, at)| matches!(brush(figure, panel, at).shape, Shape::Over(_)));
        if let Some((panel, at)) = over.or(ours).or_else(|| named().next()) {
            keys.push((name.to_owned(), brush(figure, panel, at)));
        }
    }
    for (panel, at) in all() {
        let series = &panel.series[at];
        let said = match series.source {
            Source::Ours => continue,
            Source::Bound => "at most, by the times of ours".to_owned(),
            Source::Simulation => "bare simulation".to_owned(),
            Source::Theory => "theory".to_owned(),
            Source::Paper(place) => format!("paper: {place}"),
        };
        // A line's key speaks for single points too.
        if keys.iter().all(|(text, _)| *text != said) {
            keys.push((said, Brush { colour: PALE, shape: shape(series.source, series.points.len()) }));
        }
    }
    keys
}

fn paint<B: Canvas>(figure: &Figure, root: &DrawingArea<B, Shift>) -> io::Result<()> {
    let (width, _) = figure.pixels();
    let keys = keys(figure);
    heading(root, figure.label, &keys)?;
    let top = CONTENT_FROM + legend_height(&keys, width);
    for (at, panel) in figure.panels.iter().enumerate() {
        let (row, column) = ((at / figure.columns.max(1)) as u32, (at % figure.columns.max(1)) as u32);
        let corner = ((MARGIN + column * CELL.0) as i32, (top + row * CELL.1) as i32);
        let cell = root.clone().shrink(corner, CELL);
        paint_panel(figure, panel, &cell).map_err(failed)?;
    }
    root.present().map_err(failed)
}

fn paint_panel<B: Canvas>(
    figure: &Figure,
    panel: &Panel,
    cell: &DrawingArea<B, Shift>,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let (x, y) = axes(figure, panel);
    let mut chart = ChartBuilder::on(cell)
        .margin_right(24)
        .margin_top(14)
        .caption(&panel.title, font(SMALL + 2))
        .x_label_area_size(BELOW)
        .y_label_area_size(BESIDE)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .axis_style(PALE)
        .x_desc(panel.x)
        .y_desc(panel.y)
        .label_style(font(SMALL).color(&INK))
        .axis_desc_style(font(SMALL).color(&INK))
        .draw()?;
    for (at, series) in panel.series.iter().enumerate() {
        let brush = brush(figure, panel, at);
        // A chart tells places of the whole picture.
        let (left, top) = cell.get_base_pixel();
        let inside = |point: &(f64, f64)| {
            let at = chart.backend_coord(point);
            (at.0 - left, at.1 - top)
        };
        let inside: Vec<_> = series.points.iter().map(inside).collect();
        brush.draw(cell, &inside)?;
    }
    Ok(())
}
