//! Suspending programs and erases for the sake of reads (B31). The commands are the vendor's; each is followed by the three
//! row cycles of what it suspends. CSP of the status tells that something is suspended.

use super::{load, read_page, transaction};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::{FlashError, Target};
use aster_units::{BufferId, Duration, RowAddr};
use aster_wire::onfi::command_set::Suspend;
use aster_wire::onfi::{Status, command};

fn commands(lun: &Lun) -> Result<Suspend, FlashError> {
    lun.commands().suspend.ok_or_else(|| lun.unsupported("suspend"))
}

/// Starts a BLOCK ERASE and lets it run.
///
/// # Errors
/// When the transaction fails.
pub async fn start_erase(lun: &Lun, row: RowAddr) -> Result<(), FlashError> {
    let mut txn = lun.txn("erase");
    txn.cmd(command::ERASE).row(row).cmd(command::ERASE_CONFIRM);
    lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(())
}

/// Starts a PROGRAM PAGE and lets it run.
///
/// # Errors
/// When the transaction fails.
pub async fn start_program(lun: &Lun, row: RowAddr, from: BufferId) -> Result<(), FlashError> {
    let mut txn = lun.txn("program");
    load(lun, &mut txn, command::PROGRAM, row, from).cmd(command::PROGRAM_CONFIRM);
    lun.issue(txn).finished().await.map_err(transaction)?;
    Ok(())
}

/// ERASE SUSPEND: stops the erase of the block of `row` and waits until the LUN takes other commands. Its status has CSP set
/// when there is something to resume; it is clear when the erase had ended by itself.
///
/// # Errors
/// When a transaction fails, the LUN never becomes ready, or the package lacks the command.
pub async fn suspend_erase(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    suspend(lun, "suspend erase", commands(lun)?.erase, row).await
}

/// PROGRAM SUSPEND: as [`suspend_erase`], of a program. Until it is resumed the LUN only reads.
///
/// # Errors
/// As [`suspend_erase`].
pub async fn suspend_program(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    suspend(lun, "suspend program", commands(lun)?.program, row).await
}

/// ERASE RESUME: goes on with the erase and waits for its end.
///
/// # Errors
/// As [`suspend_erase`]; when nothing is suspended the transaction fails.
pub async fn resume_erase(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    resume(lun, "resume erase", commands(lun)?.erase_resume, row, lun.config().t_bers).await
}

/// PROGRAM RESUME: goes on with the program and waits for its end.
///
/// # Errors
/// As [`resume_erase`].
pub async fn resume_program(lun: &Lun, row: RowAddr) -> Result<Status, FlashError> {
    resume(lun, "resume program", commands(lun)?.program_resume, row, super::t_prog(lun, row)).await
}

async fn suspend(lun: &Lun, name: &'static str, command: u8, row: RowAddr) -> Result<Status, FlashError> {
    let mut txn = lun.txn(name);
    txn.cmd(command).row(row);
    lun.until_ready(txn, row, lun.config().variant.suspend).await
}

/// Nobody knows how much is left: polls from the start, for as long as the whole operation takes.
async fn resume(
    lun: &Lun,
    name: &'static str,
    command: u8,
    row: RowAddr,
    whole: Duration,
) -> Result<Status, FlashError> {
    let mut txn = lun.txn(name);
    txn.cmd(command).row(row);
    lun.until_ready_within(txn, row, Duration::ZERO, whole).await
}

/// BLOCK ERASE with a READ of another block in its middle: the erase starts, is suspended after `progress`, and goes on
/// when the page is in its buffer.
///
/// # Errors
/// As [`suspend_erase`] and [`super::read_page`].
pub async fn erase_with_read(
    lun: &Lun,
    row: RowAddr,
    progress: Duration,
    read: &Target,
) -> Result<(Status, FrameReport), FlashError> {
    commands(lun)?;
    start_erase(lun, row).await?;
    lun.core().exec().sleep(progress).await;
    let status = suspend_erase(lun, row).await?;
    let report = read_page(lun, read.row, read.sectors, read.buffer).await?;
    let status = if status.command_specific() { resume_erase(lun, row).await? } else { status };
    Ok((status, report))
}
