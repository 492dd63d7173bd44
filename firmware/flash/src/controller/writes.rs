//! Programs of a page and erases of a block, which most requests are that aren't page reads.

use super::{Controller, of_status};
use crate::operations::{ERASE, PROGRAM, erase_txn, program_txn, t_prog, transaction};
use aster_events::Function;
use aster_ports::flash::{FlashError, FlashOp, FlashRequest, Outcome};
use aster_wire::onfi::Status;

impl Controller {
    /// Carries out a page program or a block erase ([`FlashRequest::is_page_program`],
    /// [`FlashRequest::is_block_erase`]), and writes `outcome`. Calls `fault` with the reason if it ended in
    /// an error.
    pub async fn execute_write(
        &self,
        request: &FlashRequest,
        outcome: &mut Outcome,
        fault: impl Fn(FlashError),
    ) {
        self.lun.spend(Function::FlashRequest, self.lun.config().costs.request);
        *outcome = if self.lun.is_dead() {
            self.not_done()
        } else {
            match self.write(request).await {
                Ok(status) => of_status(status),
                Err(error) => {
                    fault(error);
                    self.not_done()
                }
            }
        };
    }

    /// What [`program_page`] or [`erase_block`] do, with their transactions. It waits by itself, as a page
    /// read does.
    ///
    /// [`program_page`]: crate::operations::program_page
    /// [`erase_block`]: crate::operations::erase_block
    async fn write(&self, request: &FlashRequest) -> Result<Status, FlashError> {
        let (lun, target) = (&self.lun, &request.targets()[0]);
        let row = target.row;
        let (name, typical, txn) = if request.phase == FlashOp::Program {
            (PROGRAM, t_prog(lun, row), program_txn(lun, row, target.buffer))
        } else {
            (ERASE, lun.config().t_bers, erase_txn(lun, row))
        };
        let issued = lun.issue_and_linger(txn, typical.saturating_sub(lun.config().poll.early));
        issued.finished().await.map_err(transaction)?;
        let asked = lun.core().exec().now();
        let status = lun.polled(lun.poll(row).finished().await)?;
        if status.ready() {
            return Ok(status);
        }
        Ok(lun.poll_on(name, row, typical, asked).await?.0)
    }
}
