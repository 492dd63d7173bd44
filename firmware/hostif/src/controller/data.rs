//! A command's data: from PRPs to pages, from the FTL's DMA requests to host memory (NVMe 1.4 §4.3).

use crate::config::SCRATCH_BYTES;
use crate::controller::{Controller, one_segment};
use crate::dma::Transfer;
use crate::pages::{HostRuns, Walked};
use crate::ports::{ControllerPorts, DmaPurpose};
use crate::slots::{CommandStage, Permit};
use aster_parties::ListAt;
use aster_ports::host::{DmaDirection, DmaError, DmaPart, DmaRequest, DmaTag};
use aster_ports::link::{BadAddress, Local, Segment};
use aster_wire::nvme::Status;
use aster_wire::nvme::prp::PRP_ENTRY_BYTES;

impl Controller {
    /// Begins to walk the PRPs of a command over `bytes` bytes.
    #[inline]
    pub(crate) fn begin_walk(
        &mut self,
        ports: &ControllerPorts,
        permit: &Permit,
        bytes: u64,
    ) -> Result<Walked, Status> {
        // A command set may have taken the length from the host. A slot has room for this many addresses
        // only.
        if bytes > self.config.transfer_bytes_max() {
            return Err(Status::INVALID_FIELD.with_dnr(true));
        }
        let sqe = self.slots[permit.id()].sqe();
        let (prp1, prp2) = (sqe.prp1.get(), sqe.prp2.get());
        if self.dma.walks().take_one_page(permit.id(), prp1, bytes) {
            return Ok(Walked::All);
        }
        self.dma.walks().begin(permit.id(), (prp1, prp2), bytes)?;
        self.continue_walk(ports, permit)
    }
    /// Continues the walk, with the list page in the slot's scratch memory if one was fetched.
    #[inline]
    fn continue_walk(&mut self, ports: &ControllerPorts, permit: &Permit) -> Result<Walked, Status> {
        let scratch = self.dma.layout().scratch(permit.id());
        self.dma.walks().walk(permit.id(), &ports.sram[scratch..scratch + SCRATCH_BYTES])
    }
    /// Fetches a PRP list page into the slot's scratch memory.
    pub(crate) fn fetch_list_page(
        &mut self,
        ports: &ControllerPorts,
        permit: Permit,
        address: u64,
        entries: u32,
    ) {
        let id = permit.id();
        self.slots.fetch_list_page(permit);
        let local = Local::Sram { offset: self.dma.layout().scratch(id) as u32 };
        let host = one_segment(address, entries * PRP_ENTRY_BYTES as u32);
        let queue = self.slots[id].queue();
        self.push_dma(ports, DmaDirection::FromHost, local, host, DmaPurpose::List(id), queue);
    }

    pub(crate) fn list_answered(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        result: Result<(), BadAddress>,
    ) {
        let permit = self.slots.resume(id, CommandStage::List);
        let slot = &self.slots[id];
        if slot.is_orphan() {
            self.pause.leave(id);
            return self.drop_command(ports, permit);
        }
        let walked = match result {
            Err(_) => Err(Status::DATA_TRANSFER_ERROR),
            Ok(()) if slot.is_aborted() => Err(Status::ABORT_REQUESTED),
            Ok(()) => self.check_format(&permit).and_then(|()| self.continue_walk(ports, &permit)),
        };
        match walked {
            Ok(walked) => self.walked(ports, permit, walked),
            Err(status) => {
                self.pause.leave(id);
                self.finish(ports, permit, status, 0);
            }
        }
    }

    /// Sends the first `bytes` bytes of the slot's scratch memory to where the host's PRPs say.
    pub(crate) fn send_scratch(&mut self, ports: &mut ControllerPorts, permit: Permit, bytes: usize) {
        assert!(bytes <= SCRATCH_BYTES, "{bytes} bytes of scratch memory");
        match self.scratch_runs(ports, &permit, bytes) {
            Ok(host) => {
                let id = permit.id();
                self.slots.send_scratch(permit);
                self.push_scratch(ports, id, DmaDirection::ToHost, 0, host);
            }
            Err(status) => self.finish(ports, permit, status, 0),
        }
    }

    /// Fetches the `bytes` bytes of a feature into the slot's scratch memory.
    pub(crate) fn fetch_feature(&mut self, ports: &mut ControllerPorts, permit: Permit, bytes: usize) {
        match self.scratch_runs(ports, &permit, bytes) {
            Ok(host) => {
                let id = permit.id();
                self.slots.fetch_feature(permit);
                self.push_scratch(ports, id, DmaDirection::FromHost, 0, host);
            }
            Err(status) => self.finish(ports, permit, status, 0),
        }
    }

    /// Where a list is in host memory that the command fetches next.
    pub(crate) fn list_runs(
        &mut self,
        ports: &ControllerPorts,
        permit: &Permit,
        from: ListAt,
        bytes: u16,
    ) -> Result<HostRuns, Status> {
        let at = self.slots[permit.id()].fetched();
        let end = usize::from(at) + usize::from(bytes);
        assert!(bytes > 0 && end <= SCRATCH_BYTES, "{at} + {bytes} bytes of scratch memory");
        match from {
            ListAt::DataPointer => self.scratch_runs(ports, permit, bytes.into()),
            ListAt::Address(address) => Ok(one_segment(address, bytes.into())),
        }
    }
    /// Fetches host memory into the slot's scratch memory, behind what was fetched before.
    pub(crate) fn fetch_list(&mut self, ports: &ControllerPorts, permit: Permit, host: HostRuns, bytes: u16) {
        let id = permit.id();
        let at = self.slots.fetch_into_scratch(permit, bytes);
        self.push_scratch(ports, id, DmaDirection::FromHost, at, host);
    }

    /// Has the firmware ask for a list (C86). The slot stays the command's until it does, whatever becomes of
    /// the command in the meantime.
    pub(crate) fn leave_list_to_firmware(
        &mut self,
        ports: &ControllerPorts,
        permit: Permit,
        from: ListAt,
        bytes: u16,
    ) {
        let command = self.slots[permit.id()].command().id;
        self.slots.leave_list_to_firmware(permit, from, bytes);
        ports.commands.push_list(command);
    }
    /// The firmware asks for a list.
    #[cold]
    pub(crate) fn list_asked(&mut self, ports: &mut ControllerPorts, id: u16) {
        let (permit, from, bytes) = self.slots.list_asked(id);
        let slot = &self.slots[id];
        let host = match (slot.is_orphan(), slot.is_aborted()) {
            (true, _) => None,
            (_, true) => Some(Err(Status::ABORT_REQUESTED)),
            _ => Some(self.list_runs(ports, &permit, from, bytes)),
        };
        match host {
            Some(Ok(host)) => return self.fetch_list(ports, permit, host, bytes),
            Some(Err(status)) => self.finish(ports, permit, status, 0),
            None => self.drop_command(ports, permit),
        }
        self.pause.leave(id);
        ports.commands.list_done();
    }

    fn scratch_runs(
        &mut self,
        ports: &ControllerPorts,
        permit: &Permit,
        bytes: usize,
    ) -> Result<HostRuns, Status> {
        let walked = self.begin_walk(ports, permit, bytes as u64)?;
        assert_eq!(walked, Walked::All, "4 KiB touch two pages at most, and two pages need no list");
        let (segments, count, _) = self.dma.pages().segments(permit.id(), 0, bytes as u64);
        Ok((segments, count))
    }
    fn push_scratch(
        &mut self,
        ports: &ControllerPorts,
        id: u16,
        direction: DmaDirection,
        at: u16,
        host: HostRuns,
    ) {
        let local = Local::Sram { offset: self.dma.layout().scratch(id) as u32 + u32::from(at) };
        self.push_dma(ports, direction, local, host, DmaPurpose::Scratch(id), self.slots[id].queue());
    }

    pub(crate) fn scratch_answered(
        &mut self,
        ports: &mut ControllerPorts,
        id: u16,
        result: Result<(), BadAddress>,
    ) {
        let slot = &self.slots[id];
        let stage = slot.stage();
        let fetching = stage == CommandStage::Fetching;
        let (managed, orphan) = (fetching && slot.is_managed(), slot.is_orphan());
        debug_assert!(
            matches!(stage, CommandStage::Scratch | CommandStage::Fetching | CommandStage::Feature),
            "command {id} is {stage:?}"
        );
        let permit = self.slots.resume(id, stage);
        match result {
            _ if orphan => self.drop_command(ports, permit),
            Err(_) => self.finish(ports, permit, Status::DATA_TRANSFER_ERROR, 0),
            Ok(()) if fetching => self.list_fetched(ports, permit),
            Ok(()) if stage == CommandStage::Feature => self.feature_fetched(ports, permit),
            Ok(()) => self.finish(ports, permit, Status::SUCCESS, 0),
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
        assert!(slot.stage() == CommandStage::Ftl, "DMA for command {id}, which the FTL does not have");
        if slot.is_orphan() {
            return ports.commands.dma_done(tag, Err(DmaError::Aborted));
        }
        if request.part == DmaPart::Metadata {
            return self.start_metadata(ports, tag, request);
        }
        let (offset, length) = (u64::from(request.offset), u64::from(request.length));
        assert!(length > 0 && offset + length <= slot.command().length, "DMA outside command {id}'s data");
        let queue = slot.queue();
        let operations = match self.dma.pages().run(id, offset) {
            Some(address) => {
                let local = Local::Buffer { buffer: request.buffer, offset: request.buffer_offset };
                let run = Segment { address, length: request.length };
                self.push_run(ports, request.direction, local, run, DmaPurpose::Data(tag.0), queue);
                1
            }
            None => self.push_segments(ports, tag, &request, queue),
        };
        self.dma.begin_transfer(tag, Transfer { slot: id, queue, bytes: request.length }, operations);
    }
    /// Pushes the operations of a transfer whose host memory is several runs. Returns how many.
    #[inline(never)]
    fn push_segments(
        &mut self,
        ports: &ControllerPorts,
        tag: DmaTag,
        request: &DmaRequest,
        queue: u16,
    ) -> u32 {
        let (offset, length) = (u64::from(request.offset), u64::from(request.length));
        let (mut done, mut operations) = (0, 0);
        while done < length {
            let at = (offset + done, length - done);
            let (segments, count, bytes) = self.dma.pages().segments(request.command.0, at.0, at.1);
            let local = Local::Buffer { buffer: request.buffer, offset: request.buffer_offset + done as u32 };
            self.push_dma(ports, request.direction, local, (segments, count), DmaPurpose::Data(tag.0), queue);
            done += bytes;
            operations += 1;
        }
        operations
    }

    /// Starts a DMA of a command's metadata, which is one run of host memory (NVMe 1.4 §4.2, MPTR).
    #[cold]
    fn start_metadata(&mut self, ports: &mut ControllerPorts, tag: DmaTag, request: DmaRequest) {
        let id = request.command.0;
        let slot = &self.slots[id];
        let end = request.offset.checked_add(request.length);
        let inside = request.length > 0 && end.is_some_and(|end| end <= slot.metadata_bytes());
        assert!(inside, "DMA outside command {id}'s metadata");
        let Some(address) = slot.sqe().mptr.get().checked_add(request.offset.into()) else {
            return ports.commands.dma_done(tag, Err(DmaError::Address));
        };
        let queue = slot.queue();
        let local = Local::Buffer { buffer: request.buffer, offset: request.buffer_offset };
        let host = one_segment(address, request.length);
        self.push_dma(ports, request.direction, local, host, DmaPurpose::Data(tag.0), queue);
        self.dma.begin_transfer(tag, Transfer { slot: id, queue, bytes: request.length }, 1);
    }

    pub(crate) fn data_answered(
        &mut self,
        ports: &mut ControllerPorts,
        tag: u16,
        result: Result<(), BadAddress>,
    ) {
        let Some((Transfer { slot: id, bytes, .. }, failed)) = self.dma.part_ended(tag, result.is_err())
        else {
            return;
        };
        // The FTL gets the buffer back only now. Until the last answer the link may still access it.
        let answer = match (self.slots[id].is_orphan(), failed) {
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
