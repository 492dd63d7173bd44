//! Operations on the package as a whole: resets, identification, features, termination, calibration.

use super::{T_FEAT, transaction};
use crate::Lun;
use aster_ports::flash::FlashError;
use aster_ports::package::Interface;
use aster_txn::{Descriptor, Direction};
use aster_units::{BufferId, Duration, RowAddr};
use aster_wire::onfi::parameter_page::PARAMETER_PAGE_BYTES;
use aster_wire::onfi::{FEATURE_BYTES, Status, command};

/// Bytes of a unique ID and its complement (ONFI 5.1 §5.8).
const UNIQUE_ID_BYTES: u32 = 32;
/// Maximum tRST: when an erase was in progress (ONFI 5.1 §4.21).
const T_RST_MAX: Duration = Duration::from_micros(500);
/// Maximum tZQCL and tZQCS (ONFI 5.1 §4.21).
const T_ZQ_LONG: Duration = Duration::from_micros(1);
const T_ZQ_SHORT: Duration = Duration::from_nanos(400);

/// RESET of everything behind the LUN's chip enable (ONFI 5.1 §5.3). The data interface goes back to SDR.
///
/// # Errors
/// As [`super::program_page`].
pub async fn reset(lun: &Lun) -> Result<Status, FlashError> {
    lun.port().set_interface(lun.way(), Interface::POWER_ON);
    let mut txn = lun.txn("reset");
    txn.cmd(command::RESET);
    lun.until_ready_within(txn, RowAddr(0), lun.config().t_rst, T_RST_MAX).await
}

/// SYNCHRONOUS RESET of everything behind the LUN's chip enable: the data interface stays (ONFI 5.1 §5.4).
/// SDR has none.
///
/// # Errors
/// As [`super::program_page`].
pub async fn synchronous_reset(lun: &Lun) -> Result<Status, FlashError> {
    let mut txn = lun.txn("synchronous reset");
    txn.cmd(command::SYNCHRONOUS_RESET);
    lun.until_ready_within(txn, RowAddr(0), lun.config().t_rst, T_RST_MAX).await
}

/// RESET LUN: resets only the LUN that `row` names (ONFI 5.1 §5.5).
///
/// # Errors
/// As [`super::program_page`]; also when the package lacks the command.
pub async fn reset_lun(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    lun.need(lun.commands().reset_lun, "reset LUN")?;
    let mut txn = lun.txn("reset LUN");
    txn.cmd(command::RESET_LUN).row(row);
    lun.until_ready_within(txn, row, lun.config().t_rst, T_RST_MAX).await
}

/// READ ID at `address`: 00h for the JEDEC identifier, 20h for the ONFI signature; up to eight bytes, first
/// lowest (ONFI 5.1 §5.6).
///
/// # Errors
/// When the transaction fails.
pub async fn read_id(lun: &Lun, address: u8, bytes: u32) -> Result<u64, FlashError> {
    let mut txn = lun.txn("read id");
    txn.cmd(command::READ_ID).addr(address).describe(Descriptor::mailbox_out()).data_read(bytes);
    let result = lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(result.mailbox)
}

/// READ PARAMETER PAGE: `copies` copies of 256 bytes to the start of a buffer that holds bytes (ONFI 5.1
/// §5.7).
///
/// # Errors
/// As [`super::program_page`].
pub async fn read_parameter_page(lun: &Lun, copies: u32, into: BufferId) -> Result<(), FlashError> {
    let mut txn = lun.txn("read parameter page");
    txn.cmd(command::READ_PARAMETER_PAGE).addr(0x00);
    parameters(lun, txn, "parameter page transfer", copies * PARAMETER_PAGE_BYTES as u32, into).await
}

/// READ UNIQUE ID: one copy, 16 bytes and their complement, to the start of a buffer that holds bytes (ONFI
/// 5.1 §5.8). The ID is good when each byte and its complement XOR to FFh.
///
/// # Errors
/// As [`super::program_page`].
pub async fn read_unique_id(lun: &Lun, into: BufferId) -> Result<(), FlashError> {
    let mut txn = lun.txn("read unique id");
    txn.cmd(command::READ_UNIQUE_ID).addr(0x00);
    parameters(lun, txn, "unique id transfer", UNIQUE_ID_BYTES, into).await
}

async fn parameters(
    lun: &Lun,
    txn: crate::Draft<'_>,
    name: &'static str,
    bytes: u32,
    into: BufferId,
) -> Result<(), FlashError> {
    lun.until_ready(txn, RowAddr(0), lun.config().t_r[0]).await?;
    let mut txn = lun.txn(name);
    // 00h returns from status to data output (ONFI 5.1 §5.13).
    txn.cmd(command::READ).describe(Descriptor::raw(Direction::Out, into, 0)).data_read(bytes);
    lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(())
}

/// SET FEATURES: P1 to P4 of `feature`, P1 lowest. The µFSM keeps tADL between address and data (B11); the
/// array works for about tFEAT, 1 µs (ONFI 5.1 §5.30).
///
/// # Errors
/// As [`super::program_page`].
pub async fn set_features(lun: &Lun, feature: u8, parameters: u32) -> Result<Status, FlashError> {
    let mut txn = lun.txn("set features");
    txn.cmd(command::SET_FEATURES).addr(feature);
    txn.describe(Descriptor::mailbox_in(u64::from(parameters))).data_write(FEATURE_BYTES as u32);
    lun.until_ready(txn, RowAddr(0), T_FEAT).await
}

/// GET FEATURES: P1 to P4 of `feature`, P1 lowest (ONFI 5.1 §5.31).
///
/// # Errors
/// As [`super::program_page`].
pub async fn get_features(lun: &Lun, feature: u8) -> Result<u32, FlashError> {
    let mut txn = lun.txn("get features");
    txn.cmd(command::GET_FEATURES).addr(feature);
    lun.until_ready(txn, RowAddr(0), T_FEAT).await?;
    let mut txn = lun.txn("features transfer");
    txn.cmd(command::READ).describe(Descriptor::mailbox_out()).data_read(FEATURE_BYTES as u32);
    let result = lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(result.mailbox as u32)
}

/// ODT CONFIGURE of the LUN `index` behind the chip enable: M0, M1, Rtt1, Rtt2, M0 lowest (ONFI 5.1 §5.25).
///
/// # Errors
/// When the transaction fails or the package lacks the command.
pub async fn odt_configure(lun: &Lun, index: u8, matrix: u32) -> Result<(), FlashError> {
    lun.need(lun.commands().odt_configure, "ODT configure")?;
    let mut txn = lun.txn("ODT configure");
    txn.cmd(command::ODT_CONFIGURE).addr(index);
    txn.describe(Descriptor::mailbox_in(u64::from(matrix))).data_write(4);
    lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(())
}

/// ZQ CALIBRATION LONG, after power-on, or SHORT, against drift, of the LUN `index` (ONFI 5.1 §5.26). FAIL in
/// the status means that it did not succeed.
///
/// # Errors
/// As [`super::program_page`]; also when the package lacks the command.
pub async fn zq_calibration(lun: &Lun, index: u8, long: bool) -> Result<Status, FlashError> {
    lun.need(lun.commands().zq_calibration, "ZQ calibration")?;
    let (command, takes) = if long {
        (command::ZQ_CALIBRATION_LONG, T_ZQ_LONG)
    } else {
        (command::ZQ_CALIBRATION_SHORT, T_ZQ_SHORT)
    };
    let mut txn = lun.txn("ZQ calibration");
    txn.cmd(command).addr(index);
    lun.until_ready(txn, RowAddr(0), takes).await
}
