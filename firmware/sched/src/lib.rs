//! Flash schedulers: which request a LUN works on next (design §1). This one keeps a queue a LUN and picks by class.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::rc::Rc;
use aster_events::{Event, Recorder};
use aster_exec::{Exec, WaitQueue};
use aster_flash::Controller;
use aster_ports::flash::{FlashPort, FlashRequest, FlashStatus, Phase};
use aster_units::{Geometry, LunIndex};
use core::cell::Cell;

/// How a LUN's next request is chosen among those waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// In the order they came.
    #[default]
    Fifo,
    /// Reads before programs and erases; otherwise in the order they came. Programs and erases never overtake each
    /// other, since the pages of a block must be programmed in order.
    ReadsFirst,
}

impl Policy {
    /// The index of the request to serve, among phases given oldest first.
    pub fn choose(self, mut waiting: &mut dyn Iterator<Item = Phase>) -> usize {
        match self {
            Policy::Fifo => 0,
            Policy::ReadsFirst => {
                // A read must not overtake the erase or program of what it reads: the FTL reads only pages whose program
                // has ended and erases only blocks that nobody reads, so any read may go first.
                Iterator::position(&mut waiting, |phase| {
                    matches!(phase, Phase::Read | Phase::Trigger | Phase::Transfer)
                })
                .unwrap_or(0)
            }
        }
    }
}

/// Reads in a row that may overtake a waiting program or erase; then the oldest request goes.
pub const OVERTAKES_MAX: u32 = 32;

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

/// What a LUN's worker works with.
pub struct Worker {
    /// The LUN over the drive.
    pub lun: LunIndex,
    /// Where requests come from.
    pub port: Rc<FlashPort>,
    /// What carries them out.
    pub controller: Controller,
    /// How the next one is chosen.
    pub policy: Policy,
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
        let exec = self.controller.lun().core().exec().clone();
        self.gate.pass(&exec).await;
        let overtakes = Cell::new(0);
        loop {
            let choose =
                |waiting: &mut dyn Iterator<Item = Phase>| bounded(&overtakes, self.policy.choose(waiting));
            let (tag, request) = self.port.next(self.lun, choose).await;
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

/// Lets a choice that overtakes stand, but not for ever.
fn bounded(overtakes: &Cell<u32>, choice: usize) -> usize {
    if choice == 0 || overtakes.get() == OVERTAKES_MAX {
        overtakes.set(0);
        return 0;
    }
    overtakes.set(overtakes.get() + 1);
    choice
}

fn kind_of(phase: Phase) -> u8 {
    match phase {
        Phase::Read | Phase::Trigger | Phase::Transfer => 0,
        Phase::Program => 1,
        Phase::Erase => 2,
        Phase::Status | Phase::Reset => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_overtake_programs_but_programs_and_erases_keep_their_order() {
        let waiting = [Phase::Program, Phase::Erase, Phase::Read];
        assert_eq!(Policy::Fifo.choose(&mut waiting.iter().copied()), 0);
        assert_eq!(Policy::ReadsFirst.choose(&mut waiting.iter().copied()), 2);
        assert_eq!(Policy::ReadsFirst.choose(&mut waiting[..2].iter().copied()), 0);
    }

    #[test]
    fn a_program_is_not_overtaken_for_ever() {
        let overtakes = Cell::new(0);
        let choices: u32 = (0..OVERTAKES_MAX + 1).map(|_| bounded(&overtakes, 1) as u32).sum();
        assert_eq!(choices, OVERTAKES_MAX, "the last choice is the oldest request");
        assert_eq!(bounded(&overtakes, 1), 1, "and then reads may overtake again");
    }
}
