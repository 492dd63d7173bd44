//! How packages differ, other than in geometry and times.

use alloc::vec::Vec;
use aster_units::{CellMode, PageInBlock};
use aster_wire::onfi::CommandSet;

/// A package's commands, read levels and weaknesses. The default is a plain ONFI package: mandatory commands
/// only.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Variant {
    /// Optional and vendor specific commands.
    pub commands: CommandSet,
    /// The table for read retry: one read level for each value of the feature, in millivolts relative to
    /// a fresh part's best level. It has as many rows as [`CommandSet::read_retry`] says, and is empty
    /// without that feature.
    pub read_levels_mv: Vec<i16>,
    /// If the program of a word line's upper page is cut off, the pages below it are lost, too: MLC's
    /// lost LSB.
    pub pair_loss: bool,
    /// Pages must be programmed in the order of LSB pages alone, one for each word line (C31); otherwise
    /// in the order of all pages. The program of a page that is not the next in the order fails.
    pub lsb_pages: bool,
}

impl Variant {
    /// The name of the first field out of range, and what it must be.
    pub(crate) fn bad_field(&self, cells: CellMode) -> Option<(&'static str, &'static str)> {
        if self.commands.collision().is_some() {
            return Some(("variant.commands", "opcodes that are free and differ"));
        }
        if self.commands.one_shot.is_some() && cells != CellMode::Tlc {
            return Some(("variant.commands.one_shot", "absent where cells have not three bits"));
        }
        if self.commands.pseudo_slc.is_some() && cells == CellMode::Slc {
            return Some(("variant.commands.pseudo_slc", "absent where cells are SLC already"));
        }
        let retry = self.commands.read_retry;
        if self.read_levels_mv.len() != retry.map_or(0, |r| usize::from(r.levels)) {
            return Some(("variant.read_levels_mv", "one level for each value of the feature"));
        }
        if retry.is_some_and(|r| r.feature < aster_wire::onfi::feature::VENDOR_FEATURES || r.levels < 2) {
            return Some(("variant.commands.read_retry", "a feature from 80h on with at least two levels"));
        }
        None
    }

    /// The level that row `row` of the table stands for; a fresh part's level if there is no table.
    pub(crate) fn level_mv(&self, row: u8) -> f64 {
        self.read_levels_mv.get(usize::from(row)).copied().map_or(0.0, f64::from)
    }
}

/// Pages of a block whose cells are used as SLC: one for each word line.
pub const fn slc_pages(pages_per_block: u16, cells: CellMode) -> u16 {
    pages_per_block / cells.bits() as u16
}

/// The first page of the word line that `page` lies on.
pub(crate) const fn word_line(cells: CellMode, page: PageInBlock) -> PageInBlock {
    PageInBlock(page.0 - page.0 % cells.bits() as u16)
}
