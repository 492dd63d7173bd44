//! What all pictures share: colours, writing, heading and legend, and the pixels of a PNG.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
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
pub(super) const INK: RGBColor = RGBColor(31, 41, 51);
pub(super) const PALE: RGBColor = RGBColor(97, 110, 124);

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
    pub(super) fn draw<B: DrawingBackend>(
        self,
        area: &DrawingArea<B, Shift>,
        points: &[(i32, i32)],
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        if points.len() > 1 {
            self.line(area, points)?;
        }
        points.iter().try_for_each(|point| self.mark(area, *point))
    }

    fn line<B: DrawingBackend>(
        self,
        area: &DrawingArea<B, Shift>,
        points: &[(i32, i32)],
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let style = self.colour.stroke_width(2);
        let along = points.iter().copied();
        match self.shape {
            Shape::Dots | Shape::Line => area.draw(&PathElement::new(points.to_vec(), style)),
            Shape::Over(lines) => {
                let dash = (9 / (i32::from(lines) + 1)).max(2);
                area.draw(&DashedPathElement::new(along, dash, 18 - dash, self.colour.stroke_width(3)))
            }
            Shape::DashedBoxes => area.draw(&DashedPathElement::new(along, 9, 6, style)),
            Shape::Dotted => area.draw(&DashedPathElement::new(along, 2, 5, style)),
            Shape::Box | Shape::Cross | Shape::Filled => Ok(()),
        }
    }

    fn mark<B: DrawingBackend>(
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
    fn key<B: DrawingBackend>(
        self,
        area: &DrawingArea<B, Shift>,
        (x, y): (i32, i32),
    ) -> Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        let end = x + KEY_MARK as i32 - 8;
        self.line(area, &[(x, y), (end, y)])?;
        self.mark(area, ((x + end) / 2, y))
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
pub(super) fn heading<B: DrawingBackend>(
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
