//! A LUN of an open-channel drive that doesn't answer any more, of either version: what a vector is told that
//! names it, alone or among others, and that the other LUNs go on (P27, P29, G14).

use aster_device::Media;
use aster_device::profile::{CommandName, Profile};
use aster_driver::{Config, Moved, QueueId};
use aster_events::Recorder;
use aster_openchannel::{BlockFlags, Drive, METADATA_BYTES, Place, Status, VectorError};
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::{config, profile};
use aster_units::{Duration, LunAddr};
use aster_wire::ocssd::status;
use aster_wire::ocssd::v2::{self, ChunkFlags};
use std::cell::Cell;
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
const SECTOR: usize = 4096;
const OOB: usize = METADATA_BYTES as usize;
/// The LUN that doesn't answer: the first of the second channel.
const DEAD: (u16, u16) = (1, 0);
/// Each page is written in both planes, a sector in each.
const PLANES: u8 = 2;

/// What the versions answer.
struct Version {
    profile: &'static str,
    read: Status,
    /// A page in one plane among others, then the same page in the other plane, which alone.
    writes: [Told; 2],
    /// The next page among others: what names a block that is known to take no write is refused as a whole.
    third: Told,
    erase: Status,
    /// What the table says of blocks that could not be erased.
    erased: BlockFlags,
}

const V12: Version = Version {
    profile: "pocket-ocssd",
    read: status::ECC_FAIL,
    writes: [Err((status::WRITE_FAIL, 0b10)), Err((status::WRITE_FAIL, 0b1))],
    third: Err((status::PROTECTED_BLOCK, 0b10)),
    erase: status::WRITE_FAIL,
    erased: BlockFlags::GrownBad,
};
const V20: Version = Version {
    profile: "pocket-ocssd-2",
    read: v2::status::ECC_FAIL,
    // Both are of one chunk, which is closed by then.
    writes: [Err((v2::status::CLOSED_EARLY, 0b10)), Err((v2::status::OUT_OF_ORDER, 0))],
    third: Err((v2::status::OUT_OF_ORDER, 0)),
    erase: v2::status::OFFLINE,
    // The library's word for what is offline.
    erased: BlockFlags::FactoryBad,
};

fn small(version: &Version, mp_native: bool) -> Profile {
    profile(version.profile, |p| {
        p.target = None;
        p.package.commands = vec![CommandName::MultiPlane];
        p.ftl.mp_native = mp_native;
        p.package.factory_bad_per_mille = 0;
        p.package.errors.fresh = 0.0;
        // Twice the typical time is long enough for a LUN that answers.
        p.poll.patience = 2;
    })
}

struct Host {
    machine: Machine,
    drive: Rc<Drive<VirtualBar>>,
}

/// Status and failed addresses of a vector.
type Told = Result<(), (Status, u64)>;

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
    fn write(&self, places: &[Place]) -> Told {
        let places = places.to_vec();
        self.run(async move |drive| told(write(&drive, &places).await))
    }
    /// Reads, and checks what was read.
    fn read(&self, places: &[Place]) -> Told {
        let places = places.to_vec();
        self.run(async move |drive| {
            let (mut data, mut oob) = (vec![0; places.len() * SECTOR], vec![0; places.len() * OOB]);
            let told = told(drive.read(QUEUE, &places, Moved::FromDrive(&mut data), &mut oob).await);
            let failed = told.err().map_or(0, |(_, failed)| failed);
            let sectors = places.iter().zip(data.chunks(SECTOR).zip(oob.chunks(OOB)));
            for (n, (place, read)) in sectors.enumerate().filter(|(n, _)| failed >> n & 1 == 0) {
                let (data, oob) = content(*place);
                assert!(read == (&data[..], &oob[..]), "{n}: {place}");
            }
            told
        })
    }
    fn erase(&self, places: &[Place]) -> Told {
        let places = places.to_vec();
        self.run(async move |drive| told(drive.erase_blocks(QUEUE, &places).await))
    }
    /// The state of this block in each plane.
    fn states(&self, (channel, lun): (u16, u16), block: u32) -> Vec<BlockFlags> {
        let table = self.run(async move |drive| drive.table(channel, lun).await.unwrap());
        table[block as usize * usize::from(PLANES)..][..PLANES.into()].to_vec()
    }
    fn kill(&self, dead: bool) {
        let nand = self.machine.device().nand();
        let (channel, way) = (DEAD.0, DEAD.1 as u8);
        nand.force_busy(nand.config().geometry.lun_index(LunAddr { channel, way, lun: 0 }), dead);
    }
    fn end(self) -> Media {
        drop(self.drive);
        self.machine.cut_power()
    }
}

async fn write(drive: &Drive<VirtualBar>, places: &[Place]) -> Result<(), VectorError> {
    let (data, oob): (Vec<_>, Vec<_>) = places.iter().map(|place| content(*place)).unzip();
    drive.write(QUEUE, places, Moved::ToDrive(&data.concat()), &oob.concat()).await
}

fn told(ended: Result<(), VectorError>) -> Told {
    ended.map_err(|error| match error {
        VectorError::Failed { status, failed, .. } => (status, failed),
        VectorError::Driver(error) => panic!("{error}"),
    })
}

fn content(Place { channel, lun, plane, block, page, .. }: Place) -> (Vec<u8>, Vec<u8>) {
    let byte = [channel.into(), lun.into(), plane.into(), block, page.into()]
        .into_iter()
        .fold(7, |sum: u32, part: u32| sum.wrapping_mul(31) + part) as u8;
    (vec![byte; SECTOR], vec![!byte; OOB])
}

/// A page of a block in both planes.
fn page((channel, lun): (u16, u16), block: u32, page: u16) -> Vec<Place> {
    (0..PLANES).map(|plane| Place { channel, lun, plane, block, page, sector: 0 }).collect()
}
/// The same of all LUNs. The dead one's come third and fourth.
fn pages(block: u32, number: u16) -> Vec<Place> {
    [(0, 0), DEAD, (0, 1), (1, 1)].into_iter().flat_map(|lun| page(lun, block, number)).collect()
}
/// The bits of [`pages`] that are the dead LUN's.
const DEAD_BITS: u64 = 0b1100;

/// Those of these places that another LUN has.
fn others(places: &[Place]) -> Vec<Place> {
    places.iter().copied().filter(|place| (place.channel, place.lun) != DEAD).collect()
}
/// Those in this plane, of which the second is the dead LUN's.
fn in_plane(places: &[Place], plane: u8) -> Vec<Place> {
    places.iter().copied().filter(|place| place.plane == plane).collect()
}

#[test]
fn a_lun_that_does_not_answer_fails_alone() {
    for (version, mp_native) in [(&V12, false), (&V12, true), (&V20, false), (&V20, true)] {
        let profile = small(version, mp_native);
        let host = Host::power_on(&profile, Media::fresh());
        for (block, number) in [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)] {
            assert_eq!(host.write(&pages(block, number)), Ok(()));
        }
        host.kill(true);
        assert_eq!(host.read(&pages(1, 0)), Err((version.read, DEAD_BITS)));
        assert_eq!(host.read(&page(DEAD, 1, 1)), Err((version.read, 0b11)));
        assert_eq!(host.read(&others(&pages(1, 1))), Ok(()));

        let [first, second] = version.writes;
        assert_eq!(host.write(&in_plane(&pages(2, 2), 0)), first);
        assert_eq!(host.write(&in_plane(&page(DEAD, 2, 2), 1)), second);
        assert_eq!(host.write(&in_plane(&others(&pages(2, 2)), 1)), Ok(()));
        assert_eq!(host.write(&in_plane(&pages(2, 3), 0)), version.third);
        assert_eq!(host.write(&others(&pages(2, 3))), Ok(()));

        assert_eq!(host.erase(&pages(3, 0)), Err((version.erase, DEAD_BITS)));
        assert_eq!(host.write(&others(&pages(3, 0))), Ok(()));

        let check = |host: &Host, written| {
            for number in 0..4 {
                assert_eq!(host.read(&others(&pages(2, number))), Ok(()));
            }
            for (block, state) in
                [(1, BlockFlags::Free), (2, BlockFlags::GrownBad), (3, version.erased), (4, BlockFlags::Free)]
            {
                assert_eq!(host.states(DEAD, block), [state; 2], "{block}");
                assert_eq!(host.states((1, 1), block), [BlockFlags::Free; 2], "{block}");
            }
            if version.profile == V20.profile {
                let chunks = host.run(async |drive| drive.chunks(DEAD.0, DEAD.1).await.unwrap());
                assert_eq!((chunks[2].state(), chunks[2].written.get()), (Some(ChunkFlags::Closed), written));
            }
        };
        check(&host, 4);
        // With the next power-on it answers again. What it held is there, and what was told of it holds.
        host.kill(false);
        let host = Host::power_on(&profile, host.end());
        check(&host, 4);
        assert_eq!(host.read(&pages(1, 0)), Ok(()));
        assert_eq!(host.read(&pages(2, 1)), Ok(()));
        assert_eq!(host.write(&pages(4, 0)), Ok(()));
    }
}

#[test]
fn nobody_waits_for_a_lun_that_does_not_answer() {
    for version in [&V12, &V20] {
        let host = Host::power_on(&small(version, false), Media::fresh());
        assert_eq!(host.write(&pages(1, 0)), Ok(()));
        host.kill(true);
        let asked = Rc::new(Cell::new(None));
        let (drive, ended) = (Rc::clone(&host.drive), Rc::clone(&asked));
        host.machine.host().spawn(async move {
            ended.set(Some(told(drive.erase_blocks(QUEUE, &page(DEAD, 1, 0)).await)));
        });
        let from = host.machine.now();
        for _ in 0..20 {
            assert_eq!(host.read(&others(&pages(1, 0))), Ok(()));
        }
        assert_eq!(host.write(&others(&pages(1, 1))), Ok(()));
        let took = host.machine.now().since(from);
        assert_eq!(asked.get(), None, "after {took}");
        while asked.get().is_none() {
            assert!(host.machine.step(), "the drive waits for ever");
        }
        assert_eq!(asked.get(), Some(Err((version.erase, 0b11))));
        // It waited for as long as it does for a LUN.
        let erase = Duration::from_micros(5000);
        assert!(host.machine.now().since(from) > erase * 2, "{took}");
    }
}

/// The page that the LUN had taken is found, and counts, but nobody can read it.
#[test]
fn a_lun_that_falls_silent_while_it_programs_has_begun_the_page() {
    for version in [&V12, &V20] {
        let profile = small(version, false);
        let host = Host::power_on(&profile, Media::fresh());
        assert_eq!(host.write(&pages(1, 0)), Ok(()));
        host.kill(true);
        let [first, _] = version.writes;
        assert_eq!(host.write(&in_plane(&pages(1, 1), 0)), first);
        host.kill(false);
        let host = Host::power_on(&profile, host.end());
        assert_eq!(host.read(&pages(1, 0)), Ok(()));
        assert_eq!(host.read(&in_plane(&pages(1, 1), 0)), Err((version.read, 0b10)));
        if version.profile == V20.profile {
            let chunks = host.run(async |drive| drive.chunks(DEAD.0, DEAD.1).await.unwrap());
            assert_eq!((chunks[1].state(), chunks[1].written.get()), (Some(ChunkFlags::Closed), 3));
        }
    }
}

/// Nobody can say how far its blocks are written, so that they can't be written further.
#[test]
fn blocks_of_a_lun_that_falls_silent_before_they_were_looked_at_are_bad() {
    let profile = small(&V12, false);
    let host = Host::power_on(&profile, Media::fresh());
    assert_eq!(host.write(&pages(1, 0)), Ok(()));
    let host = Host::power_on(&profile, host.end());
    host.kill(true);
    assert_eq!(host.write(&pages(1, 1)), Err((status::WRITE_FAIL, DEAD_BITS)));
    assert_eq!(host.write(&pages(1, 1)), Err((status::PROTECTED_BLOCK, DEAD_BITS)));
    assert_eq!(host.states(DEAD, 1), [BlockFlags::GrownBad; 2]);
    assert_eq!(host.write(&others(&pages(1, 1))), Ok(()));
    host.kill(false);
    let host = Host::power_on(&profile, host.end());
    assert_eq!(host.read(&pages(1, 0)), Ok(()));
    assert_eq!(host.read(&pages(1, 1)), Err((status::EMPTY_PAGE, DEAD_BITS)));
}
