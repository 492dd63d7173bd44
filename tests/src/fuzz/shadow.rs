//! Shadow doorbells (NVMe 1.4 §5.7): buffers with any address and content, which are set, moved and shared
//! with data, while queues are created and deleted and controllers are reset.

use super::input::Input;
use super::maps::{DATA_AT, DATA_PAGES, ENTRIES, Files, Kind, PAGE, all_of_it, map, set, write};
use super::script::{self, Act, message};
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::registers::{Doorbell, DoorbellKind, Register};
use aster_wire::vfio_user::{Command, DmaUnmap, DmaUnmapFlags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;
use zerocopy::IntoBytes;

/// The usual pages of the buffers in the data's file: shadow doorbells, then event indexes.
const BUFFERS: [u64; 2] = [0, 1];
/// Bytes of a word of a queue's two.
const WORD: u64 = 4;

/// Writes to the data's file as a host writes to its memory.
fn store(files: &Files, at: u64, value: u32) -> Act {
    let file = File::from(files.data.try_clone().expect("another descriptor"));
    Act::Do(Box::new(move || file.write_all_at(&value.to_le_bytes(), at).expect("in the file")))
}

/// An address of a buffer, in most cases a valid one.
fn buffer(input: &mut Input<'_>, page: u64) -> u64 {
    match input.below(8) {
        0 => input.u64(),
        1 => DATA_AT + input.u64() % (u64::from(DATA_PAGES) * PAGE),
        2 => DATA_AT + u64::from(input.below(DATA_PAGES + 2)) * PAGE,
        _ => DATA_AT + page * PAGE,
    }
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut drive = script::drive();
    let mut files = Files::new(Kind::Sealed);
    let mut acts = files.begin();
    acts.push(map(DATA_AT, u64::from(DATA_PAGES) * PAGE, 0, all_of_it(), &[&files.data]));
    let configure = AdminCommand::DoorbellBufferConfig.to_sqe(0, 0, DATA_AT, DATA_AT + PAGE);
    acts.extend(files.send(0, configure));
    acts.push(Act::Wait(Duration::from_micros(200)));
    while !input.is_empty() {
        match input.below(10) {
            // Any value in any word of either buffer, in most cases a word of the I/O queue.
            0 | 1 => {
                let page = BUFFERS[input.below(2) as usize] * PAGE;
                let word = if input.u8().is_multiple_of(4) { input.below(1024) } else { input.below(6) };
                let value = if input.u8().is_multiple_of(4) {
                    input.u32()
                } else {
                    input.below(u32::from(ENTRIES) + 2)
                };
                acts.push(store(&files, page + WORD * u64::from(word), value));
            }
            // As a host does it: the entry, the shadow doorbell, and sometimes the register.
            2..=4 => {
                let at = DATA_AT + u64::from(input.below(DATA_PAGES)) * PAGE;
                let range = BlockRange::new(u64::from(input.u8()), 1 + input.below(16));
                let command =
                    if input.u8() & 1 == 0 { IoCommand::Read(range) } else { IoCommand::Write(range) };
                let [put, ring] = files.send(1, command.to_sqe(1, 0, at, at + PAGE));
                acts.push(put);
                acts.push(store(&files, BUFFERS[0] * PAGE + 2 * WORD, files.tail(1)));
                if input.u8() & 1 == 0 {
                    acts.push(ring);
                }
            }
            5 => {
                let (shadow, index) = (buffer(&mut input, BUFFERS[0]), buffer(&mut input, BUFFERS[1]));
                acts.extend(files.send(0, AdminCommand::DoorbellBufferConfig.to_sqe(0, 0, shadow, index)));
            }
            6 => {
                let kind = input.of(&[DoorbellKind::SubmissionTail, DoorbellKind::CompletionHead]);
                let doorbell = Doorbell { queue: input.below(3) as u16, kind };
                acts.push(write(0, doorbell.offset(0), &input.u32().to_le_bytes()));
            }
            7 => {
                let gone = DmaUnmap {
                    argsz: 24.into(),
                    flags: DmaUnmapFlags(0).0.into(),
                    address: DATA_AT.into(),
                    size: (u64::from(DATA_PAGES) * PAGE).into(),
                };
                acts.push(message(Command::DmaUnmap, &[gone.as_bytes()], None));
                acts.push(Act::Wait(Duration::from_micros(u64::from(input.u8()))));
                if input.u8() & 3 > 0 {
                    acts.push(map(DATA_AT, u64::from(DATA_PAGES) * PAGE, 0, all_of_it(), &[&files.data]));
                }
            }
            8 => {
                let queue = input.below(3) as u16;
                let admin = input.of(&[AdminCommand::DeleteIoSq(queue), AdminCommand::DeleteIoCq(queue)]);
                acts.extend(files.send(0, admin.encode(0)));
                if input.u8() & 1 == 0 {
                    acts.push(set(Register::Configuration, 0));
                    acts.push(Act::Wait(Duration::from_micros(100)));
                    acts.extend(files.enable());
                }
            }
            _ => acts.push(Act::Wait(Duration::from_micros(u64::from(input.u8())))),
        }
    }
    script::play(&mut drive, acts);
    script::must_serve_the_next(&mut drive);
}
