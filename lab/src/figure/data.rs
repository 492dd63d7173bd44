//! A figure's data. Only `draw.rs` decides how it looks.

/// The source of a series' numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Measured here.
    Ours,
    /// The bound of our numbers, by the model's times.
    Bound,
    /// A bare simulation of our algorithm.
    Simulation,
    /// By theory.
    Theory,
    /// The paper's: what it prints, or comes to from what it prints. The text says where and how, for the
    /// legend: `Table I`, `text of 7.1`.
    Paper(&'static str),
}

impl Source {
    /// Its name in the table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Source::Ours => "ours",
            Source::Bound => "bound",
            Source::Simulation => "simulation",
            Source::Theory => "theory",
            Source::Paper(_) => "paper",
        }
    }
}

/// Points that belong together.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name, without whose it is: series of one name have one colour in the whole figure.
    pub name: String,
    /// The source.
    pub source: Source,
    /// Its points, in the order of their x. A single point is a mark without a line.
    pub points: Vec<(f64, f64)>,
}

/// How values are placed along the abscissa.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    /// Each value that occurs has a place as wide as any other's, in their order: for what is swept, such as
    /// 1, 2, 4 and 8 ways.
    #[default]
    Steps,
    /// Linearly, from 0 on.
    Linear,
    /// By powers of ten, for values of different sizes; all must be above 0.
    Log,
}

/// A panel.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// Its title.
    pub title: String,
    /// The quantity on the abscissa.
    pub x: &'static str,
    /// Its kind.
    pub scale: Scale,
    /// The ordinate's unit.
    pub y: &'static str,
    /// Its series.
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

/// The most panels beside each other that are readable without scrolling.
const COLUMNS_MAX: usize = 3;

impl Figure {
    /// Distributes panels evenly over rows.
    pub fn of(name: &'static str, label: &'static str, panels: Vec<Panel>) -> Self {
        let rows = panels.len().div_ceil(COLUMNS_MAX).max(1);
        Figure { name, label, columns: panels.len().div_ceil(rows), panels }
    }
}

/// A span of time on a lane of a timeline.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
    /// Its kind: an index into [`Timeline::kinds`].
    pub kind: usize,
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub until: f64,
}

/// A lane: the spans of one object.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// Whose it is.
    pub name: String,
    /// The text below its name.
    pub note: String,
    /// In the order of time.
    pub spans: Vec<Span>,
}

/// Activities over time, one lane below the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Timeline {
    /// Its files' name, without an ending.
    pub name: &'static str,
    /// What it shows.
    pub label: &'static str,
    /// The unit of time.
    pub x: &'static str,
    /// Names of what spans are.
    pub kinds: Vec<&'static str>,
    /// From the top down.
    pub lanes: Vec<Lane>,
}
