//! Cells used as SLC: the operations with the package's prefix in front (Algorithm 3). A block's mode is that
//! of its first page until it is erased; it then has one page per word line.

use super::{load, read_command, read_transfer};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::FlashError;
use aster_units::{BufferId, RowAddr, SectorRange};
use aster_wire::onfi::{Status, command};

fn prefix(lun: &Lun) -> Result<u8, FlashError> {
    lun.commands().pseudo_slc.ok_or_else(|| lun.unsupported("pseudo-SLC"))
}

/// READ PAGE of a block used as SLC (Algorithm 3).
///
/// # Errors
/// As [`super::read_page`]; also when the package has no such prefix.
pub async fn slc_read(
    lun: &Lun,
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
) -> Result<FrameReport, FlashError> {
    let slc = prefix(lun)?;
    let mut txn = lun.txn("SLC read");
    read_command(txn.cmd(slc), row, command::READ_CONFIRM);
    lun.until_ready(txn, row, lun.config().variant.slc_read).await?;
    read_transfer(lun, row, sectors, into).await
}

/// PROGRAM PAGE in a block used as SLC.
///
/// # Errors
/// As [`super::program_page`]; also when the package has no such prefix.
pub async fn slc_program(lun: &Lun, row: RowAddr, from: BufferId) -> Result<Status, FlashError> {
    let slc = prefix(lun)?;
    let mut txn = lun.txn("SLC program");
    load(lun, txn.cmd(slc), command::PROGRAM, row, from).cmd(command::PROGRAM_CONFIRM);
    lun.until_ready(txn, row, lun.config().variant.slc_program).await
}

/// BLOCK ERASE of a block that will be used as SLC.
///
/// # Errors
/// As [`super::erase_block`]; also when the package has no such prefix.
pub async fn slc_erase(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    let slc = prefix(lun)?;
    let mut txn = lun.txn("SLC erase");
    txn.cmd(slc).cmd(command::ERASE).row(row).cmd(command::ERASE_CONFIRM);
    lun.until_ready(txn, row, lun.config().variant.slc_erase).await
}
