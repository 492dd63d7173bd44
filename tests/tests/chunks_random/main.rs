//! A random host of a drive of Open-Channel SSD 2.0, against a model (P29): statuses, bits of failed
//! blocks, data, metadata, states and write pointers, with failing programs and erases, bit errors, and
//! losses of power at any event. It reads, writes, copies, resets and deallocates.

mod draw;
mod model;
mod settle;

use aster_device::Media;
use aster_device::profile::{CommandName, Profile};
use aster_driver::{Config, Driver, Moved, QueueId, Vector, VectorEnd};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::nowhere::Nowhere;
use aster_tests::{cases, profile};
use aster_units::Rng;
use aster_wire::nvme::{AdminOpcode, IoOpcode, Sqe, Status};
use aster_wire::ocssd::v2::{CHUNK_REPORT, COPY, ChunkDescriptor, MEDIA_FEEDBACK, MediaFeedback, status};
use draw::deallocation;
use model::{Chunk, Stamp};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use zerocopy::FromBytes;

const QUEUE: QueueId = QueueId(1);
const METADATA_BYTES: usize = aster_wire::ocssd::METADATA_BYTES as usize;
const SECTOR: usize = 4096;
const DESCRIPTOR_BYTES: usize = size_of::<ChunkDescriptor>();
/// Vectors in flight at once.
const TOGETHER: u64 = 6;
/// The most steps between the sending of vectors and a loss of power.
const STEPS_MAX: u64 = 1500;
/// Blocks of a chunk.
const BLOCKS: u64 = 16;
/// Blocks behind the last one of the drive.
const OUTSIDE: u64 = 1 << 9;

/// 32 chunks of 16 blocks, each of which is a page.
fn drive() -> Profile {
    profile("pocket-ocssd-2", |p| {
        p.target = None;
        p.package.commands = vec![CommandName::MultiPlane];
        p.geometry.blocks_per_lun = 16;
        p.package.program_failures_per_million = 10_000;
        p.package.erase_failures_per_million = 8000;
        // One corrected bit is enough for the host to be told.
        p.ftl.refresh_corrected_percent = 1;
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Write,
    Reset,
    Read,
    Copy,
}

/// How a vector ended, and the data and metadata that it has read.
type Ended = (VectorEnd, Vec<u8>, Vec<u8>);

/// A command, and how it ended if it did.
#[derive(Debug)]
struct Sent {
    kind: Kind,
    opcode: u8,
    blocks: Vec<u64>,
    /// What a copy reads, a block for each that it writes.
    sources: Vec<u64>,
    /// What a write stores.
    stamps: Vec<Stamp>,
    /// A pointer of it that names no memory.
    nowhere: Option<Nowhere>,
    end: RefCell<Option<Ended>>,
}

struct Host {
    profile: Profile,
    machine: Machine,
    chunks: Vec<Chunk>,
    rng: Rng,
    version: u64,
    seen: BTreeSet<u16>,
}

/// The data and metadata of this stamp.
fn content(Stamp { block, version }: Stamp) -> (Vec<u8>, Vec<u8>) {
    let seed = block.wrapping_mul(1031).wrapping_add(version << 20);
    let bytes = |seed: u64, count: usize| -> Vec<u8> {
        (0..).flat_map(|n: u64| aster_units::mix64(seed ^ n << 40).to_le_bytes()).take(count).collect()
    };
    (bytes(seed, SECTOR), bytes(!seed, METADATA_BYTES))
}

/// The reads that tell of many wrong bits: each drive has its own.
fn feedback(profile: &Profile) -> MediaFeedback {
    MediaFeedback(profile.seed as u32 >> 1 & 3)
}

fn power_on(profile: &Profile, media: Media) -> Machine {
    let feedback = feedback(profile);
    let config =
        Config { depth: 31, transfer_bytes_max: 256 << 10, queue_pairs: 1, ..aster_tests::config(profile) };
    let machine = Machine::power_on("test", profile, None, media, &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    let driver = Rc::clone(machine.driver());
    let told = machine.block_on("asking for errors", async move {
        for (feature, value) in [(0x05, 1 << 16), (MEDIA_FEEDBACK.into(), feedback.0)] {
            let dwords = [feature, value, 0, 0, 0, 0];
            driver.vendor_admin(AdminOpcode::SetFeatures.raw(), dwords, &mut []).await.unwrap();
        }
    });
    told.unwrap();
    machine
}

/// Sends a command and keeps how it ended.
async fn send(driver: Rc<Driver<VirtualBar>>, sent: Rc<Sent>) {
    let (mut data, mut beside) = (Vec::new(), Vec::new());
    match sent.kind {
        Kind::Write => {
            let (all, metadata): (Vec<_>, Vec<_>) = sent.stamps.iter().map(|stamp| content(*stamp)).unzip();
            (data, beside) = (all.concat(), metadata.concat());
        }
        Kind::Reset | Kind::Copy => {}
        Kind::Read => {
            data = vec![0xee; sent.blocks.len() * SECTOR];
            beside = vec![0xee; sent.blocks.len() * METADATA_BYTES];
        }
    }
    let moved = match sent.kind {
        Kind::Write => (Moved::ToDrive(&data), Moved::ToDrive(&beside)),
        Kind::Reset | Kind::Copy => (Moved::Nothing, Moved::Nothing),
        Kind::Read => (Moved::FromDrive(&mut data), Moved::FromDrive(&mut beside)),
    };
    let whole = |block: &u64| (block - block % BLOCKS, BLOCKS as u32);
    let (dwords, list) = deallocation(&sent.blocks.iter().map(whole).collect::<Vec<_>>());
    let (opcode, addresses) = (sent.opcode, &sent.blocks);
    let vector = Vector { opcode, control: 0, addresses, data: moved.0, metadata: moved.1 };
    let lie = |sqe: &mut Sqe| {
        if let Some(nowhere) = sent.nowhere {
            nowhere.apply(sqe);
        }
    };
    let end = if sent.kind == Kind::Copy && sent.nowhere.is_none() {
        driver.send_copy(QUEUE, COPY, &sent.sources, &sent.blocks).await.unwrap()
    } else if sent.kind == Kind::Copy {
        let vector = Vector { addresses: &sent.sources, ..vector };
        driver.send_changed_vector(QUEUE, vector, lie).await.unwrap()
    } else if opcode == IoOpcode::DatasetManagement.raw() {
        let vector = Vector { addresses: &[dwords], data: Moved::ToDrive(&list), ..vector };
        driver.send_changed_vector(QUEUE, vector, lie).await.unwrap()
    } else {
        driver.send_changed_vector(QUEUE, vector, lie).await.unwrap()
    };
    *sent.end.borrow_mut() = Some((end, data, beside));
}

impl Host {
    fn new(seed: u64) -> Self {
        let mut profile = Profile { seed, ..drive() };
        // G13: every second drive works on both planes at once.
        profile.ftl.mp_native = seed % 2 == 1;
        // P29, MAXOC: every third one has a bound.
        profile.ftl.open_chunks_max = if seed % 3 == 1 { 6 } else { 0 };
        let machine = power_on(&profile, Media::fresh());
        let chunks = report(&machine).iter().map(Chunk::new).collect();
        Host { machine, chunks, rng: Rng::new(seed), version: 0, seen: BTreeSet::new(), profile }
    }
    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(bound as u64) as usize
    }
    /// The chunk that a block is in, and its place in it.
    fn chunk_of(&mut self, block: u64) -> (&mut Chunk, usize) {
        let size = self.chunks[0].blocks.len() as u64;
        let found = self.chunks.iter_mut().find(|chunk| (chunk.first..chunk.first + size).contains(&block));
        let chunk = found.expect("the drive has the chunk");
        let at = (block - chunk.first) as usize;
        (chunk, at)
    }

    fn check_report(&self) {
        for (chunk, found) in self.chunks.iter().zip(report(&self.machine)) {
            let expected = (chunk.first, Some(chunk.state), chunk.written as u64);
            assert_eq!((found.first.get(), found.state(), found.written.get()), expected, "{chunk:?}");
        }
    }

    /// Sends several commands at once. The power may go before they end.
    fn round(&mut self, cut: bool) {
        let mut taken = BTreeSet::new();
        let sent: Vec<_> = (0..TOGETHER).filter_map(|_| self.draw(&mut taken)).collect();
        for one in &sent {
            let driver = Rc::clone(self.machine.driver());
            self.machine.host().spawn(send(driver, Rc::clone(one)));
        }
        if cut {
            let steps = self.rng.below(STEPS_MAX);
            let _ = (0..steps).take_while(|_| self.machine.step()).count();
            let profile = self.profile.clone();
            let machine = std::mem::replace(&mut self.machine, power_on(&profile, Media::fresh()));
            self.machine = power_on(&profile, machine.cut_power());
        } else {
            let waiting = || sent.iter().any(|one| one.end.borrow().is_none());
            while waiting() {
                assert!(self.machine.step(), "the drive waits for ever");
            }
        }
        let now = report(&self.machine);
        for one in &sent {
            let ended = one.end.borrow_mut().take();
            match ended {
                Some(ended) => self.settle(one, &ended, &now),
                None => self.in_flight(one, &now),
            }
        }
        self.check_report();
    }

    fn totals(&self) -> (u64, u64) {
        let totals = self.machine.device().nand().totals_of_drive();
        (totals.programs, totals.erases)
    }
}

/// The runs of consecutive blocks in a write, as first index and length. Chunks that follow each other are
/// apart, since a run ends with its chunk.
fn stretches(blocks: &[u64]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (n, block) in blocks.iter().enumerate() {
        match runs.last_mut() {
            Some((_, count)) if blocks[n - 1] + 1 == *block && block % BLOCKS != 0 => *count += 1,
            _ => runs.push((n, 1)),
        }
    }
    runs
}

/// The descriptor of the chunk with this first block.
fn of(report: &[ChunkDescriptor], first: u64) -> ChunkDescriptor {
    *report.iter().find(|chunk| chunk.first.get() == first).expect("it is reported")
}

fn report(machine: &Machine) -> Vec<ChunkDescriptor> {
    let driver = Rc::clone(machine.driver());
    let bytes = machine.block_on("the chunk report", async move {
        let mut into = vec![0; 32 * DESCRIPTOR_BYTES];
        let dword10 = u32::from(CHUNK_REPORT) | (into.len() as u32 / 4 - 1) << 16;
        let dwords = [dword10, 0, 0, 0, 0, 0];
        driver.vendor_admin(AdminOpcode::GetLogPage.raw(), dwords, &mut into).await.unwrap();
        into
    });
    let bytes = bytes.unwrap_or_else(|e| panic!("{e}"));
    bytes.chunks(DESCRIPTOR_BYTES).map(|one| ChunkDescriptor::read_from_bytes(one).unwrap()).collect()
}

/// Each seed is a drive's life: rounds of commands, every third of which loses its power.
#[test]
fn a_random_host_finds_what_the_model_says() {
    let mut seen = BTreeSet::new();
    for seed in 0..cases(12, 400) {
        println!("seed {seed}");
        let mut host = Host::new(seed);
        for round in 0..40 {
            match host.rng.below(8) {
                0 | 1 => host.illegal(),
                _ => host.round(round % 3 == 2),
            }
        }
        seen.extend(host.seen);
    }
    let must = [
        Status::SUCCESS,
        status::WRITE_NEXT_UNIT,
        status::CLOSED_EARLY,
        status::OUT_OF_ORDER,
        status::OFFLINE,
        status::INVALID_RESET,
        status::UNWRITTEN,
        status::ECC_FAIL,
        status::HIGH_ECC,
        status::OUT_OF_RANGE,
        Status::DATA_TRANSFER_ERROR,
        Status::INVALID_OPCODE.with_dnr(true),
        Status::INVALID_FIELD.with_dnr(true),
    ];
    let missing: Vec<_> = must.iter().filter(|status| !seen.contains(&status.raw())).collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}
