//! Messages of a vfio-user client: any bytes, and messages that are nearly right.

use super::input::Input;
use super::script::{self, Act, FILES_MAX, message, message_with};
use aster_wire::vfio_user::{Command, IrqSetFlags, PciIrq, RegionAccess, SetIrqs};
use rustix::event::{EventfdFlags, eventfd};
use std::time::Duration;
use zerocopy::IntoBytes;

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut drive = script::drive();
    let mut acts = Vec::new();
    while !input.is_empty() {
        let act = act(&mut input);
        match act {
            // The message is sent in parts; its files come with the first bytes.
            Act::Send(mut bytes, files) if input.u8().is_multiple_of(16) && bytes.len() > 1 => {
                let rest = bytes.split_off(1 + usize::from(input.u8()) % (bytes.len() - 1));
                acts.push(Act::Send(bytes, files));
                acts.push(Act::Wait(Duration::from_micros(u64::from(input.u8()))));
                acts.push(Act::Send(rest, Vec::new()));
            }
            whole => acts.push(whole),
        }
    }
    script::play(&mut drive, acts);
    script::must_serve_the_next(&mut drive);
}

fn act(input: &mut Input) -> Act {
    let command = input.of(Command::ALL);
    match input.below(9) {
        0 => {
            let length = usize::from(input.u8() % 64);
            Act::Send(input.take(length).to_vec(), Vec::new())
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
        // Vectors that are enabled, masked or triggered, several at once, usually with one file per
        // vector.
        6 => {
            let (start, count) = (input.below(4), input.below(6));
            let set = SetIrqs {
                argsz: 20.into(),
                flags: IrqSetFlags(1 << input.below(3) | 8 << input.below(3)).0.into(),
                index: input.of(&[PciIrq::MsiX, PciIrq::MsiX, PciIrq::MsiX, PciIrq::Msi]).raw().into(),
                start: start.into(),
                count: count.into(),
            };
            let file = eventfd(0, EventfdFlags::empty()).expect("an eventfd");
            let files = match input.u8() {
                n if n.is_multiple_of(8) => usize::from(n) % FILES_MAX,
                _ => count as usize,
            };
            let bytes = input.take(count as usize);
            message_with(Command::DeviceSetIrqs, &[set.as_bytes(), bytes], &vec![&file; files])
        }
        _ => {
            let length = usize::from(input.u8() % 48);
            message(command, &[input.take(length)], None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_wire::vfio_user::{DmaMap, DmaMapFlags, Header, IrqSetFlags};
    use rustix::fd::OwnedFd;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use rustix::io::Errno;
    use zerocopy::FromBytes;

    /// The error that each reply reports, 0 for none.
    fn errors(mut answers: &[u8]) -> Vec<u32> {
        let mut errors = Vec::new();
        while let Ok((header, _)) = Header::read_from_prefix(answers) {
            errors.push(header.error.get());
            answers = &answers[header.size.get() as usize..];
        }
        errors
    }

    #[test]
    fn a_message_with_more_files_than_arrive_is_refused_and_never_taken_for_another() {
        let mut drive = script::drive();
        let memory = memfd_create("memory", MemfdFlags::CLOEXEC).expect("a memfd");
        ftruncate(&memory, 4096).expect("its size");
        let flags = DmaMapFlags(0).with_readable(true);
        let (argsz, flags) = (32.into(), flags.0.into());
        let map = DmaMap { argsz, flags, offset: 0.into(), address: 0.into(), size: 4096.into() };
        let send = |count| message_with(Command::DmaMap, &[map.as_bytes()], &vec![&memory; count]);
        let answers = script::play(&mut drive, vec![send(FILES_MAX), send(2), send(1)]);
        let [too_many, wrong] = [Errno::MFILE, Errno::INVAL].map(|e| e.raw_os_error() as u32);
        assert_eq!(errors(&answers), [too_many, wrong, 0]);
    }

    #[test]
    fn only_eventfds_are_signalled() {
        let mut drive = script::drive();
        let flags = IrqSetFlags(0).with_eventfd(true).with_trigger(true).0;
        let set = SetIrqs {
            argsz: 20.into(),
            flags: flags.into(),
            index: PciIrq::MsiX.raw().into(),
            start: 0.into(),
            count: 2.into(),
        };
        let event = eventfd(0, EventfdFlags::empty()).expect("an eventfd");
        let file: OwnedFd = tempfile::tempfile().expect("a file").into();
        let send = |files: &[&OwnedFd]| message_with(Command::DeviceSetIrqs, &[set.as_bytes()], files);
        let answers = script::play(&mut drive, vec![send(&[&event, &file]), send(&[&event, &event])]);
        assert_eq!(errors(&answers), [Errno::INVAL.raw_os_error() as u32, 0]);
    }
}
