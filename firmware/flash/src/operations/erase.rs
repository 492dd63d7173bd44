//! BLOCK ERASE.

use crate::{Draft, Lun};
use aster_ports::flash::FlashError;
use aster_txn::{AddressRun, Form, Shape};
use aster_units::RowAddr;
use aster_wire::onfi::{Status, command};

/// BLOCK ERASE of the block that `row` lies in (ONFI 5.1 §5.11).
///
/// # Errors
/// As [`super::program_page`].
pub async fn erase_block(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    lun.until_ready(erase_txn(lun, row), row, lun.config().t_bers).await
}
/// The name of [`erase_block`]'s transaction.
pub(crate) const ERASE: &str = "erase";
/// The transaction of [`erase_block`].
#[inline]
pub(crate) fn erase_txn(lun: &Lun, row: RowAddr) -> Draft<'_> {
    let mut txn = lun.txn(ERASE);
    txn.command(command::ERASE, AddressRun::row(row), command::ERASE_CONFIRM);
    txn.shaped(Shape::of(Form::Erase));
    txn
}
