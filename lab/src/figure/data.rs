//! What a figure shows.

/// Whose the numbers of a line are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Measured here.
    Ours,
    /// What bounds ours, by the times that the model has.
    Bound,
    /// What the paper prints, or comes to from what it prints.
    Paper,
}

impl Source {
    /// As the table has it.
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
    /// Its name, without whose it is.
    pub name: String,
    /// Whose it is.
    pub source: Source,
    /// Its points; one alone is a mark.
    pub points: Vec<(f64, f64)>,
}

/// A panel.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// What it is of.
    pub title: String,
    /// What is along the abscissa.
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
    /// What it shows.
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
