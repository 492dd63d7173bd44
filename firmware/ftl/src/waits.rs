//! Waiting, and telling what for.

use crate::drive::Drive;
use aster_events::{Event, Wait};
use aster_exec::WaitQueue;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;

/// As events number no data buffer entry in particular.
pub(crate) const ANY: u32 = u32::MAX;

impl Drive {
    /// Waits for one wake of `queue`; the caller looks again at what it waits for.
    pub(crate) async fn wait_once(&self, queue: &WaitQueue, reason: Wait) {
        self.waiting(reason, self.woken(queue)).await;
    }
    pub(crate) async fn woken(&self, queue: &WaitQueue) {
        let mut waited = false;
        queue.wait(self.exec(), || core::mem::replace(&mut waited, true).then_some(())).await;
    }
    /// Tells what the task waits for until `future` is ready, if it isn't at once.
    pub(crate) async fn waiting<T>(&self, reason: Wait, future: impl Future<Output = T>) -> T {
        self.waiting_for(reason, ANY, future).await
    }
    pub(crate) async fn waiting_for<T>(
        &self,
        reason: Wait,
        buffer: u32,
        future: impl Future<Output = T>,
    ) -> T {
        let mut future = pin!(future);
        let mut told = false;
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(value) => {
                if told {
                    self.emit(|| Event::WaitEnded { task: self.task() });
                }
                Poll::Ready(value)
            }
            Poll::Pending => {
                if !core::mem::replace(&mut told, true) {
                    self.emit(|| Event::WaitStarted { task: self.task(), reason: reason.number(), buffer });
                }
                Poll::Pending
            }
        })
        .await
    }
}
