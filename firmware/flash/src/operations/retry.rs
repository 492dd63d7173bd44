//! READ RETRY: reading again at other levels of the package's table, chosen by SET FEATURES (B31).

use super::{read_page, set_features};
use crate::Lun;
use aster_ports::channel::FrameReport;
use aster_ports::flash::FlashError;
use aster_units::{BufferId, RowAddr, SectorRange};

/// Chooses a row of the package's level table for the reads that follow; row 0 is a fresh part's. Features
/// belong to the target: all LUNs behind the chip enable must be idle, and all of them then read at this
/// level.
///
/// # Errors
/// As [`super::set_features`]; also when the package has no table or no such row.
pub async fn set_read_level(lun: &Lun, level: u8) -> Result<(), FlashError> {
    let retry = lun.commands().read_retry.filter(|retry| level < retry.levels);
    let retry = retry.ok_or_else(|| lun.unsupported("set read level"))?;
    set_features(lun, retry.feature, u32::from(level)).await?;
    Ok(())
}

/// READ PAGE at one level of the table after the other until all sectors are correct; then resets the level.
/// Returns the last report and its level.
///
/// # Errors
/// As [`super::read_page`] and [`set_read_level`].
pub async fn read_with_retry(
    lun: &Lun,
    row: RowAddr,
    sectors: SectorRange,
    into: BufferId,
) -> Result<(FrameReport, u8), FlashError> {
    let levels = lun.commands().read_retry.map_or(1, |retry| retry.levels);
    let mut level = 0;
    let mut report = read_page(lun, row, sectors, into).await?;
    while (report.failed_sectors != 0 || report.oob_failed) && level + 1 < levels {
        level += 1;
        set_read_level(lun, level).await?;
        let read = read_page(lun, row, sectors, into).await;
        if read.is_err() {
            // Reset the level even after an error, so that no other read uses it.
            set_read_level(lun, 0).await?;
        }
        report = read?;
    }
    if level != 0 {
        set_read_level(lun, 0).await?;
    }
    Ok((report, level))
}
