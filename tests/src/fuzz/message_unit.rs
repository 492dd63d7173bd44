//! The message unit of a whole drive: frames of any bytes and of commands that are nearly right, anywhere in
//! memory that may be gone, and any accesses of its registers (H8 to H13).

use super::frames;
use super::function::{Function, Memory};
use super::input::Input;
use aster_device::Profile;
use aster_units::Duration;
use aster_wire::array::registers::{
    self, Control, Pages, REGISTER_BAR_BYTES, Shape, StatusConfig, UnitStatus,
};
use aster_wire::array::{
    Blocks, Command, Destination, FRAME_ALIGNMENT, FrameAddress, HostAddress, Opcode, STATUS_FRAME_BYTES,
    STATUS_FRAMES, SectorSpan, StatusCode, StatusEntry,
};
use zerocopy::FromBytes;

/// Where the host's status buffer lies, frames, and data.
const STATUS: u64 = Memory::AT;
const FRAMES: u64 = Memory::AT + 0x2000;
const DATA: u64 = Memory::AT + 0x10_000;
const SECTOR: u32 = 4096;

/// A small drive that takes frames, without an FTL over it.
fn raw() -> Profile {
    crate::profile("host-ftl-small", |p| {
        p.target = None;
        p.package.factory_bad_per_mille = 0;
    })
}

fn register(function: &Function, offset: u32) -> u32 {
    function.device.bar_read(0, offset, 4) as u32
}
fn status(function: &Function) -> UnitStatus {
    UnitStatus(register(function, registers::STATUS))
}

/// Resets the unit, and switches it on when nothing of earlier commands is in it.
fn bring_up(function: &mut Function) {
    function.device.bar_write(0, registers::CONTROL, 4, Control(0).with_reset(true).0.into());
    function.run_until("the unit is ready", |f| status(f).ready() && status(f).commands() == 0);
    let stopped = status(function);
    assert!(!stopped.frame_error() && !stopped.status_error() && !stopped.overflow(), "{stopped:?}");
    function.memory.at(STATUS, STATUS_FRAMES * STATUS_FRAME_BYTES).fill(0);
    function.device.bar_write(0, registers::STATUS_BUFFER, 8, STATUS);
    let config = StatusConfig(0).with_entries(1);
    function.device.bar_write(0, registers::STATUS_CONFIG, 4, config.0.into());
    function.device.bar_write(0, registers::CONTROL, 4, Control(0).with_enable(true).0.into());
}

/// Writes a frame of these commands to memory and hands it over.
fn submit(function: &mut Function, commands: &[Command]) {
    let mut frame = Vec::new();
    for command in commands {
        let at = frame.len();
        frame.resize(at + command.bytes(), 0);
        command.encode(&mut frame[at..]);
    }
    function.memory.at(FRAMES, frame.len()).copy_from_slice(&frame);
    let address = FrameAddress::of(FRAMES, frame.len());
    function.device.bar_write(0, registers::FRAME_ADDRESS, 8, address.0);
}

/// Sends a command as the `n`-th since the reset, and waits for its status.
fn send(function: &mut Function, n: u16, command: Command) -> StatusCode {
    submit(function, &[command]);
    let at = STATUS + (usize::from(n) % STATUS_FRAMES * STATUS_FRAME_BYTES) as u64;
    let mut found = StatusEntry::default();
    function.run_until("a status", |f| {
        found = StatusEntry::read_from_prefix(f.memory.at(at, STATUS_FRAME_BYTES)).expect("an entry").0;
        found.sequence.get() == n + 1
    });
    function.device.bar_write(0, registers::STATUS_HEAD, 4, u64::from(n) + 1);
    assert_eq!(found.id.get(), n, "the status of another command");
    found.status().expect("a code that means something")
}

/// The unit takes commands after a reset, and nothing of earlier ones is transferred.
fn must_work_after_a_reset(function: &mut Function) {
    assert_eq!(function.device.fault(), None);
    function.enable_function();
    function.device.bar_write(0, registers::CONTROL, 4, Control(0).with_reset(true).0.into());
    function.memory.give_back();
    function.run_until("the unit is empty", |f| status(f).commands() == 0);
    let before = function.memory.accesses();
    function.run_for(Duration::from_millis(20));
    assert_eq!(function.memory.accesses(), before, "memory was used after the reset");
    bring_up(function);
    let shape = Shape(register(function, registers::SHAPE));
    let pages = Pages(register(function, registers::PAGES));
    let page = (u32::from(pages.sectors()) * SECTOR) as usize;
    let data = HostAddress::of(DATA, page as u32);
    let content: Vec<u8> = (0..page).map(|n| (n / 16) as u8 ^ 0x5a).collect();
    let mut n = 0;
    let mut next = |function: &mut Function, command: &dyn Fn(u16) -> Command| {
        n += 1;
        send(function, n - 1, command(n - 1))
    };
    assert_eq!(
        next(function, &|id| Command::new(Opcode::Nop, id, 0, 0, Blocks::One { lane: 0, block: 0 })),
        StatusCode::Done
    );
    // A block may have gone bad, since anything was done to it. They don't all go bad.
    let mut worked = false;
    for block in 0..8 {
        let of = Blocks::One { lane: shape.lanes() - 1, block };
        if next(function, &|id| Command::new(Opcode::Erase, id, 0, 0, of)) != StatusCode::Done {
            continue;
        }
        function.memory.at(DATA, page).copy_from_slice(&content);
        let span = SectorSpan::of(0, pages.sectors());
        let of_page = |opcode, id| Command::new(opcode, id, 0, 0, of).at(0, span).with_host(data);
        assert_eq!(next(function, &|id| of_page(Opcode::Write, id)), StatusCode::Done);
        function.memory.at(DATA, page).fill(0);
        assert_eq!(next(function, &|id| of_page(Opcode::Read, id)), StatusCode::Done);
        assert_eq!(function.memory.at(DATA, page), content, "what was written is read");
        worked = true;
        break;
    }
    assert!(worked, "no block can be written");
}

/// A command that the drive may carry out: it has the block, the page and the memory.
fn possible(input: &mut Input) -> Command {
    let opcode = input.of(Opcode::ALL);
    let (lane, block, page) = (input.below(9) as u8, input.below(26) as u16, input.below(9) as u16);
    let of = |lane: u8| match lane {
        8 => Blocks::Group([block; 8]),
        lane => Blocks::One { lane, block },
    };
    let die = input.below(3) as u8;
    let span = SectorSpan::of(0, 4);
    let mut command = Command::new(opcode, input.u8().into(), 0, die, of(lane)).at(page, span);
    if opcode == Opcode::Copy {
        let to = Destination { page: input.below(9) as u16, die: input.below(3) as u8, blocks: of(lane) };
        command = command.to(to);
    }
    if opcode.has_data() {
        let bytes = if lane == 8 { 8 * 4 * SECTOR } else { 4 * SECTOR };
        command = command.with_host(HostAddress::of(DATA, bytes));
    }
    command
}

pub(super) fn run(bytes: &[u8]) {
    let (mut input, mut function) = (Input::new(bytes), Function::of(raw()));
    if input.u8() & 1 == 0 {
        bring_up(&mut function);
    }
    while !input.is_empty() {
        match input.below(10) {
            0..3 => {
                let count = 1 + input.below(3) as usize;
                let commands: Vec<_> = (0..count).map(|_| possible(&mut input)).collect();
                submit(&mut function, &commands);
            }
            3 | 4 => {
                let frame = frames::frame(&mut input);
                let at = FRAMES + FRAME_ALIGNMENT * u64::from(input.below(40));
                function.memory.at(at, frame.len()).copy_from_slice(&frame);
                // Its length may be another one.
                let units = if input.u8() & 3 == 0 { input.u8() } else { frame.len().div_ceil(8) as u8 };
                let address = FrameAddress(at).with_units(units);
                function.device.bar_write(0, registers::FRAME_ADDRESS, 8, address.0);
            }
            // Most of these are where no memory is.
            5 => function.device.bar_write(0, registers::FRAME_ADDRESS, 8, input.u64()),
            6 => {
                let size = input.of(&[1u8, 2, 4, 8]);
                let offset = input.below(REGISTER_BAR_BYTES as u32) & !(u32::from(size) - 1);
                let offset =
                    if input.u8() & 1 == 0 { (offset % 0x50) & !(u32::from(size) - 1) } else { offset };
                function.device.bar_write(0, offset, size, input.u64());
                function.device.bar_read(0, offset, size);
            }
            7 => match input.below(3) {
                0 => function.memory.take_away(Memory::AT + 4096 * u64::from(input.below(64))),
                1 => function.memory.give_back(),
                // The host takes status frames, or says so.
                _ => {
                    let tail = register(&function, registers::STATUS_TAIL);
                    let head = if input.u8() & 7 == 0 { input.u32() } else { tail };
                    function.device.bar_write(0, registers::STATUS_HEAD, 4, head.into());
                }
            },
            8 if input.u8() & 7 == 0 => {
                function.memory.give_back();
                bring_up(&mut function);
            }
            _ => function.run_for(Duration::from_micros(u64::from(input.u8()) * 4)),
        }
    }
    must_work_after_a_reset(&mut function);
}
