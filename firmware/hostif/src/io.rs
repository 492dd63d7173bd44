//! I/O commands on their way through the controller: decoded by its command set, handed to the translation,
//! and back.

use crate::config::SCRATCH_BYTES;
use crate::controller::Controller;
use crate::nvm::NSID;
use crate::pages::Walked;
use crate::ports::ControllerPorts;
use crate::slots::{CommandSlot, CommandStage};
use aster_events::Event;
use aster_parties::{AdminAnswer, Decoded, Issued, Namespace, Source, status_of};
use aster_ports::host::{CommandPort, Completion, HostCommand, HostOp, HostStatus};
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::{NSID_ALL, Sqe, Status};

/// Alignment of the metadata pointer in bytes (NVMe 1.4 §4.2).
const METADATA_ALIGN: u64 = 4;

#[inline]
fn source(queue: u16) -> Source {
    if queue == 0 { Source::Admin } else { Source::Io }
}
#[inline]
fn issued<'a>(slot: &'a CommandSlot, commands: &'a CommandPort, namespace: &'a Namespace) -> Issued<'a> {
    Issued { from: source(slot.queue), id: slot.command.id, sqe: &slot.sqe, commands, namespace }
}

/// Checks whether an I/O command may be decoded: it names this namespace or all namespaces, and no format
/// is running.
#[inline]
fn accepted(slot: &CommandSlot, namespace: &Namespace) -> Result<(), Status> {
    if !matches!(slot.sqe.nsid.get(), NSID | NSID_ALL) {
        return Err(Status::INVALID_NAMESPACE_OR_FORMAT.with_dnr(true));
    }
    if namespace.formatting { Err(Status::FORMAT_IN_PROGRESS) } else { Ok(()) }
}

/// The log page that a command reads without retaining its event.
fn log_read(sqe: &Sqe) -> Option<u8> {
    match AdminCommand::decode(sqe) {
        Ok(AdminCommand::GetLogPage(log)) if !log.control.retain_event() => Some(log.control.log_id()),
        _ => None,
    }
}

impl Controller {
    /// Logical blocks of the namespace.
    pub(crate) fn blocks(&self) -> u64 {
        self.config.namespace_bytes >> self.block_size.log2()
    }
    fn namespace(&self) -> Namespace {
        Namespace {
            nsid: NSID,
            blocks: self.blocks(),
            block_bytes_log2: self.block_size.log2(),
            transfer_bytes_max: self.config.transfer_bytes_max(),
            write_cache: self.features.write_cache.enabled(),
            unwritten_fails: self.features.error_recovery.deallocated_error(),
            formatting: self.formatting,
        }
    }

    pub(crate) fn start_io(&mut self, ports: &mut ControllerPorts, id: u16) {
        let namespace = self.namespace();
        let slot = &self.slots[id];
        let issued = issued(slot, ports.commands, &namespace);
        let decoded = match accepted(slot, &namespace) {
            Ok(()) => self.set.decode(&issued),
            Err(status) => Err(status),
        };
        self.go_on(ports, id, decoded);
    }
    /// Lets the command set answer an admin command in the controller's place. Returns whether it did.
    pub(crate) fn start_own_admin(&mut self, ports: &mut ControllerPorts, id: u16) -> bool {
        let namespace = self.namespace();
        let slot = &self.slots[id];
        let issued = issued(slot, ports.commands, &namespace);
        let at = self.layout.scratch(id);
        let scratch = &mut ports.sram[at..at + SCRATCH_BYTES];
        scratch.fill(0);
        let read = log_read(issued.sqe);
        let Some(answer) = self.set.admin(&issued, scratch) else { return false };
        if answer.is_ok()
            && let Some(log) = read
        {
            self.events.set_log_was_read(log);
            self.look_at_set(ports);
        }
        match answer {
            Ok(AdminAnswer::Data { bytes }) => {
                if let Err(status) = self.send_scratch(ports, id, bytes.into()) {
                    self.finish(ports, id, status, 0);
                }
            }
            Ok(AdminAnswer::Decoded(decoded)) => self.go_on(ports, id, Ok(decoded)),
            Err(status) => self.go_on(ports, id, Err(status)),
        }
        true
    }
    /// Decodes a command further after its list has arrived in scratch memory.
    pub(crate) fn list_fetched(&mut self, ports: &mut ControllerPorts, id: u16) {
        let namespace = self.namespace();
        let slot = &self.slots[id];
        if slot.abort {
            return self.finish(ports, id, Status::ABORT_REQUESTED, 0);
        }
        let at = self.layout.scratch(id);
        let bytes = &ports.sram[at..at + usize::from(slot.fetched)];
        let issued = issued(slot, ports.commands, &namespace);
        let decoded = self.set.fetched(&issued, bytes);
        self.go_on(ports, id, decoded);
    }
    fn go_on(&mut self, ports: &mut ControllerPorts, id: u16, decoded: Result<Decoded, Status>) {
        let goes_on = decoded.and_then(|decoded| match decoded {
            Decoded::Done { result } => {
                self.finish(ports, id, Status::SUCCESS, result);
                Ok(false)
            }
            Decoded::Forward(command) => {
                self.take_decoded(id, command)?;
                Ok(true)
            }
            Decoded::Transfer(command) => {
                self.take_decoded(id, command)?;
                Ok(self.begin_walk(ports, id, command.length)? == Walked::All)
            }
            Decoded::TransferWithMetadata { command, bytes } => {
                let slot = &mut self.slots[id];
                if !slot.sqe.mptr.get().is_multiple_of(METADATA_ALIGN) {
                    return Err(Status::INVALID_FIELD.with_dnr(true));
                }
                slot.metadata_bytes = bytes;
                self.take_decoded(id, command)?;
                Ok(self.begin_walk(ports, id, command.length)? == Walked::All)
            }
            Decoded::Fetch { from, bytes, managed: true } if ports.commands.manages_lists() => {
                self.leave_list_to_firmware(ports, id, from, bytes);
                Ok(false)
            }
            Decoded::Fetch { from, bytes, .. } => {
                self.fetch_list(ports, id, from, bytes)?;
                Ok(false)
            }
        });
        match goes_on {
            Ok(true) => self.forward(ports, id),
            Ok(false) => {}
            Err(status) => self.finish(ports, id, status, 0),
        }
    }

    /// Takes the command that the command set made for slot `id`, if the set may forward it.
    #[inline]
    fn take_decoded(&mut self, id: u16, command: HostCommand) -> Result<(), Status> {
        let slot = &mut self.slots[id];
        let may_forward = match command.op {
            // Reserved for the controller, because their completion changes its state.
            HostOp::Format { .. } | HostOp::Shutdown => false,
            // These are parked during a pause, in the order of their I/O queue.
            HostOp::Write | HostOp::VectorWrite(_) | HostOp::VectorCopy => slot.queue != 0,
            _ => true,
        };
        if !may_forward {
            return Err(Status::INTERNAL_ERROR.with_dnr(true));
        }
        slot.command = command;
        self.check_format(id)
    }
    /// Refuses a command that names the namespace's blocks while a format is running, however far the
    /// command had come when the format began.
    #[inline]
    pub(crate) fn check_format(&self, id: u16) -> Result<(), Status> {
        let waits = self.formatting && !matches!(self.slots[id].command.op, HostOp::Report(_));
        if waits { Err(Status::FORMAT_IN_PROGRESS) } else { Ok(()) }
    }

    pub(crate) fn set_command(&mut self, id: u16, op: HostOp, offset: u64, length: u64, fua: bool) {
        let command = &mut self.slots[id].command;
        *command = HostCommand { id: command.id, op, offset, length, fua };
    }

    /// Hands a command to the FTL, or parks it during a pause.
    pub(crate) fn forward(&mut self, ports: &mut ControllerPorts, id: u16) {
        if self.park(ports, id) {
            return;
        }
        let slot = &mut self.slots[id];
        slot.stage = CommandStage::Ftl;
        (slot.with_ftl, slot.moved) = (true, 0);
        self.health.started(ports.now());
        match slot.managed {
            true => ports.commands.push_known(slot.command),
            false => ports.commands.push_command(slot.command),
        }
    }

    /// Counts moved bytes of a command's data. With the last byte the command is completed, if moving the
    /// data is all that the host was promised. A read that lost a sector never gets that far.
    pub(crate) fn moved(&mut self, ports: &mut ControllerPorts, id: u16, bytes: u32) {
        let slot = &mut self.slots[id];
        slot.moved += u64::from(bytes);
        let command = slot.command;
        if !self.config.auto_completion || !command.ends_with_data() {
            return;
        }
        let whole = command.length + u64::from(slot.metadata_bytes);
        assert!(slot.moved <= whole, "data of command {id} were moved twice");
        if slot.moved == whole {
            slot.failed_at = None;
            self.health.ended(ports.now(), &command, HostStatus::Success);
            ports.emit(|| Event::CommandAnswered { command: id });
            self.finish(ports, id, Status::SUCCESS, 0);
        }
    }

    /// The command set may have to tell the host of what went wrong.
    #[cold]
    fn tell_of_failure(&mut self, ports: &mut ControllerPorts, id: u16, completion: &Completion) {
        let namespace = self.namespace();
        let issued = issued(&self.slots[id], ports.commands, &namespace);
        self.set.failed(&issued, completion);
        self.look_at_set(ports);
    }

    /// The FTL has finished a command.
    pub(crate) fn ftl_completed(&mut self, ports: &mut ControllerPorts, completion: Completion) {
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
            CommandStage::Ftl => {}
            // Auto-completed: its entry has been sent or is about to be.
            CommandStage::CompletedEarly => return self.slots.free(id),
            _ => return,
        }
        let (command, queue, orphan) = (slot.command, slot.queue, slot.orphan);
        self.health.ended(ports.now(), &command, completion.status);
        if completion.status == HostStatus::UnrecoveredRead {
            self.check_health(ports);
        }
        let formats = matches!(command.op, HostOp::Format { .. });
        if formats {
            self.formatted(id, completion.status);
        }
        if orphan {
            return self.drop_command(ports, id);
        }
        self.slots[id].failed_at = completion.failed_at;
        if formats {
            return self.finish(ports, id, status_of(completion.status), 0);
        }
        if completion.status != HostStatus::Success {
            self.tell_of_failure(ports, id, &completion);
        }
        let (status, result) = self.set.completed(source(queue), &self.slots[id].sqe, &completion);
        self.finish(ports, id, status, result);
    }
}
