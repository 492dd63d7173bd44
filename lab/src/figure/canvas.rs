//! What all pictures share: colours, writing, heading and legend, and the pixels of a PNG.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontDesc, register_font};
use std::io;
use std::sync::Once;

/// Around everything.
pub(super) const MARGIN: u32 = 16;
/// Where the content below the heading begins.
pub(super) const CONTENT_FROM: u32 = 56;
/// Text size, pixels.
pub(super) const SMALL: u32 = 15;
const LARGE: u32 = 20;
/// A line of the legend.
const KEY_ROW: u32 = 24;
/// The width of the mark before a key's text, and of the space after the text.
const KEY_MARK: u32 = 44;
const KEY_GAP: u32 = 28;
/// From the middle of a key to where its line ends, if a ring stands there.
const KEY_RING: i32 = 8;
pub(super) const INK: RGBColor = RGBColor(31, 41, 51);
pub(super) const PALE: RGBColor = RGBColor(97, 110, 124);

/// What pictures are drawn on.
pub(super) trait Canvas: DrawingBackend {
    /// The canvas joins the segments of a wide line itself, by a polygon whose corners lie far away from the
    /// line where it turns sharply.
    const JOINS: bool;
}
impl Canvas for BitMapBackend<'_> {
    const JOINS: bool = true;
}
impl Canvas for SVGBackend<'_> {
    const JOINS: bool = false;
}

/// The text of an SVG that `paint` fills. Its lines turn round, since the corners of a sharp turn would lie
/// beyond the points.
pub(super) fn svg(
    pixels: (u32, u32),
    paint: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> io::Result<()>,
) -> io::Result<String> {
    let mut text = String::new();
    paint(&SVGBackend::with_string(&mut text, pixels).into_drawing_area())?;
    Ok(text.replacen("<svg ", "<svg stroke-linejoin=\"round\" ", 1))
}

/// Draws a line.
fn path<B: Canvas>(
    area: &DrawingArea<B, Shift>,
    points: &[(i32, i32)],
    style: ShapeStyle,
) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
    if !B::JOINS {
        return area.draw(&PathElement::new(points.to_vec(), style));
    }
    let mut segments = points.windows(2).filter(|ends| ends[0] != ends[1]);
    segments.try_for_each(|ends| area.draw(&PathElement::new(ends.to_vec(), style)))
}

/// The dashes of a line, each with its points: so many pixels long, and so far apart.
fn dashes(points: &[(i32, i32)], long: f64, apart: f64) -> Vec<Vec<(i32, i32)>> {
    let mut dashes = Vec::new();
    let mut dash: Vec<_> = points.first().copied().into_iter().collect();
    let (mut is_gap, mut left) = (false, long);
    for ends in points.windows(2) {
        let [from, to] = [ends[0], ends[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut along = 0.0;
        while length - along > left {
            along += left;
            let share = along / length;
            let at = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
            let at = (at.0.round() as i32, at.1.round() as i32);
            if !is_gap {
                dash.push(at);
                dashes.push(std::mem::take(&mut dash));
            }
            (is_gap, left) = (!is_gap, if is_gap { long } else { apart });
            dash = vec![at];
        }
        left -= length - along;
        dash.push(ends[1]);
    }
    if !is_gap {
        dashes.push(dash);
    }
    dashes
}

/// How points are drawn. Our points are filled and our lines solid; others are hollow and dashed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// A line with a disc at each point.
    Dots,
    /// A line without discs, which would touch each other.
    Line,
    /// Short dashes with a ring at each point, over as many lines that a line would hide: the more, the
    /// shorter the dashes and the wider the rings.
    Over(u8),
    /// A broken line with a hollow box at each point.
    DashedBoxes,
    /// One hollow box.
    Box,
    /// A dotted line without marks.
    Dotted,
    /// One cross.
    Cross,
    /// An area, for spans.
    Filled,
}

/// Colour and shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Brush {
    pub(super) colour: RGBColor,
    pub(super) shape: Shape,
}

impl Brush {
    /// Draws `points`, pixels of `area`.
    pub(super) fn draw<B: Canvas>(
        self,
        area: &DrawingArea<B, Shift>,
        points: &[(i32, i32)],
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        if points.len() > 1 {
            self.line(area, points)?;
        }
        points.iter().try_for_each(|point| self.mark(area, *point))
    }

    fn line<B: Canvas>(
        self,
        area: &DrawingArea<B, Shift>,
        points: &[(i32, i32)],
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let (style, wide) = (self.colour.stroke_width(2), self.colour.stroke_width(3));
        let broken = |long: i32, apart: i32, style: ShapeStyle| {
            let mut dashes = dashes(points, long.into(), apart.into()).into_iter();
            dashes.try_for_each(|dash| path(area, &dash, style))
        };
        match self.shape {
            Shape::Dots | Shape::Line => path(area, points, style),
            Shape::Over(lines) => {
                let dash = (9 / (i32::from(lines) + 1)).max(2);
                broken(dash, 18 - dash, wide)
            }
            Shape::DashedBoxes => broken(9, 6, style),
            Shape::Dotted => broken(2, 5, style),
            Shape::Box | Shape::Cross | Shape::Filled => Ok(()),
        }
    }

    fn mark<B: Canvas>(
        self,
        area: &DrawingArea<B, Shift>,
        (x, y): (i32, i32),
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let (line, filled) = (self.colour.stroke_width(2), self.colour.filled());
        let around = |half: i32| [(x - half, y - half), (x + half, y + half)];
        match self.shape {
            Shape::Dots => area.draw(&Circle::new((x, y), 4, filled)),
            Shape::Over(lines) => area.draw(&Circle::new((x, y), 4 + 3 * i32::from(lines), line)),
            Shape::DashedBoxes => area.draw(&Rectangle::new(around(4), line)),
            Shape::Box => area.draw(&Rectangle::new(around(7), line)),
            Shape::Cross => area.draw(&Cross::new((x, y), 7, line)),
            Shape::Filled => area.draw(&Rectangle::new(around(6), filled)),
            Shape::Dotted | Shape::Line => Ok(()),
        }
    }

    /// Draws the mark of a legend's key, whose line begins at (`x`, `y`).
    fn key<B: Canvas>(
        self,
        area: &DrawingArea<B, Shift>,
        (x, y): (i32, i32),
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let end = x + KEY_MARK as i32 - 8;
        let middle = (x + end) / 2;
        let Shape::Over(_) = self.shape else {
            self.line(area, &[(x, y), (end, y)])?;
            return self.mark(area, (middle, y));
        };
        // A key is too short for such dashes: its line ends at the ring, which is the smallest.
        let ring = Brush { shape: Shape::Over(1), ..self };
        for (from, to) in [(x, middle - KEY_RING), (middle + KEY_RING, end)] {
            path(area, &[(from, y), (to, y)], self.colour.stroke_width(3))?;
        }
        ring.mark(area, (middle, y))
    }
}

/// The font of every picture: DejaVu Sans, which is part of the program, since a fresh machine may have no
/// fonts. A browser that shows an SVG uses its own.
pub(super) fn font(pixels: u32) -> FontDesc<'static> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let fonts = [(FontStyle::Normal, dejavu::sans::regular()), (FontStyle::Bold, dejavu::sans::bold())];
        for (style, bytes) in fonts {
            assert!(
                register_font("sans-serif", style, bytes).is_ok(),
                "the font that is part of the program"
            );
        }
    });
    ("sans-serif", pixels).into_font()
}

/// The width of a text in a legend.
fn wide(text: &str) -> u32 {
    font(SMALL).box_size(text).map_or(8 * text.len() as u32, |size| size.0)
}

/// Where the keys of a legend stand, below each other where a picture of this width has no more room beside:
/// left end and row of each.
fn places(keys: &[(String, Brush)], width: u32) -> Vec<(u32, u32)> {
    let (mut left, mut row) = (MARGIN, 0);
    keys.iter()
        .map(|(text, _)| {
            let takes = KEY_MARK + wide(text) + KEY_GAP;
            if left > MARGIN && left + takes > width {
                (left, row) = (MARGIN, row + 1);
            }
            let place = (left, row);
            left += takes;
            place
        })
        .collect()
}

/// The legend's height.
pub(super) fn legend_height(keys: &[(String, Brush)], width: u32) -> u32 {
    places(keys, width).last().map_or(0, |(_, row)| (row + 1) * KEY_ROW) + 8
}

/// Draws the white background, the picture's label and the legend.
pub(super) fn heading<B: Canvas>(
    root: &DrawingArea<B, Shift>,
    label: &str,
    keys: &[(String, Brush)],
) -> io::Result<()> {
    let (width, _) = root.dim_in_pixel();
    root.fill(&WHITE).map_err(failed)?;
    let bold = font(LARGE).style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(label.to_owned(), (MARGIN as i32, MARGIN as i32), bold)).map_err(failed)?;
    for ((text, brush), (left, row)) in keys.iter().zip(places(keys, width)) {
        let middle = (CONTENT_FROM + row * KEY_ROW + KEY_ROW / 2) as i32;
        brush.key(root, (left as i32, middle)).map_err(failed)?;
        let at = ((left + KEY_MARK) as i32, middle - SMALL as i32 / 2 + 1);
        root.draw(&Text::new(text.clone(), at, font(SMALL).color(&INK))).map_err(failed)?;
    }
    Ok(())
}

/// Lets `paint` fill a canvas, and writes the canvas as PNG.
pub(super) fn on_canvas(
    (width, height): (u32, u32),
    out: impl io::Write,
    paint: impl FnOnce(&DrawingArea<BitMapBackend<'_>, Shift>) -> io::Result<()>,
) -> io::Result<()> {
    let mut pixels = vec![0; width as usize * height as usize * 3];
    paint(&BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area())?;
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    Ok(writer.finish()?)
}

/// When something can't be drawn.
pub(super) fn failed(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("a picture can't be drawn: {error}"))
}
