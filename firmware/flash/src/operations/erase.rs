//! BLOCK ERASE.

use crate::Lun;
use aster_ports::flash::FlashError;
use aster_txn::{Form, Shape};
use aster_units::RowAddr;
use aster_wire::onfi::{Status, command};

/// BLOCK ERASE of the block that `row` lies in (ONFI 5.1 §5.11).
///
/// # Errors
/// As [`super::program_page`].
pub async fn erase_block(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    let mut txn = lun.txn("erase");
    txn.cmd(command::ERASE).row(row).cmd(command::ERASE_CONFIRM).shaped(Shape::of(Form::Erase));
    lun.until_ready(txn, row, lun.config().t_bers).await
}
