//! Commands of the NVM command set (NVMe 1.4 §6).

use crate::controller::Controller;
use crate::data::Walked;
use crate::ports::Ports;
use crate::slots::Stage;
use aster_events::Event;
use aster_ports::host::{ByteRange, Completion, DmaDirection, HostCommand, HostOp, HostStatus};
use aster_wire::nvme::dsm::{RANGE_BYTES, ranges};
use aster_wire::nvme::io::{BlockRange, DatasetManagement, IoCommand};
use aster_wire::nvme::{NSID_ALL, Status};

/// The only namespace.
pub(crate) const NSID: u32 = 1;

/// What became of a command that was just decoded.
enum Step {
    /// It goes to the FTL now.
    Ready,
    /// It waits for a DMA.
    Waits,
    /// It has nothing to do.
    Done,
}

fn refuse(status: Status) -> Status {
    status.with_dnr(true)
}

impl Controller {
    /// Logical blocks of the namespace.
    pub(crate) fn blocks(&self) -> u64 {
        self.config.namespace_bytes >> self.block_size.log2()
    }

    pub(crate) fn start_io(&mut self, ports: &mut Ports, id: u16) {
        match self.try_start_io(ports, id) {
            Ok(Step::Ready) => self.forward(ports, id),
            Ok(Step::Waits) => {}
            Ok(Step::Done) => self.finish(ports, id, Status::SUCCESS, 0),
            Err(status) => self.finish(ports, id, status, 0),
        }
    }

    fn try_start_io(&mut self, ports: &mut Ports, id: u16) -> Result<Step, Status> {
        let sqe = self.slots[id].sqe;
        let command = IoCommand::decode(&sqe).map_err(|e| e.status())?;
        let nsid = sqe.nsid.get();
        let all_allowed = matches!(command, IoCommand::Flush);
        if nsid != NSID && !(all_allowed && nsid == NSID_ALL) {
            return Err(refuse(Status::INVALID_NAMESPACE_OR_FORMAT));
        }
        if self.formatting {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        match command {
            IoCommand::Flush => {
                self.set_command(id, HostOp::Flush, 0, 0, false);
                Ok(Step::Ready)
            }
            IoCommand::Read(range) => self.start_transfer_command(ports, id, HostOp::Read, &range),
            IoCommand::Write(range) => {
                if range.control.directive_type() != 0 {
                    return Err(refuse(Status::INVALID_FIELD));
                }
                self.start_transfer_command(ports, id, HostOp::Write, &range)
            }
            IoCommand::Compare(range) => self.start_transfer_command(ports, id, HostOp::Compare, &range),
            IoCommand::WriteZeroes(range) => {
                let (offset, length) = self.check_range(&range)?;
                let op = HostOp::WriteZeroes { deallocate: range.control.deallocate() };
                self.set_command(id, op, offset, length, self.writes_through(&range));
                Ok(Step::Ready)
            }
            IoCommand::DatasetManagement(dsm) => self.start_dataset(ports, id, dsm),
            IoCommand::WriteUncorrectable(_) | IoCommand::Verify(_) => Err(refuse(Status::INVALID_OPCODE)),
        }
    }

    /// Bytes of a range of blocks inside the namespace: offset and length.
    fn check_range(&self, range: &BlockRange) -> Result<(u64, u64), Status> {
        if range.control.protection() != 0 {
            // No format has protection information (NVMe 1.4 §8.3).
            return Err(refuse(Status::INVALID_PROTECTION_INFORMATION));
        }
        if range.end().is_none_or(|end| end > self.blocks()) {
            return Err(refuse(Status::LBA_OUT_OF_RANGE));
        }
        let log2 = self.block_size.log2();
        Ok((range.slba << log2, u64::from(range.blocks()) << log2))
    }

    /// Whether a write must be durable before it completes: FUA, or no volatile cache in use (NVMe 1.4 §5.21.1.6).
    fn writes_through(&self, range: &BlockRange) -> bool {
        range.control.force_unit_access() || !self.features.write_cache.enabled()
    }

    fn start_transfer_command(
        &mut self,
        ports: &mut Ports,
        id: u16,
        op: HostOp,
        range: &BlockRange,
    ) -> Result<Step, Status> {
        if u64::from(range.blocks()) << self.block_size.log2() > self.config.transfer_bytes_max() {
            return Err(refuse(Status::INVALID_FIELD));
        }
        let (offset, length) = self.check_range(range)?;
        let fua = match op {
            HostOp::Write => self.writes_through(range),
            _ => range.control.force_unit_access(),
        };
        self.set_command(id, op, offset, length, fua);
        Ok(match self.begin_walk(ports, id, length)? {
            Walked::All => Step::Ready,
            Walked::NeedsList => Step::Waits,
        })
    }

    /// Dataset Management (NVMe 1.4 §6.7). Without the deallocate attribute it only gives hints, which we don't use.
    fn start_dataset(&mut self, ports: &mut Ports, id: u16, dsm: DatasetManagement) -> Result<Step, Status> {
        if !dsm.attributes.deallocate() {
            return Ok(Step::Done);
        }
        let bytes = usize::from(dsm.range_count()) * RANGE_BYTES;
        self.set_command(id, HostOp::Deallocate, 0, bytes as u64, false);
        self.move_scratch(ports, id, DmaDirection::FromHost, bytes)?;
        Ok(Step::Waits)
    }

    /// The ranges of a Dataset Management command lie in its scratch memory.
    pub(crate) fn ranges_arrived(&mut self, ports: &mut Ports, id: u16) {
        let slot = &mut self.slots[id];
        if slot.abort {
            return self.finish(ports, id, Status::ABORT_REQUESTED, 0);
        }
        let bytes = slot.command.length as usize;
        slot.command.length = 0;
        let (blocks, log2) = (self.blocks(), self.block_size.log2());
        let at = self.layout.scratch(id);
        let list = ranges(&ports.sram[at..at + bytes]);
        if list.iter().any(|range| range.end().is_none_or(|end| end > blocks)) {
            return self.finish(ports, id, refuse(Status::LBA_OUT_OF_RANGE), 0);
        }
        let filled = list.iter().filter(|range| range.blocks.get() > 0);
        let id_of_command = self.slots[id].command.id;
        ports.commands.set_ranges(
            id_of_command,
            filled.map(|range| ByteRange {
                offset: range.slba.get() << log2,
                length: u64::from(range.blocks.get()) << log2,
            }),
        );
        self.forward(ports, id);
    }

    pub(crate) fn set_command(&mut self, id: u16, op: HostOp, offset: u64, length: u64, fua: bool) {
        let command = &mut self.slots[id].command;
        *command = HostCommand { id: command.id, op, offset, length, fua };
    }

    /// Hands a command to the FTL, or parks it during a pause.
    pub(crate) fn forward(&mut self, ports: &mut Ports, id: u16) {
        if self.park(ports, id) {
            return;
        }
        let slot = &mut self.slots[id];
        slot.stage = Stage::Ftl;
        (slot.with_ftl, slot.moved) = (true, 0);
        self.health.started(ports.now());
        ports.commands.push_command(slot.command);
    }

    /// Bytes of a command's data have been moved. With the last the command is completed, if that is all that the host was promised: a
    /// read that lost a sector never comes so far.
    pub(crate) fn moved(&mut self, ports: &mut Ports, id: u16, bytes: u32) {
        let slot = &mut self.slots[id];
        slot.moved += u64::from(bytes);
        let command = slot.command;
        if !self.config.auto_completion || !command.ends_with_data() {
            return;
        }
        assert!(slot.moved <= command.length, "data of command {id} were moved twice");
        if slot.moved == command.length {
            slot.failed_at = None;
            self.health.ended(ports.now(), &command, HostStatus::Success);
            ports.emit(|| Event::CommandAnswered { command: id });
            self.finish(ports, id, Status::SUCCESS, 0);
        }
    }

    /// The FTL has finished a command.
    pub(crate) fn ftl_completed(&mut self, ports: &mut Ports, completion: Completion) {
        let id = completion.id.0;
        let command = (id != self.shutdown_id()).then(|| &self.slots[id].command);
        if self.pause.defer(&completion, command) {
            return;
        }
        if id == self.shutdown_id() {
            return self.shutdown_completed(ports, completion.status);
        }
        let slot = &mut self.slots[id];
        assert!(slot.with_ftl, "the FTL completed command {id}, which it does not have");
        slot.with_ftl = false;
        match slot.stage {
            Stage::Ftl => {}
            // Completed by itself: its entry has been sent, or is about to be.
            Stage::Answered => return self.slots.free(id),
            _ => return,
        }
        let (command, queue, orphan) = (slot.command, slot.queue, slot.orphan);
        self.health.ended(ports.now(), &command, completion.status);
        if completion.status == HostStatus::UnrecoveredRead {
            self.check_health(ports);
        }
        if queue == 0 {
            self.formatted(id, completion.status);
        }
        if orphan {
            return self.drop_command(ports, id);
        }
        self.slots[id].failed_at = completion.failed_at;
        let result = completion.result;
        self.finish(ports, id, status_of(completion.status), result);
    }
}

/// How the FTL's outcome reads in NVMe (§4.6.1).
pub(crate) fn status_of(status: HostStatus) -> Status {
    match status {
        HostStatus::Success => Status::SUCCESS,
        HostStatus::UnrecoveredRead => Status::UNRECOVERED_READ_ERROR,
        HostStatus::WriteFault => Status::WRITE_FAULT,
        HostStatus::CompareFailure => refuse(Status::COMPARE_FAILURE),
        HostStatus::DataTransfer => Status::DATA_TRANSFER_ERROR,
        HostStatus::ReadOnly => refuse(Status::WRITE_TO_READ_ONLY_RANGE),
        HostStatus::Aborted => Status::ABORT_REQUESTED,
    }
}
