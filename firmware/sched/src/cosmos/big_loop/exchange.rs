//! The exchange between host interface controller, FTL and dependency checker: commands in, operations out,
//! completions back.

use super::BigLoop;
use super::commands::TakenCommand;
use super::sets::Follower;
use crate::loop_operation::{Operation, OperationKind};
use aster_events::{Event, Function};
use aster_ports::flash::{FlashError, FlashRequest, FlashStatus, MAX_TARGETS, Outcome, Tag};
use aster_ports::host::{CommandId, DmaError, HostOp, HostStatus};
use aster_units::Instant;

/// Words of a command that the NVMe manager copies out of the controller's memory (P12: 64 bytes a slot).
const COMMAND_WORDS: u64 = 16;
/// Words of a completion at the completion FIFO (P13).
const COMPLETION_WORDS: u64 = 3;

impl BigLoop {
    /// GetHostCommand(): one command per pass, if one waits.
    pub(super) async fn take_command(&mut self) -> bool {
        self.time.access_host(Function::NvmeManager, 1);
        if let Some(command) = self.ports.host.next_list() {
            self.fetch_list(command).await;
            return true;
        }
        let Some(command) = self.ports.host.try_next_command() else { return false };
        let known = self.ports.host.is_known(command.id);
        let since = if known { self.commands.of(command.id).since } else { self.read(command.id) };
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
        self.commands.take(command.id, automatic, since);
        self.ports.ftl.push_command(command);
        true
    }
    /// Copies a command out of the controller's memory. Returns when that was done, minus the time that the
    /// command waited.
    fn read(&self, command: CommandId) -> Instant {
        let waited = self.time.now().since(self.ports.host.pushed_at(command));
        self.time.access_host(Function::NvmeManager, COMMAND_WORDS);
        self.time.now() - waited
    }
    /// The handler of a command with a list of addresses has the list fetched and waits for it: it reads the
    /// host DMA engine's register until the list is there. FTL and scheduler stand still (C86).
    async fn fetch_list(&mut self, command: CommandId) {
        let since = self.read(command);
        self.commands.take(command, false, since);
        let words = OperationKind::RxDma.register_words(1);
        self.time.access_host(Function::NvmeManager, words);
        self.time.settle().await;
        let asked = self.time.now();
        self.ports.host.fetch_list(command);
        while !self.ports.host.list_ended() {
            let before = self.time.now();
            self.time.access_host(Function::NvmeManager, 1);
            if self.time.now() == before {
                // With a bus that takes no time, the loop would read the register for ever.
                self.alarm.still();
                self.alarm.wait().await;
            }
            self.time.settle().await;
        }
        let took = self.time.now().since(asked);
        self.time.count(|s| {
            s.lists += 1;
            s.list_time += took;
        });
    }

    /// Completes the commands that the FTL has finished.
    pub(super) async fn answer_commands(&mut self) -> bool {
        let mut any = false;
        while let Some(completion) = self.ports.ftl.next_completion() {
            any = true;
            let TakenCommand { automatic, since, moved } = self.commands.of(completion.id);
            if !automatic || completion.status != HostStatus::Success {
                self.time.access_host(Function::NvmeManager, COMPLETION_WORDS);
            }
            self.time.settle().await;
            let system = moved.unwrap_or_else(|| self.time.now()).since(since);
            self.time.count(|s| {
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
        while !self.sets.is_full()
            && let Some((tag, request)) = self.ports.ftl.next_dma()
        {
            any = true;
            self.sets.take_transfer(tag, request);
        }
        while !self.sets.is_full()
            && let Some((tag, request)) = self.ports.requests.try_collect()
        {
            any = true;
            if self.config.one_shot && self.sets.pack(tag, request) {
                continue;
            }
            if let Err(follower) = self.sets.take_request(tag, request) {
                self.abandon_transfer(follower);
                self.refuse(tag, &request);
            }
        }
        self.deliver() | any
    }
    /// Drops a transfer that was never begun because the flash request before it failed.
    pub(super) fn abandon_transfer(&self, follower: Option<Follower>) {
        if let Some((tag, _)) = follower {
            self.ports.ftl.dma_done(tag, Err(DmaError::Abandoned));
        }
    }
    fn refuse(&self, tag: Tag, request: &FlashRequest) {
        let operation = request.phase.name();
        let at = self.time.now();
        self.ports.requests.note_fault(request.lun, FlashError::Unsupported { operation, at });
        let outcome = Outcome { status: FlashStatus::Error, ..Outcome::default() };
        self.ports.requests.complete(tag, [outcome; MAX_TARGETS]);
    }
    fn deliver(&mut self) -> bool {
        let mut any = false;
        while let Some((first, second)) = self.sets.deliver() {
            any = true;
            self.time.count(|s| s.held_back += u64::from(first.step > 0));
            self.hand_over(first);
            if let Some(second) = second {
                self.hand_over(second);
            }
        }
        any
    }
    fn hand_over(&mut self, operation: Operation) {
        self.time.emit(|| Event::OperationDelivered {
            kind: operation.kind.code(),
            lun: operation.lun.0,
            buffer: operation.buffer.0,
        });
        self.station.push(operation);
    }
}
