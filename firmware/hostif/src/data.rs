//! A command's data: from PRPs to pages, from the FTL's DMA requests to host memory (NVMe 1.4 §4.3).

use crate::config::SCRATCH_BYTES;
use crate::controller::{Controller, one_segment};
use crate::pages::{Transfer, Walked};
use crate::ports::{ControllerPorts, DmaPurpose};
use crate::slots::CommandStage;
use aster_parties::ListAt;
use aster_ports::host::{DmaDirection, DmaError, DmaPart, DmaRequest, DmaTag};
use aster_ports::link::{BadAddress, Local, MAX_SEGMENTS, Segment};
use aster_wire::nvme::Status;
use aster_wire::nvme::prp::{PRP_ENTRY_BYTES, PageSize, PrpStep, PrpWalk};

impl Controller {
    /// Begins to walk the PRPs of a slot over `bytes` bytes.
    pub(crate) fn begin_walk(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        bytes: u64,
    ) -> Result<Walked, Status> {
        // A command set may have taken the length from the host. A slot has room for this many addresses
        // only.
        if bytes > self.config.transfer_bytes_max() {
            return Err(Status::INVALID_FIELD.with_dnr(true));
        }
        let slot = &mut self.slots[id];
        let (prp1, prp2) = (slot.sqe.prp1.get(), slot.sqe.prp2.get());
        let walk = PrpWalk::new(prp1, prp2, bytes, PageSize::FOUR_KIB);
        slot.walk = Some(walk.map_err(|_| Status::PRP_OFFSET_INVALID.with_dnr(true))?);
        slot.pages = 0;
        self.continue_walk(ports, id)
    }

    /// Continues the walk, with the list page in the slot's scratch memory if one was fetched.
    pub(crate) fn continue_walk(&mut self, ports: &mut ControllerPorts, id: u16) -> Result<Walked, Status> {
        let slot = &mut self.slots[id];
        let walk = slot.walk.as_mut().expect("a walk was begun");
        let scratch = self.layout.scratch(id);
        let list = &ports.sram[scratch..scratch + SCRATCH_BYTES];
        loop {
            match walk.step(list).map_err(|_| Status::PRP_OFFSET_INVALID.with_dnr(true))? {
                PrpStep::Segment(segment) => {
                    self.pages.set(id, slot.pages, segment.address);
                    slot.pages += 1;
                }
                PrpStep::Done => return Ok(Walked::All),
                PrpStep::NeedList { address, entries } => {
                    slot.stage = CommandStage::List;
                    let queue = slot.queue;
                    let local = Local::Sram { offset: scratch as u32 };
                    let host = one_segment(address, entries * PRP_ENTRY_BYTES as u32);
                    self.push_dma(ports, DmaDirection::FromHost, local, host, DmaPurpose::List(id), queue);
                    return Ok(Walked::NeedsList);
                }
            }
        }
    }

    pub(crate) fn list_answered(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        result: Result<(), BadAddress>,
    ) {
        let slot = &self.slots[id];
        if slot.orphan {
            self.pause.leave(id);
            return self.drop_command(ports, id);
        }
        let walked = match result {
            Err(_) => Err(Status::DATA_TRANSFER_ERROR),
            Ok(()) if slot.abort => Err(Status::ABORT_REQUESTED),
            Ok(()) => self.check_format(id).and_then(|()| self.continue_walk(ports, id)),
        };
        match walked {
            Ok(Walked::All) => self.forward(ports, id),
            Ok(Walked::NeedsList) => {}
            Err(status) => {
                self.pause.leave(id);
                self.finish(ports, id, status, 0);
            }
        }
    }

    /// Sends the first `bytes` bytes of the slot's scratch memory to where the host's PRPs say.
    pub(crate) fn send_scratch(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        bytes: usize,
    ) -> Result<(), Status> {
        assert!(bytes <= SCRATCH_BYTES, "{bytes} bytes of scratch memory");
        let host = self.scratch_segments(ports, id, bytes)?;
        self.slots[id].stage = CommandStage::Scratch;
        self.push_scratch(ports, id, DmaDirection::ToHost, 0, host);
        Ok(())
    }

    /// Fetches host memory into the slot's scratch memory, behind what was fetched before.
    pub(crate) fn fetch_list(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        from: ListAt,
        bytes: u16,
    ) -> Result<(), Status> {
        let at = self.slots[id].fetched;
        let end = usize::from(at) + usize::from(bytes);
        assert!(bytes > 0 && end <= SCRATCH_BYTES, "{at} + {bytes} bytes of scratch memory");
        let host = match from {
            ListAt::DataPointer => self.scratch_segments(ports, id, bytes.into())?,
            ListAt::Address(address) => one_segment(address, bytes.into()),
        };
        let slot = &mut self.slots[id];
        (slot.stage, slot.fetched) = (CommandStage::Fetching, end as u16);
        self.push_scratch(ports, id, DmaDirection::FromHost, at, host);
        Ok(())
    }

    /// Has the firmware ask for a list (C86). The slot stays the command's until it does, whatever becomes of
    /// the command in the meantime.
    pub(crate) fn leave_list_to_firmware(
        &mut self,
        ports: &ControllerPorts,
        id: u16,
        from: ListAt,
        bytes: u16,
    ) {
        let slot = &mut self.slots[id];
        slot.waits_for = Some((from, bytes));
        slot.stage = CommandStage::ListWaits;
        ports.commands.push_list(slot.command.id);
    }
    /// The firmware asks for a list.
    #[cold]
    pub(crate) fn list_asked(&mut self, ports: &mut ControllerPorts, id: u16) {
        let slot = &mut self.slots[id];
        assert!(slot.stage == CommandStage::ListWaits, "command {id} has no list that waits");
        let (from, bytes) = slot.waits_for.take().expect("a list that waits is somewhere");
        slot.managed = true;
        let begun = match (slot.orphan, slot.abort) {
            (true, _) => None,
            (_, true) => Some(Err(Status::ABORT_REQUESTED)),
            _ => Some(self.fetch_list(ports, id, from, bytes)),
        };
        match begun {
            Some(Ok(())) => return,
            Some(Err(status)) => self.finish(ports, id, status, 0),
            None => self.drop_command(ports, id),
        }
        self.pause.leave(id);
        ports.commands.list_done();
    }

    fn scratch_segments(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        bytes: usize,
    ) -> Result<([Segment; MAX_SEGMENTS], usize), Status> {
        let walked = self.begin_walk(ports, id, bytes as u64)?;
        assert_eq!(walked, Walked::All, "4 KiB touch two pages at most, and two pages need no list");
        let (segments, count, _) = self.pages.segments(id, 0, bytes as u64);
        Ok((segments, count))
    }
    fn push_scratch(
        &mut self,
        ports: &ControllerPorts,
        id: u16,
        direction: DmaDirection,
        at: u16,
        host: ([Segment; MAX_SEGMENTS], usize),
    ) {
        let local = Local::Sram { offset: self.layout.scratch(id) as u32 + u32::from(at) };
        self.push_dma(ports, direction, local, host, DmaPurpose::Scratch(id), self.slots[id].queue);
    }

    pub(crate) fn scratch_answered(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        result: Result<(), BadAddress>,
    ) {
        let slot = &self.slots[id];
        let fetching = slot.stage == CommandStage::Fetching;
        let managed = fetching && slot.managed;
        match result {
            _ if slot.orphan => self.drop_command(ports, id),
            Err(_) => self.finish(ports, id, Status::DATA_TRANSFER_ERROR, 0),
            Ok(()) if fetching => self.list_fetched(ports, id),
            Ok(()) => self.finish(ports, id, Status::SUCCESS, 0),
        }
        if fetching {
            self.leave_pause(id);
        }
        if managed {
            ports.commands.list_done();
        }
    }

    /// Starts a DMA that the FTL requested for part of a command's data.
    pub(crate) fn start_transfer(&mut self, ports: &mut ControllerPorts, tag: DmaTag, request: DmaRequest) {
        let id = request.command.0;
        let slot = &self.slots[id];
        assert!(slot.stage == CommandStage::Ftl, "DMA for command {id}, which the FTL does not have");
        if slot.orphan {
            return ports.commands.dma_done(tag, Err(DmaError::Aborted));
        }
        if request.part == DmaPart::Metadata {
            return self.start_metadata(ports, tag, request);
        }
        let (offset, length) = (u64::from(request.offset), u64::from(request.length));
        assert!(length > 0 && offset + length <= slot.command.length, "DMA outside command {id}'s data");
        let queue = slot.queue;
        let (mut done, mut operations) = (0, 0);
        while done < length {
            let (segments, count, bytes) = self.pages.segments(id, offset + done, length - done);
            let local = Local::Buffer { buffer: request.buffer, offset: request.buffer_offset + done as u32 };
            self.push_dma(ports, request.direction, local, (segments, count), DmaPurpose::Data(tag.0), queue);
            done += bytes;
            operations += 1;
        }
        self.transfers[usize::from(tag.0)] =
            Transfer { slot: id, queue, bytes: request.length, operations, failed: false };
    }

    /// Starts a DMA of a command's metadata, which is one run of host memory (NVMe 1.4 §4.2, MPTR).
    #[cold]
    fn start_metadata(&mut self, ports: &mut ControllerPorts, tag: DmaTag, request: DmaRequest) {
        let id = request.command.0;
        let slot = &self.slots[id];
        let end = request.offset.checked_add(request.length);
        let inside = request.length > 0 && end.is_some_and(|end| end <= slot.metadata_bytes);
        assert!(inside, "DMA outside command {id}'s metadata");
        let Some(address) = slot.sqe.mptr.get().checked_add(request.offset.into()) else {
            return ports.commands.dma_done(tag, Err(DmaError::Address));
        };
        let queue = slot.queue;
        let local = Local::Buffer { buffer: request.buffer, offset: request.buffer_offset };
        let host = one_segment(address, request.length);
        self.push_dma(ports, request.direction, local, host, DmaPurpose::Data(tag.0), queue);
        self.transfers[usize::from(tag.0)] =
            Transfer { slot: id, queue, bytes: request.length, operations: 1, failed: false };
    }

    pub(crate) fn data_answered(
        &mut self,
        ports: &mut ControllerPorts,
        tag: u16,
        result: Result<(), BadAddress>,
    ) {
        let transfer = &mut self.transfers[usize::from(tag)];
        transfer.operations -= 1;
        transfer.failed |= result.is_err();
        if transfer.operations > 0 {
            return;
        }
        let Transfer { slot: id, bytes, failed, .. } = *transfer;
        // The FTL gets the buffer back only now. Until the last answer the link may still access it.
        let answer = match (self.slots[id].orphan, failed) {
            (true, _) => Err(DmaError::Aborted),
            (false, true) => Err(DmaError::Address),
            (false, false) => Ok(()),
        };
        ports.commands.dma_done(DmaTag(tag), answer);
        if answer.is_ok() {
            self.moved(ports, id, bytes);
        }
    }
}
