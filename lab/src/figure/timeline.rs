//! How timelines look.

use super::canvas::{
    Brush, CONTENT_FROM, Canvas, INK, MARGIN, PALE, SMALL, Shape, failed, font, heading, legend_height,
    on_canvas, svg,
};
use super::data::Timeline;
use super::scale::Axis;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::io;

const WIDTH: u32 = 1400;
/// A lane with its line.
const LANE: i32 = 64;
/// The width of the lanes' names.
const NAMES: i32 = 290;
/// A span's height.
const TALL: i32 = 34;
/// The height of the text along the axis.
const BELOW: i32 = 56;
/// Colours of the kinds of spans.
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];

impl Timeline {
    /// Writes it as SVG.
    ///
    /// # Errors
    /// Those of `out`, and what can't be drawn.
    pub fn write_svg(&self, mut out: impl io::Write) -> io::Result<()> {
        let text = svg(self.pixels(), |root| paint(self, root))?;
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Writes it as PNG, of [`Timeline::pixels`].
    ///
    /// # Errors
    /// Those of `out`, and what can't be drawn.
    pub fn write_png(&self, out: impl io::Write) -> io::Result<()> {
        on_canvas(self.pixels(), out, |root| paint(self, root))
    }

    /// Width and height of its pictures.
    pub fn pixels(&self) -> (u32, u32) {
        let lanes = LANE as u32 * self.lanes.len() as u32;
        (WIDTH, CONTENT_FROM + legend_height(&keys(self), WIDTH) + lanes + BELOW as u32 + MARGIN)
    }
}

fn colour(kind: usize) -> RGBColor {
    COLOURS[kind % COLOURS.len()]
}

fn keys(timeline: &Timeline) -> Vec<(String, Brush)> {
    let key =
        |(at, name): (usize, &&str)| ((*name).to_owned(), Brush { colour: colour(at), shape: Shape::Filled });
    timeline.kinds.iter().enumerate().map(key).collect()
}

fn paint<B: Canvas>(timeline: &Timeline, root: &DrawingArea<B, Shift>) -> io::Result<()> {
    let keys = keys(timeline);
    heading(root, timeline.label, &keys)?;
    let top = (CONTENT_FROM + legend_height(&keys, WIDTH)) as i32;
    lanes(timeline, root, top).map_err(failed)?;
    root.present().map_err(failed)
}

fn lanes<B: Canvas>(
    timeline: &Timeline,
    root: &DrawingArea<B, Shift>,
    top: i32,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    let ends = timeline.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.until);
    let axis = Axis::linear(ends.fold(0.0, f64::max));
    let (left, right) = (MARGIN as i32 + NAMES, WIDTH as i32 - 2 * MARGIN as i32);
    let x = |at: f64| left + (at / axis.end * f64::from(right - left)).round() as i32;
    let bottom = top + LANE * timeline.lanes.len() as i32;
    let small = || font(SMALL).color(&INK);
    for (at, name) in &axis.ticks {
        root.draw(&PathElement::new(vec![(x(*at), top), (x(*at), bottom)], RGBColor(228, 231, 235)))?;
        let middle = small().pos(pos(HPos::Center));
        root.draw(&Text::new(name.clone(), (x(*at), bottom + 8), middle))?;
    }
    let unit = small().pos(pos(HPos::Right));
    root.draw(&Text::new(timeline.x, (right, bottom + 30), unit))?;
    for (nth, lane) in timeline.lanes.iter().enumerate() {
        let base = top + LANE * (nth as i32 + 1) - 10;
        root.draw(&Text::new(lane.name.clone(), (MARGIN as i32, base - 38), small()))?;
        let note = font(SMALL - 2).color(&PALE);
        root.draw(&Text::new(lane.note.clone(), (MARGIN as i32, base - 16), note))?;
        root.draw(&PathElement::new(vec![(left, base), (right, base)], PALE))?;
        for span in &lane.spans {
            // Short spans stay visible.
            let (from, until) = (x(span.from), x(span.until).max(x(span.from) + 1));
            let corners = [(from, base - TALL), (until, base)];
            root.draw(&Rectangle::new(corners, colour(span.kind).filled()))?;
        }
    }
    Ok(())
}

fn pos(h_pos: HPos) -> Pos {
    Pos::new(h_pos, VPos::Top)
}
