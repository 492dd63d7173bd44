//! A worker: takes commands, one after the other.

use crate::drive::{Drive, Sent};
use crate::plan::{ErasedBlock, Run};
use crate::shape::Unit;
use crate::turns;
use alloc::rc::Rc;
use alloc::vec::Vec;
use aster_events::{Event, Function};
use aster_parties::DriveState;
use aster_ports::host::{Completion, DmaTag, HostCommand, HostOp, HostStatus, VECTOR_MAX};
use aster_units::{BufferId, Content, LunIndex};

/// A vector's end: its status, and a bit for each address that failed.
pub(crate) type Ended = (HostStatus, u64);

/// A worker with the memory that it needs for any command.
pub(crate) struct Worker {
    pub drive: Rc<Drive>,
    pub number: u16,
    pub units: Vec<Unit>,
    pub luns: Vec<LunIndex>,
    pub runs: Vec<Run>,
    /// The runs that a copy reads.
    pub sources: Vec<Run>,
    pub erases: Vec<ErasedBlock>,
    pub buffers: Vec<BufferId>,
    pub sent: Vec<Sent>,
    pub transfers: Vec<DmaTag>,
    /// The most bits that were corrected in a chunk of what a read of the host's has brought.
    pub corrected: u8,
}

impl Worker {
    pub fn new(drive: &Rc<Drive>, number: u16) -> Self {
        let (luns, erases) = (drive.config.geometry.total_luns(), drive.config.erases_max());
        Worker {
            number,
            units: Vec::with_capacity(2 * VECTOR_MAX),
            luns: Vec::with_capacity((luns as usize).max(VECTOR_MAX)),
            runs: Vec::with_capacity(VECTOR_MAX),
            sources: Vec::with_capacity(VECTOR_MAX),
            erases: Vec::with_capacity(erases),
            buffers: Vec::with_capacity(2 * VECTOR_MAX),
            sent: Vec::with_capacity(erases.max(VECTOR_MAX)),
            transfers: Vec::with_capacity(VECTOR_MAX),
            corrected: 0,
            drive: Rc::clone(drive),
        }
    }

    /// Does its part of boot, and then serves for ever.
    pub async fn run(mut self) {
        self.boot().await;
        let drive = Rc::clone(&self.drive);
        loop {
            let command = drive.commands.next_command().await;
            // The tickets are taken in the moment in which the command is: the order of arrival counts.
            let known = self.enter(&command);
            drive.emit(|| Event::CommandStarted {
                command: command.id.0,
                offset: command.offset,
                length: command.length,
            });
            drive.spend(Function::NvmeManager, drive.config.costs.command);
            let (status, result) = match (known, refusal(drive.state(), command.op)) {
                (false, _) => (HostStatus::Refused, 0),
                (true, Some(status)) => {
                    self.first().await;
                    self.leave();
                    (status, 0)
                }
                (true, None) => self.serve(&command).await,
            };
            drive.spend(Function::NvmeManager, drive.config.costs.complete);
            drive.core.settle().await;
            drive.emit(|| Event::CommandFinished { command: command.id.0 });
            drive.count(|s| s.commands += 1);
            let corrected = core::mem::take(&mut self.corrected);
            drive.commands.complete(Completion { result, corrected, ..Completion::new(command.id, status) });
        }
    }

    /// Enters the queues of the LUNs that a command names. Returns whether the drive has all that the
    /// command names; otherwise no queue was entered.
    fn enter(&mut self, command: &HostCommand) -> bool {
        let drive = &self.drive;
        self.units.clear();
        self.luns.clear();
        if command.op.has_addresses() {
            let addresses = (0..).map_while(|n| drive.commands.address(command.id, n));
            // A copy has a second one for each unit.
            for address in addresses.take(2 * VECTOR_MAX) {
                match drive.shape.unit(address) {
                    Some(unit) => self.units.push(unit),
                    None => return false,
                }
            }
            if self.units.is_empty() {
                return false;
            }
            turns::distinct(self.units.iter().map(|unit| unit.lun), &mut self.luns);
        } else if let HostOp::Format { .. } | HostOp::Flush | HostOp::Shutdown = command.op {
            // They come after all that was taken before.
            self.luns.extend((0..drive.config.geometry.total_luns()).map(LunIndex));
        }
        drive.turns.enter(self.number, &self.luns);
        true
    }
    /// Waits until it is this worker's turn at all of the command's LUNs.
    pub async fn first(&self) {
        self.drive.turns.first(self.drive.exec(), self.number, &self.luns).await;
    }
    /// Lets the next ones have their turn.
    pub fn leave(&mut self) {
        self.drive.turns.leave(self.drive.exec(), self.number, &self.luns);
        self.luns.clear();
    }
    /// The addresses in blocks that are the drive's own, one bit each. Writes and erases find them by their
    /// state.
    pub fn protected(&self) -> u64 {
        let own = |unit: &Unit| self.drive.config.is_protected(unit.block);
        self.units
            .iter()
            .take(VECTOR_MAX)
            .enumerate()
            .fold(0, |bits, (n, unit)| bits | u64::from(own(unit)) << n)
    }
    /// Takes a page buffer for each run.
    pub async fn take_buffers(&mut self) {
        let (drive, count) = (Rc::clone(&self.drive), self.runs.len());
        drive.buffers.take(drive.exec(), self.number, count, &mut self.buffers).await;
    }
    /// A buffer for looks at pages, which the worker asks for while it has none: its own for bytes, or a page
    /// buffer where pages hold fingerprints. [`Worker::give_look_buffer`] gives it back.
    pub async fn look_buffer(&mut self) -> BufferId {
        let drive = Rc::clone(&self.drive);
        if drive.dram.borrow().content() == Content::Full {
            return drive.side_of(self.number);
        }
        drive.buffers.take(drive.exec(), self.number, 1, &mut self.buffers).await;
        self.buffers[0]
    }
    pub fn give_look_buffer(&mut self) {
        if !self.buffers.is_empty() {
            self.give_buffers();
        }
    }
    pub fn give_buffers(&mut self) {
        self.drive.buffers.give(self.drive.exec(), &mut self.buffers);
    }

    async fn serve(&mut self, command: &HostCommand) -> Ended {
        match command.op {
            HostOp::VectorRead(mode) if mode.raw => self.read_raw(command, mode).await,
            HostOp::VectorWrite(mode) if mode.raw => self.write_raw(command, mode).await,
            HostOp::VectorRead(mode) => self.read(command, mode).await,
            HostOp::VectorWrite(mode) => self.write(command, mode).await,
            HostOp::VectorErase(mode) => self.erase(command, mode).await,
            HostOp::VectorCopy if self.drive.config.copies => self.copy().await,
            HostOp::Report(kind) => self.report(command, kind).await,
            HostOp::SetBlockState(state) => self.set_state(state).await,
            HostOp::Format { .. } => self.format().await,
            HostOp::Flush | HostOp::Shutdown => self.settle().await,
            _ => {
                self.leave();
                (HostStatus::Refused, 0)
            }
        }
    }
    /// Waits for the programs and erases that were taken before: what has completed is in the cells, and
    /// the bad-block table is kept with each change of it.
    async fn settle(&mut self) -> Ended {
        self.first().await;
        let drive = Rc::clone(&self.drive);
        for lun in &self.luns {
            let quiet = || {
                let table = drive.table.borrow();
                (!table.of_lun(*lun).iter().any(|block| block.is_busy())).then_some(())
            };
            drive.ended[lun.index()].wait(drive.exec(), quiet).await;
        }
        self.leave();
        (HostStatus::Success, 0)
    }
}

/// The status of a command that the drive can't serve in its state.
fn refusal(state: DriveState, op: HostOp) -> Option<HostStatus> {
    let writes = matches!(op, HostOp::VectorWrite(_) | HostOp::VectorCopy | HostOp::SetBlockState(_));
    (state == DriveState::ReadOnly && writes).then_some(HostStatus::ReadOnly)
}
