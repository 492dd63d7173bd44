//! Files of figures.

use crate::console;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::create;
use aster_lab::figure::{Figure, Timeline};
use std::io::{self, Write};
use std::path::Path;

/// A file of a figure.
pub(crate) struct Drawn {
    name: String,
    bytes: Vec<u8>,
}

impl Drawn {
    /// What `write` produces.
    ///
    /// # Errors
    /// When it can't be drawn.
    pub(crate) fn new(
        name: impl Into<String>,
        write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> Result<Self, Failure> {
        let (name, mut bytes) = (name.into(), Vec::new());
        write(&mut bytes).map_err(|error| Failure::run(format!("{name}: {error}")))?;
        Ok(Drawn { name, bytes })
    }
    /// These bytes.
    pub(crate) fn of_bytes(name: &str, bytes: &[u8]) -> Self {
        Drawn { name: name.to_owned(), bytes: bytes.to_vec() }
    }
    /// A figure's picture, as SVG and as PNG, and its numbers beside it.
    pub(crate) fn of_figure(figure: &Figure) -> [Result<Self, Failure>; 3] {
        [
            Drawn::new(format!("{}.svg", figure.name), |file| figure.write_svg(file)),
            Drawn::new(format!("{}.png", figure.name), |file| figure.write_png(file)),
            Drawn::new(format!("{}.csv", figure.name), |file| figure.write_csv(file)),
        ]
    }
    /// A timeline's picture, as SVG and as PNG.
    pub(crate) fn of_timeline(timeline: &Timeline) -> [Result<Self, Failure>; 2] {
        [
            Drawn::new(format!("{}.svg", timeline.name), |file| timeline.write_svg(file)),
            Drawn::new(format!("{}.png", timeline.name), |file| timeline.write_png(file)),
        ]
    }
    /// Writes the file, and prints its name.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn write_to(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(&self.name);
        let mut file = create(&path)?;
        file.write_all(&self.bytes)
            .and_then(|()| file.flush())
            .map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
        // Not on standard output, which has only the JSON with --json.
        console::note(&format!("wrote {}", path.display()));
        Ok(())
    }
}
