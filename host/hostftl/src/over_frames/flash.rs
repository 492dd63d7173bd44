//! The controller's side of a flash port, served by frames.

use super::blocks::BadBlocks;
use super::places::{Layout, Places, SECTOR_OOB};
use crate::driver::{ArrayDriver, CommandTag, Ended, Gone};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec;
use aster_exec::{Core, Exec, Handler, WaitCell};
use aster_parties::TargetMemory;
use aster_ports::dram::SharedDram;
use aster_ports::flash::{
    FlashError, FlashOp, FlashPort, FlashRequest, FlashStatus, Outcome, Outcomes, Tag, Target,
};
use aster_units::{LunIndex, SECTOR_BYTES};
use aster_wire::array::{Command, CommandFlags, HostAddress, Opcode, StatusCode};
use core::cell::{Cell, RefCell};

/// Commands that a driver has in flight, each with a task that awaits its end.
const WORKERS: usize = 64;
const OOB: CommandFlags = CommandFlags(0).with_oob(true);
/// What a factory's mark reads as, and what other spare bytes do.
const MARKED: u8 = 0x00;
const UNMARKED: u8 = 0xff;

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
pub struct FlashOverFrames {
    exec: Exec,
    driver: Rc<ArrayDriver>,
    memory: Rc<RefCell<TargetMemory>>,
    buffers: SharedDram,
    port: Rc<FlashPort>,
    layout: Layout,
    places: Places,
    bad: BadBlocks,
    pending: Box<[Cell<Pending>]>,
    given: [Cell<Option<Flight>>; WORKERS],
    workers: [WaitCell; WORKERS],
}

/// The handler that a port tells of requests: it wakes the dispatcher, if there is one already.
pub(super) struct Bell {
    exec: Exec,
    dispatcher: WaitCell,
}

impl Bell {
    /// Has the port ring it.
    pub fn attach(exec: &Exec, port: &FlashPort) -> Rc<Self> {
        let bell = Rc::new(Bell { exec: exec.clone(), dispatcher: WaitCell::default() });
        port.collect(exec.register(bell.clone()));
        bell
    }
}

impl Handler for Bell {
    fn fire(&self, _: u64) {
        self.dispatcher.wake(&self.exec);
    }
}

/// What a port is served with.
pub(super) struct Served {
    pub driver: Rc<ArrayDriver>,
    pub memory: Rc<RefCell<TargetMemory>>,
    pub buffers: SharedDram,
    pub port: Rc<FlashPort>,
    pub layout: Layout,
    pub places: Places,
    pub bell: Rc<Bell>,
}

impl FlashOverFrames {
    /// Serves a port from now on, by tasks on `core`. Requests that were submitted before are served, too.
    /// Returns `false` if the drive doesn't tell the states of its blocks.
    pub(super) async fn serve(core: &Core, served: Served) -> bool {
        let Served { driver, memory, buffers, port, layout, places, bell } = served;
        let Some(bad) = BadBlocks::ask(&driver, &memory, &places, &layout).await else { return false };
        let flash = Rc::new(FlashOverFrames {
            exec: core.exec().clone(),
            pending: vec![Cell::new(Pending::default()); port.depth()].into_boxed_slice(),
            driver,
            memory,
            buffers,
            port,
            layout,
            places,
            bad,
            given: core::array::from_fn(|_| Cell::new(None)),
            workers: core::array::from_fn(|_| WaitCell::default()),
        });
        for worker in 0..WORKERS {
            let flash = Rc::clone(&flash);
            core.spawn(async move { flash.work(worker).await });
        }
        core.spawn(async move { flash.dispatch(&bell).await });
        true
    }

    /// Sends what is submitted, in that order.
    async fn dispatch(&self, bell: &Bell) {
        loop {
            let (tag, request) = bell.dispatcher.wait(&self.exec, || self.port.try_collect()).await;
            if !self.answer_here(tag, &request) {
                self.send(tag, &request).await;
            }
        }
    }
    /// Answers what no frame can ask for: a factory's mark, and what isn't supported.
    fn answer_here(&self, tag: Tag, request: &FlashRequest) -> bool {
        let whole = matches!(request.phase, FlashOp::Read | FlashOp::Program | FlashOp::Erase);
        let plain = !request.flags.slc && !request.flags.one_shot;
        let mark = request.flags.raw && request.phase == FlashOp::Read;
        let mut outcomes = Outcomes::default();
        if mark && plain {
            for target in request.targets() {
                let bad = self.bad.is_bad(request.lun, self.places.block_of(target.row));
                let byte = if bad { MARKED } else { UNMARKED };
                self.buffers.borrow_mut().oob_mut(target.buffer).fill(byte);
            }
        } else if whole && plain && !request.flags.raw {
            return false;
        } else {
            let (operation, at) = (request.phase.name(), self.exec.now());
            self.port.note_fault(request.lun, FlashError::Unsupported { operation, at });
            outcomes.fill(Outcome { status: FlashStatus::Error, ..Outcome::default() });
        }
        self.port.complete(tag, outcomes);
        true
    }
    async fn send(&self, tag: Tag, request: &FlashRequest) {
        let left = request.targets().len();
        self.pending[tag.index()].set(Pending { left, outcomes: Outcomes::default() });
        for (index, target) in request.targets().iter().enumerate() {
            let make = |tag| self.command(tag, request, target);
            let command = self.driver.submit_made_soon(make).await;
            let (phase, lun, target) = (request.phase, request.lun, *target);
            let flight = Flight { command, request: tag, phase, lun, index, target };
            self.given[command.index()].set(Some(flight));
            self.workers[command.index()].wake(&self.exec);
        }
    }
    fn command(&self, tag: CommandTag, request: &FlashRequest, target: &Target) -> Command {
        let Target { sectors, buffer, .. } = *target;
        let opcode = match request.phase {
            FlashOp::Read => Opcode::Read,
            FlashOp::Program => Opcode::Write,
            _ => return self.places.target(Opcode::Erase, request.lun, target),
        };
        let (at, length) = (self.layout.oob(tag), SECTOR_OOB * usize::from(sectors.count));
        {
            let (mut memory, buffers) = (self.memory.borrow_mut(), self.buffers.borrow());
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
        let data = self.memory.borrow().address_of(buffer, first);
        let command = self.places.target(opcode, request.lun, target).with_flags(OOB);
        let data = HostAddress::of(data, u32::from(sectors.count) * sector);
        command.with_host(data).with_host(HostAddress::of(at, length as u32))
    }

    /// Awaits the ends of the commands with one number.
    async fn work(&self, number: usize) {
        loop {
            let next = || self.given[number].take();
            let flight = self.workers[number].wait(&self.exec, next).await;
            let ended = self.driver.finished(flight.command).await;
            let outcome = self.outcome(&flight, ended);
            let pending = &self.pending[flight.request.index()];
            let mut now = pending.get();
            now.outcomes[flight.index] = outcome;
            now.left -= 1;
            pending.set(now);
            if now.left == 0 {
                self.port.complete(flight.request, now.outcomes);
            }
        }
    }
    fn outcome(&self, flight: &Flight, ended: Result<Ended, Gone>) -> Outcome {
        let error = || {
            let (operation, at) = (flight.phase.name(), self.exec.now());
            self.port.note_fault(flight.lun, FlashError::Unsupported { operation, at });
            Outcome { status: FlashStatus::Error, ..Outcome::default() }
        };
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
        let at = self.layout.oob(flight.command) + u64::from(n) * SECTOR_OOB as u64;
        let memory = self.memory.borrow();
        let run = memory.bytes(at, SECTOR_OOB).expect("the command's run is in memory");
        let mut buffers = self.buffers.borrow_mut();
        let record = buffers.oob_mut(buffer);
        let bytes = record.len();
        record.copy_from_slice(&run[..bytes]);
    }
}
