//! Stock Linux attaches to an open-channel drive: the commands of its LightNVM core and of pblk, in their
//! order and with their control bits, and each answer checked as the kernel does (P22 to P28).

use aster_device::Media;
use aster_device::profile::Profile;
use aster_driver::{Config, Driver, DriverError, Moved, QueueId, Vector};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::profile;
use aster_units::{BlockAddr, LunAddr, PageInBlock};
use aster_wire::nvme::Status;
use aster_wire::nvme::identify::IdentifyNamespace;
use aster_wire::nvme::opcode::AdminOpcode;
use aster_wire::ocssd::{
    AddressFormat, Identity12, Place, TableHeader, VENDOR_SPECIFIC_VERSION, admin, io, table,
};
use std::collections::BTreeMap;
use std::rc::Rc;
use zerocopy::FromBytes;

const QUEUE: QueueId = QueueId(1);
const SECTOR: usize = 4096;
const OOB: usize = 16;
/// Flags of dword 12: scrambler, suspension, two planes.
const SCRAMBLE: u16 = 0x200;
const SUSPEND: u16 = 0x080;
const DUAL: u16 = 0x001;
/// What an empty page must answer: the kernel compares the whole field.
const EMPTY_PAGE: u16 = 0x42ff;
/// What a page that is written may answer: it can't be moved or read, or has many wrong bits.
const TOLERATED: [u16; 3] = [0x4004, ECC_FAIL, HIGH_ECC];
const ECC_FAIL: u16 = 0x4281;
const HIGH_ECC: u16 = 0x4700;

/// What the kernel knows of the drive.
#[derive(Clone, Copy, Debug)]
struct Geo {
    channels: u16,
    luns: u16,
    chunks: u32,
    planes: u8,
    pages: u16,
    ws_min: u32,
    ws_opt: u32,
    mw_cunits: u32,
    clba: u32,
    format: AddressFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Chunk {
    Free,
    /// With the sectors that it has.
    Open(u32),
    Closed,
    Offline,
}

struct Linux {
    machine: Machine,
    geo: Geo,
}

/// What attaching may fail with; all of these end `nvm_register` or `pblk_init`.
type Attached<T> = Result<T, String>;

impl Linux {
    fn attach(profile: &Profile, media: Media) -> Attached<Self> {
        let config = Config { depth: 31, transfer_bytes_max: 256 << 10, ..aster_tests::config(profile) };
        let machine = Machine::power_on("test", profile, None, media, &Recorder::default(), config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        // nvme_nvm_ioctl_supported: the function's number, and the namespace's first vendor byte.
        let id = machine.device().config_read(0, 4);
        if id != 0x1f1f_1d1d {
            return Err(format!("{id:08x} is no device of the list"));
        }
        let driver = Rc::clone(machine.driver());
        let namespace = run(&machine, driver, async |driver| {
            let mut bytes = vec![0; 4096];
            driver.vendor_admin(AdminOpcode::Identify.raw(), [0; 6], &mut bytes).await.map(|_| bytes)
        });
        let namespace = IdentifyNamespace::read_from_bytes(&namespace.map_err(|e| e.to_string())?).unwrap();
        if namespace.vendor[VENDOR_SPECIFIC_VERSION] != 1 {
            return Err("the namespace is no LightNVM one".into());
        }
        let driver = Rc::clone(machine.driver());
        let bytes = run(&machine, driver, async |driver| {
            let mut bytes = vec![0; 4096];
            driver.vendor_admin(admin::IDENTITY, [0; 6], &mut bytes).await.map(|_| bytes)
        });
        let identity = Identity12::read_from_bytes(&bytes.map_err(|e| e.to_string())?).unwrap();
        let geo = setup(&identity)?;
        Ok(Linux { machine, geo })
    }
    fn run<T: 'static>(&self, work: impl AsyncFnOnce(Rc<Driver<VirtualBar>>) -> T + 'static) -> T {
        run(&self.machine, Rc::clone(self.machine.driver()), work)
    }
    fn send(&self, opcode: u8, control: u16, places: &[Place], data: &[u8], oob: &[u8]) -> (u16, u64) {
        let addresses: Vec<u64> = places.iter().map(|place| self.geo.format.encode(*place)).collect();
        let (data, oob) = (data.to_vec(), oob.to_vec());
        self.run(async move |driver| {
            let of = |bytes: &[u8]| bytes.is_empty();
            let (nothing, none) = (of(&data), of(&oob));
            let data = if nothing { Moved::Nothing } else { Moved::ToDrive(&data) };
            let metadata = if none { Moved::Nothing } else { Moved::ToDrive(&oob) };
            let vector = Vector { opcode, control, addresses: &addresses, data, metadata };
            let ended = driver.send_vector(QUEUE, vector).await.unwrap();
            (ended.status.raw(), ended.failed)
        })
    }
    /// Reads sectors, with metadata or without.
    fn read(&self, places: &[Place], with_oob: bool) -> (u16, Vec<u8>, Vec<u8>) {
        let addresses: Vec<u64> = places.iter().map(|place| self.geo.format.encode(*place)).collect();
        self.run(async move |driver| {
            let mut data = vec![0; addresses.len() * SECTOR];
            let mut oob = vec![0; addresses.len() * OOB];
            let control = SCRAMBLE | SUSPEND | DUAL;
            let metadata = if with_oob { Moved::FromDrive(&mut oob) } else { Moved::Nothing };
            let vector = Vector {
                opcode: io::READ,
                control,
                addresses: &addresses,
                data: Moved::FromDrive(&mut data),
                metadata,
            };
            let ended = driver.send_vector(QUEUE, vector).await.unwrap();
            (ended.status.raw(), data, oob)
        })
    }
    fn table(&self, channel: u16, lun: u16) -> Attached<Vec<u8>> {
        let address = self.geo.format.encode(Place { channel, lun, ..Place::default() });
        let blocks = self.geo.chunks as usize * usize::from(self.geo.planes);
        let bytes = self.run(async move |driver| {
            let mut bytes = vec![0; size_of::<TableHeader>() + blocks];
            driver.addressed_admin(admin::GET_TABLE, &[address], 0, &mut bytes).await.map(|_| bytes)
        });
        let bytes = bytes.map_err(|error| error.to_string())?;
        let (header, states) = TableHeader::read_from_prefix(&bytes).unwrap();
        match (header.signature, header.version.get(), header.blocks.get() as usize) {
            (table::SIGNATURE, 1, count) if count == blocks => Ok(states.to_vec()),
            (_, _, count) => Err(format!("bbt: {:?}, {count} blocks", header.signature)),
        }
    }
    /// Sets the state of a chunk: a list with the address of each plane.
    fn set_table(&self, chunk: Place, state: u16) -> Result<(), Status> {
        let planes = (0..self.geo.planes).map(|plane| self.geo.format.encode(Place { plane, ..chunk }));
        let addresses: Vec<u64> = planes.collect();
        self.run(async move |driver| {
            match driver.addressed_admin(admin::SET_TABLE, &addresses, state, &mut []).await {
                Ok(_) => Ok(()),
                Err(DriverError::Command { status, .. }) => Err(status),
                Err(error) => panic!("{error}"),
            }
        })
    }
    /// Reads one sector in dual mode, without metadata: `nvm_bb_chunk_sense`.
    fn sense(&self, place: Place) -> u16 {
        self.read(&[place], false).0
    }
    /// The state of a chunk whose blocks are free by the table.
    fn scan(&self, chunk: Place) -> Attached<Chunk> {
        let other = |status| Err(format!("{chunk}: status {status:04x}h"));
        let first = self.sense(chunk);
        match first {
            0 => {
                let last = Place { page: self.geo.pages - 1, plane: self.geo.planes - 1, ..chunk };
                match self.sense(last) {
                    0 => return Ok(Chunk::Closed),
                    status if status == EMPTY_PAGE || TOLERATED.contains(&status) => {}
                    status => return other(status),
                }
            }
            EMPTY_PAGE => return Ok(Chunk::Free),
            status if TOLERATED.contains(&status) => {}
            status => return other(status),
        }
        let mut written = 0;
        for page in 0..self.geo.pages {
            for plane in 0..self.geo.planes {
                match self.sense(Place { page, plane, ..chunk }) {
                    0 => written += self.geo.ws_min,
                    EMPTY_PAGE => return Ok(Chunk::Open(written)),
                    status if TOLERATED.contains(&status) => written += self.geo.ws_min,
                    status => return other(status),
                }
            }
        }
        Ok(Chunk::Open(written))
    }
    /// All chunks: `nvm_get_chunk_meta` of 1.2.
    fn chunks(&self) -> Attached<BTreeMap<Place, Chunk>> {
        let mut chunks = BTreeMap::new();
        let planes = usize::from(self.geo.planes);
        for channel in 0..self.geo.channels {
            for lun in 0..self.geo.luns {
                let states = self.table(channel, lun)?;
                for (states, block) in states.chunks(planes).zip(0..) {
                    let chunk = Place { channel, lun, block, ..Place::default() };
                    let bad = states.iter().any(|state| *state != 0);
                    let state = if bad { Chunk::Offline } else { self.scan(chunk)? };
                    chunks.insert(chunk, state);
                }
            }
        }
        Ok(chunks)
    }
    /// The sectors that pblk writes at once: a page of all planes.
    fn unit(&self, chunk: Place, page: u16) -> Vec<Place> {
        let planes = (0..self.geo.planes).map(|plane| Place { plane, page, ..chunk });
        let sectors = 0..self.geo.ws_min as u8;
        planes.flat_map(|place| sectors.clone().map(move |sector| Place { sector, ..place })).collect()
    }
    fn write(&self, chunk: Place, page: u16) -> (u16, u64) {
        let places = self.unit(chunk, page);
        let (data, oob) = content(&places);
        self.send(io::WRITE, SCRAMBLE | DUAL, &places, &data, &oob)
    }
    /// Erases a chunk by one address of plane 0, whose page is that of the data just written (O9).
    fn erase(&self, chunk: Place) -> (u16, u64) {
        self.send(io::ERASE, DUAL, &[Place { page: 5, sector: 2, ..chunk }], &[], &[])
    }
    fn end(self) -> Media {
        self.machine.cut_power()
    }
}

fn run<T: 'static>(
    machine: &Machine,
    driver: Rc<Driver<VirtualBar>>,
    work: impl AsyncFnOnce(Rc<Driver<VirtualBar>>) -> T + 'static,
) -> T {
    machine.block_on("a command", async move { work(driver).await }).unwrap_or_else(|e| panic!("{e}"))
}

/// What identify must say, and what the kernel makes of it: `nvme_nvm_setup_12`.
fn setup(identity: &Identity12) -> Attached<Geo> {
    let group = &identity.groups[0];
    if identity.version != 1 || identity.group_count != 1 || group.media_type != 0 {
        return Err("not one group of NAND".into());
    }
    let sectors = u32::from(group.page_bytes.get()) / u32::from(group.sector_bytes.get());
    let (ws_min, mut ws_opt) = (sectors, sectors);
    let mw_cunits = ws_opt << 3;
    if group.plane_operations.get() & 0x02_0202 != 0 {
        ws_opt <<= 1;
    }
    Ok(Geo {
        channels: group.channels.into(),
        luns: group.luns.into(),
        chunks: group.blocks.get().into(),
        planes: group.planes,
        pages: group.pages.get(),
        ws_min,
        ws_opt,
        mw_cunits,
        clba: sectors * u32::from(group.planes) * u32::from(group.pages.get()),
        format: identity.address_format,
    })
}

/// Data and metadata that no other sector has.
fn content(places: &[Place]) -> (Vec<u8>, Vec<u8>) {
    let seed = |place: &Place| {
        let Place { channel, lun, plane, block, page, sector } = *place;
        [channel.into(), lun.into(), plane.into(), u64::from(block), page.into(), sector.into()]
            .into_iter()
            .fold(7, |sum: u64, part: u64| sum * 1031 + part)
    };
    let bytes = |seed: u64, count: usize| -> Vec<u8> {
        (0..).flat_map(|n: u64| aster_units::mix64(seed ^ n << 40).to_le_bytes()).take(count).collect()
    };
    (
        places.iter().flat_map(|place| bytes(seed(place), SECTOR)).collect(),
        places.iter().flat_map(|place| bytes(!seed(place), OOB)).collect(),
    )
}

/// The ways in which a drive reads a page and fetches a list.
fn drives() -> Vec<(&'static str, Profile)> {
    let small = |name, change: fn(&mut Profile)| {
        profile(name, |p| {
            p.target = None;
            p.geometry.channels = 2;
            p.geometry.ways = 2;
            p.geometry.blocks_per_lun = 16;
            p.geometry.pages_per_block = 8;
            p.geometry.page_bytes = 16_384;
            p.geometry.spare_bytes = 1_664;
            p.package.factory_bad_per_mille = 60;
            p.content = aster_device::profile::ContentKind::Full;
            change(p);
        })
    };
    vec![
        ("parts of pages", small("pocket-ocssd", |_| {})),
        ("whole pages", small("pocket-ocssd", |p| p.ftl.partial_reads = false)),
        ("the board's big loop", small("cosmos-ocssd", |p| p.geometry.pages_per_block = 16)),
    ]
}

#[test]
fn stock_linux_attaches_to_a_new_drive_and_again_to_a_written_one() {
    for (what, profile) in drives() {
        let host = Linux::attach(&profile, Media::fresh()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let geo = host.geo;
        assert_eq!((geo.ws_min, geo.ws_opt, geo.mw_cunits), (4, 8, 32), "{what}: F4");
        let new = host.chunks().unwrap_or_else(|e| panic!("{what}: {e}"));
        let bad = new.values().filter(|state| **state == Chunk::Offline).count();
        assert!(bad > 0 && new.values().all(|state| matches!(state, Chunk::Free | Chunk::Offline)), "{what}");
        let free: Vec<Place> =
            new.iter().filter(|(_, state)| **state == Chunk::Free).map(|(place, _)| *place).collect();
        let (full, open, marked, erased) = (free[0], free[2], free[4], free[6]);

        // pblk writes units, reads a line's head back, and erases ahead.
        for page in 0..geo.pages {
            assert_eq!(host.write(full, page), (0, 0), "{what}: page {page}");
        }
        for page in 0..3 {
            assert_eq!([host.write(open, page), host.write(erased, page)], [(0, 0); 2], "{what}");
        }
        let head = host.unit(full, 0);
        assert!(
            host.read(&head, true) == {
                let (data, oob) = content(&head);
                (0, data, oob)
            },
            "{what}"
        );
        assert_eq!(host.erase(erased), (0, 0), "{what}");
        // What pblk finds bad it marks in both planes (2 addresses).
        assert_eq!(host.set_table(marked, 2), Ok(()), "{what}");
        // Recovery reads on until a page is empty, and the kernel wants exactly that status.
        let behind = host.read(&host.unit(open, 3), true).0;
        assert_eq!(behind, EMPTY_PAGE, "{what}");

        let host = Linux::attach(&profile, host.end()).unwrap_or_else(|e| panic!("{what}: again: {e}"));
        let mut wanted = new;
        wanted.insert(full, Chunk::Closed);
        wanted.insert(open, Chunk::Open(3 * geo.ws_opt));
        wanted.insert(marked, Chunk::Offline);
        assert_eq!(geo.clba, u32::from(geo.pages) * geo.ws_opt);
        assert_eq!(host.chunks().unwrap_or_else(|e| panic!("{what}: again: {e}")), wanted, "{what}");
        // What is written goes on where it was.
        assert_eq!(host.write(open, 3), (0, 0), "{what}");
    }
}

/// The kernel takes a page that can't be read, or hardly, for a written one, and goes on to the first empty
/// one.
#[test]
fn a_page_that_can_hardly_be_read_counts_as_written() {
    for (what, mut profile) in drives() {
        // One corrected bit is enough for the host to be told.
        profile.ftl.refresh_corrected_percent = 1;
        let geometry = profile.used_geometry();
        let host = Linux::attach(&profile, Media::fresh()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let damage = |Place { channel, lun, plane, block, page, .. }: Place, bits: u32| {
            let lun = geometry.lun_index(LunAddr { channel, way: lun as u8, lun: 0 });
            let block = BlockAddr(block * u32::from(geometry.planes) + u32::from(plane));
            // Of pairs of pages the board uses one.
            let page = PageInBlock(page * profile.restriction().page_step);
            // Far apart and within the first sector.
            let bits: Vec<u32> = (0..bits).map(|n| n * 7).collect();
            assert!(host.machine.device().nand().flip_bits(lun, block, page, &bits), "{what}");
        };
        let chunks = host.chunks().unwrap_or_else(|e| panic!("{what}: {e}"));
        let free = chunks.iter().filter(|(_, state)| **state == Chunk::Free).map(|(place, _)| *place);
        let free: Vec<Place> = free.take(4).collect();
        let (full, last) = (free[3], host.geo.pages - 1);
        for page in 0..=last {
            assert_eq!(host.write(full, page), (0, 0), "{what}");
        }
        for (chunk, page) in free[..3].iter().flat_map(|chunk| [0, 1, 2].map(|page| (*chunk, page))) {
            assert_eq!(host.write(chunk, page), (0, 0), "{what}");
        }
        let end = Place { page: last, plane: host.geo.planes - 1, ..full };
        for (page, bits, told) in [
            (free[0], 400, ECC_FAIL),
            (free[1], 1, HIGH_ECC),
            (Place { page: 1, plane: 1, ..free[2] }, 400, ECC_FAIL),
            (end, 400, ECC_FAIL),
        ] {
            damage(page, bits);
            assert_eq!(host.sense(page), told, "{what}: {page}");
        }
        for chunk in &free[..3] {
            assert_eq!(host.scan(*chunk), Ok(Chunk::Open(3 * host.geo.ws_opt)), "{what}: {chunk}");
        }
        assert_eq!(host.scan(full), Ok(Chunk::Open(host.geo.clba)), "{what}");
    }
}

/// Both planes of a chunk are erased by the one address, or the next write to plane 1 would be refused.
#[test]
fn an_erase_in_dual_mode_reaches_the_other_plane() {
    for (what, profile) in drives() {
        let host = Linux::attach(&profile, Media::fresh()).unwrap();
        let chunks = host.chunks().unwrap();
        let chunk = *chunks.iter().find(|(_, state)| **state == Chunk::Free).unwrap().0;
        assert_eq!(host.write(chunk, 0), (0, 0), "{what}");
        assert_eq!(host.erase(chunk), (0, 0), "{what}");
        let planes = (0..2).map(|plane| host.sense(Place { plane, ..chunk }));
        assert_eq!(planes.collect::<Vec<_>>(), [EMPTY_PAGE; 2], "{what}");
        assert_eq!(host.write(chunk, 0), (0, 0), "{what}");
    }
}
