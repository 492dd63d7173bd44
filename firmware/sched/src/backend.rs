//! What carries flash requests out for a scheduler's worker.

use alloc::rc::Rc;
use aster_flash::Controller;
use aster_ports::flash::{FlashError, FlashPort, FlashRequest, FlashStatus, Outcomes, Tag};
use aster_units::Instant;
use core::future::Future;

/// A channel controller as a worker sees it. Each assembly names the type, so that an operation is no trait
/// object and allocates nothing.
///
/// # Who calls, in what order
/// One worker per LUN calls `execute`, for one request after the other, and never drops it half-way. While a
/// page read is under way, `ahead` is asked at most once for the page read that comes next; if it gives one,
/// the controller begins with that, and what it has begun is handed back with the very next call, which is
/// for that request.
pub trait Backend {
    /// A page read that has been begun while the one before it was on its way.
    type Begun;
    /// Carries `request` out, which may have been `begun` already. `fault` is told why a target ended in an
    /// error, before the outcome says that it did.
    fn execute(
        &self,
        request: &FlashRequest,
        begun: Option<Self::Begun>,
        ahead: impl FnOnce() -> Option<FlashRequest>,
        fault: impl Fn(FlashError),
    ) -> impl Future<Output = (Outcomes, Option<Self::Begun>)>;
}

/// Flash operations in software, on the worker's core.
impl Backend for Controller {
    /// The array works on it since then.
    type Begun = Instant;

    async fn execute(
        &self,
        request: &FlashRequest,
        begun: Option<Instant>,
        ahead: impl FnOnce() -> Option<FlashRequest>,
        fault: impl Fn(FlashError),
    ) -> (Outcomes, Option<Instant>) {
        if !request.is_page_read() {
            return (Controller::execute(self, request, fault).await, None);
        }
        let ahead = || ahead().map(|next| next.targets()[0].row);
        self.execute_page_read(request, begun, ahead, fault).await
    }
}

/// A controller behind an I3 port of its own, of two requests per LUN. What it does costs the worker's core
/// nothing.
impl Backend for Rc<FlashPort> {
    /// The port has it.
    type Begun = Tag;

    async fn execute(
        &self,
        request: &FlashRequest,
        begun: Option<Tag>,
        ahead: impl FnOnce() -> Option<FlashRequest>,
        fault: impl Fn(FlashError),
    ) -> (Outcomes, Option<Tag>) {
        let hand = |request| self.submit(request).expect("a controller's port holds two requests a LUN");
        let tag = begun.unwrap_or_else(|| hand(*request));
        let next = if request.is_page_read() { ahead().map(hand) } else { None };
        let outcomes = self.finished(tag).await;
        if outcomes.iter().any(|outcome| outcome.status == FlashStatus::Error) {
            while let Some(error) = self.take_fault(request.lun) {
                fault(error);
            }
        }
        (outcomes, next)
    }
}
