//! The controller's side of a flash port, served by frames.

use super::places::{Layout, Places};
use crate::mark::{BadBlocks, UNMARKED, unsupported};
use crate::target::{SECTOR_OOB, Wiring};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use aster_exec::{Exec, WaitCell};
use aster_hostftl::driver::{ArrayDriver, CommandTag, Ended, Gone};
use aster_parties::TargetMemory;
use aster_ports::flash::{FlashOp, FlashRequest, FlashStatus, Outcome, Outcomes, Tag, Target};
use aster_units::{LunIndex, SECTOR_BYTES};
use aster_wire::array::{Command, CommandFlags, HostAddress, Opcode, StatusCode};
use core::cell::{Cell, RefCell};

/// Commands that a driver has in flight, each with a task that awaits its end.
const WORKERS: usize = 64;
const OOB: CommandFlags = CommandFlags(0).with_oob(true);

/// A target of a request that is with the drive.
#[derive(Clone, Copy)]
struct Flight {
    command: CommandTag,
    request: Tag,
    phase: FlashOp,
    lun: LunIndex,
    /// Which of the request's targets it is.
    index: usize,
    target: Target,
}

/// A request of which targets are with the drive.
#[derive(Clone, Copy, Default)]
struct Pending {
    left: usize,
    outcomes: Outcomes,
}

/// Serves a flash port by a drive's frames. Requests are sent in the order in which they were submitted.
pub(super) struct FlashOverFrames {
    served: Served,
    pending: Box<[Cell<Pending>]>,
    given: [Cell<Option<Flight>>; WORKERS],
    workers: [WaitCell; WORKERS],
}

/// What a port is served with.
pub(super) struct Served {
    pub wiring: Wiring,
    pub driver: Rc<ArrayDriver>,
    pub memory: Rc<RefCell<TargetMemory>>,
    pub layout: Layout,
    pub places: Places,
    pub bad: BadBlocks,
}

impl FlashOverFrames {
    /// Serves a port from now on. Requests that were submitted before are served, too.
    pub fn serve(served: Served) {
        let core = served.wiring.core.clone();
        let flash = Rc::new(FlashOverFrames {
            pending: vec![Cell::new(Pending::default()); served.wiring.port.depth()].into_boxed_slice(),
            served,
            given: core::array::from_fn(|_| Cell::new(None)),
            workers: core::array::from_fn(|_| WaitCell::default()),
        });
        for worker in 0..WORKERS {
            let flash = Rc::clone(&flash);
            core.spawn(async move { flash.work(worker).await });
        }
        core.spawn(async move { flash.dispatch().await });
    }
    fn exec(&self) -> &Exec {
        self.served.wiring.core.exec()
    }

    /// Sends what is submitted, in that order.
    async fn dispatch(&self) {
        let Served { wiring, bad, .. } = &self.served;
        loop {
            let (tag, request) = wiring.next().await;
            if !bad.answer(self.exec(), &wiring.port, &wiring.buffers, tag, &request) {
                self.send(tag, &request).await;
            }
        }
    }
    async fn send(&self, tag: Tag, request: &FlashRequest) {
        let left = request.targets().len();
        self.pending[tag.index()].set(Pending { left, outcomes: Outcomes::default() });
        for (index, target) in request.targets().iter().enumerate() {
            let make = |tag| self.command(tag, request, target);
            let command = self.served.driver.submit_made_soon(make).await;
            let (phase, lun, target) = (request.phase, request.lun, *target);
            self.served.wiring.issued(lun, phase, &target);
            let flight = Flight { command, request: tag, phase, lun, index, target };
            self.given[command.index()].set(Some(flight));
            self.workers[command.index()].wake(self.exec());
        }
    }
    fn command(&self, tag: CommandTag, request: &FlashRequest, target: &Target) -> Command {
        let Target { sectors, buffer, .. } = *target;
        let opcode = match request.phase {
            FlashOp::Read => Opcode::Read,
            FlashOp::Program => Opcode::Write,
            _ => return self.served.places.target(Opcode::Erase, request.lun, target),
        };
        let (at, length) = (self.served.layout.oob(tag), SECTOR_OOB * usize::from(sectors.count));
        {
            let (mut memory, buffers) =
                (self.served.memory.borrow_mut(), self.served.wiring.buffers.borrow());
            let run = memory.bytes_mut(at, length).expect("the command's run is in memory");
            // What an earlier page has left must not be taken for this one's.
            run.fill(UNMARKED);
            if opcode == Opcode::Write {
                // Each sector has the page's record, so that any of them tells whose page it is.
                let record = buffers.oob(buffer);
                run.chunks_mut(SECTOR_OOB).for_each(|of| of[..record.len()].copy_from_slice(record));
            }
        }
        let sector = SECTOR_BYTES as u32;
        let first = u32::from(sectors.first) * sector;
        let data = self.served.memory.borrow().address_of(buffer, first);
        let command = self.served.places.target(opcode, request.lun, target).with_flags(OOB);
        let data = HostAddress::of(data, u32::from(sectors.count) * sector);
        command.with_host(data).with_host(HostAddress::of(at, length as u32))
    }

    /// Awaits the ends of the commands with one number.
    async fn work(&self, number: usize) {
        loop {
            let next = || self.given[number].take();
            let flight = self.workers[number].wait(self.exec(), next).await;
            let ended = self.served.driver.finished(flight.command).await;
            let outcome = self.outcome(&flight, ended);
            self.served.wiring.ended(flight.lun, flight.phase, &flight.target, &outcome);
            let pending = &self.pending[flight.request.index()];
            let mut now = pending.get();
            now.outcomes[flight.index] = outcome;
            now.left -= 1;
            pending.set(now);
            if now.left == 0 {
                self.served.wiring.port.complete(flight.request, now.outcomes);
            }
        }
    }
    fn outcome(&self, flight: &Flight, ended: Result<Ended, Gone>) -> Outcome {
        let error = || unsupported(self.exec(), &self.served.wiring.port, flight.lun, flight.phase);
        let Ok(Ended { code, failed, corrected }) = ended else { return error() };
        match code {
            StatusCode::Done => {
                self.take_oob(flight, 0);
                Outcome { worst_chunk: corrected, corrected: corrected.into(), ..Outcome::default() }
            }
            StatusCode::Erased => Outcome { erased: true, ..Outcome::default() },
            StatusCode::Uncorrectable => {
                let failed_sectors = u16::from(failed) & flight.target.sectors.mask();
                let oob_failed = failed_sectors == flight.target.sectors.mask();
                self.take_oob(flight, failed_sectors);
                let status = FlashStatus::Uncorrectable;
                Outcome { status, failed_sectors, oob_failed, ..Outcome::default() }
            }
            StatusCode::ProgramFailed | StatusCode::EraseFailed => {
                Outcome { status: FlashStatus::Failed, ..Outcome::default() }
            }
            _ => error(),
        }
    }
    /// Puts the record of a page just read beside its buffer: that of the first sector that could be read.
    fn take_oob(&self, flight: &Flight, failed: u16) {
        let Target { sectors, buffer, .. } = flight.target;
        if flight.phase != FlashOp::Read {
            return;
        }
        let readable = (0..sectors.count).find(|n| failed >> (sectors.first + n) & 1 == 0);
        let Some(n) = readable else { return };
        let at = self.served.layout.oob(flight.command) + u64::from(n) * SECTOR_OOB as u64;
        let memory = self.served.memory.borrow();
        let run = memory.bytes(at, SECTOR_OOB).expect("the command's run is in memory");
        let mut buffers = self.served.wiring.buffers.borrow_mut();
        let record = buffers.oob_mut(buffer);
        let bytes = record.len();
        record.copy_from_slice(&run[..bytes]);
    }
}
