//! Raw vectors of Open-Channel SSD 1.2: pages as they are in the array (O1, G14).

use aster_device::Media;
use aster_device::profile::Profile;
use aster_driver::{Config, DriverError, Moved, QueueId, Vector, VectorEnd};
use aster_events::Recorder;
use aster_openchannel::{Drive, Place, VectorError};
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::profile;
use aster_units::{BlockAddr, Content, LunIndex, PageInBlock};
use aster_wire::nvme::Status;
use aster_wire::ocssd::{io, status};
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
const SECTOR: usize = 4096;
/// Bytes of the spare area beside each of a page's four sectors.
const SHARE: usize = 1_664 / 4;

fn drive(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("pocket-ocssd", |p| {
        p.geometry.page_bytes = 16_384;
        p.geometry.spare_bytes = 1_664;
        p.geometry.blocks_per_lun = 16;
        p.package.factory_bad_per_mille = 0;
        let e = &mut p.package.errors;
        (e.fresh, e.cycle, e.cycle_squared, e.retention, e.read) = (0.0, 0.0, 0.0, 0.0, 0.0);
        p.target = None;
        p.ftl.raw_vectors = true;
        change(p);
    })
}

struct Host {
    machine: Machine,
    drive: Rc<Drive<VirtualBar>>,
}

type Ended = Result<(), VectorError>;

impl Host {
    fn power_on(profile: &Profile, content: Option<Content>) -> Self {
        let config = Config {
            depth: 4,
            transfer_bytes_max: 256 << 10,
            queue_pairs: 1,
            content: content.unwrap_or(Content::Full),
            ..aster_tests::config(profile)
        };
        let machine =
            Machine::power_on("test", profile, content, Media::fresh(), &Recorder::default(), config)
                .unwrap_or_else(|e| panic!("power-on: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        let driver = Rc::clone(machine.driver());
        let drive = machine.block_on("open", async move { Drive::open(&driver).await.unwrap() }).unwrap();
        Host { machine, drive: Rc::new(drive) }
    }
    fn run<T: 'static>(&self, work: impl AsyncFnOnce(Rc<Drive<VirtualBar>>) -> T + 'static) -> T {
        let drive = Rc::clone(&self.drive);
        self.machine.block_on("a vector", async move { work(drive).await }).unwrap_or_else(|e| panic!("{e}"))
    }
    fn write(&self, places: &[Place], data: &[u8], metadata: &[u8], raw: bool) -> Ended {
        let (places, data, beside) = (places.to_vec(), data.to_vec(), metadata.to_vec());
        self.run(async move |drive| {
            let data = Moved::ToDrive(&data);
            match raw {
                true => drive.write_raw(QUEUE, &places, data, &beside).await,
                false => drive.write(QUEUE, &places, data, &beside).await,
            }
        })
    }
    fn read(&self, places: &[Place], raw: bool) -> (Ended, Vec<u8>, Vec<u8>) {
        let places = places.to_vec();
        self.run(async move |drive| {
            let mut data = vec![0xee; places.len() * SECTOR];
            let mut beside = vec![0xee; places.len() * if raw { SHARE } else { 16 }];
            let moved = Moved::FromDrive(&mut data);
            let ended = match raw {
                true => drive.read_raw(QUEUE, &places, moved, &mut beside).await,
                false => drive.read(QUEUE, &places, moved, &mut beside).await,
            };
            (ended, data, beside)
        })
    }
}

/// The sectors of a page.
fn page(lun: u16, block: u32, page: u16) -> Vec<Place> {
    (0..4).map(|sector| Place { lun, block, page, sector, ..Place::default() }).collect()
}
fn bytes(seed: u64, count: usize) -> Vec<u8> {
    (0..).flat_map(|n: u64| aster_units::mix64(seed ^ n << 40).to_le_bytes()).take(count).collect()
}
fn status_of(ended: &Ended) -> (Status, u64) {
    match ended {
        Err(VectorError::Failed { status, failed, .. }) => (*status, *failed),
        other => panic!("{other:?}"),
    }
}

/// A page that is read raw and written raw elsewhere is the same page, ECC, scrambler and all.
#[test]
fn a_page_moves_as_it_is() {
    let host = Host::power_on(&drive(|_| {}), None);
    let (data, metadata) = (bytes(1, 4 * SECTOR), bytes(2, 4 * 16));
    host.write(&page(0, 0, 0), &data, &metadata, false).unwrap();
    let (ended, raw, spare) = host.read(&page(0, 0, 0), true);
    ended.unwrap();
    let differs = raw.iter().zip(&data).filter(|(a, b)| a != b).count();
    assert!(differs > raw.len() * 9 / 10, "it is scrambled: {differs}");
    assert!(spare.iter().any(|byte| *byte != 0xff), "parity and metadata lie in the spare area");
    // Any sectors of it, in any order.
    let some = [page(0, 0, 0)[2], page(0, 0, 0)[0]];
    let (ended, part, beside) = host.read(&some, true);
    ended.unwrap();
    assert_eq!(part, [&raw[2 * SECTOR..3 * SECTOR], &raw[..SECTOR]].concat());
    assert_eq!(beside, [&spare[2 * SHARE..3 * SHARE], &spare[..SHARE]].concat());

    host.write(&page(1, 3, 0), &raw, &spare, true).unwrap();
    let (ended, found, beside) = host.read(&page(1, 3, 0), false);
    ended.unwrap();
    assert!(found == data && beside == metadata);
    let (ended, again, spare_again) = host.read(&page(1, 3, 0), true);
    ended.unwrap();
    assert!(again == raw && spare_again == spare);

    // What an experimenter breaks on purpose, ECC corrects or not.
    for (at, wrong, correctable) in [(1, 9, true), (2, 400, false)] {
        let mut broken = raw.clone();
        (0..wrong).for_each(|n| broken[n * 7 / 8] ^= 1 << (n * 7 % 8));
        host.write(&page(1, 3, at), &broken, &spare, true).unwrap();
        let (ended, found, _) = host.read(&page(1, 3, at), false);
        match correctable {
            true => assert!(ended.is_ok() && found == data, "{wrong} wrong bits"),
            false => assert_eq!(status_of(&ended), (status::ECC_FAIL, 0b0001), "{wrong} wrong bits"),
        }
        let (ended, found, _) = host.read(&page(1, 3, at), true);
        assert!(ended.is_ok() && found == broken, "nothing is corrected");
    }
}

#[test]
fn raw_vectors_keep_the_rules_of_writes() {
    let host = Host::power_on(&drive(|_| {}), None);
    let (raw, spare) = (bytes(3, 4 * SECTOR), bytes(4, 4 * SHARE));
    let totals = || {
        let totals = host.machine.device().nand().totals_of_drive();
        (totals.programs, totals.erases)
    };
    let before = totals();
    for (what, places) in [("a page ahead", page(0, 0, 1)), ("a part of a page", page(0, 0, 0)[..3].to_vec())]
    {
        let ended = host.write(&places, &raw[..places.len() * SECTOR], &spare[..places.len() * SHARE], true);
        assert_eq!(status_of(&ended), (status::OUT_OF_ORDER, 0), "{what}");
    }
    assert_eq!(totals(), before);
    // An erased page reads as ones.
    let (ended, found, beside) = host.read(&page(0, 0, 0), true);
    assert!(ended.is_ok() && found.iter().chain(&beside).all(|byte| *byte == 0xff));
    // A page that can't be programmed makes its block a bad one; what came before it in the vector stays.
    host.machine.device().nand().fail_program(LunIndex(0), BlockAddr(4), PageInBlock(0));
    let format = *host.drive.format();
    let addresses: Vec<u64> =
        [page(0, 1, 0), page(0, 2, 0)].concat().iter().map(|place| format.encode(*place)).collect();
    let (driver, both) = (Rc::clone(host.machine.driver()), raw.repeat(2));
    let ended = host.machine.block_on("two pages", async move {
        // Without a metadata pointer the spare area is FFh.
        let (data, metadata) = (Moved::ToDrive(&both), Moved::Nothing);
        let vector = Vector { opcode: io::WRITE_RAW, control: 0, addresses: &addresses, data, metadata };
        driver.send_vector(QUEUE, vector).await.unwrap()
    });
    assert_eq!(ended.unwrap(), VectorEnd { status: status::WRITE_FAIL, failed: 0xf0 });
    let (ended, found, beside) = host.read(&page(0, 1, 0), true);
    assert!(ended.is_ok() && found == raw && beside.iter().all(|byte| *byte == 0xff));
    let ended = host.write(&page(0, 2, 1), &raw, &spare, true);
    assert_eq!(status_of(&ended), (status::PROTECTED_BLOCK, 0xf));
    // The library asks for the share that the drive tells.
    let ended = host.write(&page(0, 1, 1), &raw, &spare[1..], true);
    assert!(matches!(ended, Err(VectorError::Driver(DriverError::Argument(_)))));
}

#[test]
fn a_drive_has_raw_vectors_only_if_it_was_built_with_them() {
    let plain = Host::power_on(&drive(|p| p.ftl.raw_vectors = false), None);
    assert_eq!(plain.drive.raw_spare_bytes(), None);
    let driver = Rc::clone(plain.machine.driver());
    let ended = plain.machine.block_on("a raw read", async move {
        let mut data = vec![0; SECTOR];
        let (data, metadata) = (Moved::FromDrive(&mut data), Moved::Nothing);
        let vector = Vector { opcode: io::READ_RAW, control: 0, addresses: &[0], data, metadata };
        driver.send_vector(QUEUE, vector).await.unwrap().status
    });
    assert_eq!(ended.unwrap(), Status::INVALID_OPCODE.with_dnr(true));
    // A drive that keeps fingerprints has no bytes to show.
    let tags = Host::power_on(&drive(|_| {}), Some(Content::Fingerprint));
    assert_eq!(tags.drive.raw_spare_bytes(), Some(SHARE));
    let ended = tags.run(async |drive| {
        let (mut data, mut spare) = (vec![[0; 8]; 1], vec![0; SHARE]);
        drive.read_raw(QUEUE, &page(0, 0, 0)[..1], Moved::TagsFromDrive(&mut data), &mut spare).await
    });
    assert_eq!(status_of(&ended), (Status::INVALID_FIELD.with_dnr(true), 0));
}
