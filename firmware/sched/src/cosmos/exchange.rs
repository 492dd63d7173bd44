//! The exchange between host interface controller, FTL and dependency checker: commands in, operations out,
//! completions back.

use super::big_loop::{BigLoop, Payload, TakenCommand};
use super::packer::Packed;
use crate::loop_operation::{OperationKind, SetId};
use aster_events::{Event, Function};
use aster_ports::flash::{FlashError, FlashOp, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Tag};
use aster_ports::host::{CommandId, DmaDirection, DmaError, DmaRequest, DmaTag, HostOp, HostStatus};
use aster_units::{BufferId, Instant};

/// Words of a command that the NVMe manager copies out of the controller's memory (P12: 64 bytes a slot).
const COMMAND_WORDS: u64 = 16;
/// Words of a completion at the completion FIFO (P13).
const COMPLETION_WORDS: u64 = 3;

/// The operations of a flash request, and of the transfer that follows it, in the order of Fig 10. `None` for
/// requests that the scheduler doesn't accept: several targets at once, operations that it issues only by
/// itself, and a transfer after anything but a read.
fn operations(request: &FlashRequest, transfer: bool) -> Option<&'static [OperationKind]> {
    if request.targets().len() != 1 || transfer && request.phase != FlashOp::Read {
        return None;
    }
    Some(match request.phase {
        FlashOp::Read if transfer => {
            &[OperationKind::ReadTrigger, OperationKind::ReadTransfer, OperationKind::TxDma]
        }
        FlashOp::Read => &[OperationKind::ReadTrigger, OperationKind::ReadTransfer],
        FlashOp::Trigger => &[OperationKind::ReadTrigger],
        FlashOp::Transfer => &[OperationKind::ReadTransfer],
        FlashOp::Program => &[OperationKind::Write],
        FlashOp::Erase => &[OperationKind::Erase],
        FlashOp::CopyBack
        | FlashOp::Status
        | FlashOp::Reset
        | FlashOp::SetFeatures
        | FlashOp::GetFeatures => return None,
    })
}

impl BigLoop {
    /// GetHostCommand(): one command per pass, if one waits.
    pub(super) async fn take_command(&mut self) -> bool {
        self.access(Function::NvmeManager, &self.ports.buses.host, 1);
        if let Some(command) = self.ports.host.next_list() {
            self.fetch_list(command).await;
            return true;
        }
        let Some(command) = self.ports.host.try_next_command() else { return false };
        let known = self.ports.host.is_known(command.id);
        let since = if known { self.taken[usize::from(command.id.0)].since } else { self.read(command.id) };
        if command.op == HostOp::Deallocate {
            let host = &self.ports.host;
            let ranges = (0..).map_while(|index| host.range(command.id, index));
            self.ports.ftl.set_ranges(command.id, ranges);
        }
        if command.op.has_addresses() {
            let host = &self.ports.host;
            let addresses = (0..).map_while(|index| host.address(command.id, index));
            self.ports.ftl.set_addresses(command.id, addresses);
        }
        let automatic = self.config.auto_completion && command.ends_with_data();
        self.taken[usize::from(command.id.0)] = TakenCommand { automatic, since, moved: None };
        self.ports.ftl.push_command(command);
        true
    }
    /// Copies a command out of the controller's memory. Returns when that was done, minus the time that the
    /// command waited.
    fn read(&self, command: CommandId) -> Instant {
        let waited = self.core.now().since(self.ports.host.pushed_at(command));
        self.access(Function::NvmeManager, &self.ports.buses.host, COMMAND_WORDS);
        self.core.now() - waited
    }
    /// The handler of a command with a list of addresses has the list fetched and waits for it: it reads the
    /// host DMA engine's register until the list is there. FTL and scheduler stand still (C86).
    async fn fetch_list(&mut self, command: CommandId) {
        let since = self.read(command);
        self.taken[usize::from(command.0)] = TakenCommand { automatic: false, since, moved: None };
        let words = OperationKind::RxDma.register_words(1);
        self.access(Function::NvmeManager, &self.ports.buses.host, words);
        self.core.settle().await;
        let asked = self.core.now();
        self.ports.host.fetch_list(command);
        while !self.ports.host.list_ended() {
            let before = self.core.now();
            self.access(Function::NvmeManager, &self.ports.buses.host, 1);
            if self.core.now() == before {
                // A bus that takes no time: the loop would read its register for ever.
                self.bell.still();
                self.bell.wait().await;
            }
            self.core.settle().await;
        }
        let took = self.core.now().since(asked);
        self.count(|s| {
            s.lists += 1;
            s.list_time += took;
        });
    }

    /// Completes the commands that the FTL has finished.
    pub(super) async fn answer_commands(&mut self) -> bool {
        let mut any = false;
        while let Some(completion) = self.ports.ftl.next_completion() {
            any = true;
            let TakenCommand { automatic, since, moved } = self.taken[usize::from(completion.id.0)];
            if !automatic || completion.status != HostStatus::Success {
                self.access(Function::NvmeManager, &self.ports.buses.host, COMPLETION_WORDS);
            }
            self.core.settle().await;
            let system = moved.unwrap_or_else(|| self.core.now()).since(since);
            self.count(|s| {
                s.commands += 1;
                s.system += system;
            });
            self.ports.host.complete(completion);
        }
        any
    }

    /// The dependency checker takes the operations that the FTL has generated, and delivers those that may
    /// go.
    pub(super) fn take_operations(&mut self) -> bool {
        self.ports.ftl.acknowledge();
        let mut any = false;
        // The FTL submits a transfer together with the flash request that it follows, so the transfer is here
        // before the request is collected.
        while !self.checker.is_full()
            && let Some((tag, request)) = self.ports.ftl.next_dma()
        {
            any = true;
            if let Some(flash) = request.after {
                let left = self.following[flash.index()].replace((tag, request));
                assert!(left.is_none(), "a transfer's flash request has not come");
                continue;
            }
            let kind = match request.direction {
                DmaDirection::FromHost => OperationKind::RxDma,
                DmaDirection::ToHost => OperationKind::TxDma,
            };
            self.deposit(&[kind], aster_units::LunIndex(0), request.buffer, Payload::Dma(tag, request));
        }
        while !self.checker.is_full()
            && let Some((tag, request)) = self.ports.requests.try_collect()
        {
            any = true;
            if self.config.one_shot && self.packer.takes(&request) {
                if let Some(packed) = self.packer.pack(tag, request) {
                    let (lun, buffer) = (packed.request.lun, packed.request.targets()[0].buffer);
                    self.deposit(&[OperationKind::Write], lun, buffer, Payload::Packed(packed));
                }
                continue;
            }
            let follower = self.following[tag.index()].take();
            let buffer = request.targets()[0].buffer;
            assert!(follower.is_none_or(|(_, transfer)| transfer.buffer == buffer), "a set has one entry");
            match operations(&request, follower.is_some()) {
                Some(kinds) => {
                    self.deposit(kinds, request.lun, buffer, Payload::Flash(tag, request, follower));
                }
                None => {
                    self.abandon_transfer(follower);
                    self.refuse(tag, &request);
                }
            }
        }
        self.deliver() | any
    }
    fn deposit(
        &mut self,
        kinds: &[OperationKind],
        lun: aster_units::LunIndex,
        buffer: BufferId,
        payload: Payload,
    ) {
        let set = self.checker.deposit(kinds, lun, buffer);
        self.payloads[set.index()] = Some(payload);
    }
    /// Drops a transfer that was never begun because the flash request before it failed.
    pub(super) fn abandon_transfer(&self, follower: Option<(DmaTag, DmaRequest)>) {
        if let Some((tag, _)) = follower {
            self.ports.ftl.dma_done(tag, Err(DmaError::Abandoned));
        }
    }
    fn refuse(&self, tag: Tag, request: &FlashRequest) {
        let operation = request.phase.name();
        let at = self.core.now();
        self.ports.requests.note_fault(request.lun, FlashError::Unsupported { operation, at });
        let outcome = Outcome { status: FlashStatus::Error, ..Outcome::default() };
        self.ports.requests.complete(tag, [outcome; MAX_TARGETS]);
    }
    fn deliver(&mut self) -> bool {
        let mut any = false;
        while let Some((first, second)) = self.checker.deliver() {
            any = true;
            self.count(|s| s.held_back += u64::from(first.step > 0));
            for operation in [Some(first), second].into_iter().flatten() {
                self.recorder.emit(self.core.now(), || Event::OperationDelivered {
                    kind: operation.kind.code(),
                    lun: operation.lun.0,
                    buffer: operation.buffer.0,
                });
                self.station.push(operation);
            }
        }
        any
    }

    pub(super) fn payload(&self, set: SetId) -> Payload {
        self.payloads[set.index()].expect("a set in the checker's hands has a payload")
    }
    /// The flash request of a set.
    pub(super) fn request(&self, set: SetId) -> FlashRequest {
        match self.payload(set) {
            Payload::Flash(_, request, _) | Payload::Packed(Packed { request, .. }) => request,
            Payload::Dma(..) => unreachable!("a way's queue holds flash operations"),
        }
    }
    /// The transfer of a set: the whole set, or the part that follows its read.
    pub(super) fn transfer(&self, set: SetId) -> (DmaTag, DmaRequest) {
        self.follower(set).expect("the host DMA queue holds host DMA")
    }
    /// The transfer of a set, if it has one.
    pub(super) fn follower(&self, set: SetId) -> Option<(DmaTag, DmaRequest)> {
        match self.payload(set) {
            Payload::Dma(tag, request) => Some((tag, request)),
            Payload::Flash(_, _, follower) => follower,
            Payload::Packed(_) => None,
        }
    }
}
