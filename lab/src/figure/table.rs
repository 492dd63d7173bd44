//! Figures as tables.

use super::data::Figure;
use std::io;
use std::path::{Path, PathBuf};

impl Figure {
    /// Writes the drawn numbers as CSV (RFC 4180), one line per point.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_csv(&self, mut out: impl io::Write) -> io::Result<()> {
        writeln!(out, "panel,series,source,x,x_unit,y,y_unit")?;
        for panel in &self.panels {
            for series in &panel.series {
                for (x, y) in &series.points {
                    let (title, name) = (quoted(&panel.title), quoted(&series.name));
                    let source = series.source.name();
                    writeln!(out, "{title},{name},{source},{x},{},{y},{}", quoted(panel.x), quoted(panel.y))?;
                }
            }
        }
        out.flush()
    }
}

/// A field of a CSV file, in quotes if necessary.
pub(crate) fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Whether a file of this name is a picture.
pub fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"))
}

/// The file for a picture's numbers: beside it, with the ending .csv.
pub fn beside(picture: &Path) -> PathBuf {
    picture.with_extension("csv")
}
