//! Puts pages into the cells without commands and in no time, as if they had been programmed long ago.

use crate::array::NandCells;
use crate::inspect::NandInspect;
use crate::register::{Holds, Register};
use aster_units::{LunIndex, RowAddr};

/// Writes pages into the cells of a drive whose packages do nothing meanwhile. Nothing fails.
#[derive(Debug)]
pub struct CellFiller {
    cells: NandInspect,
    register: Register,
    scrambled: bool,
}

impl CellFiller {
    /// For these cells. `scrambled` says whether the drive's channels scramble what they program.
    pub fn new(cells: &NandCells, scrambled: bool) -> Self {
        let config = cells.config();
        let register = Register::new(&config.layout, config.content);
        CellFiller { cells: NandInspect::new(cells.clone()), register, scrambled }
    }
    /// Programs a page: `data` in the drive's content, and as much of its OOB as `oob` has. Pages of a block
    /// come in their order.
    pub fn program(&mut self, lun: LunIndex, row: RowAddr, data: &[u8], oob: &[u8]) {
        let (_, block, page) = self.cells.config().geometry.split_row(row);
        let mut die = self.cells.die(lun);
        let register = &mut self.register;
        register.holds = Holds::Page;
        register.data.copy_from_slice(data);
        let (record, rest) = register.oob.split_at_mut(oob.len());
        record.copy_from_slice(oob);
        rest.fill(0);
        register.seed = if self.scrambled { die.row_seed(block, page) } else { 0 };
        die.put(block, page, register);
    }
    /// The row's block has been erased this often.
    pub fn set_erases(&mut self, lun: LunIndex, row: RowAddr, erases: u32) {
        let (_, block, _) = self.cells.config().geometry.split_row(row);
        self.cells.die(lun).set_erases(block, erases);
    }
}
