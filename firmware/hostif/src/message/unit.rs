//! The unit itself: registers, and what happens between its parts and the ports.

use super::alarm::Alarm;
use super::array::{ArrayShape, Plan, code_of, failed_bits};
use super::fifo::{BUFFERS, Frames};
use super::nacs::Nacs;
use super::runs::segments;
use super::slots::{SLOTS, Slots};
use super::status::StatusRing;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_events::Function;
use aster_exec::{Exec, Handler, HandlerId, WaitCell};
use aster_parties::{BarRead, FrontEnd, FrontEndPorts, MediaHealth};
use aster_ports::dram::SharedDram;
use aster_ports::host::{
    CommandId, CommandPort, Completion, DmaDirection, DmaError, DmaRequest, DmaTag, FRONT_KICK, HostCommand,
    HostOp,
};
use aster_ports::link::{BadAddress, FRONT_ANSWER, LinkOp, LinkPort, Local, MAX_SEGMENTS, Segment};
use aster_units::{Duration, Instant};
use aster_wire::array::registers::{self, Control, StatusConfig, UnitStatus};
use aster_wire::array::{
    Command, CommandView, FRAME_BYTES_MAX, STATUS_BUFFER_ENTRIES, STATUS_ENTRY_BYTES, STATUS_FRAME_BYTES,
    STATUS_FRAME_ENTRIES_MAX, StatusCode, StatusEntry,
};
use core::cell::{Cell, RefCell};
use zerocopy::little_endian::U16;

/// Where the status ring lies in SRAM: behind the frame buffers.
const STATUS_AT: usize = BUFFERS * FRAME_BYTES_MAX;
/// SRAM: frame buffers, and the ring of 1 KiB.
pub(super) const SRAM_BYTES: usize = STATUS_AT + STATUS_BUFFER_ENTRIES * STATUS_ENTRY_BYTES;
/// Four bytes on the bus that scatters commands: a cycle of 78.125 MHz (H2, H11).
const BUS_CYCLE: Duration = Duration::from_picos(12_800);
/// The command by which the unit finds out that the drive has booted.
const BOOT_NOP: CommandId = CommandId(SLOTS);

/// What a link operation was for: the upper half of its token. The lower half has a number.
mod purpose {
    pub const DATA: u32 = 0;
    pub const FRAME: u32 = 1;
    pub const STATUS: u32 = 2;
}

/// A DMA request of the translation.
#[derive(Clone, Copy, Default)]
struct Transfer {
    operations: usize,
    failed: bool,
    slot: u16,
}

struct State {
    frames: Frames,
    slots: Slots,
    /// The command that is being scattered, and its bytes.
    scattering: Option<(CommandId, usize)>,
    nacs: Nacs,
    status: StatusRing,
    transfers: Vec<Transfer>,
    control: Control,
    errors: UnitStatus,
    config: StatusConfig,
    status_buffer: u64,
    ready: bool,
    read_only: bool,
    alarm: Alarm,
    completed: u64,
    resets: u32,
}

/// A running message unit.
pub(super) struct MessageUnit {
    exec: Exec,
    link: Rc<LinkPort>,
    commands: Rc<CommandPort>,
    memory: SharedDram,
    shape: ArrayShape,
    handler: Cell<Option<HandlerId>>,
    /// What the MCU charges its core for.
    functions: Vec<Function>,
    /// Rings when the MCU may have something to do.
    bell: WaitCell,
    state: RefCell<State>,
}

impl MessageUnit {
    /// Starts the unit, whose MCU charges its core for `functions`.
    pub fn start(
        shape: ArrayShape,
        functions: Vec<Function>,
        alarm_kelvins: u16,
        ports: FrontEndPorts,
    ) -> Rc<Self> {
        let FrontEndPorts { exec, link, commands, memory, .. } = ports;
        let (_, dma_requests) = commands.bounds();
        let state = State {
            frames: Frames::default(),
            slots: Slots::default(),
            scattering: None,
            nacs: Nacs::new(shape.controllers()),
            status: StatusRing::default(),
            transfers: vec![Transfer::default(); dma_requests.into()],
            control: Control(0),
            errors: UnitStatus(0),
            config: StatusConfig(0),
            status_buffer: 0,
            ready: false,
            read_only: false,
            alarm: Alarm::new(alarm_kelvins),
            completed: 0,
            resets: 0,
        };
        let unit = Rc::new(MessageUnit {
            exec: exec.clone(),
            link: link.clone(),
            commands: commands.clone(),
            memory,
            shape,
            handler: Cell::new(None),
            functions,
            bell: WaitCell::default(),
            state: RefCell::new(state),
        });
        let handler = exec.register(unit.clone());
        unit.handler.set(Some(handler));
        link.attach_front(handler);
        commands.attach(handler);
        commands.push_command(command_of(BOOT_NOP, HostOp::Flush, 0));
        unit
    }

    // ---- frames and commands ----

    /// Fetches frames and scatters commands as far as there is room.
    fn go_on(&self, state: &mut State) {
        while state.control.enable() {
            let Some((buffer, address)) = state.frames.fetch() else { break };
            let Some(bytes) = address.bytes() else {
                return self.stop(state, UnitStatus(0).with_frame_error(true));
            };
            let local = Local::Sram { offset: (buffer * FRAME_BYTES_MAX) as u32 };
            let run = Segment { address: address.address(), length: bytes as u32 };
            self.push_one(DmaDirection::FromHost, local, run, purpose::FRAME << 16 | buffer as u32);
        }
        self.scatter_next(state);
    }
    /// Begins to scatter the next command. Without an empty slot it waits in its buffer.
    fn scatter_next(&self, state: &mut State) {
        if !state.control.enable() || state.scattering.is_some() {
            return;
        }
        let Some(range) = state.frames.next() else { return };
        let parsed = {
            let memory = self.memory.borrow();
            let parsed = CommandView::parse(&memory.sram()[range]);
            parsed.map(|(view, _)| (view.command(), view.as_bytes().len()))
        };
        let Ok((command, bytes)) = parsed else {
            return self.stop(state, UnitStatus(0).with_frame_error(true));
        };
        let Some(slot) = state.slots.take(command) else { return };
        state.scattering = Some((slot, bytes));
        let at = self.exec.now() + BUS_CYCLE * bytes.div_ceil(4) as u64;
        let handler = self.handler.get().expect("set at the start");
        self.exec.schedule(at, handler, u64::from(state.resets));
    }
    /// The command that was being scattered is in its slot, where the MCU finds it.
    fn scattered(&self, state: &mut State) {
        let Some((id, bytes)) = state.scattering.take() else { return };
        state.frames.scattered(bytes);
        state.nacs.scattered(state.slots.get(id).command.channel, id);
        self.bell.wake(&self.exec);
        self.go_on(state);
    }

    // ---- data ----

    fn push_one(&self, direction: DmaDirection, local: Local, run: Segment, token: u32) {
        let mut segments = [Segment::default(); MAX_SEGMENTS];
        segments[0] = run;
        self.push(direction, local, segments, 1, token);
    }
    fn push(
        &self,
        direction: DmaDirection,
        local: Local,
        segments: [Segment; MAX_SEGMENTS],
        count: u8,
        token: u32,
    ) {
        let epoch = self.link.epoch();
        self.link.push(LinkOp::Dma { direction, local, segments, count, token, epoch });
    }
    /// The translation asks for a transfer of a command's data.
    fn transfer(&self, state: &mut State, tag: DmaTag, request: DmaRequest) {
        let slot = state.slots.get(request.command);
        if slot.orphan {
            return self.commands.dma_done(tag, Err(DmaError::Aborted));
        }
        let plan = slot.plan.expect("the command is with the translation");
        let (mut done, mut operations) = (0, 0);
        while done < request.length {
            let (offset, rest) = (request.offset + done, request.length - done);
            let (runs, count, bytes) = segments(&slot.command, &plan, request.part, offset, rest);
            assert!(bytes > 0, "a plan has as many bytes as its command has host memory");
            let local = Local::Buffer { buffer: request.buffer, offset: request.buffer_offset + done };
            self.push(request.direction, local, runs, count, purpose::DATA << 16 | u32::from(tag.0));
            (done, operations) = (done + bytes, operations + 1);
        }
        assert!(operations > 0, "a transfer of no bytes");
        state.transfers[usize::from(tag.0)] = Transfer { operations, failed: false, slot: request.command.0 };
    }
    fn transferred(&self, state: &mut State, tag: u16, failed: bool) {
        let transfer = &mut state.transfers[usize::from(tag)];
        transfer.operations -= 1;
        transfer.failed |= failed;
        if transfer.operations > 0 {
            return;
        }
        let orphan = state.slots.get(CommandId(transfer.slot)).orphan;
        let answer = match (orphan, transfer.failed) {
            (true, _) => Err(DmaError::Aborted),
            (false, true) => Err(DmaError::Address),
            (false, false) => Ok(()),
        };
        self.commands.dma_done(DmaTag(tag), answer);
    }

    // ---- statuses ----

    /// The translation is done with a command.
    fn ended(&self, state: &mut State, ended: &Completion) {
        if ended.id == BOOT_NOP {
            state.ready = true;
            return;
        }
        let slot = *state.slots.get(ended.id);
        if slot.orphan {
            state.slots.release(ended.id);
            return;
        }
        let units = slot.plan.as_ref().map_or(0, |plan: &Plan| plan.units);
        let failed = failed_bits(&slot.command, units, ended.result);
        let code = code_of(slot.command.opcode, ended.status);
        self.end(state, ended.id, code, failed, ended.corrected);
    }
    /// A controller is done with a command: its status is the MCU's to collect.
    fn end(&self, state: &mut State, slot: CommandId, code: StatusCode, failed: u8, corrected: u8) {
        let Command { id, channel, .. } = state.slots.get(slot).command;
        let (id, sequence, code) = (U16::new(id), U16::ZERO, code.raw());
        state.nacs.ended(slot, StatusEntry { id, code, channel, failed, corrected, sequence });
        self.bell.wake(&self.exec);
    }
    /// Stops the unit until it is reset. Frames that wait are lost; commands that were scattered go on, and
    /// their statuses wait (H10).
    fn stop(&self, state: &mut State, error: UnitStatus) {
        state.errors = UnitStatus(state.errors.0 | error.0);
        state.control = state.control.with_enable(false);
        self.link.push(LinkOp::Interrupt { vector: registers::VECTOR_FATAL });
    }

    fn announce_heat(&self) {
        self.link.push(LinkOp::Interrupt { vector: registers::VECTOR_TEMPERATURE });
    }

    fn answered(&self, state: &mut State, token: u32, epoch: u32, result: Result<(), BadAddress>) {
        let (number, stale) = (token & 0xffff, epoch != self.link.epoch());
        match token >> 16 {
            purpose::DATA => self.transferred(state, number as u16, result.is_err()),
            _ if stale => {}
            purpose::FRAME if result.is_err() => self.stop(state, UnitStatus(0).with_frame_error(true)),
            purpose::FRAME => {
                state.frames.arrived(number as usize);
                self.go_on(state);
            }
            _ if result.is_err() => self.stop(state, UnitStatus(0).with_status_error(true)),
            _ => {
                state.status.arrived();
                self.bell.wake(&self.exec);
            }
        }
    }

    // ---- for the MCU ----

    /// Rings when the MCU may have something to do.
    pub fn bell(&self) -> &WaitCell {
        &self.bell
    }
    /// NAND array controllers.
    pub fn controllers(&self) -> usize {
        self.state.borrow().nacs.len()
    }
    /// Whether a pass of the MCU's loop would find something.
    pub fn has_work(&self) -> bool {
        let state = self.state.borrow();
        let has_statuses = (0..state.nacs.len()).any(|nac| state.nacs.statuses(nac) > 0);
        state.nacs.next_command().is_some()
            || has_statuses && state.status.room() > 0
            || state.status.has_arrived()
            || self.wants(&state)
    }
    /// When the oldest entry that is in no frame has waited long enough.
    pub fn status_due(&self) -> Option<Instant> {
        let state = self.state.borrow();
        let since = state.status.waiting_since().filter(|_| state.control.enable())?;
        Some(since + Duration::from_micros(state.config.timeout_us().into()))
            .filter(|&at| at > self.exec.now())
    }
    /// The controller of the next command, and how many host addresses the command has.
    pub fn next_command(&self) -> Option<(usize, usize)> {
        let state = self.state.borrow();
        let (nac, slot) = state.nacs.next_command()?;
        Some((nac, state.slots.get(slot).command.host().len()))
    }
    /// Hands the next command of a controller over to it. A reset may have taken the command away.
    pub fn hand_over(&self, nac: usize) {
        let state = &mut *self.state.borrow_mut();
        let Some(id) = state.nacs.take_command(nac) else { return };
        let slot = state.slots.get_mut(id);
        match self.shape.plan(&slot.command) {
            Some(plan) => {
                slot.plan = Some(plan);
                self.commands.set_addresses(id, self.shape.addresses(&slot.command));
                self.commands.push_command(command_of(id, plan.op, plan.data));
            }
            None => self.end(state, id, StatusCode::Refused, 0, 0),
        }
    }
    /// Entries of a controller's status FIFO for which the status buffer has room.
    pub fn statuses(&self, nac: usize) -> usize {
        let state = self.state.borrow();
        state.nacs.statuses(nac).min(state.status.room())
    }
    /// Moves `count` entries of a controller's status FIFO to the status buffer. A reset may have taken them
    /// away.
    pub fn collect(&self, nac: usize, count: usize) {
        let state = &mut *self.state.borrow_mut();
        for _ in 0..count {
            let Some((slot, entry)) = state.nacs.take_status(nac) else { break };
            state.slots.release(slot);
            let mut memory = self.memory.borrow_mut();
            state.status.push(entry, &mut memory.sram_mut()[STATUS_AT..SRAM_BYTES], self.exec.now());
            state.completed += 1;
        }
        // A command may have waited for a slot.
        self.go_on(state);
    }
    /// Whether a command waits that its controller may have.
    pub fn has_command(&self) -> bool {
        self.state.borrow().nacs.next_command().is_some()
    }
    /// Whether status frames have reached the host whose entries' places aren't free yet.
    pub fn has_arrived(&self) -> bool {
        self.state.borrow().status.has_arrived()
    }
    /// Whether enough entries wait for a status frame, and there is room for one (H17).
    pub fn has_enough(&self) -> bool {
        let state = self.state.borrow();
        state.control.enable() && state.status.asks(enough(&state), false)
    }
    /// Whether the oldest entry that is in no frame has waited long enough, and there is room for one (H17).
    pub fn is_due(&self) -> bool {
        let state = self.state.borrow();
        state.control.enable() && self.has_waited(&state) && state.status.asks(1, true)
    }
    fn wants(&self, state: &State) -> bool {
        state.control.enable() && state.status.asks(enough(state), self.has_waited(state))
    }
    /// Whether the oldest entry that is in no frame has waited long enough.
    fn has_waited(&self, state: &State) -> bool {
        let timeout = Duration::from_micros(state.config.timeout_us().into());
        let is_due = |since| self.exec.now() >= since + timeout;
        state.status.waiting_since().is_some_and(is_due)
    }
    /// Requests the next status frame, if there still is one.
    pub fn request_frame(&self) {
        let state = &mut *self.state.borrow_mut();
        if !state.control.enable() {
            return;
        }
        let (enough, due) = (enough(state), self.has_waited(state));
        let Some(request) = state.status.next_frame(enough, due) else { return };
        let start = STATUS_AT + usize::from(request.start()) * STATUS_ENTRY_BYTES;
        let address = state.status_buffer + u64::from(request.frame()) * STATUS_FRAME_BYTES as u64;
        let length = u32::from(request.length()) * STATUS_ENTRY_BYTES as u32;
        let local = Local::Sram { offset: start as u32 };
        self.push_one(DmaDirection::ToHost, local, Segment { address, length }, purpose::STATUS << 16);
        // It follows the frame (H13).
        self.link.push(LinkOp::Interrupt { vector: registers::VECTOR_STATUS });
    }
    /// Takes the completions of status frames that have reached the host: their entries' places are free.
    pub fn reap_frames(&self) {
        self.state.borrow_mut().status.reap();
    }

    // ---- registers ----

    fn word(&self, offset: u32) -> u32 {
        let state = self.state.borrow();
        match offset {
            registers::ID => registers::ID_AND_VERSION,
            registers::SHAPE => self.shape.shape().0,
            registers::BLOCKS => self.shape.blocks(),
            registers::PAGES => self.shape.pages().0,
            registers::CONTROL => state.control.0,
            registers::STATUS => {
                let (frames, commands) = (state.frames.waiting() as u8, state.slots.taken() as u8);
                let status = state.errors.with_ready(state.ready).with_fatal(state.read_only);
                let status = status.with_hot(state.alarm.is_on());
                status.with_frames(frames).with_commands(commands).0
            }
            registers::STATUS_CONFIG => state.config.0,
            registers::STATUS_BUFFER => state.status_buffer as u32,
            offset if offset == registers::STATUS_BUFFER + 4 => (state.status_buffer >> 32) as u32,
            registers::STATUS_HEAD => state.status.head_and_tail().0,
            registers::STATUS_TAIL => state.status.head_and_tail().1,
            registers::TEMPERATURE => state.alarm.kelvins().into(),
            registers::ALARM => state.alarm.threshold().into(),
            _ => 0,
        }
    }
    fn write_control(&self, state: &mut State, control: Control) {
        if control.reset() {
            self.reset(state);
        }
        // An error is only cleared by a reset.
        let works = state.errors == UnitStatus(0);
        state.control = Control(0).with_enable(control.enable() && works);
        self.go_on(state);
        self.bell.wake(&self.exec);
    }
    fn write_frame_address(&self, state: &mut State, address: u64) {
        if !state.control.enable() {
            return;
        }
        if !state.frames.put(address) {
            return self.stop(state, UnitStatus(0).with_overflow(true));
        }
        self.go_on(state);
    }
    /// Back to the state after power-on. The drive may not touch host memory any more.
    fn reset(&self, state: &mut State) {
        self.link.raise_epoch();
        state.frames = Frames::default();
        for ended in state.nacs.reset() {
            state.slots.release(ended);
        }
        state.slots.reset();
        state.scattering = None;
        state.status = StatusRing::default();
        (state.control, state.errors) = (Control(0), UnitStatus(0));
        (state.config, state.status_buffer) = (StatusConfig(0), 0);
        state.alarm.reset();
        state.resets = state.resets.wrapping_add(1);
    }
}

/// How many entries are enough for a status frame.
fn enough(state: &State) -> usize {
    usize::from(state.config.entries()).clamp(1, STATUS_FRAME_ENTRIES_MAX)
}

fn command_of(id: CommandId, op: HostOp, bytes: u32) -> HostCommand {
    HostCommand { id, op, offset: 0, length: bytes.into(), fua: false }
}

impl Handler for MessageUnit {
    fn fire(&self, token: u64) {
        let state = &mut *self.state.borrow_mut();
        match token {
            FRONT_KICK => {
                self.commands.acknowledge();
                while let Some((tag, request)) = self.commands.next_dma() {
                    self.transfer(state, tag, request);
                }
                while let Some(completion) = self.commands.next_completion() {
                    self.ended(state, &completion);
                }
                self.go_on(state);
            }
            FRONT_ANSWER => {
                while let Some((token, epoch, result)) = self.link.next_answer() {
                    self.answered(state, token, epoch, result);
                }
            }
            resets if resets != u64::from(state.resets) => {}
            _ => self.scattered(state),
        }
    }
}

impl FrontEnd for MessageUnit {
    fn read(&self, _bar: u8, offset: u32, size: u8) -> BarRead {
        let at = offset & !7;
        let word = u64::from(self.word(at)) | u64::from(self.word(at + 4)) << 32;
        BarRead::Now(word >> (8 * (offset & 7)) & (u64::MAX >> (64 - 8 * u32::from(size))))
    }
    fn write(&self, _bar: u8, offset: u32, size: u8, value: u64) {
        let state = &mut *self.state.borrow_mut();
        match (offset, size) {
            (registers::CONTROL, 4) => self.write_control(state, Control(value as u32)),
            (registers::FRAME_ADDRESS, 8) => self.write_frame_address(state, value),
            (registers::STATUS_CONFIG, 4) => {
                state.config = StatusConfig(value as u32);
                self.bell.wake(&self.exec);
            }
            // Its frames must lie below 2⁶⁴.
            (registers::STATUS_BUFFER, 8) => state.status_buffer = value & !0xfff,
            (registers::STATUS_HEAD, 4) => {
                state.status.taken(value as u32);
                self.bell.wake(&self.exec);
            }
            (registers::ALARM, 4) if state.alarm.set_threshold(value as u16) => self.announce_heat(),
            _ => {}
        }
    }
    fn function_reset(&self) {
        self.reset(&mut self.state.borrow_mut());
    }
    fn completed(&self) -> u64 {
        self.state.borrow().completed
    }
    fn commands_in_flight(&self) -> usize {
        self.state.borrow().slots.taken()
    }
    fn functions(&self) -> Vec<Function> {
        self.functions.clone()
    }
    fn media_changed(&self, media: MediaHealth) {
        let state = &mut *self.state.borrow_mut();
        if state.alarm.set_kelvins(media.temperature_kelvins) {
            self.announce_heat();
        }
        if media.read_only && !state.read_only {
            state.read_only = true;
            self.link.push(LinkOp::Interrupt { vector: registers::VECTOR_FATAL });
        }
    }
}
