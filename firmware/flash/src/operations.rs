//! The operations. Between their transactions the channel belongs to others.

use crate::Lun;
use alloc::boxed::Box;
use aster_codec::seed_of_row;
use aster_ports::channel::{FrameReport, TxnFault};
use aster_ports::flash::FlashError;
use aster_ports::package::Interface;
use aster_txn::{Descriptor, Direction, Txn};
use aster_units::{BufferId, Column, RowAddr, SectorRange};
use aster_wire::onfi::parameter_page::PARAMETER_PAGE_BYTES;
use aster_wire::onfi::{Status, command};

/// One status byte; on a double data rate bus the Data Reader takes it twice, an even burst, and delivers it once (G18).
const STATUS_BYTES: u32 = 1;
/// Parameters of SET and GET FEATURES: P1 to P4 (ONFI 5.1 §5.31).
const FEATURE_BYTES: u32 = 4;

fn transaction(fault: Box<TxnFault>) -> FlashError {
    FlashError::Transaction(fault)
}

/// READ STATUS, or READ STATUS ENHANCED where the LUN shares its chip enable (Algorithm 1, ONFI 5.1 §5.13).
///
/// # Errors
/// When the transaction fails.
pub async fn read_status(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    let mut txn = lun.txn("read status");
    if lun.shares_chip_enable() {
        txn.cmd(command::READ_STATUS_ENHANCED).row(row);
    } else {
        txn.cmd(command::READ_STATUS);
    }
    txn.describe(Descriptor::mailbox_out()).data_read(STATUS_BYTES);
    let result = lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(Status(result.mailbox as u8))
}

/// Selects a column for data output; where the LUN shares its chip enable another may have been selected meanwhile, so
/// that CHANGE READ COLUMN ENHANCED names it (ONFI 5.1 §5.16, §5.17).
fn select_column(lun: &Lun, txn: &mut Txn, row: RowAddr, column: Column) {
    if lun.shares_chip_enable() {
        txn.cmd(command::CHANGE_READ_COLUMN_ENHANCED).col_row(column, row);
    } else {
        txn.cmd(command::CHANGE_READ_COLUMN).column(column);
    }
    txn.cmd(command::CHANGE_READ_COLUMN_CONFIRM);
}

/// READ PAGE into a buffer: sectors of `row` through the stages, with the OOB (Algorithm 2). Other LUNs own the channel
/// during tR: three kinds of transaction, not one.
///
/// # Errors
/// When a transaction fails or the LUN never becomes ready. Uncorrectable data is in the report, not an error.
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
    let mut txn = lun.txn("read");
    txn.cmd(command::READ).col_row(Column(0), row).cmd(command::READ_CONFIRM);
    let t_r = lun.config().t_r[lun.config().shape.page_type(row) as usize];
    lun.until_ready(txn, row, t_r).await?;
    Ok(())
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
    let mut txn = lun.txn("read transfer");
    txn.describe(Descriptor::page(Direction::Out, into, sectors));
    for span in lun.config().layout.bursts(sectors).as_slice() {
        select_column(lun, &mut txn, row, span.column);
        txn.data_read(span.length);
    }
    let result = lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(result.frame)
}

/// Reads `length` raw bytes of `row` from `column` on, without ECC and scrambler, to `offset` of a buffer.
///
/// # Errors
/// As [`read_page`].
pub async fn read_raw(
    lun: &Lun,
    row: RowAddr,
    column: Column,
    length: u32,
    into: BufferId,
    offset: u32,
) -> Result<(), FlashError> {
    read_trigger(lun, row).await?;
    let mut txn = lun.txn("read raw");
    select_column(lun, &mut txn, row, column);
    txn.describe(Descriptor::raw(Direction::Out, into, offset)).data_read(length);
    lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(())
}

/// PROGRAM PAGE from a buffer, with its OOB, through the stages (ONFI 5.1 §5.20).
///
/// # Errors
/// When a transaction fails or the LUN never becomes ready. A failed program is in the status.
pub async fn program_page(lun: &Lun, row: RowAddr, from: BufferId) -> Result<Status, FlashError> {
    let layout = lun.config().layout;
    let mut txn = lun.txn("program");
    let mut descriptor = Descriptor::page(Direction::In, from, SectorRange::whole(layout.sectors()));
    if lun.config().scramble {
        descriptor.immediate = u64::from(seed_of_row(row));
    }
    txn.cmd(command::PROGRAM).col_row(Column(0), row);
    txn.describe(descriptor).data_write(layout.whole().length);
    txn.cmd(command::PROGRAM_CONFIRM);
    let t_prog = lun.config().t_prog[lun.config().shape.page_type(row) as usize];
    lun.until_ready(txn, row, t_prog).await
}

/// BLOCK ERASE of the block that `row` lies in (ONFI 5.1 §5.11).
///
/// # Errors
/// As [`program_page`].
pub async fn erase_block(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    let mut txn = lun.txn("erase");
    txn.cmd(command::ERASE).row(row).cmd(command::ERASE_CONFIRM);
    lun.until_ready(txn, row, lun.config().t_bers).await
}

/// RESET of everything behind the LUN's chip enable (ONFI 5.1 §5.3). The data interface goes back to SDR.
///
/// # Errors
/// As [`program_page`].
pub async fn reset(lun: &Lun) -> Result<Status, FlashError> {
    lun.port().set_interface(lun.way(), Interface::POWER_ON);
    let mut txn = lun.txn("reset");
    txn.cmd(command::RESET);
    lun.until_ready(txn, RowAddr(0), lun.config().t_rst).await
}

/// READ ID at `address`: 00h for the JEDEC identifier, 20h for the ONFI signature; up to eight bytes, first lowest
/// (ONFI 5.1 §5.6).
///
/// # Errors
/// When the transaction fails.
pub async fn read_id(lun: &Lun, address: u8, bytes: u32) -> Result<u64, FlashError> {
    let mut txn = lun.txn("read id");
    txn.cmd(command::READ_ID).addr(address).describe(Descriptor::mailbox_out()).data_read(bytes);
    let result = lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(result.mailbox)
}

/// READ PARAMETER PAGE: `copies` copies of 256 bytes to the start of a buffer that holds bytes (ONFI 5.1 §5.7).
///
/// # Errors
/// As [`program_page`].
pub async fn read_parameter_page(lun: &Lun, copies: u32, into: BufferId) -> Result<(), FlashError> {
    let mut txn = lun.txn("read parameter page");
    txn.cmd(command::READ_PARAMETER_PAGE).addr(0x00);
    let t_r = lun.config().t_r[0];
    lun.until_ready(txn, RowAddr(0), t_r).await?;
    let mut txn = lun.txn("parameter page transfer");
    // 00h returns from status to data output (ONFI 5.1 §5.13).
    txn.cmd(command::READ).describe(Descriptor::raw(Direction::Out, into, 0));
    txn.data_read(copies * PARAMETER_PAGE_BYTES as u32);
    lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(())
}

/// SET FEATURES: P1 to P4 of `feature`, P1 lowest. The µFSM keeps tADL between address and data (B11); the array works
/// for about tFEAT, 1 µs (ONFI 5.1 §5.30).
///
/// # Errors
/// As [`program_page`].
pub async fn set_features(lun: &Lun, feature: u8, parameters: u32) -> Result<Status, FlashError> {
    let mut txn = lun.txn("set features");
    txn.cmd(command::SET_FEATURES).addr(feature);
    txn.describe(Descriptor::mailbox_in(u64::from(parameters))).data_write(FEATURE_BYTES);
    lun.until_ready(txn, RowAddr(0), T_FEAT).await
}

/// GET FEATURES: P1 to P4 of `feature`, P1 lowest (ONFI 5.1 §5.31).
///
/// # Errors
/// As [`program_page`].
pub async fn get_features(lun: &Lun, feature: u8) -> Result<u32, FlashError> {
    let mut txn = lun.txn("get features");
    txn.cmd(command::GET_FEATURES).addr(feature);
    lun.until_ready(txn, RowAddr(0), T_FEAT).await?;
    let mut txn = lun.txn("features transfer");
    txn.cmd(command::READ).describe(Descriptor::mailbox_out()).data_read(FEATURE_BYTES);
    let result = lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(result.mailbox as u32)
}

/// tFEAT, the busy time of SET and GET FEATURES (ONFI 5.1 §4.21).
pub(crate) const T_FEAT: aster_units::Duration = aster_units::Duration::from_micros(1);
