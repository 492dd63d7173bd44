//! READ STATUS and READ: whole pages, sectors, and any bytes.

use super::{read_command, select_column, t_r, transaction};
use crate::lun::{Draft, Issued, Lun};
use aster_ports::channel::FrameReport;
use aster_ports::flash::FlashError;
use aster_txn::{Descriptor, Direction, Form, Shape, Txn};
use aster_units::{BufferId, Column, Instant, RowAddr, SectorRange};
use aster_wire::onfi::{Status, command};

/// One status byte. On a double data rate bus the Data Reader reads it twice, as bursts are even, and
/// delivers it once (G18).
const STATUS_BYTES: u32 = 1;

/// The name of READ in waveforms and errors.
pub(crate) const READ: &str = "read";
/// That of a transfer with the READ of another page behind it.
pub(crate) const TRANSFER_AND_READ: &str = "read transfer, next read";

/// READ STATUS, or READ STATUS ENHANCED where the LUN shares its chip enable (Algorithm 1, ONFI 5.1 §5.13).
///
/// # Errors
/// When the transaction fails.
pub async fn read_status(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    status(lun, row, lun.shares_chip_enable()).await
}

/// READ STATUS or, if `enhanced`, READ STATUS ENHANCED of the row's LUN and plane.
pub(super) async fn status(lun: &Lun, row: RowAddr, enhanced: bool) -> Result<Status, FlashError> {
    let result = issue_status(lun, row, enhanced).finished().await.map_err(transaction)?;
    Ok(Status(result.mailbox as u8))
}
/// The transaction of [`status`].
#[inline]
pub(super) fn issue_status(lun: &Lun, row: RowAddr, enhanced: bool) -> Issued<'_> {
    let mut txn = lun.txn("read status");
    ask_status(&mut txn, row, enhanced);
    lun.issue(txn)
}

/// READ STATUS or READ STATUS ENHANCED, with the status byte into the mailbox.
#[inline]
pub(super) fn ask_status(txn: &mut Txn, row: RowAddr, enhanced: bool) {
    let form = if enhanced {
        txn.cmd(command::READ_STATUS_ENHANCED).row(row);
        Form::StatusEnhanced
    } else {
        txn.cmd(command::READ_STATUS);
        Form::Status
    };
    txn.describe(Descriptor::mailbox_out()).data_read(STATUS_BYTES).shaped(Shape::of(form));
}

/// READ PAGE into a buffer: sectors of `row` through the stages, with the OOB (Algorithm 2). Three kinds of
/// transaction instead of one, so that other LUNs can use the channel during tR.
///
/// # Errors
/// When a transaction fails or the LUN never becomes ready. Uncorrectable data are not an error: the report
/// says so.
pub async fn read_page(
    lun: &Lun,
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
) -> Result<FrameReport, FlashError> {
    read_trigger(lun, row).await?;
    read_transfer(lun, row, sectors, into).await
}

/// The first half of READ PAGE: array to page register.
///
/// # Errors
/// As [`read_page`].
pub async fn read_trigger(lun: &Lun, row: RowAddr) -> Result<(), FlashError> {
    lun.until_ready(read_txn(lun, row), row, t_r(lun, row)).await?;
    Ok(())
}
/// The transaction of [`read_trigger`].
#[inline]
pub(crate) fn read_txn(lun: &Lun, row: RowAddr) -> Draft<'_> {
    let mut txn = lun.txn(READ);
    read_command(&mut txn, row, command::READ_CONFIRM).shaped(Shape::of(Form::Read));
    txn
}

/// The second half of READ PAGE: page register to buffer.
///
/// # Errors
/// As [`read_page`].
pub async fn read_transfer(
    lun: &Lun,
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
) -> Result<FrameReport, FlashError> {
    let result = issue_transfer(lun, row, sectors, into).finished().await.map_err(transaction)?;
    Ok(result.frame)
}
/// The transaction of [`read_transfer`].
#[inline]
pub(crate) fn issue_transfer(lun: &Lun, row: RowAddr, sectors: SectorRange, into: BufferId) -> Issued<'_> {
    let mut txn = lun.txn("read transfer");
    fetch(lun, &mut txn, row, sectors, into);
    txn.shaped(Shape::new(Form::Transfer, sectors));
    lun.issue(txn)
}

/// [`read_transfer`] with the READ of `next` right behind it, in one transaction: if another LUN got the
/// channel in between, this LUN's array would idle while that LUN's page is transferred. Returns the report
/// and when the array began; [`read_begun`] waits for it.
///
/// # Errors
/// As [`read_page`]. The fault doesn't say whether `row` or `next` caused it; in either case the array is
/// idle and the page register still holds `row`.
pub async fn read_transfer_and_trigger(
    lun: &Lun,
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
    next: RowAddr,
) -> Result<(FrameReport, Instant), FlashError> {
    let issued = issue_transfer_and_read(lun, row, sectors, into, next);
    let result = issued.finished().await.map_err(transaction)?;
    Ok((result.frame, result.over))
}
/// The transaction of [`read_transfer_and_trigger`].
#[inline]
pub(crate) fn issue_transfer_and_read(
    lun: &Lun,
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
    next: RowAddr,
) -> Issued<'_> {
    let mut txn = lun.txn(TRANSFER_AND_READ);
    fetch(lun, &mut txn, row, sectors, into);
    read_command(&mut txn, next, command::READ_CONFIRM);
    txn.shaped(Shape::new(Form::TransferThenRead, sectors));
    lun.issue(txn)
}

/// Waits for the array, which has been reading `row` since `since`.
///
/// # Errors
/// As [`read_page`].
pub async fn read_begun(lun: &Lun, row: RowAddr, since: Instant) -> Result<(), FlashError> {
    let t_r = t_r(lun, row);
    lun.ready_about(TRANSFER_AND_READ, row, since + t_r, t_r).await?;
    Ok(())
}

/// CHANGE READ COLUMN and a burst through the stages for each piece of the page.
#[inline]
pub(super) fn fetch(lun: &Lun, txn: &mut Txn, row: RowAddr, sectors: SectorRange, into: BufferId) {
    txn.describe(Descriptor::page(Direction::Out, into, sectors));
    for span in lun.bursts(sectors).as_slice() {
        select_column(lun, txn, row, span.column);
        txn.data_read(span.length);
    }
}

/// Reads `length` raw bytes of `row` from `column` on, without ECC and scrambler, to `offset` of a buffer
/// (B16).
///
/// # Errors
/// As [`read_page`]; a length past the page's end is the transaction's error.
pub async fn read_raw(
    lun: &Lun,
    row: RowAddr,
    column: Column,
    length: u32,
    into: BufferId,
    offset: u32,
) -> Result<(), FlashError> {
    read_trigger(lun, row).await?;
    read_bytes(lun, row, column, length, into, offset).await
}

/// As [`read_raw`], but takes the page register's content without reading the array again.
///
/// # Errors
/// As [`read_raw`].
pub async fn read_bytes(
    lun: &Lun,
    row: RowAddr,
    column: Column,
    length: u32,
    into: BufferId,
    offset: u32,
) -> Result<(), FlashError> {
    let mut txn = lun.txn("read raw");
    select_column(lun, &mut txn, row, column);
    txn.describe(Descriptor::raw(Direction::Out, into, offset)).data_read(length);
    lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(())
}
