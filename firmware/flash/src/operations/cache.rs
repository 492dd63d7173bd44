//! READ CACHE and PAGE CACHE PROGRAM: the bus moves one page while the array works on the next. Between pages
//! the LUN shows RDY without ARDY, status C0h; polls wait for RDY only.

use super::{T_CACHE, load, read_command, read_page, read_transfer, read_trigger, t_prog, t_r, transaction};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::{FlashError, Target};
use aster_units::{Instant, RowAddr};
use aster_wire::onfi::command;

/// READ CACHE SEQUENTIAL: pages of a block from the first target's row on, each to its own target's buffer.
/// 30h reads the first page; 31h makes it available and reads the next; 3Fh makes the last one available
/// (ONFI 5.1 §5.15). `found` gets each page's report.
///
/// # Errors
/// As [`super::read_page`]; also when the package lacks the command.
pub async fn read_cache_sequential(
    lun: &Lun,
    targets: &[Target],
    found: &mut [FrameReport],
) -> Result<(), FlashError> {
    lun.need(lun.commands().read_cache, "read cache sequential")?;
    if let [only] = targets {
        return read_alone(lun, only, found).await;
    }
    let Some(first) = targets.first() else { return Ok(()) };
    read_trigger(lun, first.row).await?;
    for (i, (target, found)) in targets.iter().zip(found).enumerate() {
        let row = RowAddr(first.row.0 + i as u32);
        show_next(lun, row, i + 1 == targets.len(), None).await?;
        *found = read_transfer(lun, row, target.sectors, target.buffer).await?;
    }
    Ok(())
}

/// READ CACHE RANDOM: as [`read_cache_sequential`], but each target names its row: 00h, address, 31h (ONFI
/// 5.1 §5.15).
///
/// # Errors
/// As [`read_cache_sequential`].
pub async fn read_cache_random(
    lun: &Lun,
    targets: &[Target],
    found: &mut [FrameReport],
) -> Result<(), FlashError> {
    lun.need(lun.commands().read_cache, "read cache random")?;
    if let [only] = targets {
        return read_alone(lun, only, found).await;
    }
    let Some(first) = targets.first() else { return Ok(()) };
    read_trigger(lun, first.row).await?;
    for (i, (target, found)) in targets.iter().zip(found).enumerate() {
        let next = targets.get(i + 1).map(|next| next.row);
        show_next(lun, target.row, next.is_none(), next).await?;
        *found = read_transfer(lun, target.row, target.sectors, target.buffer).await?;
    }
    Ok(())
}

/// A sequence of one page has nothing to read ahead, and 3Fh only ends a read-ahead.
async fn read_alone(lun: &Lun, only: &Target, found: &mut [FrameReport]) -> Result<(), FlashError> {
    let report = read_page(lun, only.row, only.sectors, only.buffer).await?;
    if let Some(found) = found.first_mut() {
        *found = report;
    }
    Ok(())
}

/// Moves the page read last to the register that data output reads, and starts reading another: the following
/// page, or `next`. Starts no read after the last page.
async fn show_next(lun: &Lun, row: RowAddr, last: bool, next: Option<RowAddr>) -> Result<(), FlashError> {
    let mut txn = lun.txn(if last { "read cache end" } else { "read cache" });
    match next {
        _ if last => txn.cmd(command::READ_CACHE_END),
        Some(next) => read_command(&mut txn, next, command::READ_CACHE),
        None => txn.cmd(command::READ_CACHE),
    };
    lun.until_ready_within(txn, row, T_CACHE, T_CACHE + t_r(lun, row)).await?;
    Ok(())
}

/// PAGE CACHE PROGRAM of pages of a block in their order: 80h, data, 15h, and 10h for the last (ONFI 5.1
/// §5.21). `failed` gets each page's FAIL: FAILC reports the previous page, FAIL the last one.
///
/// The array starts a page when it is done with the previous one, so polling for a page begins its typical
/// time after that.
///
/// # Errors
/// As [`super::program_page`]; also when the package lacks the command.
pub async fn program_cache(lun: &Lun, targets: &[Target], failed: &mut [bool]) -> Result<(), FlashError> {
    lun.need(lun.commands().program_cache, "program cache")?;
    // When the array will be done with the previous pages.
    let mut free = Instant::ZERO;
    for (i, target) in targets.iter().enumerate() {
        let last = i + 1 == targets.len();
        let (name, confirm) = if last {
            ("program cache end", command::PROGRAM_CONFIRM)
        } else {
            ("program cache", command::PROGRAM_CACHE_CONFIRM)
        };
        let mut txn = lun.txn(name);
        load(lun, &mut txn, command::PROGRAM, target.row, target.buffer).cmd(confirm);
        let over = lun.issue(txn).finished().await.map_err(transaction)?.over;
        let t_prog = t_prog(lun, target.row);
        let expected = free.max(over) + if last { t_prog } else { T_CACHE };
        // The array may first have to finish the previous page, which may be of the slower type.
        let longest = t_prog.max(lun.config().t_prog[2]);
        let (status, ready) = lun.ready_about(name, target.row, expected, longest).await?;
        free = ready + t_prog;
        if let Some(before) = i.checked_sub(1).and_then(|before| failed.get_mut(before)) {
            *before = status.fail_previous();
        }
        if let Some(failed) = failed.get_mut(i) {
            *failed = last && status.fail();
        }
    }
    Ok(())
}
