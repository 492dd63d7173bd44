//! I/O commands on their way through the controller: decoded by its command set, handed to the translation,
//! and back.

use crate::config::SCRATCH_BYTES;
use crate::controller::Controller;
use crate::nvm::NSID;
use crate::pages::Walked;
use crate::ports::ControllerPorts;
use crate::slots::{CommandSlot, CommandStage, Permit};
use aster_events::Event;
use aster_parties::{AdminAnswer, Decoded, Issued, ListAt, Namespace, Source, status_of};
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
    Issued { from: source(slot.queue()), id: slot.command().id, sqe: slot.sqe(), commands, namespace }
}

/// Checks whether an I/O command may be decoded: it names this namespace or all namespaces, and no format
/// is running.
#[inline]
fn accepted(slot: &CommandSlot, namespace: &Namespace) -> Result<(), Status> {
    if !matches!(slot.sqe().nsid.get(), NSID | NSID_ALL) {
        return Err(Status::INVALID_NAMESPACE_OR_FORMAT.with_dnr(true));
    }
    if namespace.formatting { Err(Status::FORMAT_IN_PROGRESS) } else { Ok(()) }
}

/// How a command goes on that has been decoded.
enum Way {
    /// It ends with this result.
    Ends(u64),
    /// Its data's pages are known, or a list page of them is needed. A command without data has none.
    Walked(Walked),
    /// A list of so many bytes is fetched from there.
    FetchesList(ListAt, u16),
    /// Firmware asks for a list.
    LeavesList(ListAt, u16),
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
        self.config.namespace_bytes >> self.settings.block_size().log2()
    }
    fn namespace(&self) -> Namespace {
        Namespace {
            nsid: NSID,
            blocks: self.blocks(),
            block_bytes_log2: self.settings.block_size().log2(),
            transfer_bytes_max: self.config.transfer_bytes_max(),
            write_cache: self.settings.features().has_write_cache(),
            unwritten_fails: self.settings.features().unwritten_fails(),
            formatting: self.settings.is_formatting(),
        }
    }

    #[inline]
    pub(crate) fn start_io(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        let namespace = self.namespace();
        let slot = &self.slots[permit.id()];
        let issued = issued(slot, ports.commands, &namespace);
        let decoded = match accepted(slot, &namespace) {
            Ok(()) => self.set.decode(&issued),
            Err(status) => Err(status),
        };
        self.go_on(ports, permit, decoded);
    }
    /// Lets the command set answer an admin command in the controller's place. Returns the permit if it
    /// doesn't.
    pub(crate) fn start_own_admin(&mut self, ports: &mut ControllerPorts, permit: Permit) -> Option<Permit> {
        let namespace = self.namespace();
        let slot = &self.slots[permit.id()];
        let issued = issued(slot, ports.commands, &namespace);
        let at = self.dma.layout().scratch(permit.id());
        let scratch = &mut ports.sram[at..at + SCRATCH_BYTES];
        scratch.fill(0);
        let read = log_read(issued.sqe);
        let Some(answer) = self.set.admin(&issued, scratch) else { return Some(permit) };
        if answer.is_ok()
            && let Some(log) = read
        {
            self.reports.events().set_log_was_read(log);
            self.look_at_set(ports);
        }
        match answer {
            Ok(AdminAnswer::Data { bytes }) => self.send_scratch(ports, permit, bytes.into()),
            Ok(AdminAnswer::Decoded(decoded)) => self.go_on(ports, permit, Ok(decoded)),
            Err(status) => self.go_on(ports, permit, Err(status)),
        }
        None
    }
    /// Decodes a command further after its list has arrived in scratch memory.
    pub(crate) fn list_fetched(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        let namespace = self.namespace();
        let slot = &self.slots[permit.id()];
        if slot.is_aborted() {
            return self.finish(ports, permit, Status::ABORT_REQUESTED, 0);
        }
        let at = self.dma.layout().scratch(permit.id());
        let bytes = &ports.sram[at..at + usize::from(slot.fetched())];
        let issued = issued(slot, ports.commands, &namespace);
        let decoded = self.set.fetched(&issued, bytes);
        self.go_on(ports, permit, decoded);
    }
    #[inline]
    fn go_on(&mut self, ports: &mut ControllerPorts, permit: Permit, decoded: Result<Decoded, Status>) {
        let way = match decoded {
            Ok(decoded) => self.way_of(ports, &permit, decoded),
            Err(status) => Err(status),
        };
        match way {
            Ok(Way::Ends(result)) => self.finish(ports, permit, Status::SUCCESS, result),
            Ok(Way::Walked(walked)) => self.walked(ports, permit, walked),
            Ok(Way::FetchesList(from, bytes)) => self.fetch_list_at(ports, permit, from, bytes),
            Ok(Way::LeavesList(from, bytes)) => self.leave_list_to_firmware(ports, permit, from, bytes),
            Err(status) => self.finish(ports, permit, status, 0),
        }
    }
    fn fetch_list_at(&mut self, ports: &mut ControllerPorts, permit: Permit, from: ListAt, bytes: u16) {
        match self.list_runs(ports, &permit, from, bytes) {
            Ok(host) => self.fetch_list(ports, permit, host, bytes),
            Err(status) => self.finish(ports, permit, status, 0),
        }
    }
    /// How a command that has been decoded goes on.
    #[inline]
    fn way_of(&mut self, ports: &ControllerPorts, permit: &Permit, decoded: Decoded) -> Result<Way, Status> {
        let command = match decoded {
            Decoded::Done { result } => return Ok(Way::Ends(result)),
            Decoded::Forward(command) => {
                self.take_decoded(permit, command)?;
                return Ok(Way::Walked(Walked::All));
            }
            Decoded::Transfer(command) => command,
            Decoded::TransferWithMetadata { command, bytes } => {
                if !self.slots[permit.id()].sqe().mptr.get().is_multiple_of(METADATA_ALIGN) {
                    return Err(Status::INVALID_FIELD.with_dnr(true));
                }
                self.slots.set_metadata_bytes(permit, bytes);
                command
            }
            Decoded::Fetch { from, bytes, managed: true } if ports.commands.manages_lists() => {
                return Ok(Way::LeavesList(from, bytes));
            }
            Decoded::Fetch { from, bytes, .. } => return Ok(Way::FetchesList(from, bytes)),
        };
        self.take_decoded(permit, command)?;
        Ok(Way::Walked(self.begin_walk(ports, permit, command.length)?))
    }

    /// Takes the command that the command set made, if the set may forward it.
    #[inline]
    fn take_decoded(&mut self, permit: &Permit, command: HostCommand) -> Result<(), Status> {
        let may_forward = match command.op {
            // Reserved for the controller, because their completion changes its state.
            HostOp::Format { .. } | HostOp::Shutdown => false,
            // These are parked during a pause, in the order of their I/O queue.
            HostOp::Write | HostOp::VectorWrite(_) | HostOp::VectorCopy => {
                self.slots[permit.id()].queue() != 0
            }
            _ => true,
        };
        if !may_forward {
            return Err(Status::INTERNAL_ERROR.with_dnr(true));
        }
        self.slots.set_command(permit, command);
        self.check_format(permit)
    }
    /// Refuses a command that names the namespace's blocks while a format is running, however far the
    /// command had come when the format began.
    #[inline]
    pub(crate) fn check_format(&self, permit: &Permit) -> Result<(), Status> {
        let waits = self.settings.is_formatting()
            && !matches!(self.slots[permit.id()].command().op, HostOp::Report(_));
        if waits { Err(Status::FORMAT_IN_PROGRESS) } else { Ok(()) }
    }

    /// Goes on with a command whose PRPs have been walked as far as possible.
    #[inline]
    pub(crate) fn walked(&mut self, ports: &mut ControllerPorts, permit: Permit, walked: Walked) {
        match walked {
            Walked::All => self.forward(ports, permit),
            Walked::NeedsList { address, entries } => self.fetch_list_page(ports, permit, address, entries),
        }
    }

    /// Hands a command to the FTL, or parks it during a pause.
    #[inline]
    pub(crate) fn forward(&mut self, ports: &mut ControllerPorts, permit: Permit) {
        let Some(permit) = self.park(ports, permit) else { return };
        let slot = self.slots.hand_to_ftl(permit);
        self.reports.health_mut().started(ports.now());
        match slot.is_managed() {
            true => ports.commands.push_known(*slot.command()),
            false => ports.commands.push_command(*slot.command()),
        }
    }

    /// Counts moved bytes of a command's data. With the last byte the command is completed, if moving the
    /// data is all that the host was promised. A read that lost a sector never gets that far.
    pub(crate) fn moved(&mut self, ports: &mut ControllerPorts, id: u16, bytes: u32) {
        if !self.config.auto_completion || !self.slots.count_moved(id, bytes) {
            return;
        }
        let permit = self.slots.resume(id, CommandStage::Ftl);
        self.slots.set_failed_at(&permit, None);
        self.reports.health_mut().ended(ports.now(), self.slots[id].command(), HostStatus::Success);
        ports.emit(|| Event::CommandAnswered { command: id });
        self.finish(ports, permit, Status::SUCCESS, 0);
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
        let command = (id != self.shutdown_id()).then(|| self.slots[id].command());
        if self.pause.defer(&completion, command) {
            return;
        }
        if id == self.shutdown_id() {
            return self.shutdown_completed(ports, completion.status);
        }
        let Some(permit) = self.slots.take_back(id) else { return };
        let slot = &self.slots[id];
        let (command, queue, orphan) = (*slot.command(), slot.queue(), slot.is_orphan());
        self.reports.health_mut().ended(ports.now(), &command, completion.status);
        if completion.status == HostStatus::UnrecoveredRead {
            self.check_health(ports);
        }
        let formats = matches!(command.op, HostOp::Format { .. });
        if formats {
            self.formatted(id, completion.status);
        }
        if orphan {
            return self.drop_command(ports, permit);
        }
        self.slots.set_failed_at(&permit, completion.failed_at);
        if formats {
            return self.finish(ports, permit, status_of(completion.status), 0);
        }
        if completion.status != HostStatus::Success {
            self.tell_of_failure(ports, id, &completion);
        }
        let (status, result) = self.set.completed(source(queue), self.slots[id].sqe(), &completion);
        self.finish(ports, permit, status, result);
    }
}
