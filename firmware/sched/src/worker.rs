//! The worker of a LUN: it takes a request, has it carried out and answers it, again and again.

use crate::backend::Backend;
use crate::controllers::{Controllers, Seat};
use crate::tasks::bounded;
use alloc::rc::Rc;
use aster_events::{Event, Recorder};
use aster_exec::Exec;
use aster_parties::{BringUpGate, FlashTask, Tasks};
use aster_ports::flash::{
    FlashOp, FlashPort, FlashRequest, MAX_TARGETS, Outcome, Outcomes, TOGETHER_MAX, Tag, Together,
};
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
    /// What carries them out, for all LUNs.
    pub controllers: Rc<Controllers<B>>,
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
                None => match self.next(&exec, &overtakes).await {
                    Some(job) => (job, None),
                    None => continue,
                },
            };
            let mut next = None;
            let fault = |error| self.port.note_fault(self.lun, error);
            let take = || {
                next = self.next_page_read(&exec, &overtakes);
                next.map(|job| job.request)
            };
            let (outcomes, begun) = self.seat().controller.execute(&job.request, begun, take, fault).await;
            ahead = next.map(|job| (job, begun));
            self.finish(&exec, job.tag, &job.request, outcomes);
            self.tasks.ended(&exec, &job.task);
        }
    }

    fn seat(&self) -> &Seat<B> {
        self.controllers.seat(self.lun)
    }

    /// The next request, when it may start. `None` if the next one belonged together with others: then it is
    /// over already.
    async fn next(&self, exec: &Exec, overtakes: &Cell<u32>) -> Option<TakenRequest> {
        let choose = |waiting: &mut dyn Iterator<Item = FlashOp>| {
            bounded(overtakes, self.tasks.choose(self.lun, waiting))
        };
        let (tag, request) = self.port.next(self.lun, choose).await;
        if self.port.is_together(tag) {
            self.join(exec, tag).await;
            return None;
        }
        let task = self.task(request.phase);
        self.tasks.admitted(exec, &task).await;
        Some(self.taken(exec, tag, request, task))
    }

    /// Meets the workers of the other lanes, and carries the group out if it is the last to come.
    async fn join(&self, exec: &Exec, tag: Tag) {
        let group = self.port.together_with(tag);
        if self.controllers.arrive(self.lun, tag, &group) {
            self.lead(exec, &group).await;
        } else {
            self.controllers.over(exec, self.lun).await;
        }
    }

    async fn lead(&self, exec: &Exec, group: &Together) {
        let members = group.members();
        let (mut lanes, mut tasks) = (
            [(&self.seat().controller, members[0].1); TOGETHER_MAX],
            [self.task(members[0].1.phase); TOGETHER_MAX],
        );
        for (n, (_, request)) in members.iter().enumerate() {
            let Seat { lun, package, controller, .. } = self.controllers.seat(request.lun);
            lanes[n] = (controller, *request);
            tasks[n] = FlashTask { lun: *lun, package: *package, phase: request.phase };
        }
        let tasks = &tasks[..members.len()];
        self.tasks.admitted_together(exec, tasks).await;
        members.iter().for_each(|(_, request)| self.begin(exec, request));
        let mut outcomes = [[Outcome::default(); MAX_TARGETS]; TOGETHER_MAX];
        let fault = |lun, error| self.port.note_fault(lun, error);
        B::execute_together(&lanes[..members.len()], &mut outcomes[..members.len()], fault).await;
        for ((tag, request), outcomes) in members.iter().zip(outcomes) {
            self.finish(exec, *tag, request, outcomes);
        }
        tasks.iter().for_each(|task| self.tasks.ended(exec, task));
        self.controllers.release(exec, group);
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
        FlashTask { lun: self.lun, package: self.seat().package, phase }
    }

    fn begin(&self, exec: &Exec, request: &FlashRequest) {
        self.recorder.emit(exec.now(), || Event::FlashIssued {
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
        });
    }
    fn finish(&self, exec: &Exec, tag: Tag, request: &FlashRequest, outcomes: Outcomes) {
        self.recorder.emit(exec.now(), || Event::FlashFinished {
            lun: request.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
            status: outcomes[0].status.code(),
            corrected: outcomes[0].corrected,
        });
        self.port.complete(tag, outcomes);
    }

    fn taken(&self, exec: &Exec, tag: Tag, request: FlashRequest, task: FlashTask) -> TakenRequest {
        self.begin(exec, &request);
        TakenRequest { tag, request, task }
    }
}

#[cfg(test)]
mod tests;
