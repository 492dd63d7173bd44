//! Multi-plane READ, PROGRAM and ERASE: one page or block in each of several planes, at the same page of
//! each.

use super::read::status;
use super::{T_PLANE, load, read_command, select_plane, t_prog, t_r, transaction};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::{FlashError, Target};
use aster_txn::{Descriptor, Direction};
use aster_units::RowAddr;
use aster_wire::onfi::{Status, command};

/// Multi-plane READ: 00h … 32h for every plane but the last, 00h … 30h for the last; then each plane's
/// register is selected with 06h … E0h (ONFI 5.1 §5.14, §5.17). `found` gets each page's report.
///
/// # Errors
/// As [`super::read_page`]; also when the package lacks the command.
pub async fn read_planes(lun: &Lun, targets: &[Target], found: &mut [FrameReport]) -> Result<(), FlashError> {
    trigger_planes(lun, targets).await?;
    transfer_planes(lun, targets, found).await
}

/// The first half of [`read_planes`]: arrays to page registers.
///
/// # Errors
/// As [`read_planes`].
pub async fn trigger_planes(lun: &Lun, targets: &[Target]) -> Result<(), FlashError> {
    lun.need(lun.commands().multi_plane, "multi-plane read")?;
    let Some((last, others)) = targets.split_last() else { return Ok(()) };
    for target in others {
        let mut txn = lun.txn("multi-plane read");
        read_command(&mut txn, target.row, command::READ_MULTI_PLANE);
        lun.until_ready(txn, target.row, T_PLANE).await?;
    }
    let mut txn = lun.txn("read");
    read_command(&mut txn, last.row, command::READ_CONFIRM);
    lun.until_ready(txn, last.row, t_r(lun, last.row)).await?;
    Ok(())
}

/// The second half of [`read_planes`]: page registers to buffers.
///
/// # Errors
/// As [`read_planes`].
pub async fn transfer_planes(
    lun: &Lun,
    targets: &[Target],
    found: &mut [FrameReport],
) -> Result<(), FlashError> {
    for (target, found) in targets.iter().zip(found) {
        let mut txn = lun.txn("plane transfer");
        txn.describe(Descriptor::page(Direction::Out, target.buffer, target.sectors));
        for span in lun.config().layout.bursts(target.sectors).as_slice() {
            select_plane(&mut txn, target.row, span.column);
            txn.data_read(span.length);
        }
        *found = lun.issue(txn).finished().await.map_err(transaction)?.frame;
    }
    Ok(())
}

/// Multi-plane PROGRAM: 80h … 11h, then 81h … 11h, and 81h … 10h for the last plane (ONFI 5.1 §5.20).
/// `failed` gets each page's FAIL; if the LUN's status says that a plane failed, READ STATUS ENHANCED finds
/// which.
///
/// # Errors
/// As [`super::program_page`]; also when the package lacks the command.
pub async fn program_planes(lun: &Lun, targets: &[Target], failed: &mut [bool]) -> Result<(), FlashError> {
    lun.need(lun.commands().multi_plane, "multi-plane program")?;
    let Some((last, others)) = targets.split_last() else { return Ok(()) };
    let mut first = command::PROGRAM;
    for target in others {
        let mut txn = lun.txn("multi-plane program");
        load(lun, &mut txn, first, target.row, target.buffer).cmd(command::PROGRAM_MULTI_PLANE);
        lun.until_ready(txn, target.row, T_PLANE).await?;
        first = command::PROGRAM_MULTI_PLANE_NEXT;
    }
    let mut txn = lun.txn("program");
    load(lun, &mut txn, first, last.row, last.buffer).cmd(command::PROGRAM_CONFIRM);
    let all = lun.until_ready(txn, last.row, t_prog(lun, last.row)).await?;
    tell_apart(lun, all, targets, failed).await
}

/// Multi-plane BLOCK ERASE: 60h … D1h for every plane but the last, 60h … D0h for the last (ONFI 5.1 §5.11).
/// `failed` gets each block's FAIL.
///
/// # Errors
/// As [`super::erase_block`]; also when the package lacks the command.
pub async fn erase_planes(lun: &Lun, targets: &[Target], failed: &mut [bool]) -> Result<(), FlashError> {
    lun.need(lun.commands().multi_plane, "multi-plane erase")?;
    let Some((last, others)) = targets.split_last() else { return Ok(()) };
    for Target { row, .. } in others {
        let mut txn = lun.txn("multi-plane erase");
        txn.cmd(command::ERASE).row(*row).cmd(command::ERASE_MULTI_PLANE);
        lun.until_ready(txn, *row, T_PLANE).await?;
    }
    let mut txn = lun.txn("erase");
    txn.cmd(command::ERASE).row(last.row).cmd(command::ERASE_CONFIRM);
    let all = lun.until_ready(txn, last.row, lun.config().t_bers).await?;
    tell_apart(lun, all, targets, failed).await
}

/// Finds which planes failed. If the chip enable is shared, the status was that of the last plane only.
async fn tell_apart(
    lun: &Lun,
    all: Status,
    targets: &[Target],
    failed: &mut [bool],
) -> Result<(), FlashError> {
    for (target, failed) in targets.iter().zip(failed) {
        let asks = all.fail() || lun.shares_chip_enable();
        *failed = asks && plane_failed(lun, target.row).await?;
    }
    Ok(())
}

async fn plane_failed(lun: &Lun, row: RowAddr) -> Result<bool, FlashError> {
    Ok(status(lun, row, true).await?.fail())
}
