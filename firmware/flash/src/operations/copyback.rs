//! COPYBACK: moves a page within its plane, without crossing the bus or with its data checked on the way.

use super::{load, read_command, read_transfer, t_prog, t_r};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::FlashError;
use aster_units::{BufferId, Column, RowAddr, SectorRange};
use aster_wire::onfi::{Status, command};

/// COPYBACK without data change: 00h … 35h, 85h … 10h (ONFI 5.1 §5.22). Nothing is corrected: bit errors are
/// copied, and so are the OOB and the scrambler's seed.
///
/// # Errors
/// As [`super::program_page`]; also when the package lacks the command. Rows in different planes are the
/// transaction's error.
pub async fn copyback(lun: &Lun, from: RowAddr, to: RowAddr) -> Result<Status, FlashError> {
    copyback_read(lun, from).await?;
    let mut txn = lun.txn("copyback program");
    txn.cmd(command::CHANGE_WRITE_COLUMN).col_row(Column(0), to).cmd(command::PROGRAM_CONFIRM);
    lun.until_ready(txn, to, t_prog(lun, to)).await
}

/// COPYBACK with data change. The page is read to `buffer` and corrected. `change` gets the report and may
/// change the buffer's bytes. Then the page is encoded again and programmed: 85h, address, data, 10h. If
/// `change` returns false, nothing is programmed.
///
/// # Errors
/// As [`copyback`].
pub async fn copyback_changed(
    lun: &Lun,
    from: RowAddr,
    to: RowAddr,
    buffer: BufferId,
    change: impl FnOnce(&FrameReport) -> bool,
) -> Result<(FrameReport, Option<Status>), FlashError> {
    copyback_read(lun, from).await?;
    let report = read_transfer(lun, from, SectorRange::whole(lun.config().layout.sectors()), buffer).await?;
    if !change(&report) {
        return Ok((report, None));
    }
    let mut txn = lun.txn("copyback program");
    load(lun, &mut txn, command::CHANGE_WRITE_COLUMN, to, buffer).cmd(command::PROGRAM_CONFIRM);
    Ok((report, Some(lun.until_ready(txn, to, t_prog(lun, to)).await?)))
}

async fn copyback_read(lun: &Lun, from: RowAddr) -> Result<(), FlashError> {
    lun.need(lun.commands().copyback, "copyback")?;
    let mut txn = lun.txn("copyback read");
    read_command(&mut txn, from, command::COPYBACK_READ_CONFIRM);
    lun.until_ready(txn, from, t_r(lun, from)).await?;
    Ok(())
}
