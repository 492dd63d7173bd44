//! Pages as they are in the array, without ECC and scrambler (B16).

use super::{read_bytes, read_trigger, t_prog};
use crate::Lun;
use aster_ports::flash::{FlashError, Target};
use aster_txn::{Descriptor, Direction};
use aster_units::{BufferId, Column, RowAddr, SECTOR_BYTES};
use aster_wire::onfi::{Status, command};

/// Reads sectors of a page's data area to their places in `data.buffer`, and its whole spare area to `spare`
/// from byte 0 on.
///
/// # Errors
/// As [`super::read_page`].
pub async fn read_raw_page(lun: &Lun, data: &Target, spare: BufferId) -> Result<(), FlashError> {
    let geometry = lun.config().shape.geometry;
    let Target { row, sectors, buffer } = *data;
    let first = u32::from(sectors.first) * SECTOR_BYTES as u32;
    read_trigger(lun, row).await?;
    let bytes = u32::from(sectors.count) * SECTOR_BYTES as u32;
    read_bytes(lun, row, Column(first as u16), bytes, buffer, first).await?;
    let column = Column(geometry.page_bytes as u16);
    read_bytes(lun, row, column, geometry.spare_bytes.into(), spare, 0).await
}

/// PROGRAM PAGE (ONFI 5.1 §5.20) of bytes as they are: the data area from `data`, and the spare area, behind
/// CHANGE WRITE COLUMN (§5.23), from `spare`, each from byte 0 on.
///
/// # Errors
/// As [`super::program_page`].
pub async fn program_raw_page(
    lun: &Lun,
    row: RowAddr,
    data: BufferId,
    spare: BufferId,
) -> Result<Status, FlashError> {
    let geometry = lun.config().shape.geometry;
    let raw = |buffer| Descriptor::raw(Direction::In, buffer, 0);
    let mut txn = lun.txn("program raw");
    txn.cmd(command::PROGRAM).col_row(Column(0), row).describe(raw(data)).data_write(geometry.page_bytes);
    txn.cmd(command::CHANGE_WRITE_COLUMN).column(Column(geometry.page_bytes as u16));
    txn.describe(raw(spare)).data_write(geometry.spare_bytes.into()).cmd(command::PROGRAM_CONFIRM);
    lun.until_ready(txn, row, t_prog(lun, row)).await
}
