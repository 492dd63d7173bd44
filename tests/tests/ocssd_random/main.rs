//! A random host of an open-channel drive, against a model: statuses, bits of failed addresses, data,
//! metadata and bad-block tables, with failing programs and erases, bit errors, and losses of power at any
//! event (G14).

mod draw;
mod model;
mod settle;

use aster_device::Media;
use aster_device::profile::{CommandName, Profile};
use aster_driver::{Config, Driver, DriverError, Moved, QueueId, Vector, VectorEnd};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::nowhere::Nowhere;
use aster_tests::{cases, profile};
use aster_units::Rng;
use aster_wire::nvme::{Sqe, Status};
use aster_wire::ocssd::{AddressFormat, BlockFlags, Place, TableHeader, admin, io, status};
use model::{Held, Model};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
const METADATA_BYTES: usize = aster_wire::ocssd::METADATA_BYTES as usize;
const SECTOR: usize = 4096;
/// Vectors in flight at once.
const TOGETHER: u64 = 6;
/// The most steps between the sending of vectors and a loss of power.
const STEPS_MAX: u64 = 1500;
/// Plane mode for both planes (dword 12 bits 31:16).
const DUAL: u16 = 1;

fn drive() -> Profile {
    profile("pocket-ocssd", |p| {
        p.target = None;
        p.package.commands = vec![CommandName::MultiPlane];
        p.geometry.page_bytes = 16_384;
        p.geometry.spare_bytes = 1_664;
        p.geometry.blocks_per_lun = 16;
        p.package.program_failures_per_million = 4000;
        p.package.erase_failures_per_million = 8000;
        // One corrected bit is enough for the host to be told.
        p.ftl.refresh_corrected_percent = 1;
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Write,
    Erase { dual: bool },
    Read,
}

impl Kind {
    fn opcode(self) -> u8 {
        match self {
            Kind::Write => io::WRITE,
            Kind::Erase { .. } => io::ERASE,
            Kind::Read => io::READ,
        }
    }
}

/// How a vector ended, and the data and metadata that it has read.
type Ended = (VectorEnd, Vec<u8>, Vec<u8>);

/// A vector, and how it ended if it did.
struct Sent {
    kind: Kind,
    places: Vec<Place>,
    /// What a write stores. A sector's content depends on its place as well.
    version: u64,
    /// A pointer of it that names no memory.
    nowhere: Option<Nowhere>,
    end: RefCell<Option<Ended>>,
}

struct Host {
    profile: Profile,
    machine: Machine,
    format: AddressFormat,
    model: Model,
    rng: Rng,
    version: u64,
    /// Opcodes, each with a status that it ended with.
    seen: BTreeSet<(u8, u16)>,
}

/// Data and metadata of a sector of this version.
fn content(place: Place, version: u64) -> (Vec<u8>, Vec<u8>) {
    let Place { channel, lun, plane, block, page, sector } = place;
    let seed = [channel.into(), lun.into(), plane.into(), u64::from(block), page.into(), sector.into()]
        .into_iter()
        .fold(version, |sum, part: u64| sum.wrapping_mul(1031) + part);
    let bytes = |seed: u64, count: usize| -> Vec<u8> {
        (0..).flat_map(|n: u64| aster_units::mix64(seed ^ n << 40).to_le_bytes()).take(count).collect()
    };
    (bytes(seed, SECTOR), bytes(!seed, METADATA_BYTES))
}

fn power_on(profile: &Profile, media: Media) -> Machine {
    let config =
        Config { depth: 31, transfer_bytes_max: 256 << 10, queue_pairs: 1, ..aster_tests::config(profile) };
    let machine = Machine::power_on("test", profile, None, media, &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

/// Sends a vector and keeps how it ended.
async fn send(driver: Rc<Driver<VirtualBar>>, format: AddressFormat, sent: Rc<Sent>) {
    let addresses: Vec<u64> = sent.places.iter().map(|place| format.encode(*place)).collect();
    let (mut data, mut beside) = (Vec::new(), Vec::new());
    let control = match sent.kind {
        Kind::Write => {
            let (all, metadata): (Vec<_>, Vec<_>) =
                sent.places.iter().map(|place| content(*place, sent.version)).unzip();
            (data, beside) = (all.concat(), metadata.concat());
            0
        }
        Kind::Erase { dual } => {
            if dual {
                DUAL
            } else {
                0
            }
        }
        Kind::Read => {
            data = vec![0xee; addresses.len() * SECTOR];
            beside = vec![0xee; addresses.len() * METADATA_BYTES];
            0
        }
    };
    let moved = match sent.kind {
        Kind::Write => (Moved::ToDrive(&data), Moved::ToDrive(&beside)),
        Kind::Erase { .. } => (Moved::Nothing, Moved::Nothing),
        Kind::Read => (Moved::FromDrive(&mut data), Moved::FromDrive(&mut beside)),
    };
    let opcode = sent.kind.opcode();
    let vector = Vector { opcode, control, addresses: &addresses, data: moved.0, metadata: moved.1 };
    let lie = |sqe: &mut Sqe| {
        if let Some(nowhere) = sent.nowhere {
            nowhere.apply(sqe);
        }
    };
    let end = driver.send_changed_vector(QUEUE, vector, lie).await.unwrap();
    *sent.end.borrow_mut() = Some((end, data, beside));
}

impl Host {
    fn new(seed: u64) -> Self {
        let mut profile = Profile { seed, ..drive() };
        // G13: every second drive works on both planes at once.
        profile.ftl.mp_native = seed % 2 == 1;
        let geometry = profile.used_geometry();
        let mut host = Host {
            machine: power_on(&profile, Media::fresh()),
            format: AddressFormat::of_geometry(&geometry),
            model: Model::new(geometry),
            rng: Rng::new(seed),
            version: 0,
            seen: BTreeSet::new(),
            profile,
        };
        for (place, state) in host.tables() {
            let block = host.model.block_mut(place);
            block.state = state;
            if state == BlockFlags::FactoryBad {
                block.pages.fill(Held::Factory);
            }
        }
        host
    }
    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u64) as usize
    }
    fn run<T: 'static>(&self, work: impl AsyncFnOnce(Rc<Driver<VirtualBar>>) -> T + 'static) -> T {
        let driver = Rc::clone(self.machine.driver());
        self.machine
            .block_on("a command", async move { work(driver).await })
            .unwrap_or_else(|e| panic!("{e}"))
    }

    fn tables(&self) -> Vec<(Place, BlockFlags)> {
        let (g, format) = (self.model.geometry, self.format);
        let mut all = Vec::new();
        for channel in 0..g.channels {
            for lun in 0..g.luns_per_channel() as u16 {
                let address = format.encode(Place { channel, lun, ..Place::default() });
                let bytes = size_of::<TableHeader>() + g.blocks_per_lun as usize;
                let table = self.run(async move |driver| {
                    let mut table = vec![0; bytes];
                    driver.addressed_admin(admin::GET_TABLE, &[address], 0, &mut table).await.unwrap();
                    table
                });
                let states = table[size_of::<TableHeader>()..].iter().zip(0..);
                all.extend(states.map(|(state, n)| {
                    let planes = u32::from(g.planes);
                    let place = Place {
                        channel,
                        lun,
                        plane: (n % planes) as u8,
                        block: n / planes,
                        ..Place::default()
                    };
                    (place, BlockFlags::from_raw(*state).expect("a state that 1.2 has"))
                }));
            }
        }
        all
    }
    fn check_tables(&self) {
        for (place, state) in self.tables() {
            assert_eq!(self.model.block(place).state, state, "{place}");
        }
    }
    /// After a loss of power a block may be bad whose failure the host was not told of. It is one that was
    /// in work.
    fn learn_tables(&mut self) {
        for (place, state) in self.tables() {
            let block = self.model.block_mut(place);
            let told = block.state == state || state == BlockFlags::GrownBad && !block.is_certain;
            assert!(told, "{place}: {:?} became {state:?}", block.state);
            block.state = state;
        }
    }

    /// Sends some vectors at once. Either all of them end, or the power goes.
    fn round(&mut self, cut: bool) {
        let mut taken = BTreeSet::new();
        let count = 1 + self.rng.below(TOGETHER);
        let sent: Vec<Rc<Sent>> = (0..count).filter_map(|_| self.draw(&mut taken)).collect();
        // A read may not name what another vector of the round changes.
        let reads = |sent: &&Rc<Sent>| sent.kind == Kind::Read;
        let (reads, rest): (Vec<_>, Vec<_>) = sent.iter().partition(reads);
        let apart = |sent: &&&Rc<Sent>| !sent.places.iter().any(|place| taken.contains(&place.block_start()));
        let sent: Vec<Rc<Sent>> =
            rest.into_iter().chain(reads.iter().filter(apart).copied()).cloned().collect();
        for one in &sent {
            let driver = Rc::clone(self.machine.driver());
            self.machine.host().spawn(send(driver, self.format, Rc::clone(one)));
        }
        if cut {
            let steps = self.rng.below(STEPS_MAX);
            let _ = (0..steps).take_while(|_| self.machine.step()).count();
            let media = {
                let profile = self.profile.clone();
                let machine = std::mem::replace(&mut self.machine, power_on(&profile, Media::fresh()));
                machine.cut_power()
            };
            self.machine = power_on(&self.profile, media);
        } else {
            let waiting = || sent.iter().any(|one| one.end.borrow().is_none());
            while waiting() {
                assert!(self.machine.step(), "the drive waits for ever");
            }
        }
        if cut {
            // Completions that had come say what holds; the rest may have gone either way.
            sent.iter().for_each(|one| self.settle_without_tables(one));
            self.learn_tables();
        } else {
            sent.iter().for_each(|one| self.settle(one));
            self.check_tables();
        }
    }
    fn totals(&self) -> (u64, u64) {
        let totals = self.machine.device().nand().totals_of_drive();
        (totals.programs, totals.erases)
    }
    /// The host sets the state of a block, or frees one that it has set.
    fn set_state(&mut self) {
        let blocks: Vec<Place> = self.model.blocks.keys().copied().collect();
        let block = blocks[self.below(blocks.len())];
        let state = match self.model.block(block).state {
            BlockFlags::Free => BlockFlags::Host,
            BlockFlags::Host => BlockFlags::Free,
            _ => return,
        };
        let address = self.format.encode(block);
        let ended = self.run(async move |driver| {
            driver.addressed_admin(admin::SET_TABLE, &[address], state.raw().into(), &mut []).await
        });
        assert!(matches!(ended, Ok(0)), "{ended:?}");
        self.model.block_mut(block).state = state;
        let ended: Result<u32, DriverError> = self
            .run(async move |driver| driver.addressed_admin(admin::SET_TABLE, &[address], 3, &mut []).await);
        assert!(matches!(ended, Err(DriverError::Command { .. })), "1.2 has no state 3: {ended:?}");
        self.check_tables();
    }
}

/// Each seed is a drive's life: rounds of vectors, every third of which loses its power.
#[test]
fn a_random_host_finds_what_the_model_says() {
    let mut seen = BTreeSet::new();
    for seed in 0..cases(14, 400) {
        let mut host = Host::new(seed);
        for round in 0..40 {
            match host.rng.below(8) {
                0 => host.illegal(),
                1 => host.outside(),
                2 => host.set_state(),
                _ => host.round(round % 3 == 2),
            }
        }
        seen.extend(host.seen);
    }
    // A drive whose table is full is full_table.rs's.
    let must = [
        (io::WRITE, Status::SUCCESS),
        (io::ERASE, Status::SUCCESS),
        (io::READ, Status::SUCCESS),
        (io::WRITE, status::WRITE_FAIL),
        (io::ERASE, status::WRITE_FAIL),
        (io::READ, status::EMPTY_PAGE),
        (io::READ, status::ECC_FAIL),
        (io::READ, status::HIGH_ECC),
        (io::WRITE, status::TRANSFER_FAIL),
        (io::READ, status::TRANSFER_FAIL),
        (io::WRITE, Status::DATA_TRANSFER_ERROR),
        (io::WRITE, status::PROTECTED_BLOCK),
        (io::ERASE, status::PROTECTED_BLOCK),
        (io::WRITE, status::OUT_OF_ORDER),
        (io::ERASE, status::OUT_OF_GEOMETRY),
        (io::WRITE, Status::INVALID_FIELD.with_dnr(true)),
        (io::WRITE_RAW, Status::INVALID_OPCODE.with_dnr(true)),
        (0x01, Status::ACCESS_DENIED.with_dnr(true)),
    ];
    let missing: Vec<_> =
        must.iter().filter(|(opcode, status)| !seen.contains(&(*opcode, status.raw()))).collect();
    assert!(missing.is_empty(), "never seen: {missing:?} of {seen:x?}");
}
