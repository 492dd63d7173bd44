//! Suspending programs and erases to let reads through (B31). The commands are vendor specific; each is
//! followed by the three row cycles of the operation that it suspends. CSP in the status means that an
//! operation is suspended.

use super::{load, read_page, transaction};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::{FlashError, Target};
use aster_units::{BufferId, Duration, Instant, RowAddr};
use aster_wire::onfi::command_set::Suspend;
use aster_wire::onfi::{Status, command};

fn commands(lun: &Lun) -> Result<Suspend, FlashError> {
    lun.commands().suspend.ok_or_else(|| lun.unsupported("suspend"))
}

/// What a suspend command found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspended {
    /// CSP is set when there is something to resume; it is clear when the operation had already ended.
    pub status: Status,
    /// How long the array had worked on it, unless it had ended.
    pub worked: Duration,
}

/// Starts a BLOCK ERASE and returns when the array began, without waiting for its end.
///
/// # Errors
/// When the transaction fails.
pub async fn start_erase(lun: &Lun, row: RowAddr) -> Result<Instant, FlashError> {
    let mut txn = lun.txn("erase");
    txn.cmd(command::ERASE).row(row).cmd(command::ERASE_CONFIRM);
    Ok(lun.issue(txn).finished().await.map_err(transaction)?.over)
}

/// Starts a PROGRAM PAGE and returns when the array began, without waiting for its end.
///
/// # Errors
/// When the transaction fails.
pub async fn start_program(lun: &Lun, row: RowAddr, from: BufferId) -> Result<Instant, FlashError> {
    let mut txn = lun.txn("program");
    load(lun, &mut txn, command::PROGRAM, row, from).cmd(command::PROGRAM_CONFIRM);
    Ok(lun.issue(txn).finished().await.map_err(transaction)?.over)
}

/// ERASE SUSPEND: stops the erase of the block of `row`, which began at `since`, and waits until the LUN
/// takes other commands.
///
/// # Errors
/// When a transaction fails, the LUN never becomes ready, or the package lacks the command.
pub async fn suspend_erase(lun: &Lun, row: RowAddr, since: Instant) -> Result<Suspended, FlashError> {
    suspend(lun, "suspend erase", commands(lun)?.erase, row, since).await
}

/// PROGRAM SUSPEND: as [`suspend_erase`], of a program. Until it is resumed the LUN only reads.
///
/// # Errors
/// As [`suspend_erase`].
pub async fn suspend_program(lun: &Lun, row: RowAddr, since: Instant) -> Result<Suspended, FlashError> {
    suspend(lun, "suspend program", commands(lun)?.program, row, since).await
}

/// ERASE RESUME: continues the erase, and returns when the array went on, without waiting for its end.
///
/// # Errors
/// When the transaction fails, since nothing is suspended, or the package lacks the command.
pub async fn go_on_erase(lun: &Lun, row: RowAddr) -> Result<Instant, FlashError> {
    go_on(lun, "resume erase", commands(lun)?.erase_resume, row).await
}

/// PROGRAM RESUME: as [`go_on_erase`], of a program.
///
/// # Errors
/// As [`go_on_erase`].
pub async fn go_on_program(lun: &Lun, row: RowAddr) -> Result<Instant, FlashError> {
    go_on(lun, "resume program", commands(lun)?.program_resume, row).await
}

async fn go_on(lun: &Lun, name: &'static str, command: u8, row: RowAddr) -> Result<Instant, FlashError> {
    let mut txn = lun.txn(name);
    txn.cmd(command).row(row);
    Ok(lun.issue(txn).finished().await.map_err(transaction)?.over)
}

/// ERASE RESUME: continues the erase, on which the array has `worked` already, and waits for its end.
///
/// # Errors
/// As [`suspend_erase`]; when nothing is suspended the transaction fails.
pub async fn resume_erase(lun: &Lun, row: RowAddr, worked: Duration) -> Result<Status, FlashError> {
    resume(lun, "resume erase", commands(lun)?.erase_resume, row, lun.config().t_bers, worked).await
}

/// PROGRAM RESUME: as [`resume_erase`], of a program.
///
/// # Errors
/// As [`resume_erase`].
pub async fn resume_program(lun: &Lun, row: RowAddr, worked: Duration) -> Result<Status, FlashError> {
    resume(lun, "resume program", commands(lun)?.program_resume, row, super::t_prog(lun, row), worked).await
}

async fn suspend(
    lun: &Lun,
    name: &'static str,
    command: u8,
    row: RowAddr,
    since: Instant,
) -> Result<Suspended, FlashError> {
    let mut txn = lun.txn(name);
    txn.cmd(command).row(row);
    let over = lun.issue(txn).finished().await.map_err(transaction)?.over;
    let takes = lun.config().variant.suspend;
    let (status, _) = lun.ready_about(name, row, over + takes, takes).await?;
    Ok(Suspended { status, worked: over.since(since) })
}

/// Starts polling when the rest of the operation's `whole` typical time has passed.
async fn resume(
    lun: &Lun,
    name: &'static str,
    command: u8,
    row: RowAddr,
    whole: Duration,
    worked: Duration,
) -> Result<Status, FlashError> {
    let mut txn = lun.txn(name);
    txn.cmd(command).row(row);
    lun.until_ready_within(txn, row, whole.saturating_sub(worked), whole).await
}

/// BLOCK ERASE with a READ of another block in its middle: the erase starts, is suspended after `progress`,
/// and is resumed when the page is in its buffer, or can't be read.
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
    let since = start_erase(lun, row).await?;
    lun.core().exec().sleep(progress).await;
    let Suspended { status, worked } = suspend_erase(lun, row, since).await?;
    let report = read_page(lun, read.row, read.sectors, read.buffer).await;
    let status = if status.command_specific() { resume_erase(lun, row, worked).await? } else { status };
    report.map(|report| (status, report))
}
