//! A whole open-channel drive (Open-Channel SSD 1.2): its host addresses sectors of flash in vectors.

use aster_device::Media;
use aster_device::profile::{CommandName, Profile};
use aster_driver::{Config, Driver, DriverError, Moved, QueueId, Vector, VectorEnd};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::profile;
use aster_units::{Duration, Geometry, LunIndex};
use aster_wire::nvme::Status;
use aster_wire::ocssd::vector::planes;
use aster_wire::ocssd::{
    AddressFormat, BlockFlags, Identity12, Place, TableHeader, VectorControl, admin, io, status,
};
use std::rc::Rc;
use zerocopy::FromBytes;

const QUEUE: QueueId = QueueId(1);
const METADATA_BYTES: usize = aster_wire::ocssd::METADATA_BYTES as usize;
const SECTOR: usize = 4096;

/// `pocket-ocssd` with pages of four sectors, unless a change says otherwise.
fn drive(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("pocket-ocssd", |p| {
        p.geometry.page_bytes = 16_384;
        p.geometry.spare_bytes = 1_664;
        p.geometry.blocks_per_lun = 16;
        p.target = None;
        change(p);
    })
}

/// Data and metadata of a sector.
type Sector = (Vec<u8>, Vec<u8>);

struct Host {
    machine: Machine,
    geometry: Geometry,
    format: AddressFormat,
}

impl Host {
    fn power_on(profile: &Profile, media: Media) -> Self {
        let config = Config {
            depth: 31,
            transfer_bytes_max: 256 << 10,
            queue_pairs: 1,
            ..aster_tests::config(profile)
        };
        let machine = Machine::power_on("test", profile, None, media, &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        let geometry = profile.used_geometry();
        Host { machine, geometry, format: AddressFormat::of_geometry(&geometry) }
    }
    fn run<T: 'static>(&self, work: impl AsyncFnOnce(Rc<Driver<VirtualBar>>) -> T + 'static) -> T {
        let driver = Rc::clone(self.machine.driver());
        let ended = self.machine.block_on("a command", async move { work(driver).await });
        ended.unwrap_or_else(|e| panic!("{e}"))
    }
    fn address(&self, place: Place) -> u64 {
        self.format.encode(place)
    }
    fn send(&self, opcode: u8, control: VectorControl, places: &[Place], version: u8) -> VectorEnd {
        let addresses: Vec<u64> = places.iter().map(|place| self.address(*place)).collect();
        let content = places.iter().map(|place| content(*place, version));
        let (data, beside): (Vec<_>, Vec<_>) = content.unzip();
        self.run(async move |driver| {
            let (data, beside) = (data.concat(), beside.concat());
            let writes = opcode == io::WRITE;
            let (data, metadata) = match writes {
                true => (Moved::ToDrive(&data), Moved::ToDrive(&beside)),
                false => (Moved::Nothing, Moved::Nothing),
            };
            let control = (control.0 >> 16) as u16;
            driver
                .send_vector(QUEUE, Vector { opcode, control, addresses: &addresses, data, metadata })
                .await
                .unwrap()
        })
    }
    fn write(&self, places: &[Place], version: u8) -> VectorEnd {
        self.send(io::WRITE, VectorControl(0), places, version)
    }
    fn erase(&self, places: &[Place]) -> VectorEnd {
        self.send(io::ERASE, VectorControl(0), places, 0)
    }
    /// What sectors hold, each with its metadata.
    fn read(&self, places: &[Place]) -> (VectorEnd, Vec<Sector>) {
        let addresses: Vec<u64> = places.iter().map(|place| self.address(*place)).collect();
        self.run(async move |driver| {
            let mut data = vec![0xee; addresses.len() * SECTOR];
            let mut beside = vec![0xee; addresses.len() * METADATA_BYTES];
            let vector = Vector {
                opcode: io::READ,
                control: 0,
                addresses: &addresses,
                data: Moved::FromDrive(&mut data),
                metadata: Moved::FromDrive(&mut beside),
            };
            let ended = driver.send_vector(QUEUE, vector).await.unwrap();
            let both = data.chunks(SECTOR).zip(beside.chunks(METADATA_BYTES));
            (ended, both.map(|(data, beside)| (data.to_vec(), beside.to_vec())).collect())
        })
    }
    fn must_hold(&self, places: &[Place], version: u8) {
        let (ended, found) = self.read(places);
        assert_eq!(ended, DONE);
        for (place, found) in places.iter().zip(found) {
            assert!(found == content(*place, version), "{place}");
        }
    }
    fn admin(&self, opcode: u8, places: &[Place], control: u16, bytes: usize) -> Result<Vec<u8>, Status> {
        let addresses: Vec<u64> = places.iter().map(|place| self.address(*place)).collect();
        self.run(async move |driver| {
            let mut into = vec![0; bytes];
            match driver.addressed_admin(opcode, &addresses, control, &mut into).await {
                Ok(_) => Ok(into),
                Err(DriverError::Command { status, .. }) => Err(status),
                Err(error) => panic!("{error}"),
            }
        })
    }
    fn table(&self, channel: u16, lun: u16) -> (TableHeader, Vec<u8>) {
        let bytes = size_of::<TableHeader>() + self.geometry.blocks_per_lun as usize;
        let place = Place { channel, lun, ..Place::default() };
        let table = self.admin(admin::GET_TABLE, &[place], 0, bytes).unwrap();
        let (header, states) = TableHeader::read_from_prefix(&table).unwrap();
        (header, states.to_vec())
    }
    fn set_state(&self, places: &[Place], state: BlockFlags) -> Result<(), Status> {
        self.admin(admin::SET_TABLE, places, state.raw().into(), 0).map(|_| ())
    }
    /// Blocks that are good in all planes, one of each LUN, after `skip` others.
    fn good_blocks(&self, skip: usize) -> Vec<Place> {
        let mut blocks = Vec::new();
        for lun in 0..self.geometry.luns_per_channel() as u16 {
            for channel in 0..self.geometry.channels {
                let (_, states) = self.table(channel, lun);
                let planes = usize::from(self.geometry.planes);
                let good = |states: &[u8]| states.iter().all(|state| *state == 0);
                let block = states.chunks(planes).enumerate().filter(|(_, of)| good(of)).nth(skip);
                let block = block.expect("some block is good").0 as u32;
                blocks.push(Place { channel, lun, block, ..Place::default() });
            }
        }
        blocks
    }
    /// The sectors of pages: for each page all of these blocks, for each block all of its planes.
    fn pages(&self, blocks: &[Place], pages: std::ops::Range<u16>) -> Vec<Place> {
        let sectors = move |page: Place| {
            (0..self.geometry.sectors_per_page()).map(move |sector| Place { sector, ..page })
        };
        let planes = move |block: Place| (0..self.geometry.planes).map(move |plane| Place { plane, ..block });
        pages
            .flat_map(|page| blocks.iter().map(move |block| Place { page, ..*block }))
            .flat_map(planes)
            .flat_map(sectors)
            .collect()
    }
    fn end(self) -> Media {
        self.machine.cut_power()
    }
}

/// Data and metadata that no other sector and version has.
fn content(place: Place, version: u8) -> Sector {
    let Place { channel, lun, plane, block, page, sector } = place;
    let seed = [channel.into(), lun.into(), plane.into(), u64::from(block), page.into(), sector.into()]
        .into_iter()
        .fold(u64::from(version), |sum, part: u64| sum * 1031 + part);
    let bytes = |seed: u64, count: usize| -> Vec<u8> {
        (0..).flat_map(|n: u64| aster_units::mix64(seed ^ n << 40).to_le_bytes()).take(count).collect()
    };
    (bytes(seed, SECTOR), bytes(!seed, METADATA_BYTES))
}

const DONE: VectorEnd = VectorEnd { status: Status::SUCCESS, failed: 0 };

fn refused(status: Status) -> VectorEnd {
    VectorEnd { status, failed: 0 }
}

#[test]
fn sectors_are_written_read_and_erased_by_their_place() {
    let host = Host::power_on(&drive(|_| {}), Media::fresh());
    let blocks = host.good_blocks(0);
    // Two pages of two planes of one LUN are 16 sectors; four LUNs are 64, the most of a vector.
    let places = host.pages(&blocks, 0..2);
    assert_eq!(places.len(), 64);
    assert_eq!(host.write(&places, 1), DONE);
    host.must_hold(&places, 1);
    // Any order, any part, and one twice: a read has no rules.
    let some: Vec<Place> = places.iter().rev().step_by(3).chain(&places[5..7]).copied().collect();
    host.must_hold(&[&some[..], &some[..2]].concat(), 1);
    host.must_hold(&places[17..18], 1);
    // Page and sector of an erase are stale (O9).
    let stale = Place { page: 5, sector: 2, ..blocks[1] };
    assert_eq!(host.erase(&[stale, blocks[1]]), DONE);
    let of_block = |place: &&Place| (place.block_start(), place.plane) == (blocks[1], 0);
    let gone: Vec<Place> = places.iter().filter(of_block).copied().collect();
    let (ended, _) = host.read(&gone);
    assert_eq!(ended, VectorEnd { status: status::EMPTY_PAGE, failed: (1 << gone.len()) - 1 });
    let kept: Vec<Place> = places.iter().filter(|place| !of_block(place)).copied().collect();
    host.must_hold(&kept, 1);
    assert_eq!(host.write(&gone, 2), DONE);
    host.must_hold(&gone, 2);
}

/// How long the drive takes to write, read and erase a page of both planes of a LUN, in that order.
fn times_of_both_planes(change: impl FnOnce(&mut Profile)) -> [Duration; 3] {
    let host = Host::power_on(&drive(change), Media::fresh());
    let blocks = host.good_blocks(0);
    let places = host.pages(&blocks[..1], 0..1);
    let timed = |work: &dyn Fn()| {
        let from = host.machine.now();
        work();
        host.machine.now().since(from)
    };
    let write = timed(&|| assert_eq!(host.write(&places, 1), DONE));
    let read = timed(&|| host.must_hold(&places, 1));
    let both = VectorControl(0).with_plane_mode(planes::DUAL);
    let erase = timed(&|| assert_eq!(host.send(io::ERASE, both, &blocks[..1], 0), DONE));
    // Pages of one plane alone are as before.
    assert_eq!(host.write(&places[..4], 2), DONE);
    host.must_hold(&places[..4], 2);
    assert_eq!(host.read(&places[4..]).0, VectorEnd { status: status::EMPTY_PAGE, failed: 0b1111 });
    [write, read, erase]
}

/// G13: off by default. Then the planes of a LUN take their turns.
#[test]
fn with_mp_native_the_planes_of_a_page_are_one_operation() {
    let commands = |p: &mut Profile| p.package.commands = vec![CommandName::MultiPlane];
    let apart = times_of_both_planes(commands);
    let together = times_of_both_planes(|p| {
        commands(p);
        p.ftl.mp_native = true;
    });
    let [program, read, erase] = [481, 58, 5_000].map(Duration::from_micros);
    for ((apart, together), array) in apart.into_iter().zip(together).zip([program, read, erase]) {
        // One of the two array times is saved, but for what multi-plane commands take.
        let saved = apart.saturating_sub(together);
        assert!(saved >= array * 3 / 4 && saved <= array * 5 / 4, "{apart:?} and {together:?}");
    }
}

#[test]
fn one_empty_sector_among_others_fails_alone() {
    let host = Host::power_on(&drive(|_| {}), Media::fresh());
    let blocks = host.good_blocks(0);
    let places = host.pages(&blocks[..1], 0..1);
    assert_eq!(host.write(&places, 1), DONE);
    let mut mixed = places.clone();
    mixed[3] = Place { page: 6, ..mixed[3] };
    let (ended, found) = host.read(&mixed);
    assert_eq!(ended, VectorEnd { status: status::EMPTY_PAGE, failed: 1 << 3 });
    for (n, (place, found)) in mixed.iter().zip(found).enumerate().filter(|(n, _)| *n != 3) {
        assert!(found == content(*place, 1), "sector {n}");
    }
}

#[test]
fn an_erase_of_both_planes_names_one() {
    let host = Host::power_on(&drive(|_| {}), Media::fresh());
    let blocks = host.good_blocks(0);
    let places = host.pages(&blocks[..1], 0..1);
    assert_eq!(host.write(&places, 1), DONE);
    let dual = VectorControl(0).with_plane_mode(1).with_scramble_off(true);
    assert_eq!(host.send(io::ERASE, dual, &blocks[..1], 0), DONE);
    assert_eq!(host.read(&places).0.status, status::EMPTY_PAGE);
    assert_eq!(host.read(&places).0.failed, (1 << places.len()) - 1);
}

/// D6 and F2: what is illegal gets its status and changes nothing.
#[test]
fn what_is_illegal_is_refused_and_changes_nothing() {
    let host = Host::power_on(&drive(|_| {}), Media::fresh());
    let (blocks, others) = (host.good_blocks(0), host.good_blocks(1));
    let first = host.pages(&blocks[..1], 0..1);
    assert_eq!(host.write(&first, 1), DONE);
    let totals = || {
        let totals = host.machine.device().nand().totals_of_drive();
        (totals.programs, totals.erases)
    };
    let before = totals();
    let next = host.pages(&blocks[..1], 1..2);
    let out_of_order = [
        ("programmed twice", first.clone()),
        ("a page ahead", host.pages(&blocks[..1], 2..3)),
        ("part of a page", next[..3].to_vec()),
        ("sectors in disorder", next[..4].iter().rev().copied().collect()),
        ("the same page twice", [&next[..4], &next[..4]].concat()),
        ("one good page and one ahead", [&host.pages(&others[..1], 0..1)[..4], &first[..4]].concat()),
    ];
    for (what, places) in out_of_order {
        assert_eq!(host.write(&places, 9), refused(status::OUT_OF_ORDER), "{what}");
    }
    let bad = Place { plane: 1, ..others[2] };
    host.set_state(&[bad], BlockFlags::GrownBad).unwrap();
    let of_bad: Vec<Place> = host.pages(&others[2..3], 0..1).into_iter().filter(|p| p.plane == 1).collect();
    let protected = |failed| VectorEnd { status: status::PROTECTED_BLOCK, failed };
    assert_eq!(host.write(&of_bad, 9), protected(0xf));
    assert_eq!(host.erase(&[others[1], bad]), protected(0b10));
    for (control, opcode) in [(0x2, io::ERASE), (0x3, io::WRITE), (0x100, io::WRITE)] {
        let ended = host.send(opcode, VectorControl(control << 16), &next, 9);
        assert_eq!(ended, refused(Status::INVALID_FIELD.with_dnr(true)), "{control:x}h");
    }
    let outside = host.run(async |driver| {
        let vector = Vector {
            opcode: io::ERASE,
            control: 0,
            addresses: &[1 << 40],
            data: Moved::Nothing,
            metadata: Moved::Nothing,
        };
        driver.send_vector(QUEUE, vector).await.unwrap()
    });
    assert_eq!(outside, refused(status::OUT_OF_GEOMETRY));
    assert_eq!(totals(), before, "nothing was programmed or erased");
    host.must_hold(&first, 1);
    assert_eq!(host.write(&next, 1), DONE, "the block goes on where it was");
}

#[test]
fn identify_tells_the_array_and_the_table_its_bad_blocks() {
    let profile = drive(|p| p.package.factory_bad_per_mille = 60);
    let host = Host::power_on(&profile, Media::fresh());
    let bytes = host.run(async |driver| {
        let mut into = vec![0; 4096];
        driver.vendor_admin(admin::IDENTITY, [0; 6], &mut into).await.unwrap();
        into
    });
    let identity = Identity12::read_from_bytes(&bytes).unwrap();
    assert_eq!((identity.version, identity.group_count, identity.capabilities.get()), (1, 1, 1));
    assert_eq!(identity.address_format, host.format);
    let group = &identity.groups[0];
    assert_eq!([group.channels, group.luns, group.planes, group.flash_type], [2, 2, 2, 1]);
    assert_eq!([group.blocks, group.pages, group.page_bytes].map(|field| field.get()), [8, 8, 16_384]);
    assert_eq!([group.sector_bytes, group.metadata_bytes].map(|field| field.get()), [4096, 16]);
    assert_eq!((group.plane_operations.get(), group.read_typical.get()), (0x03_0303, 58_000));
    assert_eq!(group.program_max.get(), 2_295_000 + 13_000, "the slower page type, and its deviations");

    // As many as the factory has marked, and where.
    let mut marked = 0;
    for lun in 0..2 {
        for channel in 0..2 {
            let (header, states) = host.table(channel, lun);
            let bad = states.iter().filter(|state| **state == BlockFlags::FactoryBad.raw()).count();
            assert_eq!((header.blocks.get(), header.factory_bad.get()), (16, bad as u32));
            marked += bad;
        }
    }
    let nand = host.machine.device().nand();
    let array: usize = (0..host.geometry.total_luns()).map(|lun| nand.bad_blocks(LunIndex(lun)).len()).sum();
    assert!(marked > 0 && marked == array, "{marked} of {array}");
}

#[test]
fn states_that_the_host_sets_outlast_a_loss_of_power() {
    let profile = drive(|_| {});
    let host = Host::power_on(&profile, Media::fresh());
    let blocks = host.good_blocks(0);
    let both = [blocks[0], Place { plane: 1, ..blocks[0] }];
    host.set_state(&both, BlockFlags::GrownBad).unwrap();
    host.set_state(&blocks[1..2], BlockFlags::Host).unwrap();
    let places = host.pages(&blocks[2..3], 0..3);
    assert_eq!(host.write(&places, 3), DONE);
    let host = Host::power_on(&profile, host.end());
    let state = |place: Place| {
        let (_, states) = host.table(place.channel, place.lun);
        states[place.block as usize * 2 + usize::from(place.plane)]
    };
    assert_eq!([state(both[0]), state(both[1]), state(blocks[1])], [2, 2, 8]);
    host.must_hold(&places, 3);
    // The write pointer is found again.
    assert_eq!(host.write(&host.pages(&blocks[2..3], 4..5), 3), refused(status::OUT_OF_ORDER));
    assert_eq!(host.write(&host.pages(&blocks[2..3], 3..4), 3), DONE);
    host.set_state(&both, BlockFlags::Free).unwrap();
    assert_eq!(host.erase(&both), DONE, "the host may free what it has set");
    assert!(host.set_state(&blocks, BlockFlags::Host).is_ok());
}

/// As stock Linux: control bits that the drive doesn't have, and no metadata pointer (D2, D4).
#[test]
fn a_read_without_metadata_pointer_moves_none() {
    let host = Host::power_on(&drive(|_| {}), Media::fresh());
    let blocks = host.good_blocks(0);
    let places = host.pages(&blocks[..1], 0..1);
    let write = VectorControl(0x201 << 16);
    assert_eq!(host.send(io::WRITE, write, &places, 1), DONE);
    let address = host.address(places[2]);
    let found = host.run(async move |driver| {
        let mut data = vec![0; SECTOR];
        let vector = Vector {
            opcode: io::READ,
            control: 0x280,
            addresses: &[address],
            data: Moved::FromDrive(&mut data),
            metadata: Moved::Nothing,
        };
        let ended = driver.send_vector(QUEUE, vector).await.unwrap();
        (ended, data)
    });
    assert_eq!(found, (DONE, content(places[2], 1).0));
}

/// Many commands at once, in the order of their arrival where they meet.
#[test]
fn commands_that_meet_on_a_block_keep_their_order() {
    for partial in [true, false] {
        let profile = drive(|p| p.ftl.partial_reads = partial);
        let host = Host::power_on(&profile, Media::fresh());
        let blocks = host.good_blocks(0);
        let pages = host.geometry.pages_per_block;
        let format = host.format;
        let of_page: Vec<Vec<Place>> = (0..pages).map(|page| host.pages(&blocks, page..page + 1)).collect();
        host.run(async move |driver| {
            // All pages of all blocks, sent without waiting.
            let mut sent = Vec::new();
            for (version, places) in of_page.iter().map(|places| (2, places)) {
                let addresses: Vec<u64> = places.iter().map(|place| format.encode(*place)).collect();
                let (data, beside): (Vec<_>, Vec<_>) = places.iter().map(|p| content(*p, version)).unzip();
                let (data, beside) = (data.concat(), beside.concat());
                let driver = Rc::clone(&driver);
                sent.push(Box::pin(async move {
                    let (data, metadata) = (Moved::ToDrive(&data), Moved::ToDrive(&beside));
                    let vector =
                        Vector { opcode: io::WRITE, control: 0, addresses: &addresses, data, metadata };
                    driver.send_vector(QUEUE, vector).await.unwrap()
                }));
            }
            let ended = aster_tests::all(sent).await;
            assert!(ended.iter().all(|end| *end == DONE), "{ended:?}");
            let places = &of_page[of_page.len() - 1];
            let addresses: Vec<u64> = places.iter().map(|place| format.encode(*place)).collect();
            let mut data = vec![0; places.len() * SECTOR];
            let moved = Moved::FromDrive(&mut data);
            let vector = Vector {
                opcode: io::READ,
                control: 0,
                addresses: &addresses,
                data: moved,
                metadata: Moved::Nothing,
            };
            assert_eq!(driver.send_vector(QUEUE, vector).await.unwrap(), DONE);
            let expected: Vec<u8> = places.iter().flat_map(|place| content(*place, 2).0).collect();
            assert!(data == expected);
        });
    }
}
