//! The data of a figure.

/// The source of a line's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Measured here.
    Ours,
    /// The bound for ours by the model's times.
    Bound,
    /// From the paper, printed or computed from printed numbers.
    Paper,
}

impl Source {
    /// Its name in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Source::Ours => "ours",
            Source::Bound => "bound",
            Source::Paper => "paper",
        }
    }
}

/// A line.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name, without the source.
    pub name: String,
    /// The source.
    pub source: Source,
    /// Its points; a single one is drawn as a mark.
    pub points: Vec<(f64, f64)>,
}

/// A panel.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// Its title.
    pub title: String,
    /// The quantity on the abscissa.
    pub x: &'static str,
    /// The ordinate's unit.
    pub y: &'static str,
    /// Its lines.
    pub series: Vec<Series>,
}

/// A figure, to be written.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Its files' name, without an ending.
    pub name: &'static str,
    /// Its caption.
    pub label: &'static str,
    /// Panels beside each other.
    pub columns: usize,
    /// Row by row.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// Panels in one row.
    pub fn row(name: &'static str, label: &'static str, panels: Vec<Panel>) -> Self {
        Figure { name, label, columns: panels.len(), panels }
    }
}
