//! Polling a LUN's status until it is ready.

use super::read::issue_status;
use super::transaction as failed;
use crate::{Issued, Lun};
use alloc::boxed::Box;
use aster_events::Function;
use aster_ports::channel::{TxnFault, TxnResult};
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
        let asked = self.core().exec().now();
        let status = self.polled(self.poll(row).finished().await)?;
        if status.ready() {
            return Ok((status, None));
        }
        self.poll_on(transaction, row, typical, asked).await
    }

    /// Issues a poll. Who waits here by itself looks at what [`Lun::polled`] makes of its result, and calls
    /// [`Lun::poll_on`] if the LUN is busy: together they are [`Lun::poll_ready`].
    #[inline]
    pub(crate) fn poll(&self, row: RowAddr) -> Issued<'_> {
        issue_status(self, row, self.shares_chip_enable())
    }
    /// The status that a poll has brought.
    #[inline]
    pub(crate) fn polled(&self, result: Result<TxnResult, Box<TxnFault>>) -> Result<Status, FlashError> {
        let status = Status(result.map_err(failed)?.mailbox as u8);
        self.spend(Function::Polling, self.config().costs.poll);
        Ok(status)
    }
    /// Goes on polling, after the first poll, issued at `asked`, has found the LUN busy. Returns the time of
    /// the last poll that found it so.
    pub(crate) async fn poll_on(
        &self,
        transaction: &'static str,
        row: RowAddr,
        typical: Duration,
        mut asked: Instant,
    ) -> Result<(Status, Option<Instant>), FlashError> {
        let (policy, exec) = (self.config().poll, self.core().exec());
        // A poll may wait long for the channel, so patience counts from when it was issued.
        let give_up = asked + typical * u64::from(policy.patience);
        loop {
            let busy = exec.now();
            if asked > give_up {
                self.never_ready();
                return Err(FlashError::NeverReady { transaction, row, at: busy });
            }
            exec.sleep(policy.interval).await;
            asked = exec.now();
            let status = self.polled(self.poll(row).finished().await)?;
            if status.ready() {
                return Ok((status, Some(busy)));
            }
        }
    }
}
