//! How the drives' flash is used, and what the paper's tables call their rows.

use serde::{Deserialize, Serialize};

/// How the flash is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// LSB pages only.
    Slc,
    /// LSB and MSB pages.
    Mlc,
    /// The three pages of a TLC word line in one shot (C83).
    OneShot,
}

/// The rows of Table 7, in its order.
pub(super) const ROWS: [(Mode, bool); 4] =
    [(Mode::Slc, false), (Mode::Mlc, false), (Mode::Slc, true), (Mode::Mlc, true)];

/// A row's name, as the paper writes it.
pub(super) fn row_name(mode: Mode, write: bool) -> &'static str {
    match (write, mode) {
        (false, Mode::Slc) => "R SLC",
        (false, Mode::Mlc) => "R MLC",
        (true, Mode::Slc) => "W SLC",
        (true, Mode::Mlc) => "W MLC",
        (false, Mode::OneShot) => "R TLC",
        (true, Mode::OneShot) => "W TLC",
    }
}
