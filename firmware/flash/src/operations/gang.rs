//! Several chip enables at once by Chip Control's bitmap (B7): replicas that are read by whichever chip is
//! ready first (RAIL), and written together.
//!
//! The LUNs, a first one and others, are on one channel, each behind its own chip enable, in the same data
//! interface. No other operation may use them at the same time. An operation that fails also waits for all of
//! them, so that the next one finds none busy. If a LUN never becomes ready, the caller must reset it.

use super::{load, read_command, read_status, read_transfer, t_prog, t_r, transaction};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::FlashError;
use aster_units::{BufferId, Duration, RowAddr, SectorRange};
use aster_wire::onfi::{Status, command};

/// READ of the same row in all LUNs by one command; the data come from the LUN that is ready first. Returns
/// that LUN's index, 0 for the first, and the report, when all LUNs are ready again.
///
/// # Errors
/// As [`super::read_page`].
pub async fn gang_read(
    first: &Lun,
    others: &[&Lun],
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
) -> Result<(usize, FrameReport), FlashError> {
    let found = read_winner(first, others, row, sectors, into).await;
    let all_ready = wait_for_all("gang read", first, others, row, t_r(first, row), |_, _| {}).await;
    let found = found?;
    all_ready.map(|()| found)
}

async fn read_winner(
    first: &Lun,
    others: &[&Lun],
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
) -> Result<(usize, FrameReport), FlashError> {
    let mut txn = first.gang_txn("gang read", others);
    read_command(&mut txn, row, command::READ_CONFIRM);
    let t_r = t_r(first, row);
    let early = t_r.saturating_sub(first.config().poll.early);
    first.issue_and_linger(txn, early).finished().await.map_err(transaction)?;
    let (winner, lun) = first_ready(first, others, row, t_r).await?;
    Ok((winner, read_transfer(lun, row, sectors, into).await?))
}

/// All LUNs in their order.
fn members<'a>(first: &'a Lun, others: &'a [&'a Lun]) -> impl Iterator<Item = &'a Lun> {
    core::iter::once(first).chain(others.iter().copied())
}

/// Polls one after the other until one is ready.
async fn first_ready<'a>(
    first: &'a Lun,
    others: &'a [&'a Lun],
    row: RowAddr,
    typical: Duration,
) -> Result<(usize, &'a Lun), FlashError> {
    let exec = first.core().exec();
    let give_up = exec.now() + typical * u64::from(first.config().poll.patience);
    loop {
        let asked = exec.now();
        for (i, lun) in members(first, others).enumerate() {
            if read_status(lun, row).await?.ready() {
                return Ok((i, lun));
            }
        }
        if asked > give_up {
            return Err(FlashError::NeverReady { transaction: "gang read", row, at: exec.now() });
        }
        exec.sleep(first.config().poll.interval).await;
    }
}

/// Waits for every LUN, even after one has failed; `found` gets each LUN's index and status. Returns the
/// error of the first LUN, in their order, that had one.
async fn wait_for_all(
    transaction: &'static str,
    first: &Lun,
    others: &[&Lun],
    row: RowAddr,
    typical: Duration,
    mut found: impl FnMut(usize, Status),
) -> Result<(), FlashError> {
    let mut all_ready = Ok(());
    for (i, lun) in members(first, others).enumerate() {
        match lun.poll_ready(transaction, row, typical).await {
            Ok((status, _)) => found(i, status),
            Err(error) => all_ready = all_ready.and(Err(error)),
        }
    }
    all_ready
}

/// PROGRAM PAGE of the same row in all LUNs: the data crosses the bus once. `failed` gets each one's FAIL,
/// the first LUN's first.
///
/// # Errors
/// As [`super::program_page`].
pub async fn gang_program(
    first: &Lun,
    others: &[&Lun],
    row: RowAddr,
    from: BufferId,
    failed: &mut [bool],
) -> Result<(), FlashError> {
    let mut txn = first.gang_txn("gang program", others);
    load(first, &mut txn, command::PROGRAM, row, from).cmd(command::PROGRAM_CONFIRM);
    let t_prog = t_prog(first, row);
    let early = t_prog.saturating_sub(first.config().poll.early);
    let loaded = first.issue_and_linger(txn, early).finished().await.map_err(transaction);
    let all_ready = wait_for_all("gang program", first, others, row, t_prog, |i, status| {
        if let Some(failed) = failed.get_mut(i) {
            *failed = status.fail();
        }
    });
    let all_ready = all_ready.await;
    loaded?;
    all_ready
}
