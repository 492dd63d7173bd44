//! Messages of a vfio-user client: any bytes, and messages that are nearly right.

use super::input::Input;
use super::script::{self, Act, message};
use aster_wire::vfio_user::{Command, RegionAccess};
use rustix::event::{EventfdFlags, eventfd};
use std::time::Duration;
use zerocopy::IntoBytes;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut drive = script::drive();
    let mut acts = Vec::new();
    while !input.is_empty() {
        acts.push(act(&mut input));
    }
    script::play(&mut drive, acts);
    script::must_serve_the_next(&mut drive);
}

fn act(input: &mut Input) -> Act {
    let command = input.of(Command::ALL);
    match input.below(8) {
        0 => {
            let length = usize::from(input.u8() % 64);
            Act::Send(input.take(length).to_vec(), None)
        }
        // Accesses of both regions, most of them within their bounds.
        1..4 => {
            let offset =
                if input.u8().is_multiple_of(8) { input.u64() } else { u64::from(input.below(0x3400)) };
            let count = if input.u8().is_multiple_of(8) { input.u32() } else { 1 << input.below(4) };
            let region = if input.u8().is_multiple_of(8) { input.u32() } else { input.of(&[0, 7]) };
            let access = RegionAccess { offset: offset.into(), region: region.into(), count: count.into() };
            let data = input.take(count.min(16) as usize);
            match input.u8() & 1 {
                0 => message(Command::RegionRead, &[access.as_bytes()], None),
                _ => message(Command::RegionWrite, &[access.as_bytes(), data], None),
            }
        }
        4 => Act::Wait(Duration::from_micros(u64::from(input.u8()))),
        // Small numbers in the words of whatever message that is.
        5 => {
            let words: Vec<u8> =
                (0..input.below(12)).flat_map(|_| u32::from(input.u8() % 64).to_le_bytes()).collect();
            let file = eventfd(0, EventfdFlags::NONBLOCK).expect("an eventfd");
            message(command, &[&words], (input.u8() & 1 == 0).then_some(&file))
        }
        _ => {
            let length = usize::from(input.u8() % 48);
            message(command, &[input.take(length)], None)
        }
    }
}
