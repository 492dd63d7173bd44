//! Flash schedulers: which request a LUN works on next, and whether it may start now (design §1, B17).
//!
//! - [`Worker`] serves one LUN for ever.
//! - [`TaskScheduler`] is the piece that decides; [`Tasks`] is what the workers of a drive share of it.
//! - [`cosmos`] is another scheduler altogether: one big loop on one core, which polls (C34–C44).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

use alloc::rc::Rc;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, WaitQueue};
use aster_flash::Controller;
use aster_ports::flash::{FlashError, FlashPort, FlashRequest, FlashStatus, Outcomes, Phase, Tag};
use aster_units::{Instant, LunIndex};
use core::cell::Cell;

pub mod cosmos;
mod tasks;

pub use tasks::{OVERTAKES_MAX, PackageLimit, Policy, Running, Task, TaskScheduler, Tasks};

/// Opens when the packages have been brought up.
#[derive(Default)]
pub struct Gate {
    open: Cell<bool>,
    waiting: WaitQueue,
}

impl Gate {
    /// Lets everybody through from now on.
    pub fn open(&self, exec: &Exec) {
        self.open.set(true);
        self.waiting.wake_all(exec);
    }
    /// Waits until the gate is open.
    pub async fn pass(&self, exec: &Exec) {
        self.waiting.wait(exec, || self.open.get().then_some(())).await;
    }
}

/// A channel controller as a scheduler sees it.
pub enum Backend {
    /// Flash operations in software, on the worker's core.
    Software(Controller),
    /// A controller in hardware, behind an I3 port of its own. What it does costs no core anything.
    Hardware(Rc<FlashPort>),
}

impl From<Controller> for Backend {
    fn from(controller: Controller) -> Self {
        Backend::Software(controller)
    }
}

/// A page read that a controller has begun with while the one before it was on its way.
enum Begun {
    /// The array works on it since then.
    Array(Instant),
    /// A controller in hardware has it.
    Handed(Tag),
}

impl Backend {
    /// Carries a request out, which may have been begun already. `fault` is told why a target ended in an error. When the
    /// controller can begin with another page read, `ahead` is asked for one; the second result says that it has.
    async fn execute(
        &self,
        request: &FlashRequest,
        begun: Option<Begun>,
        ahead: impl FnOnce() -> Option<FlashRequest>,
        fault: impl Fn(FlashError),
    ) -> (Outcomes, Option<Begun>) {
        match (self, begun) {
            (Backend::Software(controller), begun) if request.is_page_read() => {
                let since = begun.and_then(|begun| match begun {
                    Begun::Array(since) => Some(since),
                    Begun::Handed(_) => None,
                });
                let ahead = || ahead().map(|next| next.targets()[0].row);
                let (outcomes, since) = controller.execute_page_read(request, since, ahead, fault).await;
                (outcomes, since.map(Begun::Array))
            }
            (Backend::Software(controller), _) => (controller.execute(request, fault).await, None),
            (Backend::Hardware(port), begun) => {
                let hand =
                    |request| port.submit(request).expect("a controller's port holds two requests a LUN");
                let tag = match begun {
                    Some(Begun::Handed(tag)) => tag,
                    _ => hand(*request),
                };
                let next = if request.is_page_read() { ahead().map(hand) } else { None };
                let outcomes = port.finished(tag).await;
                if outcomes.iter().any(|outcome| outcome.status == FlashStatus::Error) {
                    while let Some(error) = port.take_fault(request.lun) {
                        fault(error);
                    }
                }
                (outcomes, next.map(Begun::Handed))
            }
        }
    }
}

/// A request that a worker has taken.
#[derive(Clone, Copy)]
struct Job {
    tag: Tag,
    request: FlashRequest,
    task: Task,
}

/// What a LUN's worker works with.
pub struct Worker {
    /// The LUN over the drive.
    pub lun: LunIndex,
    /// Where requests come from.
    pub port: Rc<FlashPort>,
    /// What carries them out.
    pub controller: Backend,
    /// Which chip enable of the drive it lies behind.
    pub package: u32,
    /// What chooses and admits, shared by all workers.
    pub tasks: Rc<Tasks>,
    /// Opens when the package answers.
    pub gate: Rc<Gate>,
    /// Where events go.
    pub recorder: Recorder,
}

impl Worker {
    /// Serves one LUN for ever: the long-lived worker of design §2. Behind a page read it has the next one begun, if
    /// there is one, so that the LUN's array doesn't wait for the stages, nor for the pages of other LUNs.
    pub async fn run(self) {
        let exec = self.port.exec().clone();
        self.gate.pass(&exec).await;
        let overtakes = Cell::new(0);
        let mut ahead: Option<(Job, Option<Begun>)> = None;
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
                status: match outcomes[0].status {
                    FlashStatus::Done => 0,
                    FlashStatus::Failed => 1,
                    FlashStatus::Uncorrectable => 2,
                    FlashStatus::Error => 3,
                },
                corrected: outcomes[0].corrected,
            });
            self.port.complete(job.tag, outcomes);
            self.tasks.ended(&exec, &job.task);
        }
    }

    /// The next request, when it may start.
    async fn next(&self, exec: &Exec, overtakes: &Cell<u32>) -> Job {
        let choose = |waiting: &mut dyn Iterator<Item = Phase>| {
            tasks::bounded(overtakes, self.tasks.choose(self.lun, waiting))
        };
        let (tag, request) = self.port.next(self.lun, choose).await;
        let task = self.task(request.phase);
        self.tasks.admitted(exec, &task).await;
        self.taken(exec, tag, request, task)
    }

    /// The next request, if it is a page read and may start now. Where others wait, too, it isn't known yet what comes next: a
    /// read that comes in the meantime may have to go before a program.
    fn next_page_read(&self, exec: &Exec, overtakes: &Cell<u32>) -> Option<Job> {
        let task = self.task(Phase::Read);
        if !self.port.only_page_reads_wait(self.lun) || !self.tasks.admit(&task) {
            return None;
        }
        let choose = |waiting: &mut dyn Iterator<Item = Phase>| {
            tasks::bounded(overtakes, self.tasks.choose(self.lun, waiting))
        };
        let (tag, request) = self.port.try_next(self.lun, choose).expect("a page read waits");
        Some(self.taken(exec, tag, request, task))
    }

    fn task(&self, phase: Phase) -> Task {
        Task { lun: self.lun, package: self.package, phase }
    }

    fn taken(&self, exec: &Exec, tag: Tag, request: FlashRequest, task: Task) -> Job {
        self.recorder.emit(exec.now(), || Event::FlashIssued {
            lun: self.lun.0,
            kind: request.phase.class(),
            row: request.targets()[0].row.0,
        });
        Job { tag, request, task }
    }
}
