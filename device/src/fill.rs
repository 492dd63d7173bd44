//! The cells of a drive that is filled without commands.

use aster_nand::CellFiller;
use aster_parties::CellWriter;
use aster_units::{LunIndex, RowAddr};

/// The array as a translation fills it.
pub(crate) struct Cells(pub(crate) CellFiller);

impl CellWriter for Cells {
    fn program(&mut self, lun: LunIndex, row: RowAddr, data: &[u8], oob: &[u8]) {
        self.0.program(lun, row, data, oob);
    }
    fn set_erases(&mut self, lun: LunIndex, row: RowAddr, erases: u32) {
        self.0.set_erases(lun, row, erases);
    }
}
