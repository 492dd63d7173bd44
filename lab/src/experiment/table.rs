//! Rows of the tables that reports print.

use std::fmt::{Display, Write};

/// The difference between our number and the paper's, in percent of the paper's.
pub(crate) fn error_percent(ours: f64, paper: f64) -> f64 {
    100.0 * (ours / paper - 1.0)
}

/// The layout of a table's rows: a name on the left, then columns of one width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cells {
    /// Characters of the name's column.
    pub(crate) name: usize,
    /// Characters of each other column.
    pub(crate) width: usize,
}

impl Cells {
    /// Writes the heading row: the name, and each column's title.
    pub(crate) fn head(self, out: &mut String, name: &str, columns: impl Iterator<Item = impl Display>) {
        let Cells { name: left, width } = self;
        let _ = write!(out, "{name:<left$}");
        columns.for_each(|column| {
            let _ = write!(out, "{column:>width$}");
        });
        out.push('\n');
    }
    /// Writes a row of numbers with one digit after the point.
    pub(crate) fn row(self, out: &mut String, name: &str, values: impl Iterator<Item = f64>) {
        self.head(out, name, values.map(|value| format!("{value:.1}")));
    }
}

#[cfg(test)]
mod tests {
    use super::{Cells, error_percent};

    #[test]
    fn names_stand_on_the_left_and_numbers_end_below_their_column() {
        let cells = Cells { name: 6, width: 7 };
        let mut out = String::new();
        cells.head(&mut out, "IOs", [1, 64].into_iter());
        cells.row(&mut out, "R SLC", [97.31, 1024.04].into_iter());
        assert_eq!(out, "IOs         1     64\nR SLC    97.3 1024.0\n");
    }

    #[test]
    fn an_error_is_of_the_paper_s_number() {
        assert_eq!(error_percent(150.0, 100.0), 50.0);
        assert_eq!(error_percent(50.0, 100.0), -50.0);
    }
}
