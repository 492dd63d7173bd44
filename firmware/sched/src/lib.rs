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
use aster_ports::flash::{FlashError, FlashPort, FlashRequest, FlashStatus, Outcomes, Phase};
use aster_units::{Geometry, LunIndex};
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

impl Backend {
    /// Carries a request out. `fault` is told why a target ended in an error.
    async fn execute(&self, request: &FlashRequest, fault: impl Fn(FlashError)) -> Outcomes {
        match self {
            Backend::Software(controller) => controller.execute(request, fault).await,
            Backend::Hardware(port) => {
                let outcomes = port.call(*request).await;
                if outcomes.iter().any(|outcome| outcome.status == FlashStatus::Error) {
                    while let Some(error) = port.take_fault(request.lun) {
                        fault(error);
                    }
                }
                outcomes
            }
        }
    }
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
    /// The geometry of requests, and that of the packages: a restricted drive uses fewer blocks than its packages have,
    /// so that LUN bits of a row lie elsewhere (C31).
    pub addressing: (Geometry, Geometry),
    /// Opens when the package answers.
    pub gate: Rc<Gate>,
    /// Where events go.
    pub recorder: Recorder,
}

impl Worker {
    /// Serves one LUN for ever: the long-lived worker of design §2.
    pub async fn run(self) {
        let exec = self.port.exec().clone();
        self.gate.pass(&exec).await;
        let overtakes = Cell::new(0);
        loop {
            let choose = |waiting: &mut dyn Iterator<Item = Phase>| {
                tasks::bounded(&overtakes, self.tasks.choose(self.lun, waiting))
            };
            let (tag, request) = self.port.next(self.lun, choose).await;
            let task = Task { lun: self.lun, package: self.package, phase: request.phase };
            self.tasks.admitted(&exec, &task).await;
            let request = self.readdress(request);
            let (kind, row) = (kind_of(request.phase), request.targets()[0].row.0);
            self.recorder.emit(exec.now(), || Event::FlashIssued { lun: self.lun.0, kind, row });
            let outcomes =
                self.controller.execute(&request, |error| self.port.note_fault(self.lun, error)).await;
            self.recorder.emit(exec.now(), || Event::FlashFinished {
                lun: self.lun.0,
                kind,
                row,
                status: match outcomes[0].status {
                    FlashStatus::Done => 0,
                    FlashStatus::Failed => 1,
                    FlashStatus::Uncorrectable => 2,
                    FlashStatus::Error => 3,
                },
                corrected: outcomes[0].corrected,
            });
            self.port.complete(tag, outcomes);
            self.tasks.ended(&exec, &task);
        }
    }

    fn readdress(&self, mut request: FlashRequest) -> FlashRequest {
        let (used, array) = &self.addressing;
        if used.lun_shift() != array.lun_shift() {
            for target in request.targets_mut() {
                let (lun, block, page) = used.split_row(target.row);
                target.row = array.row(lun, block, page);
            }
        }
        request
    }
}

fn kind_of(phase: Phase) -> u8 {
    match phase {
        Phase::Read | Phase::Trigger | Phase::Transfer => 0,
        Phase::Program => 1,
        Phase::Erase => 2,
        Phase::Status | Phase::Reset => 3,
    }
}
