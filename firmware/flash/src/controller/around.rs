//! Programs and erases that are suspended for reads of their LUN (B31).

use super::{Controller, of_status};
use crate::Lun;
use crate::operations::{
    Suspended, go_on_erase, go_on_program, start_erase, start_program, suspend_erase, suspend_program, t_prog,
};
use aster_events::Function;
use aster_ports::flash::{FlashError, FlashOp, FlashRequest, MAX_TARGETS, Outcome, Outcomes, Target};
use aster_units::{Duration, Instant};
use aster_wire::onfi::Status;
use core::future::Future;

/// Reads for which an operation of their LUN is suspended.
///
/// # Who calls, in what order
/// The controller calls `next` while the array works. If it is true, the controller suspends the operation,
/// calls `serve` once, and resumes it. If there is nothing to suspend any more, or that fails, it doesn't
/// call `serve`: whoever has asked for the operation carries out the read that is there.
pub trait ReadsBetween {
    /// Waits until a read is there, or until `until`. Returns whether one is.
    fn next(&self, until: Instant) -> impl Future<Output = bool>;
    /// Carries out the read that is there, and others that wait.
    fn serve(&self) -> impl Future<Output = ()>;
}

impl Controller {
    /// Whether [`Controller::execute_around`] can suspend this: a program of a page or an erase of a block,
    /// in a package that has the commands.
    pub fn can_suspend(&self, request: &FlashRequest) -> bool {
        let is_plain = request.flags == Default::default() && request.targets().len() == 1;
        let works = matches!(request.phase, FlashOp::Program | FlashOp::Erase);
        is_plain && works && self.lun.commands().suspend.is_some() && !self.lun.is_dead()
    }
    /// Carries out a program or an erase, and suspends it at most `times` for `reads`. Calls `fault` with the
    /// reason if it ended in an error. Asserts [`Controller::can_suspend`].
    pub async fn execute_around(
        &self,
        request: &FlashRequest,
        times: u8,
        reads: &impl ReadsBetween,
        fault: impl Fn(FlashError),
    ) -> Outcomes {
        assert!(self.can_suspend(request), "only a program or an erase is suspended");
        self.lun.spend(Function::FlashRequest, self.lun.config().costs.request);
        let work =
            Work { lun: &self.lun, target: request.targets()[0], erases: request.phase == FlashOp::Erase };
        let outcome = match work.run(times, reads).await {
            Ok(status) => of_status(status),
            Err(error) => {
                fault(error);
                self.not_done()
            }
        };
        let mut outcomes = [Outcome::default(); MAX_TARGETS];
        outcomes[0] = outcome;
        outcomes
    }
}

/// A program or an erase.
struct Work<'a> {
    lun: &'a Lun,
    target: Target,
    erases: bool,
}

impl Work<'_> {
    async fn run(&self, times: u8, reads: &impl ReadsBetween) -> Result<Status, FlashError> {
        let (lun, row, typical) = (self.lun, self.target.row, self.typical());
        let latency = lun.config().variant.suspend;
        let (mut since, mut worked) = (self.start().await?, Duration::ZERO);
        for _ in 0..times {
            let due = since + typical.saturating_sub(worked);
            // Close to the end a read waits less for the end than for the suspend command.
            if !reads.next(due - latency.min(due.since(since))).await {
                break;
            }
            let suspended = self.suspend(since).await?;
            if !suspended.status.command_specific() {
                // It had ended.
                return Ok(suspended.status);
            }
            reads.serve().await;
            worked += suspended.worked;
            since = self.go_on().await?;
        }
        let due = since + typical.saturating_sub(worked);
        let name = if self.erases { "erase" } else { "program" };
        Ok(lun.ready_about(name, row, due, typical).await?.0)
    }
    fn typical(&self) -> Duration {
        if self.erases { self.lun.config().t_bers } else { t_prog(self.lun, self.target.row) }
    }
    async fn start(&self) -> Result<Instant, FlashError> {
        let Target { row, buffer, .. } = self.target;
        if self.erases {
            start_erase(self.lun, row).await
        } else {
            start_program(self.lun, row, buffer).await
        }
    }
    async fn suspend(&self, since: Instant) -> Result<Suspended, FlashError> {
        let (lun, row) = (self.lun, self.target.row);
        if self.erases {
            suspend_erase(lun, row, since).await
        } else {
            suspend_program(lun, row, since).await
        }
    }
    async fn go_on(&self) -> Result<Instant, FlashError> {
        let (lun, row) = (self.lun, self.target.row);
        if self.erases { go_on_erase(lun, row).await } else { go_on_program(lun, row).await }
    }
}
