//! The worker of a LUN: it takes a request, has it carried out and answers it, again and again.

use crate::backend::Backend;
use crate::gate::BringUpGate;
use crate::tasks::{FlashTask, Tasks, bounded};
use alloc::rc::Rc;
use aster_events::{Event, Recorder};
use aster_exec::Exec;
use aster_ports::flash::{FlashOp, FlashPort, FlashRequest, Tag};
use aster_units::LunIndex;
use core::cell::Cell;

/// A request that a worker has taken.
#[derive(Clone, Copy)]
struct TakenRequest {
    tag: Tag,
    request: FlashRequest,
    task: FlashTask,
}

/// A LUN's worker.
pub struct Worker<B> {
    /// The LUN, numbered over the drive.
    pub lun: LunIndex,
    /// Where requests come from.
    pub port: Rc<FlashPort>,
    /// What carries them out.
    pub controller: B,
    /// Its chip enable, numbered over the drive.
    pub package: u32,
    /// Chooses and admits requests; shared by all workers.
    pub tasks: Rc<Tasks>,
    /// Opens when the package answers.
    pub gate: Rc<BringUpGate>,
    /// Where events go.
    pub recorder: Recorder,
}

impl<B: Backend> Worker<B> {
    /// Serves one LUN for ever: the long-lived worker of design §2. During a page read it begins the next
    /// one, if there is one, so that the LUN's array waits neither for the stages nor for the pages of other
    /// LUNs.
    pub async fn run(self) {
        let exec = self.port.exec().clone();
        self.gate.pass(&exec).await;
        let overtakes = Cell::new(0);
        let mut ahead: Option<(TakenRequest, Option<B::Begun>)> = None;
        loop {
            let (job, begun) = match ahead.take() {
                Some(ahead) => ahead,
                None => (self.next(&exec, &overtakes).await, None),
            };
            let mut next = None;
            let fault = |error| self.port.note_fault(self.lun, error);
            let take = || {
                next = self.next_page_read(&exec, &overtakes);
                next.map(|job| job.request)
            };
            let (outcomes, begun) = self.controller.execute(&job.request, begun, take, fault).await;
            ahead = next.map(|job| (job, begun));
            self.recorder.emit(exec.now(), || Event::FlashFinished {
                lun: self.lun.0,
                kind: job.request.phase.class(),
                row: job.request.targets()[0].row.0,
                status: outcomes[0].status.code(),
                corrected: outcomes[0].corrected,
            });
            self.port.complete(job.tag, outcomes);
            self.tasks.ended(&exec, &job.task);
        }
    }

    /// The next request, when it may start.
    async fn next(&self, exec: &Exec, overtakes: &Cell<u32>) -> TakenRequest {
        let choose = |waiting: &mut dyn Iterator<Item = FlashOp>| {
            bounded(overtakes, self.tasks.choose(self.lun, waiting))
        };
        let (tag, request) = self.port.next(self.lun, choose).await;
        let task = self.task(request.phase);
        self.tasks.admitted(exec, &task).await;
        self.taken(exec, tag, request, task)
    }

    /// The next request, if it is a page read and may start now. Returns `None` if requests other than
    /// page reads wait, too. The next one is uncertain then: a read that arrives meanwhile may have to go
    /// before a program.
    fn next_page_read(&self, exec: &Exec, overtakes: &Cell<u32>) -> Option<TakenRequest> {
        let task = self.task(FlashOp::Read);
        if !self.port.only_page_reads_wait(self.lun) || !self.tasks.admit(&task) {
            return None;
        }
        let choose = |waiting: &mut dyn Iterator<Item = FlashOp>| {
            bounded(overtakes, self.tasks.choose(self.lun, waiting))
        };
        let (tag, request) = self.port.try_next(self.lun, choose).expect("a page read waits");
        Some(self.taken(exec, tag, request, task))
    }

    fn task(&self, phase: FlashOp) -> FlashTask {
        FlashTask { lun: self.lun, package: self.package, phase }
    }

    fn taken(&self, exec: &Exec, tag: Tag, request: FlashRequest, task: FlashTask) -> TakenRequest {
        self.recorder.emit(exec.now(), || Event::FlashIssued {
            lun: self.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
        });
        TakenRequest { tag, request, task }
    }
}
