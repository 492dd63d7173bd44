//! What carries out flash requests for a scheduler's worker.

use alloc::rc::Rc;
use aster_flash::Controller;
use aster_ports::flash::{FlashError, FlashPort, FlashRequest, FlashStatus, Outcomes, Tag};
use aster_units::Instant;
use core::future::Future;

/// A channel controller as a worker sees it. Each assembly names the type, so that an operation is no trait
/// object and allocates nothing.
///
/// # Who calls, in what order
/// One worker per LUN calls `execute` for one request after the other, and never drops its future early.
/// During a page read the backend calls `ahead` at most once for the next page read. If `ahead` returns one,
/// the controller begins it, and the worker passes what was begun to the very next call, which is for that
/// request.
pub trait Backend {
    /// A page read that was begun during the one before it.
    type Begun;
    /// Carries out `request`, which may have been `begun` already. Calls `fault` with the reason before it
    /// returns an outcome with an error.
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
    /// When the array began it.
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

/// A controller behind its own I3 port, with two requests per LUN. It takes none of the worker's core time.
impl Backend for Rc<FlashPort> {
    /// Its request at the port.
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
