//! Polling a LUN's status until it is ready.

use super::read::issue_status;
use super::transaction as failed;
use crate::Lun;
use aster_events::Function;
use aster_ports::flash::FlashError;
use aster_units::{Duration, Instant, RowAddr};
use aster_wire::onfi::Status;

impl Lun {
    /// Polls until RDY, which `transaction` cleared for about `typical`. The array may still be working
    /// (ARDY). Returns the status and the time of the last poll that found the LUN busy, if any did.
    ///
    /// # Errors
    /// As [`Lun::until_ready`].
    pub async fn poll_ready(
        &self,
        transaction: &'static str,
        row: RowAddr,
        typical: Duration,
    ) -> Result<(Status, Option<Instant>), FlashError> {
        let policy = self.config().poll;
        let give_up = self.core().exec().now() + typical * u64::from(policy.patience);
        let mut busy = None;
        loop {
            // A poll may wait long for the channel, so patience counts from when it was issued.
            let asked = self.core().exec().now();
            let asking = issue_status(self, row, self.shares_chip_enable());
            let status = Status(asking.finished().await.map_err(failed)?.mailbox as u8);
            self.spend(Function::Polling, self.config().costs.poll);
            if status.ready() {
                return Ok((status, busy));
            }
            busy = Some(self.core().exec().now());
            if asked > give_up {
                self.never_ready();
                return Err(FlashError::NeverReady { transaction, row, at: self.core().exec().now() });
            }
            self.core().exec().sleep(policy.interval).await;
        }
    }
}
