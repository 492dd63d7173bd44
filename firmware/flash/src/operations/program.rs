//! PROGRAM: a page, the pair of an MLC word line, the three pages of a TLC word line in one shot.

use super::{T_PLANE, load, program_cache, t_prog};
use crate::{Draft, Lun};
use aster_ports::flash::{FlashError, Target};
use aster_txn::{Form, Shape};
use aster_units::{BufferId, CellMode, PageType, RowAddr};
use aster_wire::onfi::{Status, command};

/// PROGRAM PAGE from a buffer, with its OOB, through the stages (ONFI 5.1 §5.20).
///
/// # Errors
/// When a transaction fails or the LUN never becomes ready. The status reports a failed program.
pub async fn program_page(lun: &Lun, row: RowAddr, from: BufferId) -> Result<Status, FlashError> {
    lun.until_ready(program_txn(lun, row, from), row, t_prog(lun, row)).await
}
/// The name of [`program_page`]'s transaction.
pub(crate) const PROGRAM: &str = "program";
/// The transaction of [`program_page`].
#[inline]
pub(crate) fn program_txn(lun: &Lun, row: RowAddr, from: BufferId) -> Draft<'_> {
    let mut txn = lun.txn(PROGRAM);
    load(lun, &mut txn, command::PROGRAM, row, from).cmd(command::PROGRAM_CONFIRM);
    txn.shaped(Shape::of(Form::Program));
    txn
}

/// Programs both pages of an MLC word line before it returns, so that a power cut during the second can't
/// destroy an LSB page that was already reported as written. Uses PAGE CACHE PROGRAM if the package has it.
/// Returns true for each page that failed.
///
/// # Errors
/// As [`program_page`]; also when the rows aren't an LSB page and its MSB page.
pub async fn program_pair(lun: &Lun, pair: [Target; 2]) -> Result<[bool; 2], FlashError> {
    let shape = lun.config().shape;
    let [lsb, msb] = pair.map(|target| target.row);
    let is_pair = shape.cells == CellMode::Mlc && shape.page_type(lsb) == PageType::Lsb && msb.0 == lsb.0 + 1;
    lun.need(is_pair, "program pair")?;
    let mut failed = [false; 2];
    if lun.commands().program_cache {
        program_cache(lun, &pair, &mut failed).await?;
    } else {
        for (target, failed) in pair.iter().zip(&mut failed) {
            *failed = program_page(lun, target.row, target.buffer).await?.fail();
        }
    }
    Ok(failed)
}

/// Programs the three pages of a TLC word line at once. Vendor specific: each page is loaded behind its
/// prefix, the first two with the vendor's load confirm, the last with 10h, at which the array starts.
///
/// # Errors
/// As [`program_page`]; also when the package lacks the commands. Rows that don't form a word line are an
/// error of the transaction.
pub async fn program_one_shot(lun: &Lun, pages: [Target; 3]) -> Result<Status, FlashError> {
    let one_shot = lun.commands().one_shot.ok_or_else(|| lun.unsupported("program one-shot"))?;
    let [lsb, csb, msb] = pages;
    for (target, prefix) in [lsb, csb].iter().zip(one_shot.pages) {
        let mut txn = lun.txn("load word line");
        txn.cmd(prefix);
        load(lun, &mut txn, command::PROGRAM, target.row, target.buffer).cmd(one_shot.load_confirm);
        lun.until_ready(txn, target.row, T_PLANE).await?;
    }
    let mut txn = lun.txn("program word line");
    txn.cmd(one_shot.pages[2]);
    load(lun, &mut txn, command::PROGRAM, msb.row, msb.buffer).cmd(command::PROGRAM_CONFIRM);
    lun.until_ready(txn, msb.row, lun.config().variant.one_shot_program).await
}
