//! Command frames: any bytes, and commands that are nearly right.

use super::input::Input;
use aster_wire::array::{
    Blocks, COMMAND_BYTES_MAX, Command, CommandFlags, Commands, Destination, FRAME_BYTES_MAX, FrameAddress,
    HOST_ADDRESSES_MAX, HostAddress, LANES_MAX, Opcode, SectorSpan,
};

fn blocks(input: &mut Input, group: bool, lane: u8) -> Blocks {
    let mut block = || input.u32() as u16;
    if group { Blocks::Group(std::array::from_fn(|_| block())) } else { Blocks::One { lane, block: block() } }
}

/// A command without an error.
fn command(input: &mut Input) -> Command {
    let opcode = input.of(Opcode::ALL);
    let (group, lane) = (input.u8().is_multiple_of(2), input.below(LANES_MAX as u32) as u8);
    let of = blocks(input, group, lane);
    let mut command = Command::new(opcode, input.u32() as u16, input.u8(), input.u8(), of)
        .at(input.u32() as u16, SectorSpan::of(input.below(16) as u8, 1 + input.below(16) as u8))
        .with_flags(CommandFlags(input.below(4) as u8));
    if opcode == Opcode::Copy {
        let (page, die) = (input.u32() as u16, input.u8());
        command = command.to(Destination { page, die, blocks: blocks(input, group, lane) });
    }
    if opcode.has_data() {
        for _ in 0..1 + input.below(HOST_ADDRESSES_MAX as u32) {
            let bytes = HostAddress::UNIT_BYTES * (1 + input.below(1 << 12));
            command = command.with_host(HostAddress::of(input.u64() >> 16, bytes));
        }
    }
    command
}

/// What is parsed is whole commands, which written again are the same bytes.
fn parses(frame: &[u8]) {
    let mut at = 0;
    for view in Commands::of(frame) {
        let view = match view {
            Ok(view) => view,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return;
            }
        };
        let mut again = [0; COMMAND_BYTES_MAX];
        let command = view.command();
        let bytes = command.bytes();
        command.encode(&mut again[..bytes]);
        // Block indexes of commands that name no blocks aren't there.
        assert_eq!(view.as_bytes(), &again[..bytes], "{command:?}");
        assert_eq!(view.as_bytes(), &frame[at..at + bytes]);
        at += bytes;
    }
    assert_eq!(at, frame.len(), "a frame without an error is commands to its end");
}

/// Bytes, or commands that are nearly right.
pub(super) fn frame(input: &mut Input) -> Vec<u8> {
    let mut frame = Vec::new();
    match input.below(4) {
        0 => {
            let length = input.below(FRAME_BYTES_MAX as u32) as usize;
            frame.extend(input.take(length));
        }
        choice => {
            for _ in 0..1 + input.below(4) {
                let command = command(input);
                let at = frame.len();
                frame.resize(at + command.bytes(), 0);
                command.encode(&mut frame[at..]);
            }
            for _ in 0..choice - 1 {
                let at = input.below(1 << 16) as usize % frame.len();
                frame[at] = input.u8();
            }
            if input.u8().is_multiple_of(8) {
                frame.truncate(input.below(1 << 16) as usize % frame.len());
            }
        }
    }
    frame
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    while !input.is_empty() {
        parses(&frame(&mut input));
        let address = FrameAddress(input.u64());
        assert!(address.bytes().is_none_or(|bytes| (8..=FRAME_BYTES_MAX).contains(&bytes)));
        assert!(address.address().is_multiple_of(256));
    }
}
