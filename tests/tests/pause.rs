//! A live drive over a disk that reports that it is full: tests the pause without filling a disk.

use aster_device::{Media, NVRAM_BYTES, Pieces, Profile};
use aster_ports::medium::{Backlog, MediumError, Nvram};
use aster_run_live::Pace;
use aster_tests::front_ends::NVME;
use aster_tests::live::{Here, Host, Queue, Ring, transfer};
use aster_tests::{SmallDisk, profile};
use aster_units::Content;
use aster_wire::nvme::admin::AdminCommand;
use aster_wire::nvme::io::{DatasetManagement, IoCommand};
use aster_wire::nvme::{Cqe, Sqe};
use std::cell::Cell;
use std::rc::Rc;

const MEMORY: u64 = 1 << 20;
const ENTRIES: u32 = 256;
/// 512-byte blocks per write.
const BLOCKS: u32 = 8;

/// The state that a disk reports; the test sets it.
#[derive(Default)]
struct Says {
    full: Cell<bool>,
    owed: Cell<u64>,
    memory: Cell<u64>,
    asked: Cell<u32>,
}

impl Backlog for Says {
    fn is_full(&self) -> bool {
        self.full.get()
    }
    fn owed(&self) -> u64 {
        self.owed.get()
    }
    fn memory(&self) -> u64 {
        self.memory.get()
    }
    fn needed(&self) -> u64 {
        5_000_000
    }
    fn missing(&self) -> u64 {
        4_000_000
    }
    fn no_room(&self) -> Option<MediumError> {
        Some(MediumError { offset: 7, reason: "it says so".into() })
    }
    fn fault(&self) -> Option<MediumError> {
        None
    }
    fn retry(&self) {
        self.asked.set(self.asked.get() + 1);
    }
}

/// A drive with each front end, and one with all of SoftSSD's parts.
fn drives() -> impl Iterator<Item = (&'static str, Profile)> {
    let softssd = ("softssd-small", profile("softssd-small", |_| {}));
    NVME.into_iter().map(|(name, front_end)| (name, profile("tiny", front_end))).chain([softssd])
}

/// A drive, its host on the same thread, and the state that its disk reports.
struct Drive {
    here: Here,
    host: Host,
    queue: Queue,
    disk: Rc<Says>,
    slots: usize,
    at: u64,
}

impl Drive {
    fn new(profile: &Profile) -> Self {
        let size = aster_device::nand_image_bytes(profile, Some(Content::Full)).unwrap();
        let image = SmallDisk::new(size, Rc::new(Cell::new(usize::MAX)));
        let disk = Rc::new(Says::default());
        let media = Media::on_image(Box::new(image), Nvram::volatile(NVRAM_BYTES)).with_backlog(disk.clone());
        let mut here = Here::start_on(media, Pieces::default(), profile, Pace::Fast);
        let (mut host, queue) = here.meet(|socket| {
            let mut host = Host::connect(socket, Ring::Mapped, MEMORY);
            host.enable();
            let queue = host.create_queue(1, ENTRIES);
            host.push_admin(AdminCommand::AsyncEventRequest.to_sqe(0, 0, 0, 0));
            (host, queue)
        });
        let at = host.alloc(u64::from(BLOCKS) * 512);
        Drive { here, host, queue, disk, slots: usize::from(profile.host.command_slots), at }
    }
    fn push(&mut self, sqe: Sqe) -> u16 {
        let cid = self.host.push(&mut self.queue, sqe);
        self.host.ring(&self.queue);
        cid
    }
    fn write(&mut self, slot: u64) -> u16 {
        self.push(transfer(true, slot * u64::from(BLOCKS), BLOCKS, self.at))
    }
    /// The next completion.
    fn next(&mut self) -> Cqe {
        let mut found = None;
        let (host, queue) = (&mut self.host, &mut self.queue);
        self.here.serve(|| {
            found = found.or_else(|| host.poll(queue));
            found.is_some()
        });
        self.host.ring_head(&self.queue);
        found.unwrap()
    }
    fn succeeds(&mut self, cid: u16) {
        let cqe = self.next();
        assert!(cqe.cid.get() == cid && cqe.status().is_success(), "{cid}: {cqe:?}");
    }
    /// A read, a trim and a flush, in the queue in which the writes wait.
    fn answers_all_but_writes(&mut self) {
        let ranges = self.host.alloc(16);
        self.host.write(ranges, &[0; 16]);
        let trim = DatasetManagement::deallocate(1);
        let trim = IoCommand::DatasetManagement(trim).to_sqe(1, 0, ranges, 0);
        for sqe in [transfer(false, 0, BLOCKS, self.at), trim, IoCommand::Flush.to_sqe(1, 0, 0, 0)] {
            let cid = self.push(sqe);
            self.succeeds(cid);
        }
    }
    fn waits_for_status(&mut self, paused: bool) {
        // The first status may be from before.
        for _ in 0..2 {
            let before = self.here.status().map(|status| status.seconds);
            while self.here.status().map(|status| status.seconds) == before {
                let mut turns = 0..64;
                self.here.serve(move || turns.next().is_none());
            }
        }
        let status = self.here.status().unwrap();
        assert_eq!((status.paused, status.missing_bytes), (paused, paused.then_some(4_000_000)));
    }
    fn said(&self, words: &str) -> bool {
        self.here.notices().iter().any(|notice| notice.contains(words))
    }
}

#[test]
fn more_writes_than_slots_wait_and_everything_else_goes_on() {
    for (name, profile) in drives() {
        println!("{name}");
        let mut drive = Drive::new(&profile);
        let first = drive.write(0);
        drive.succeeds(first);
        drive.disk.full.set(true);
        let many = drive.slots as u64 * 3;
        assert!(many < u64::from(ENTRIES) - 4);
        // The pause begins when the server has checked the disk.
        let disk = Rc::clone(&drive.disk);
        drive.here.serve(|| disk.asked.get() > 0);
        assert!(
            drive.said("paused, since there is no room for the image: at byte 7: it says so. Writes wait")
        );
        assert!(
            drive.said("when 5.0 MB are free: make room, or trim in the guest"),
            "{:?}",
            drive.here.notices()
        );
        let parked: Vec<u16> = (1..=many).map(|slot| drive.write(slot)).collect();
        for _ in 0..2 {
            drive.answers_all_but_writes();
        }
        assert_eq!(drive.here.device().commands_in_flight() as u64, many, "the event has been told");
        drive.waits_for_status(true);
        drive.disk.full.set(false);
        let mut ended = Vec::from_iter(parked.iter().map(|_| drive.next()));
        ended.sort_by_key(|cqe| cqe.cid.get());
        assert!(ended.iter().all(|cqe| cqe.status().is_success()), "{ended:?}");
        assert!(ended.iter().map(|cqe| cqe.cid.get()).eq(parked), "{ended:?}");
        assert!(drive.said("there is room again: goes on after a pause of"));
        drive.waits_for_status(false);
        assert_eq!(drive.here.device().history().write_commands, many + 1);
        drive.here.stop().unwrap();
    }
}

#[test]
fn a_drive_that_is_stopped_in_a_pause_shuts_down_without_what_waits() {
    for (name, profile) in drives() {
        println!("{name}");
        let mut drive = Drive::new(&profile);
        drive.disk.full.set(true);
        drive.disk.owed.set(4096);
        let disk = Rc::clone(&drive.disk);
        drive.here.serve(|| disk.asked.get() > 0);
        (0..drive.slots as u64 * 2).for_each(|slot| _ = drive.write(slot));
        let read = drive.push(transfer(false, 0, BLOCKS, drive.at));
        drive.succeeds(read);
        // The flush must not complete now: it would promise data that isn't on the disk.
        drive.push(IoCommand::Flush.to_sqe(1, 0, 0, 0));
        let read = drive.push(transfer(false, 0, BLOCKS, drive.at));
        drive.succeeds(read);
        assert_eq!(drive.here.device().history().write_commands, 0);
        drive.here.stop().unwrap();
    }
}

#[test]
fn a_drive_that_would_have_to_remember_too_much_stands_still_until_it_need_not() {
    for (name, profile) in drives() {
        println!("{name}");
        let mut drive = Drive::new(&profile);
        drive.disk.full.set(true);
        let disk = Rc::clone(&drive.disk);
        drive.here.serve(|| disk.asked.get() > 0);
        drive.disk.memory.set((256 << 20) + 1);
        let read = drive.push(transfer(false, 0, BLOCKS, drive.at));
        let asked = disk.asked.get();
        drive.here.serve(|| disk.asked.get() > asked);
        assert!(drive.host.poll(&mut drive.queue).is_none(), "the disk was asked, and the drive did nothing");
        drive.disk.memory.set(256 << 20);
        drive.succeeds(read);
        drive.here.stop().unwrap();
    }
}
