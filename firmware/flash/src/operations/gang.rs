//! Several chip enables at once by Chip Control's bitmap (B7): replicas that are read by whichever chip is ready first
//! (RAIL), and written together.
//!
//! The LUNs are of one channel, each behind its own chip enable, in the same data interface; nobody else uses them meanwhile.

use super::{load, read_address, read_transfer, t_prog, t_r, transaction};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::FlashError;
use aster_units::{BufferId, RowAddr, SectorRange};
use aster_wire::onfi::command;

/// READ of the same row in all `luns` by one command; the data comes from the one that is ready first. Gives its index and
/// the report. Returns when all are ready again.
///
/// # Errors
/// As [`super::read_page`]; also when there is no LUN.
pub async fn gang_read(
    luns: &[&Lun],
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
) -> Result<(usize, FrameReport), FlashError> {
    let [first, ..] = luns else { return Err(none()) };
    let mut txn = first.gang_txn("gang read", luns);
    read_address(&mut txn, row).cmd(command::READ_CONFIRM);
    let t_r = t_r(first, row);
    let early = t_r.saturating_sub(first.config().poll.early);
    first.issue_and_linger(txn, early).finished().await.map_err(transaction)?;
    let winner = first_ready(luns, row, t_r).await?;
    let report = read_transfer(luns[winner], row, sectors, into).await?;
    for lun in luns {
        lun.poll_ready("gang read", row, t_r).await?;
    }
    Ok((winner, report))
}

/// Polls one after the other until one is ready.
async fn first_ready(
    luns: &[&Lun],
    row: RowAddr,
    typical: aster_units::Duration,
) -> Result<usize, FlashError> {
    let exec = luns[0].core().exec().clone();
    let give_up = exec.now() + typical * u64::from(luns[0].config().poll.patience);
    loop {
        let asked = exec.now();
        for (i, lun) in luns.iter().enumerate() {
            if super::read_status(lun, row).await?.ready() {
                return Ok(i);
            }
        }
        if asked > give_up {
            return Err(FlashError::NeverReady { transaction: "gang read", row, at: exec.now() });
        }
        exec.sleep(luns[0].config().poll.interval).await;
    }
}

/// PROGRAM PAGE of the same row in all `luns`: the data crosses the bus once. `failed` gets each one's FAIL.
///
/// # Errors
/// As [`super::program_page`]; also when there is no LUN.
pub async fn gang_program(
    luns: &[&Lun],
    row: RowAddr,
    from: BufferId,
    failed: &mut [bool],
) -> Result<(), FlashError> {
    let [first, ..] = luns else { return Err(none()) };
    let mut txn = first.gang_txn("gang program", luns);
    load(first, &mut txn, command::PROGRAM, row, from).cmd(command::PROGRAM_CONFIRM);
    let t_prog = t_prog(first, row);
    let early = t_prog.saturating_sub(first.config().poll.early);
    first.issue_and_linger(txn, early).finished().await.map_err(transaction)?;
    for (lun, failed) in luns.iter().zip(failed) {
        *failed = lun.poll_ready("gang program", row, t_prog).await?.fail();
    }
    Ok(())
}

fn none() -> FlashError {
    FlashError::Unsupported { operation: "gang of no LUN", at: aster_units::Instant::ZERO }
}
