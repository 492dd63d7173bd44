//! `ftl.table_blocks`: what an open-channel drive does with the block in which the Cosmos+ board keeps its
//! bad-block table (P28).

use aster_device::Media;
use aster_device::profile::{Profile, TableBlocksName};
use aster_driver::{Config, DriverError, Moved, QueueId};
use aster_events::Recorder;
use aster_openchannel::{BlockFlags, Drive, Identity, METADATA_BYTES, Place, Status, VectorError};
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::{config, job, profile, run, versioned};
use aster_units::{BlockAddr, LunIndex};
use aster_wire::ocssd::status;
use aster_workload::{Access, Mix};
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
const SECTOR: usize = 4096;
const OOB: usize = METADATA_BYTES as usize;

fn small(mode: TableBlocksName) -> Profile {
    profile("pocket-ocssd", |p| {
        p.package.factory_bad_per_mille = 60;
        p.ftl.table_blocks = mode;
        p.target = None;
    })
}

struct Host {
    machine: Machine,
    drive: Rc<Drive<VirtualBar>>,
}

impl Host {
    fn power_on(mode: TableBlocksName, media: Media) -> Self {
        let profile = small(mode);
        let config = Config { transfer_bytes_max: 256 << 10, ..config(&profile) };
        let machine = Machine::power_on("test", &profile, None, media, &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        let driver = Rc::clone(machine.driver());
        let drive = machine.block_on("opening", async move { Drive::open(&driver).await });
        Host { machine, drive: Rc::new(drive.unwrap().unwrap()) }
    }
    fn run<T: 'static>(&self, work: impl AsyncFnOnce(Rc<Drive<VirtualBar>>) -> T + 'static) -> T {
        let drive = Rc::clone(&self.drive);
        self.machine.block_on("a command", async move { work(drive).await }).unwrap()
    }
    /// The states of all blocks, LUN by LUN.
    fn tables(&self) -> Vec<Vec<BlockFlags>> {
        self.run(async |drive| {
            let mut tables = Vec::new();
            for lun in 0..2 {
                for channel in 0..2 {
                    tables.push(drive.table(channel, lun).await.unwrap());
                }
            }
            tables
        })
    }
    fn erase(&self, place: Place) -> Result<(), Status> {
        self.run(async move |drive| drive.erase_blocks(QUEUE, &[place]).await).map_err(status_of)
    }
    fn write(&self, places: &[Place], byte: u8) -> Result<(), Status> {
        let places = places.to_vec();
        let written = self.run(async move |drive| {
            let (data, oob) = (vec![byte; places.len() * SECTOR], vec![byte; places.len() * OOB]);
            drive.write(QUEUE, &places, Moved::ToDrive(&data), &oob).await
        });
        written.map_err(status_of)
    }
    fn read(&self, places: &[Place]) -> Result<Vec<u8>, Status> {
        let places = places.to_vec();
        let read = self.run(async move |drive| {
            let (mut data, mut oob) = (vec![0; places.len() * SECTOR], vec![0; places.len() * OOB]);
            drive.read(QUEUE, &places, Moved::FromDrive(&mut data), &mut oob).await.map(|()| data)
        });
        read.map_err(status_of)
    }
    fn mark(&self, place: Place, state: BlockFlags) -> Result<(), Status> {
        let marked = self.run(async move |drive| drive.set_table(&[place], state).await);
        marked.map_err(|error| match error {
            DriverError::Command { status, .. } => status,
            error => panic!("{error}"),
        })
    }
    /// Erases and programs of a block of the array.
    fn wear(&self, lun: u32, block: u32) -> (u32, u16) {
        let block = self.machine.device().nand().block(LunIndex(lun), BlockAddr(block));
        (block.erases, block.programmed)
    }
    fn end(self) -> Media {
        drop(self.drive);
        self.machine.cut_power()
    }
}

fn status_of(error: VectorError) -> Status {
    match error {
        VectorError::Failed { status, .. } => status,
        VectorError::Driver(error) => panic!("{error}"),
    }
}

const fn block(block: u32) -> Place {
    Place { channel: 0, lun: 0, plane: 0, block, page: 0, sector: 0 }
}

#[test]
fn each_mode_has_its_table() {
    let [off, fail, hide] = [TableBlocksName::Off, TableBlocksName::Fail, TableBlocksName::Hide]
        .map(|mode| Host::power_on(mode, Media::fresh()));
    let plain = off.tables();
    assert!(plain.iter().flatten().any(|state| *state == BlockFlags::FactoryBad));
    for ((plain, fail), hide) in plain.iter().zip(fail.tables()).zip(hide.tables()) {
        assert_eq!(fail[..2], [BlockFlags::Device; 2]);
        assert_eq!(fail[2..], plain[2..], "the others are where they were");
        assert_eq!(hide[..], plain[2..], "block b is block b + 1");
    }
    assert_eq!(hide.drive.geometry().blocks_per_lun, off.drive.geometry().blocks_per_lun - 2);
    let Identity::V12(identity) = hide.drive.identity() else { panic!("a drive of 1.2") };
    assert_eq!(identity.groups[0].blocks.get(), 31);
}

#[test]
fn a_protected_block_can_be_named_by_no_command() {
    let host = Host::power_on(TableBlocksName::Fail, Media::fresh());
    let refused = Err(status::PROTECTED_BLOCK);
    let good = (1..).find(|of| host.erase(block(*of)) == Ok(())).unwrap();
    let before = (host.wear(0, 0), host.wear(0, 1), host.wear(0, 2 * good));
    for plane in 0..2 {
        let own = Place { plane, ..block(0) };
        assert_eq!(host.erase(own), refused);
        assert_eq!(host.write(&[own], 1), refused);
        assert_eq!(host.write(&[block(good), own], 1), refused, "as a whole");
        assert_eq!(host.read(&[block(good), own]).map(drop), refused);
        assert_eq!(host.mark(own, BlockFlags::Free), refused);
    }
    assert_eq!((host.wear(0, 0), host.wear(0, 1), host.wear(0, 2 * good)), before, "nothing was done");
    // After a loss of power as before.
    let host = Host::power_on(TableBlocksName::Fail, host.end());
    assert!(host.tables().iter().all(|table| table[..2] == [BlockFlags::Device; 2]));
    assert_eq!(host.erase(block(0)), refused);
    assert_eq!(host.write(&[block(good)], 1), Ok(()));
}

#[test]
fn a_hidden_block_is_never_touched_and_the_next_one_is_the_first() {
    let host = Host::power_on(TableBlocksName::Hide, Media::fresh());
    let good = (0..).find(|of| host.erase(block(*of)) == Ok(())).unwrap();
    let physical = 2 * (good + 1);
    assert_eq!(host.wear(0, physical).0, 1, "block {good} is block {} of the array", good + 1);
    assert_eq!(host.write(&[block(good)], 7), Ok(()));
    assert_eq!(host.wear(0, physical), (1, 1));
    assert_eq!(host.read(&[block(good)]), Ok(vec![7; SECTOR]));
    assert_eq!(host.mark(block(good + 3), BlockFlags::GrownBad), Ok(()));
    assert_eq!(host.erase(block(31)), Err(status::OUT_OF_GEOMETRY));
    let last = Place { plane: 1, ..block(30) };
    let ended = host.erase(last);
    assert!(ended == Ok(()) || ended == Err(status::PROTECTED_BLOCK), "it is there: {ended:?}");
    assert_eq!([host.wear(0, 0), host.wear(0, 1)], [(0, 0); 2]);
    // The kept table counts blocks as the host does.
    let host = Host::power_on(TableBlocksName::Hide, host.end());
    assert_eq!(host.tables()[0][2 * (good as usize + 3)], BlockFlags::GrownBad);
    assert_eq!(host.read(&[block(good)]), Ok(vec![7; SECTOR]));
}

#[test]
fn pblk_does_its_work_in_every_mode() {
    for mode in [TableBlocksName::Fail, TableBlocksName::Hide] {
        let profile = profile("pocket-ocssd", |p| p.ftl.table_blocks = mode);
        let machine =
            Machine::power_on("test", &profile, None, Media::fresh(), &Recorder::default(), config(&profile))
                .unwrap_or_else(|e| panic!("{mode:?}: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("{mode:?}: {e}"));
        let writes = job("writes", Access::Random, Mix::Write, 4096, 6000);
        let contents = run(&machine, &[writes], versioned(&machine));
        run(&machine, &[job("reads", Access::Sequential, Mix::Read, 16384, 400)], contents);
        let drive = machine.device().below().unwrap();
        let erases = |block| -> u32 {
            (0..4).map(|lun| drive.nand().block(LunIndex(lun), BlockAddr(block)).erases).sum()
        };
        assert!(erases(0) + erases(1) == 0 && erases(2) + erases(3) > 4, "{mode:?}");
    }
}
