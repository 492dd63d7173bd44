//! Page reads, which most requests are.

use super::Controller;
use crate::operations::{
    READ, TRANSFER_AND_READ, issue_transfer, issue_transfer_and_read, read_txn, t_r, transaction,
};
use aster_events::Function;
use aster_ports::flash::{FlashError, FlashRequest, Outcome, Target};
use aster_units::{Duration, Instant, RowAddr};

impl Controller {
    /// Carries out a page read ([`FlashRequest::is_page_read`]), which the array may have begun already, at
    /// `begun`. When the page is about to cross the bus, this calls `ahead` for the row of another page read:
    /// the array begins that read while the stages still work on this page (C22). Returns when it began, and
    /// writes `outcome`. Calls `fault` with the reason if the read ended in an error.
    pub async fn execute_page_read(
        &self,
        request: &FlashRequest,
        outcome: &mut Outcome,
        begun: Option<Instant>,
        ahead: impl FnOnce() -> Option<RowAddr>,
        fault: impl Fn(FlashError),
    ) -> Option<Instant> {
        if self.lun.is_dead() {
            *outcome = self.not_done();
            return None;
        }
        if begun.is_none() {
            self.lun.spend(Function::FlashRequest, self.lun.config().costs.request);
        }
        match self.page_read(&request.targets()[0], outcome, begun, ahead).await {
            Ok(begun) => begun,
            Err(error) => {
                fault(error);
                *outcome = self.not_done();
                None
            }
        }
    }

    /// What [`read_trigger`] or [`read_begun`], and then [`read_transfer_and_trigger`] or [`read_transfer`]
    /// do, with their transactions. It waits by itself: a function that waits inside of others is left and
    /// entered through all of them each time.
    ///
    /// [`read_trigger`]: crate::operations::read_trigger
    /// [`read_begun`]: crate::operations::read_begun
    /// [`read_transfer_and_trigger`]: crate::operations::read_transfer_and_trigger
    /// [`read_transfer`]: crate::operations::read_transfer
    async fn page_read(
        &self,
        target: &Target,
        outcome: &mut Outcome,
        begun: Option<Instant>,
        ahead: impl FnOnce() -> Option<RowAddr>,
    ) -> Result<Option<Instant>, FlashError> {
        let (lun, Target { row, sectors, buffer }) = (&self.lun, *target);
        let (t_r, early, exec) = (t_r(lun, row), lun.config().poll.early, lun.core().exec());
        let name = match begun {
            Some(since) => {
                let wait = (since + t_r).since(exec.now()).saturating_sub(early);
                if wait > Duration::ZERO {
                    exec.sleep(wait).await;
                }
                TRANSFER_AND_READ
            }
            None => {
                let issued = lun.issue_and_linger(read_txn(lun, row), t_r.saturating_sub(early));
                issued.finished().await.map_err(transaction)?;
                READ
            }
        };
        let asked = exec.now();
        if !lun.polled(lun.poll(row).finished().await)?.ready() {
            lun.poll_on(name, row, t_r, asked).await?;
        }
        if let Some(next) = ahead() {
            lun.spend(Function::FlashRequest, lun.config().costs.request);
            let issued = issue_transfer_and_read(lun, row, sectors, buffer, next);
            if let Ok(result) = issued.finished().await {
                *outcome = Outcome::from(result.frame);
                return Ok(Some(result.over));
            }
            // Then retry each read separately, so that the error is reported for the right request.
        }
        let result = issue_transfer(lun, row, sectors, buffer).finished().await.map_err(transaction)?;
        *outcome = Outcome::from(result.frame);
        Ok(None)
    }
}
