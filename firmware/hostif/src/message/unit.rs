//! The unit itself: registers, and what happens between its parts and the ports.

use super::array::{ArrayShape, Plan, code_of, failed_bits};
use super::fifo::{BUFFERS, Frames};
use super::runs::segments;
use super::slots::{SLOTS, Slots};
use super::status::StatusRing;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use aster_exec::{Exec, Handler, HandlerId};
use aster_parties::{FrontEnd, FrontEndPorts, MediaHealth};
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

/// What a timer was for: the upper half of its token. The lower half has the number of resets before.
mod timer {
    /// A command has been scattered.
    pub const SCATTERED: u64 = 1;
    /// Status entries have waited long enough.
    pub const STATUS: u64 = 2;
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
    /// When the earliest timer for status entries fires.
    timer_at: Option<Instant>,
    status: StatusRing,
    transfers: Vec<Transfer>,
    control: Control,
    errors: UnitStatus,
    config: StatusConfig,
    status_buffer: u64,
    ready: bool,
    read_only: bool,
    temperature_kelvins: u16,
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
    state: RefCell<State>,
}

impl MessageUnit {
    pub fn start(shape: ArrayShape, ports: FrontEndPorts) -> Rc<Self> {
        let FrontEndPorts { exec, link, commands, memory, .. } = ports;
        let (_, dma_requests) = commands.bounds();
        let state = State {
            frames: Frames::default(),
            slots: Slots::default(),
            scattering: None,
            timer_at: None,
            status: StatusRing::default(),
            transfers: vec![Transfer::default(); dma_requests.into()],
            control: Control(0),
            errors: UnitStatus(0),
            config: StatusConfig(0),
            status_buffer: 0,
            ready: false,
            read_only: false,
            temperature_kelvins: MediaHealth::default().temperature_kelvins,
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
            state: RefCell::new(state),
        });
        let handler = exec.register(unit.clone());
        unit.handler.set(Some(handler));
        link.attach_front(handler);
        commands.attach(handler);
        commands.push_command(command_of(BOOT_NOP, HostOp::Flush, 0));
        unit
    }
    fn timer(&self, at: Instant, what: u64, state: &State) {
        let handler = self.handler.get().expect("set at the start");
        let token = what << 32 | u64::from(state.resets);
        self.exec.schedule(at, handler, token);
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
    /// Begins to scatter the next command. Without an empty slot, or room for its status entry, it waits in
    /// its buffer.
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
        if state.slots.taken() + state.status.len() >= STATUS_BUFFER_ENTRIES {
            return;
        }
        let Some(slot) = state.slots.take(command) else { return };
        state.scattering = Some((slot, bytes));
        let at = self.exec.now() + BUS_CYCLE * bytes.div_ceil(4) as u64;
        self.timer(at, timer::SCATTERED, state);
    }
    /// The command that was being scattered is in its slot.
    fn scattered(&self, state: &mut State) {
        let Some((id, bytes)) = state.scattering.take() else { return };
        state.frames.scattered(bytes);
        let slot = state.slots.get_mut(id);
        match self.shape.plan(&slot.command) {
            Some(plan) => {
                slot.plan = Some(plan);
                self.commands.set_addresses(id, self.shape.addresses(&slot.command));
                self.commands.push_command(command_of(id, plan.op, plan.data));
            }
            None => self.end(state, id, StatusCode::Refused, 0, 0),
        }
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
    fn end(&self, state: &mut State, id: CommandId, code: StatusCode, failed: u8, corrected: u8) {
        let Command { id: number, channel, .. } = state.slots.release(id).command;
        let (id, sequence, code) = (U16::new(number), U16::ZERO, code.raw());
        let entry = StatusEntry { id, code, channel, failed, corrected, sequence };
        let mut memory = self.memory.borrow_mut();
        state.status.push(entry, &mut memory.sram_mut()[STATUS_AT..SRAM_BYTES], self.exec.now());
        state.completed += 1;
    }
    /// Sends status frames if enough entries wait, or have waited long enough (H17).
    fn send(&self, state: &mut State) {
        if !state.control.enable() {
            return;
        }
        let enough = usize::from(state.config.entries()).clamp(1, STATUS_FRAME_ENTRIES_MAX);
        let timeout = Duration::from_micros(state.config.timeout_us().into());
        let is_due = |since| self.exec.now() >= since + timeout;
        while let Some(request) = {
            let due = state.status.waiting_since().is_some_and(is_due);
            state.status.next_frame(enough, due)
        } {
            let start = STATUS_AT + usize::from(request.start()) * STATUS_ENTRY_BYTES;
            let address = state.status_buffer + u64::from(request.frame()) * STATUS_FRAME_BYTES as u64;
            let length = u32::from(request.length()) * STATUS_ENTRY_BYTES as u32;
            let local = Local::Sram { offset: start as u32 };
            self.push_one(DmaDirection::ToHost, local, Segment { address, length }, purpose::STATUS << 16);
            // It follows the frame (H13).
            self.link.push(LinkOp::Interrupt { vector: registers::VECTOR_STATUS });
        }
        // One timer is enough: when it fires, the next is set.
        let due = state.status.waiting_since().map(|since| since + timeout);
        if let Some(at) = due.filter(|&at| at > self.exec.now() && state.timer_at.is_none_or(|set| at < set))
        {
            state.timer_at = Some(at);
            self.timer(at, timer::STATUS, state);
        }
    }
    /// Stops the unit until it is reset. Frames that wait are lost; commands that were scattered go on, and
    /// their statuses wait (H10).
    fn stop(&self, state: &mut State, error: UnitStatus) {
        state.errors = UnitStatus(state.errors.0 | error.0);
        state.control = state.control.with_enable(false);
        self.link.push(LinkOp::Interrupt { vector: registers::VECTOR_FATAL });
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
                // A command may have waited for room in the ring.
                self.go_on(state);
                self.send(state);
            }
        }
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
                status.with_frames(frames).with_commands(commands).0
            }
            registers::STATUS_CONFIG => state.config.0,
            registers::STATUS_BUFFER => state.status_buffer as u32,
            offset if offset == registers::STATUS_BUFFER + 4 => (state.status_buffer >> 32) as u32,
            registers::STATUS_HEAD => state.status.head_and_tail().0,
            registers::STATUS_TAIL => state.status.head_and_tail().1,
            registers::TEMPERATURE => state.temperature_kelvins.into(),
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
        self.send(state);
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
        state.slots.reset();
        (state.scattering, state.timer_at) = (None, None);
        state.status = StatusRing::default();
        (state.control, state.errors) = (Control(0), UnitStatus(0));
        (state.config, state.status_buffer) = (StatusConfig(0), 0);
        state.resets = state.resets.wrapping_add(1);
    }
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
                self.send(state);
            }
            FRONT_ANSWER => {
                while let Some((token, epoch, result)) = self.link.next_answer() {
                    self.answered(state, token, epoch, result);
                }
            }
            token if token as u32 != state.resets => {}
            token if token >> 32 == timer::SCATTERED => {
                self.scattered(state);
                self.send(state);
            }
            _ => {
                state.timer_at = state.timer_at.filter(|&at| at > self.exec.now());
                self.send(state);
            }
        }
    }
}

impl FrontEnd for MessageUnit {
    fn read(&self, _bar: u8, offset: u32, size: u8) -> u64 {
        let at = offset & !7;
        let word = u64::from(self.word(at)) | u64::from(self.word(at + 4)) << 32;
        word >> (8 * (offset & 7)) & (u64::MAX >> (64 - 8 * u32::from(size)))
    }
    fn write(&self, _bar: u8, offset: u32, size: u8, value: u64) {
        let state = &mut *self.state.borrow_mut();
        match (offset, size) {
            (registers::CONTROL, 4) => self.write_control(state, Control(value as u32)),
            (registers::FRAME_ADDRESS, 8) => self.write_frame_address(state, value),
            (registers::STATUS_CONFIG, 4) => {
                state.config = StatusConfig(value as u32);
                self.send(state);
            }
            // Its frames must lie below 2⁶⁴.
            (registers::STATUS_BUFFER, 8) => state.status_buffer = value & !0xfff,
            (registers::STATUS_HEAD, 4) => {
                state.status.taken(value as u32);
                self.send(state);
            }
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
    fn media_changed(&self, media: MediaHealth) {
        let state = &mut *self.state.borrow_mut();
        state.temperature_kelvins = media.temperature_kelvins;
        if media.read_only && !state.read_only {
            state.read_only = true;
            self.link.push(LinkOp::Interrupt { vector: registers::VECTOR_FATAL });
        }
    }
}
