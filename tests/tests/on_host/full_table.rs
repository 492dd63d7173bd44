//! Open-channel drives whose bad-block table is full: what the host can't add, what a drive does that has
//! more bad blocks than it can keep, and that nothing else changes (P26).

use aster_device::Media;
use aster_device::profile::Profile;
use aster_driver::{Config, DriverError, Moved, QueueId};
use aster_events::Recorder;
use aster_openchannel::{BlockFlags, Drive, METADATA_BYTES, Place, Status, VectorError};
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::{config, profile};
use aster_units::LunIndex;
use aster_wire::nvme::log::CriticalWarning;
use aster_wire::ocssd::{status, v2};
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
const SECTOR: usize = 4096;
const OOB: usize = METADATA_BYTES as usize;
/// Blocks for which the table has room.
const ROOM: usize = 4096;
/// Attempted Write to Read Only Range, not to be tried again.
const READ_ONLY: Status = Status::WRITE_TO_READ_ONLY_RANGE.with_dnr(true);

struct Host {
    machine: Machine,
    drive: Rc<Drive<VirtualBar>>,
}

impl Host {
    fn power_on(profile: &Profile, media: Media) -> Self {
        let config = Config { transfer_bytes_max: 256 << 10, ..config(profile) };
        let machine = Machine::power_on("test", profile, None, media, &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        let driver = Rc::clone(machine.driver());
        let drive = machine.block_on("opening", async move { Drive::open(&driver).await });
        Host { drive: Rc::new(drive.unwrap().unwrap()), machine }
    }
    fn run<T: 'static>(&self, work: impl AsyncFnOnce(Rc<Drive<VirtualBar>>) -> T + 'static) -> T {
        let drive = Rc::clone(&self.drive);
        self.machine.block_on("a command", async move { work(drive).await }).unwrap()
    }
    /// Everything that the drive keeps of its blocks.
    fn tables(&self) -> Vec<BlockFlags> {
        self.run(async |drive| {
            let mut all = Vec::new();
            for (channel, lun) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                all.extend(drive.table(channel, lun).await.unwrap());
            }
            all
        })
    }
    fn set(&self, blocks: &[Place], state: BlockFlags) -> Result<(), Status> {
        let blocks = blocks.to_vec();
        self.run(async move |drive| drive.set_table(&blocks, state).await).map_err(|error| match error {
            DriverError::Command { status, .. } => status,
            error => panic!("{error}"),
        })
    }
    fn write(&self, place: Place) -> Result<(), (Status, u64)> {
        told(self.run(async move |drive| {
            let (data, oob) = ([page_byte(place); SECTOR], [page_byte(place); OOB]);
            drive.write(QUEUE, &[place], Moved::ToDrive(&data), &oob).await
        }))
    }
    fn read(&self, place: Place) -> Result<(), (Status, u64)> {
        told(self.run(async move |drive| {
            let (mut data, mut oob) = ([0; SECTOR], [0; OOB]);
            let read = drive.read(QUEUE, &[place], Moved::FromDrive(&mut data), &mut oob).await;
            assert!(read.is_err() || (data, oob) == ([page_byte(place); SECTOR], [page_byte(place); OOB]));
            read
        }))
    }
    fn erase(&self, place: Place) -> Result<(), (Status, u64)> {
        told(self.run(async move |drive| drive.erase_blocks(QUEUE, &[place]).await))
    }
    /// Programs and erases of the drive.
    fn work(&self) -> (u64, u64) {
        let totals = self.machine.device().nand().totals_of_drive();
        (totals.programs, totals.erases)
    }
    fn warns(&self) -> bool {
        let driver = Rc::clone(self.machine.driver());
        let health = self.machine.block_on("the health log", async move { driver.health().await });
        CriticalWarning(health.unwrap().unwrap().critical_warning).read_only()
    }
    fn end(self) -> Media {
        drop(self.drive);
        self.machine.cut_power()
    }
}

fn told(ended: Result<(), VectorError>) -> Result<(), (Status, u64)> {
    ended.map_err(|error| match error {
        VectorError::Failed { status, failed, .. } => (status, failed),
        VectorError::Driver(error) => panic!("{error}"),
    })
}

const fn page_byte(place: Place) -> u8 {
    place.block as u8 ^ place.page as u8 ^ 0x5a
}

/// A block of the first LUN, in the first plane.
const fn block(block: u32) -> Place {
    Place { channel: 0, lun: 0, plane: 0, block, page: 0, sector: 0 }
}

/// 4 LUNs of 1,088 blocks.
fn many_blocks(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("pocket-ocssd", |p| {
        p.target = None;
        p.geometry.blocks_per_lun = 1088;
        p.package.factory_bad_per_mille = 0;
        change(p);
    })
}

#[test]
fn a_host_cannot_add_more_blocks_than_fit() {
    let profile = many_blocks(|_| {});
    let host = Host::power_on(&profile, Media::fresh());
    // All but 32 of what fits, from the last LUN on. The first one stays free.
    let places = [(1, 1), (0, 1), (1, 0), (0, 0)].into_iter().flat_map(|(channel, lun)| {
        (0..544).rev().flat_map(move |block| {
            [0, 1].map(|plane| Place { channel, lun, plane, block, page: 0, sector: 0 })
        })
    });
    let places: Vec<Place> = places.take(ROOM + 1).collect();
    for some in places[..ROOM - 32].chunks(64) {
        assert_eq!(host.set(some, BlockFlags::Host), Ok(()));
    }
    let before = host.tables();
    assert_eq!(before.iter().filter(|state| **state == BlockFlags::Host).count(), ROOM - 32);
    // One too many, beside some that are there already.
    assert_eq!(host.set(&places[ROOM - 48..], BlockFlags::GrownBad), Err(READ_ONLY));
    assert!(host.tables() == before, "a command that is refused changes nothing");
    // A block that is named twice needs room once.
    let fits = [&places[ROOM - 48..ROOM], &places[ROOM - 1..ROOM]].concat();
    assert_eq!(host.set(&fits, BlockFlags::GrownBad), Ok(()));
    assert_eq!(host.set(&places[ROOM..], BlockFlags::Host), Err(READ_ONLY));
    // Another state needs no room, and a free block leaves some.
    assert_eq!(host.set(&places[..64], BlockFlags::GrownBad), Ok(()));
    assert_eq!(host.set(&places[..1], BlockFlags::Free), Ok(()));
    assert_eq!(host.set(&places[ROOM..], BlockFlags::Host), Ok(()));
    // The drive takes writes all the while.
    assert_eq!(host.write(block(1)), Ok(()));
    assert!(!host.warns());
    let before = host.tables();
    let host = Host::power_on(&profile, host.end());
    assert!(host.tables() == before, "all of it is kept");
    assert_eq!((host.read(block(1)), host.write(block(2))), (Ok(()), Ok(())));
}

#[test]
fn a_drive_with_more_bad_blocks_than_fit_takes_no_more_writes() {
    let profile = many_blocks(|_| {});
    let host = Host::power_on(&profile, Media::fresh());
    let all = |channel, lun| {
        let of = move |block| [0, 1].map(|plane| Place { channel, lun, plane, block, page: 0, sector: 0 });
        (0..544).rev().flat_map(of)
    };
    let places: Vec<Place> =
        [all(1, 1), all(0, 1), all(1, 0), all(0, 0)].into_iter().flatten().take(ROOM).collect();
    for some in places.chunks(64) {
        assert_eq!(host.set(some, BlockFlags::Host), Ok(()));
    }
    for n in 1..4 {
        assert_eq!(host.write(block(n)), Ok(()));
    }
    host.machine.device().nand().fail_next_program(LunIndex(0));
    let next = |place: Place| Place { page: place.page + 1, ..place };
    assert_eq!(host.write(next(block(1))), Err((status::WRITE_FAIL, 1)));
    let mut tables = host.tables();
    assert_eq!(tables[2], BlockFlags::GrownBad);
    let check = |host: &Host| {
        let (work, before) = (host.work(), host.tables());
        assert!(host.warns(), "SMART says so");
        assert_eq!(host.write(next(block(2))), Err((READ_ONLY, 0)));
        assert_eq!(host.set(&[block(5)], BlockFlags::Host), Err(READ_ONLY));
        assert_eq!(host.set(&places[..1], BlockFlags::Free), Err(READ_ONLY));
        assert!((host.work(), host.tables()) == (work, before), "what is refused changes nothing");
        // What is there can be read.
        for n in 1..4 {
            assert_eq!(host.read(block(n)), Ok(()));
        }
    };
    check(&host);
    // And erased: the order of one's data counts until the end.
    assert_eq!((host.erase(block(3)), host.write(block(3))), (Ok(()), Err((READ_ONLY, 0))));
    assert_eq!(host.read(block(3)), Err((status::EMPTY_PAGE, 1)));
    // The last block, for which there was no room, is forgotten with the power. But nobody can write it.
    let host = Host::power_on(&profile, host.end());
    *tables.last_mut().unwrap() = BlockFlags::Free;
    assert!(host.tables() == tables && host.warns());
    assert_eq!(host.write(next(block(1))), Err((READ_ONLY, 0)));
    assert_eq!(host.read(block(2)), Ok(()));
    let host = Host::power_on(&profile, host.end());
    assert_eq!(host.write(next(block(1))), Err((READ_ONLY, 0)), "for good");
}

/// Half of the blocks are bad from the factory on, and so three quarters of the chunks.
#[test]
fn a_drive_of_chunks_with_more_bad_blocks_than_fit_says_what_there_is() {
    let profile = profile("pocket-ocssd-2", |p| {
        p.target = None;
        p.geometry.blocks_per_lun = 2176;
        p.package.factory_bad_per_mille = 500;
    });
    let mut host = Host::power_on(&profile, Media::fresh());
    for _ in 0..2 {
        let tables = host.tables();
        let work = host.work();
        let free = block(tables.iter().position(|state| *state == BlockFlags::Free).unwrap() as u32 / 2);
        assert!(host.warns());
        assert_eq!(host.write(free), Err((READ_ONLY, 0)));
        let copied = host.run(async move |drive| drive.copy(QUEUE, &[free], &[free]).await);
        assert_eq!(told(copied), Err((READ_ONLY, 0)));
        assert_eq!(host.read(free), Err((v2::status::UNWRITTEN, 1)));
        assert_eq!(host.erase(free), Err((v2::status::INVALID_RESET, 0)));
        assert!((host.work(), host.tables()) == (work, tables), "what is refused changes nothing");
        host = Host::power_on(&profile, host.end());
    }
}
