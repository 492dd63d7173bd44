//! What carries out flash requests for a scheduler's worker.

use alloc::rc::Rc;
use aster_flash::{Controller, ReadsBetween};
use aster_ports::flash::{FlashError, FlashPort, FlashRequest, FlashStatus, Outcomes, TOGETHER_MAX, Tag};
use aster_units::{Instant, LunIndex};
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
    /// Carries out `request`, which may have been `begun` already, and writes the `outcomes` of its targets,
    /// which are the default ones before. Calls `fault` with the reason before it returns with an error among
    /// them.
    fn execute(
        &self,
        request: &FlashRequest,
        outcomes: &mut Outcomes,
        begun: Option<Self::Begun>,
        ahead: impl FnOnce() -> Option<FlashRequest>,
        fault: impl Fn(FlashError),
    ) -> impl Future<Output = Option<Self::Begun>>;
    /// Whether [`execute_around`](Backend::execute_around) can suspend `request` for reads.
    fn can_suspend(&self, _request: &FlashRequest) -> bool {
        false
    }
    /// Carries out a program or an erase that can be suspended, and suspends it at most `times` for `reads`.
    fn execute_around(
        &self,
        request: &FlashRequest,
        _times: u8,
        _reads: &impl ReadsBetween,
        fault: impl Fn(FlashError),
    ) -> impl Future<Output = Outcomes> {
        async move {
            let mut outcomes = Outcomes::default();
            self.execute(request, &mut outcomes, None, || None, fault).await;
            outcomes
        }
    }
    /// Carries out requests that belong together
    /// ([`FlashPort::submit_together`]), each by its controller. They are begun in
    /// one moment, and end together. Calls `fault` as `execute` does.
    fn execute_together(
        lanes: &[(&Self, FlashRequest)],
        outcomes: &mut [Outcomes],
        fault: impl Fn(LunIndex, FlashError),
    ) -> impl Future<Output = ()>;
}

/// Flash operations in software, on the worker's core.
impl Backend for Controller {
    /// When the array began it.
    type Begun = Instant;

    async fn execute(
        &self,
        request: &FlashRequest,
        outcomes: &mut Outcomes,
        begun: Option<Instant>,
        ahead: impl FnOnce() -> Option<FlashRequest>,
        fault: impl Fn(FlashError),
    ) -> Option<Instant> {
        if request.is_page_read() {
            let ahead = || ahead().map(|next| next.targets()[0].row);
            return self.execute_page_read(request, &mut outcomes[0], begun, ahead, fault).await;
        }
        if request.is_page_program() || request.is_block_erase() {
            self.execute_write(request, &mut outcomes[0], fault).await;
        } else {
            *outcomes = Controller::execute(self, request, fault).await;
        }
        None
    }

    fn can_suspend(&self, request: &FlashRequest) -> bool {
        Controller::can_suspend(self, request)
    }
    async fn execute_around(
        &self,
        request: &FlashRequest,
        times: u8,
        reads: &impl ReadsBetween,
        fault: impl Fn(FlashError),
    ) -> Outcomes {
        Controller::execute_around(self, request, times, reads, fault).await
    }

    async fn execute_together(
        lanes: &[(&Self, FlashRequest)],
        outcomes: &mut [Outcomes],
        fault: impl Fn(LunIndex, FlashError),
    ) {
        Controller::execute_together(lanes, outcomes, fault).await;
    }
}

/// A controller behind its own I3 port, with two requests per LUN. It takes none of the worker's core time.
impl Backend for Rc<FlashPort> {
    /// Its request at the port.
    type Begun = Tag;

    async fn execute(
        &self,
        request: &FlashRequest,
        outcomes: &mut Outcomes,
        begun: Option<Tag>,
        ahead: impl FnOnce() -> Option<FlashRequest>,
        fault: impl Fn(FlashError),
    ) -> Option<Tag> {
        let tag = begun.unwrap_or_else(|| hand(self, *request));
        let next = if request.is_page_read() { ahead().map(|next| hand(self, next)) } else { None };
        *outcomes = answer(self, request.lun, tag, fault).await;
        next
    }

    async fn execute_together(
        lanes: &[(&Self, FlashRequest)],
        outcomes: &mut [Outcomes],
        fault: impl Fn(LunIndex, FlashError),
    ) {
        let mut tags = [None; TOGETHER_MAX];
        for (tag, (port, request)) in tags.iter_mut().zip(lanes) {
            *tag = Some(hand(port, *request));
        }
        for ((outcomes, tag), (port, request)) in
            outcomes.iter_mut().zip(tags.into_iter().flatten()).zip(lanes)
        {
            *outcomes = answer(port, request.lun, tag, |error| fault(request.lun, error)).await;
        }
    }
}

fn hand(port: &FlashPort, request: FlashRequest) -> Tag {
    port.submit(request).expect("a controller's port holds two requests a LUN")
}

async fn answer(port: &FlashPort, lun: LunIndex, tag: Tag, fault: impl Fn(FlashError)) -> Outcomes {
    let outcomes = port.finished(tag).await;
    if outcomes.iter().any(|outcome| outcome.status == FlashStatus::Error) {
        while let Some(error) = port.take_fault(lun) {
            fault(error);
        }
    }
    outcomes
}
