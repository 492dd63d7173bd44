//! Memory that a client maps, unmaps and truncates while the drive is using it.

use super::input::Input;
use super::script::{self, Act, FILES_MAX, message, message_with};
use aster_wire::nvme::Sqe;
use aster_wire::nvme::admin::{
    AdminCommand, CreateCqDword11, CreateIoCq, CreateIoSq, CreateSqDword11, QueueDword10,
};
use aster_wire::nvme::io::{BlockRange, IoCommand};
use aster_wire::nvme::registers::{AdminQueueBase, Aqa, Cc, Doorbell, DoorbellKind, Register};
use aster_wire::vfio_user::{Command, DmaMap, DmaMapFlags, DmaUnmap, DmaUnmapFlags, RegionAccess, Version};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::Duration;
use zerocopy::IntoBytes;

pub(super) const PAGE: u64 = 4096;
/// Where the queues are on the bus, and where the memory for data begins.
const QUEUES_AT: u64 = 0x10_0000;
pub(super) const DATA_AT: u64 = 0x20_0000;
pub(super) const DATA_PAGES: u32 = 16;
pub(super) const ENTRIES: u16 = 64;
/// Bytes of a huge page on most machines. A file of huge pages can't be smaller.
const HUGE_PAGE: u64 = 2 << 20;

/// The usual access rights of the drive to a client's memory.
pub(super) fn all_of_it() -> DmaMapFlags {
    DmaMapFlags(0).with_readable(true).with_writable(true)
}

pub(super) fn map(address: u64, size: u64, offset: u64, flags: DmaMapFlags, files: &[&OwnedFd]) -> Act {
    let map = DmaMap {
        argsz: 32.into(),
        flags: flags.0.into(),
        offset: offset.into(),
        address: address.into(),
        size: size.into(),
    };
    message_with(Command::DmaMap, &[map.as_bytes()], files)
}

pub(super) fn write(region: u32, offset: u64, data: &[u8]) -> Act {
    let count = data.len() as u32;
    let access = RegionAccess { offset: offset.into(), region: region.into(), count: count.into() };
    message(Command::RegionWrite, &[access.as_bytes(), data], None)
}

pub(super) fn set(register: Register, value: u64) -> Act {
    write(0, register.offset(), &value.to_le_bytes()[..register.bytes() as usize])
}

/// The kind of file that holds a client's data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It can shrink.
    Plain,
    /// It is sealed and can't shrink.
    Sealed,
    /// Huge pages, which this machine may not have.
    HugePages,
    /// Mapped read-only.
    ReadOnly,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Plain, Kind::Sealed, Kind::HugePages, Kind::ReadOnly];

    /// A file of so many pages.
    fn make(self) -> OwnedFd {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
        let data_bytes = u64::from(DATA_PAGES) * PAGE;
        if self == Kind::HugePages {
            // If the system has no huge pages, there is nothing to try.
            if let Ok(fd) = memfd_create("fuzz", flags | MemfdFlags::HUGETLB) {
                ftruncate(&fd, HUGE_PAGE).expect("its size");
                fcntl_add_seals(&fd, SealFlags::SHRINK).expect("its seals");
                return fd;
            }
        }
        let fd = memfd_create("fuzz", flags).expect("a memfd");
        ftruncate(&fd, data_bytes).expect("its size");
        if self != Kind::Plain {
            fcntl_add_seals(&fd, SealFlags::SHRINK).expect("its seals");
        }
        if self == Kind::ReadOnly {
            let again = format!("/proc/self/fd/{}", fd.as_raw_fd());
            return File::open(again).expect("the same file").into();
        }
        fd
    }
}

/// The files of a client: one for queues, which stays as it is, and one for data.
pub(super) struct Files {
    queues: OwnedFd,
    pub(super) data: OwnedFd,
    tails: [u16; 2],
}

impl Files {
    pub(super) fn new(kind: Kind) -> Self {
        let queues = memfd_create("fuzz", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).expect("a memfd");
        ftruncate(&queues, 4 * PAGE).expect("its size");
        fcntl_add_seals(&queues, SealFlags::SHRINK).expect("its seals");
        Files { queues, data: kind.make(), tails: [0; 2] }
    }
    /// Puts an entry into queue 0 or 1 and rings the doorbell.
    pub(super) fn send(&mut self, queue: u16, sqe: Sqe) -> [Act; 2] {
        let tail = &mut self.tails[usize::from(queue)];
        let at = 2 * PAGE * u64::from(queue) + 64 * u64::from(*tail);
        *tail = (*tail + 1) % ENTRIES;
        let file = File::from(self.queues.try_clone().expect("another descriptor"));
        let put = Act::Do(Box::new(move || file.write_all_at(sqe.as_bytes(), at).expect("in the file")));
        let doorbell = Doorbell { queue, kind: DoorbellKind::SubmissionTail };
        [put, write(0, doorbell.offset(0), &u32::from(*tail).to_le_bytes())]
    }
    /// The tail of a queue after the entries sent so far.
    pub(super) fn tail(&self, queue: u16) -> u32 {
        self.tails[usize::from(queue)].into()
    }
    /// A client that has its controller and one queue pair.
    pub(super) fn begin(&mut self) -> Vec<Act> {
        let version = Version { major: 0.into(), minor: 1.into() };
        let mut acts = vec![
            message(Command::Version, &[version.as_bytes(), b"{}\0"], None),
            map(QUEUES_AT, 4 * PAGE, 0, all_of_it(), &[&self.queues]),
            write(7, 4, &[6, 0]),
        ];
        acts.extend(self.enable());
        acts
    }
    /// A controller that is off gets its queues: admin and one pair.
    pub(super) fn enable(&mut self) -> Vec<Act> {
        self.tails = [0; 2];
        let cc = Cc(0).with_en(true).with_iosqes(6).with_iocqes(4);
        let mut acts = vec![
            set(Register::AdminQueueAttributes, Aqa::of(ENTRIES, ENTRIES).0.into()),
            set(Register::AdminSubmissionQueue, AdminQueueBase(QUEUES_AT).0),
            set(Register::AdminCompletionQueue, AdminQueueBase(QUEUES_AT + PAGE).0),
            set(Register::Configuration, cc.0.into()),
            Act::Wait(Duration::from_micros(200)),
        ];
        let size = QueueDword10::of(1, ENTRIES.into());
        let control = CreateCqDword11(0).with_contiguous(true);
        let completion = AdminCommand::CreateIoCq(CreateIoCq { queue: size, control });
        acts.extend(self.send(0, completion.to_sqe(0, 0, QUEUES_AT + 3 * PAGE, 0)));
        let control = CreateSqDword11(0).with_contiguous(true).with_completion_queue_id(1);
        let submission = AdminCommand::CreateIoSq(CreateIoSq { queue: size, control, nvm_set: 0 });
        acts.extend(self.send(0, submission.to_sqe(0, 0, QUEUES_AT + 2 * PAGE, 0)));
        acts.push(Act::Wait(Duration::from_micros(200)));
        acts
    }
}

/// Sometimes only a part.
fn some_flags(input: &mut Input) -> DmaMapFlags {
    match input.u8() {
        n if n.is_multiple_of(6) => DmaMapFlags(u32::from(n / 6) % 4),
        _ => all_of_it(),
    }
}

pub(super) fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut drive = script::drive();
    let mut files = Files::new(input.of(&Kind::ALL));
    let mut acts = files.begin();
    while !input.is_empty() {
        let (page, pages) = (u64::from(input.below(DATA_PAGES)), 1 + u64::from(input.below(8)));
        match input.below(10) {
            0 | 1 => {
                let offset = u64::from(input.below(DATA_PAGES + 2)) * PAGE;
                let count = match input.u8() {
                    n if n.is_multiple_of(8) => 0,
                    n if n.is_multiple_of(9) => FILES_MAX.min(2 + usize::from(n / 9)),
                    _ => 1,
                };
                let given = vec![&files.data; count];
                acts.push(map(DATA_AT + page * PAGE, pages * PAGE, offset, some_flags(&mut input), &given));
            }
            // The queues' memory, which may have been unmapped, at another address or shorter than the
            // queues.
            8 => {
                let offset = u64::from(input.u8().is_multiple_of(4)) * PAGE;
                let flags = some_flags(&mut input);
                acts.push(map(QUEUES_AT, 4 * PAGE - offset, offset, flags, &[&files.queues]));
            }
            // Shadow doorbells in memory that is mapped and unmapped.
            9 => {
                let at = DATA_AT + page * PAGE;
                acts.extend(files.send(0, AdminCommand::DoorbellBufferConfig.to_sqe(0, 0, at, at + PAGE)));
            }
            2 => {
                let address = if input.u8().is_multiple_of(16) { QUEUES_AT } else { DATA_AT + page * PAGE };
                let unmap = DmaUnmap {
                    argsz: 24.into(),
                    flags: DmaUnmapFlags(0).with_all(input.u8().is_multiple_of(16)).0.into(),
                    address: address.into(),
                    size: (pages * PAGE).into(),
                };
                acts.push(message(Command::DmaUnmap, &[unmap.as_bytes()], None));
            }
            // A sealed file refuses to shrink.
            3 => {
                let file = files.data.try_clone().expect("another descriptor");
                let bytes = u64::from(input.below(DATA_PAGES + 1)) * PAGE;
                acts.push(Act::Do(Box::new(move || {
                    let _ = ftruncate(&file, bytes);
                })));
            }
            4 => acts.push(Act::Wait(Duration::from_micros(u64::from(input.u8())))),
            _ => {
                let at = DATA_AT + page * PAGE;
                let range = BlockRange::new(u64::from(input.u8()), 1 + input.below(16));
                let command =
                    if input.u8() & 1 == 0 { IoCommand::Read(range) } else { IoCommand::Write(range) };
                acts.extend(files.send(1, command.to_sqe(1, 0, at, at + PAGE)));
            }
        }
    }
    script::play(&mut drive, acts);
    script::must_serve_the_next(&mut drive);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_told_of_memory_that_a_client_keeps_to_itself() {
        let mut drive = script::drive();
        let mut files = Files::new(Kind::Sealed);
        let mut acts = files.begin();
        acts.push(map(DATA_AT, PAGE, 0, all_of_it(), &[]));
        acts.push(Act::Wait(Duration::from_micros(200)));
        for _ in 0..2 {
            acts.extend(files.send(1, IoCommand::Read(BlockRange::new(0, 1)).to_sqe(1, 0, DATA_AT, 0)));
            acts.push(Act::Wait(Duration::from_micros(500)));
        }
        script::play(&mut drive, acts);
        let told = drive
            .notices()
            .iter()
            .filter(|text| text.contains("0x200000 is memory that the client keeps to itself"));
        assert_eq!(told.count(), 1, "{:?}", drive.notices());
    }
}
