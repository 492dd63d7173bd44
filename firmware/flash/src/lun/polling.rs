//! Asking a LUN for its status until it is ready.

use super::Lun;
use crate::operations::read_status;
use aster_events::Function;
use aster_ports::flash::FlashError;
use aster_units::{Duration, Instant, RowAddr};
use aster_wire::onfi::Status;

impl Lun {
    /// Polls until RDY, which `transaction` took away for about `typical`. The array may work on (ARDY).
    /// Gives the status and when the last poll was answered that found the LUN busy, if one did.
    ///
    /// # Errors
    /// As [`Lun::until_ready`].
    pub async fn poll_ready(
        &self,
        transaction: &'static str,
        row: RowAddr,
        typical: Duration,
    ) -> Result<(Status, Option<Instant>), FlashError> {
        let policy = self.config.poll;
        let give_up = self.core.exec().now() + typical * u64::from(policy.patience);
        let mut busy = None;
        loop {
            // A poll may wait long for the channel: what counts is when it was asked for.
            let asked = self.core.exec().now();
            let status = read_status(self, row).await?;
            self.spend(Function::Polling, self.config.costs.poll);
            if status.ready() {
                return Ok((status, busy));
            }
            busy = Some(self.core.exec().now());
            if asked > give_up {
                return Err(FlashError::NeverReady { transaction, row, at: self.core.exec().now() });
            }
            self.core.exec().sleep(policy.interval).await;
        }
    }
}
