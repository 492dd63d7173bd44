//! Golden bytes are typed by hand from the tables in `command` and `status`.

use super::command::*;
use super::error::FrameError;
use super::frame::*;
use super::opcode::Opcode;
use super::registers::{Shape, StatusConfig, UnitStatus};
use super::status::*;
use proptest::prelude::*;
use zerocopy::{FromBytes, IntoBytes};

fn encoded(command: &Command) -> ([u8; COMMAND_BYTES_MAX], usize) {
    let mut bytes = [0xee; COMMAND_BYTES_MAX];
    command.encode(&mut bytes[..command.bytes()]);
    (bytes, command.bytes())
}

#[test]
fn a_read_of_one_lane_has_24_bytes_and_its_host_addresses() {
    let command = Command::new(Opcode::Read, 0x1234, 3, 1, Blocks::One { lane: 5, block: 0x0789 })
        .at(0x01fe, SectorSpan::of(1, 2))
        .with_flags(CommandFlags(0).with_oob(true))
        .with_host(HostAddress::of(0x1122_3344_5560, 8192))
        .with_host(HostAddress::of(0x1000, 32));
    let (bytes, length) = encoded(&command);
    assert_eq!(
        bytes[..length],
        [
            5, 0x01, 0x34, 0x12, 3, 1, 5, 2, 0xfe, 0x01, 0x21, 0x02, 0, 0, 0, 0, // head
            0x89, 0x07, 0, 0, 0, 0, 0, 0, // block
            0x60, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00, 0x02, // 512 units of 16 bytes
            0x00, 0x10, 0, 0, 0, 0, 2, 0,
        ]
    );
    let (view, rest) = CommandView::parse(&bytes).unwrap();
    assert_eq!((view.command(), rest.len()), (command, COMMAND_BYTES_MAX - length));
}

#[test]
fn a_copy_of_a_group_has_56_bytes_and_no_host_address() {
    let from = Blocks::Group([1, 2, 3, 4, 5, 6, NO_BLOCK, 8]);
    let to = Blocks::Group([0x101, 0x102, 0x103, 0x104, 0x105, 0x106, NO_BLOCK, 0x108]);
    let command = Command::new(Opcode::Copy, 9, 0, 1, from).at(7, SectorSpan::of(0, 16)).to(Destination {
        page: 0x0203,
        die: 0,
        blocks: to,
    });
    let (bytes, length) = encoded(&command);
    assert_eq!(
        bytes[..length],
        [
            7, 0x04, 9, 0, 0, 1, 0xff, 0, 7, 0, 0x00, 0, 0, 0, 0, 0, // head; 16 sectors are 0
            1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 0xff, 0xff, 8, 0, // from
            3, 2, 0, 0, 0, 0, 0, 0, // page and die of the destination
            1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6, 1, 0xff, 0xff, 8, 1,
        ]
    );
    assert_eq!(CommandView::parse(&bytes[..length]).unwrap().0.command(), command);
    let members: [(u8, u16); 7] = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (7, 8)];
    assert!(from.members().eq(members));
}

#[test]
fn a_frame_address_has_its_length_below_an_aligned_address() {
    let address = FrameAddress::of(0x0011_2233_4455_6600, 176);
    assert_eq!(address.0.to_le_bytes(), [22, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0]);
    assert_eq!((address.address(), address.bytes()), (0x0011_2233_4455_6600, Some(176)));
    assert_eq!(
        [0, 1, 64, 65, 255].map(|units| FrameAddress(units).bytes()),
        [None, Some(8), Some(512), None, None]
    );
}

#[test]
fn a_status_entry_and_a_request_lie_where_they_should() {
    let bytes = [0x34, 0x12, 0x02, 3, 0x21, 7, 0xfe, 0xff];
    let entry = StatusEntry::read_from_bytes(&bytes).unwrap();
    assert_eq!(entry.status(), Some(StatusCode::Uncorrectable));
    assert_eq!((entry.id.get(), entry.channel, entry.failed, entry.corrected), (0x1234, 3, 0x21, 7));
    assert_eq!(entry.sequence.get(), 0xfffe);
    assert_eq!(entry.as_bytes(), bytes);
    assert_eq!(StatusCode::from_raw(9), None);
    let request = StatusRequest::of(0x7f, 16, 0xa);
    assert_eq!((request.0, request.length()), (0b101_0000_0111_1111, 16));
}

#[test]
fn registers_are_packed_as_the_host_reads_them() {
    let shape = Shape(0).with_channels(4).with_lanes(8).with_dies(2).with_planes(2);
    assert_eq!(shape.0, 0x0202_0804);
    assert_eq!(StatusConfig(0).with_entries(16).with_timeout_us(50).0, 0x0032_0010);
    assert_eq!(UnitStatus(0).with_ready(true).with_frames(16).with_commands(64).0, 0x0040_1001);
}

/// Each malformed command, and what is wrong with it.
#[test]
fn malformed_commands_are_refused_by_name() {
    let read = Command::new(Opcode::Read, 1, 0, 0, Blocks::One { lane: 0, block: 1 })
        .with_host(HostAddress::of(0x1000, 4096));
    let (bytes, length) = encoded(&read);
    let with = |at: usize, value: u8| {
        let mut bytes = bytes;
        bytes[at] = value;
        CommandView::parse(&bytes[..length]).map(|_| ())
    };
    assert_eq!(with(0, 4), Ok(()));
    for (at, value, error) in [
        (1, 8, FrameError::UnknownOpcode(8)),
        (6, 8, FrameError::Lane(8)),
        (7, 15, FrameError::HostAddresses(15)),
        (7, 0, FrameError::NoData(Opcode::Read)),
        (7, 2, FrameError::Parts { said: 32, parts: 40 }),
        (11, 0x08, FrameError::Flags(0x08)),
        (13, 1, FrameError::Reserved { at: 13 }),
        (18, 1, FrameError::Reserved { at: 18 }),
    ] {
        assert_eq!(with(at, value), Err(error), "byte {at}");
    }
    let mut empty = bytes;
    empty[length - 2..length].fill(0);
    let refused = CommandView::parse(&empty[..length]).map(|_| ());
    assert_eq!(refused, Err(FrameError::EmptyHostAddress { index: 0 }));
}

#[test]
fn every_length_and_every_cut_of_a_frame_is_an_error_and_no_panic() {
    let mut frame = FrameBuilder::default();
    let group = Command::new(Opcode::Erase, 2, 1, 0, Blocks::Group([3; LANES_MAX]));
    let nop = Command::new(Opcode::Nop, 3, 0, 0, Blocks::One { lane: 0, block: 0 });
    assert!(frame.push(&group) && frame.push(&nop));
    let whole = frame.bytes();
    assert_eq!(whole.len(), 32 + 16);
    for cut in 0..whole.len() {
        let commands = Commands::of(&whole[..cut]);
        let last = commands.last();
        match cut {
            0 => assert!(last.is_none()),
            32 => assert!(last.unwrap().is_ok()),
            _ => assert_eq!(last.unwrap().unwrap_err(), FrameError::CutOff),
        }
    }
    for units in 0..=u8::MAX {
        let mut bytes = [0; 2048];
        bytes[0] = units;
        // An opcode of zero is a NOP, which has a head alone.
        assert_eq!(CommandView::parse(&bytes).is_ok(), units == 2, "{units} units");
    }
}

#[test]
fn a_full_frame_takes_no_more() {
    let erase = Command::new(Opcode::Erase, 0, 0, 0, Blocks::One { lane: 0, block: 0 });
    let mut frame = FrameBuilder::default();
    let pushed = (0..100).filter(|_| frame.push(&erase)).count();
    assert_eq!((pushed, frame.bytes().len()), (21, 504));
    assert_eq!(Commands::of(frame.bytes()).count(), 21);
    frame.clear();
    assert!(frame.is_empty());
}

prop_compose! {
    fn any_blocks()(group: bool, lane in 0u8..8, block: u16, blocks: [u16; LANES_MAX]) -> Blocks {
        if group { Blocks::Group(blocks) } else { Blocks::One { lane, block } }
    }
}

prop_compose! {
    fn any_command()(
        opcode in prop::sample::select(&[0u8, 1, 2, 3, 4, 6, 7][..]), id: u16, channel: u8, die: u8,
        blocks in any_blocks(), page: u16, first in 0u8..16,
        count in 1u8..17, flags in 0u8..4, parity: u8, to in any_blocks(), to_page: u16, to_die: u8,
        host in prop::collection::vec((0u64..1 << 48, 1u32..1 << 16), 1..15),
    ) -> Command {
        let opcode = Opcode::from_raw(opcode).unwrap();
        let blocks = match (opcode.has_blocks(), blocks) {
            (true, blocks) => blocks,
            (false, Blocks::One { lane, .. }) => Blocks::One { lane, block: 0 },
            (false, Blocks::Group(_)) => Blocks::Group([0; LANES_MAX]),
        };
        let to = match (blocks, to) {
            (Blocks::One { lane, .. }, Blocks::One { block, .. }) => Blocks::One { lane, block },
            (Blocks::One { lane, .. }, Blocks::Group(to)) => Blocks::One { lane, block: to[0] },
            (Blocks::Group(_), Blocks::One { block, .. }) => Blocks::Group([block; LANES_MAX]),
            (Blocks::Group(_), group) => group,
        };
        let span = SectorSpan::of(first, count);
        let mut command = Command::new(opcode, id, channel, die, blocks).at(page, span);
        command.flags = CommandFlags(flags);
        command.parity = parity;
        if opcode == Opcode::Copy {
            command = command.to(Destination { page: to_page, die: to_die, blocks: to });
        }
        if opcode.has_data() {
            for (address, units) in host {
                command = command.with_host(HostAddress::of(address, 16 * units));
            }
        }
        command
    }
}

proptest! {
    #[test]
    fn commands_round_trip_through_a_frame(commands in prop::collection::vec(any_command(), 1..4)) {
        let mut frame = FrameBuilder::default();
        let pushed = commands.iter().take_while(|command| frame.push(command)).count();
        let parsed = Commands::of(frame.bytes()).map(|view| view.unwrap().command());
        prop_assert!(parsed.eq(commands[..pushed].iter().copied()));
    }
    #[test]
    fn a_changed_byte_is_an_error_or_another_command_that_round_trips(
        command in any_command(), at in 0usize..COMMAND_BYTES_MAX, value: u8,
    ) {
        let (mut bytes, length) = encoded(&command);
        bytes[at % length] = value;
        if let Ok((view, rest)) = CommandView::parse(&bytes[..length]) {
            let (again, length) = encoded(&view.command());
            prop_assert_eq!(view.as_bytes(), &again[..length]);
            prop_assert_eq!(view.as_bytes().len() + rest.len(), bytes[..].len().min(length + rest.len()));
        }
    }
    #[test]
    fn any_bytes_are_commands_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..FRAME_BYTES_MAX)) {
        for view in Commands::of(&bytes).flatten() {
            let _ = (view.command(), view.host().count());
        }
    }
}
