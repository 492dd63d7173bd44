//! A whole open-channel drive of version 2.0 (P29): chunks, their states and write pointers, and statuses.

mod copies;
mod notices;
mod wear;

use aster_device::Media;
use aster_device::profile::Profile;
use aster_driver::{Config, Driver, Moved, QueueId, Vector, VectorEnd};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::profile;
use aster_units::{BlockAddr, Geometry, LunAddr, LunIndex, PageInBlock};
use aster_wire::nvme::identify::IdentifyNamespace;
use aster_wire::nvme::{AdminOpcode, IoOpcode, Status};
use aster_wire::ocssd::v2::{
    CHUNK_REPORT, COPY, ChunkDescriptor, ChunkFlags, ChunkShape, Geometry20, VERSION, status,
};
use aster_wire::ocssd::{Place, admin, io};
use std::rc::Rc;
use zerocopy::FromBytes;

const QUEUE: QueueId = QueueId(1);
const METADATA_BYTES: usize = aster_wire::ocssd::METADATA_BYTES as usize;
const SECTOR: usize = 4096;
const DESCRIPTOR_BYTES: usize = size_of::<ChunkDescriptor>();

/// `pocket-ocssd-2` with pages of four sectors and 8 chunks per LUN, each of 64 blocks.
fn drive(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("pocket-ocssd-2", |p| {
        p.geometry.page_bytes = 16_384;
        p.geometry.spare_bytes = 1_664;
        p.geometry.blocks_per_lun = 16;
        p.target = None;
        change(p);
    })
}

struct Host {
    machine: Machine,
    geometry: Geometry,
    shape: ChunkShape,
}

const DONE: VectorEnd = VectorEnd { status: Status::SUCCESS, failed: 0 };

fn refused(status: Status) -> VectorEnd {
    VectorEnd { status, failed: 0 }
}

/// Data and metadata of a block.
type Sector = (Vec<u8>, Vec<u8>);

/// Data and metadata that no other block and version has.
fn content(block: u64, version: u64) -> Sector {
    let bytes = |seed: u64, count: usize| -> Vec<u8> {
        (0..).flat_map(|n: u64| aster_units::mix64(seed ^ n << 40).to_le_bytes()).take(count).collect()
    };
    (bytes(block * 1031 + version, SECTOR), bytes(!(block * 1031 + version), METADATA_BYTES))
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
        Host { machine, geometry, shape: ChunkShape::of(&geometry) }
    }
    fn run<T: 'static>(&self, work: impl AsyncFnOnce(Rc<Driver<VirtualBar>>) -> T + 'static) -> T {
        let driver = Rc::clone(self.machine.driver());
        let ended = self.machine.block_on("a command", async move { work(driver).await });
        ended.unwrap_or_else(|e| panic!("{e}"))
    }
    fn write_as(&self, opcode: u8, blocks: &[u64], version: u64) -> VectorEnd {
        let (data, beside): (Vec<_>, Vec<_>) = blocks.iter().map(|block| content(*block, version)).unzip();
        let blocks = blocks.to_vec();
        self.run(async move |driver| {
            let (data, beside) = (data.concat(), beside.concat());
            let (data, metadata) = (Moved::ToDrive(&data), Moved::ToDrive(&beside));
            let vector = Vector { opcode, control: 0, addresses: &blocks, data, metadata };
            driver.send_vector(QUEUE, vector).await.unwrap()
        })
    }
    fn write(&self, blocks: &[u64], version: u64) -> VectorEnd {
        self.write_as(io::WRITE, blocks, version)
    }
    /// What blocks hold: their data and metadata.
    fn read_as(&self, opcode: u8, blocks: &[u64]) -> (VectorEnd, Vec<Sector>) {
        let blocks = blocks.to_vec();
        self.run(async move |driver| {
            let mut data = vec![0xee; blocks.len() * SECTOR];
            let mut beside = vec![0xee; blocks.len() * METADATA_BYTES];
            let (moved, metadata) = (Moved::FromDrive(&mut data), Moved::FromDrive(&mut beside));
            let vector = Vector { opcode, control: 0, addresses: &blocks, data: moved, metadata };
            let ended = driver.send_vector(QUEUE, vector).await.unwrap();
            let both = data.chunks(SECTOR).zip(beside.chunks(METADATA_BYTES));
            (ended, both.map(|(data, beside)| (data.to_vec(), beside.to_vec())).collect())
        })
    }
    fn read(&self, blocks: &[u64]) -> (VectorEnd, Vec<Sector>) {
        self.read_as(io::READ, blocks)
    }
    fn copy(&self, from: &[u64], to: &[u64]) -> VectorEnd {
        let (from, to) = (from.to_vec(), to.to_vec());
        self.run(async move |driver| driver.send_copy(QUEUE, COPY, &from, &to).await.unwrap())
    }
    fn must_hold(&self, blocks: &[u64], version: u64) {
        let (ended, found) = self.read(blocks);
        assert_eq!(ended, DONE);
        for (block, found) in blocks.iter().zip(found) {
            assert!(found == content(*block, version), "block {block:x}h");
        }
    }
    /// Resets chunks. Returns the descriptors that came at the metadata pointer.
    fn reset(&self, chunks: &[u64]) -> (VectorEnd, Vec<ChunkDescriptor>) {
        let chunks = chunks.to_vec();
        self.run(async move |driver| {
            let mut beside = vec![0; chunks.len() * DESCRIPTOR_BYTES];
            let (data, metadata) = (Moved::Nothing, Moved::FromDrive(&mut beside));
            let vector = Vector { opcode: io::ERASE, control: 0, addresses: &chunks, data, metadata };
            let ended = driver.send_vector(QUEUE, vector).await.unwrap();
            (ended, descriptors(&beside))
        })
    }
    fn deallocate(&self, ranges: &[(u64, u32)]) -> VectorEnd {
        let list: Vec<u8> = ranges
            .iter()
            .flat_map(|(first, blocks)| {
                [vec![0; 4], blocks.to_le_bytes().to_vec(), first.to_le_bytes().to_vec()].concat()
            })
            .collect();
        // Dwords 10 and 11 are the number of ranges, and AD.
        let dwords = (ranges.len() as u64 - 1) | 4 << 32;
        self.run(async move |driver| {
            let opcode = IoOpcode::DatasetManagement.raw();
            let (data, metadata) = (Moved::ToDrive(&list), Moved::Nothing);
            let vector = Vector { opcode, control: 0, addresses: &[dwords], data, metadata };
            driver.send_vector(QUEUE, vector).await.unwrap()
        })
    }
    /// Part of the chunk report, by bytes.
    fn report_bytes(&self, offset: u64, bytes: usize) -> Vec<u8> {
        self.run(async move |driver| {
            let mut into = vec![0xee; bytes];
            let dwords = bytes as u32 / 4 - 1;
            let dword10 = u32::from(CHUNK_REPORT) | (dwords & 0xffff) << 16;
            let of = [dword10, dwords >> 16, offset as u32, (offset >> 32) as u32, 0, 0];
            driver.vendor_admin(AdminOpcode::GetLogPage.raw(), of, &mut into).await.unwrap();
            into
        })
    }
    fn report(&self) -> Vec<ChunkDescriptor> {
        descriptors(&self.report_bytes(0, self.shape.all_chunks() as usize * DESCRIPTOR_BYTES))
    }
    /// State and written blocks of the chunk with this first block.
    fn chunk(&self, first: u64) -> (ChunkFlags, u64) {
        let place = self.shape.decode(first).expect("the drive has the chunk");
        let found = self.report()[self.shape.index_of(place) as usize];
        assert_eq!(found.first.get(), first);
        (found.state().expect("one state"), found.written.get())
    }
    fn geometry20(&self) -> Geometry20 {
        let bytes = self.run(async |driver| {
            let mut into = vec![0; 4096];
            driver.vendor_admin(admin::IDENTITY, [0; 6], &mut into).await.unwrap();
            into
        });
        Geometry20::read_from_bytes(&bytes).unwrap()
    }
    fn end(self) -> Media {
        self.machine.cut_power()
    }
    /// The first blocks of chunks that are free, one of each parallel unit, after `skip` others.
    fn free_chunks(&self, skip: usize) -> Vec<u64> {
        let report = self.report();
        let free = |unit: &[ChunkDescriptor]| {
            let free = unit.iter().filter(|chunk| chunk.state() == Some(ChunkFlags::Free)).nth(skip);
            free.expect("some chunk is free").first.get()
        };
        report.chunks(self.shape.chunks() as usize).map(free).collect()
    }
    /// Where a chunk's block of a plane is in the array.
    fn array(&self, first: u64, plane: u8) -> (LunIndex, BlockAddr) {
        let Place { channel, lun, block, .. } = self.shape.decode(first).unwrap();
        let lun = self.geometry.lun_index(LunAddr { channel, way: lun as u8, lun: 0 });
        (lun, BlockAddr(block * 2 + u32::from(plane)))
    }
    fn totals(&self) -> (u64, u64) {
        let totals = self.machine.device().nand().totals_of_drive();
        (totals.programs, totals.erases)
    }
}

fn descriptors(bytes: &[u8]) -> Vec<ChunkDescriptor> {
    bytes.chunks(DESCRIPTOR_BYTES).map(|one| ChunkDescriptor::read_from_bytes(one).unwrap()).collect()
}
fn blocks(first: u64, range: std::ops::Range<u64>) -> Vec<u64> {
    range.map(|n| first + n).collect()
}

#[test]
fn geometry_and_report_tell_the_array() {
    let profile = drive(|p| p.package.factory_bad_per_mille = 60);
    let host = Host::power_on(&profile, Media::fresh());
    let geometry = host.geometry20();
    assert_eq!((geometry.major, geometry.minor, geometry.capabilities.get()), (VERSION, 0, 1));
    assert_eq!(geometry.format, host.shape.format());
    assert_eq!((geometry.groups.get(), geometry.units.get()), (2, 2));
    assert_eq!([geometry.chunks, geometry.chunk_blocks].map(|field| field.get()), [8, 64]);
    let write = [geometry.write_min, geometry.write_opt, geometry.cached_blocks];
    assert_eq!(write.map(|field| field.get()), [4, 8, 0]);
    assert_eq!([geometry.open_max, geometry.open_per_unit_max].map(|field| field.get()), [0, 0]);
    assert_eq!((geometry.read_typical.get(), geometry.write_typical.get()), (58_000, 481_000));
    assert_eq!(geometry.write_max.get(), 2_295_000 + 13_000, "the slower page type, and its deviations");
    assert_eq!((geometry.reset_typical.get(), geometry.reset_max.get()), (5_000_000, 5_013_000));

    // Chunks are in the order of units and groups, and those with a bad block in either plane are offline.
    let report = host.report();
    let nand = host.machine.device().nand();
    let (mut offline, mut at) = (0, report.iter());
    for group in 0..2 {
        for unit in 0..2 {
            let lun = host.geometry.lun_index(LunAddr { channel: group, way: unit as u8, lun: 0 });
            let bad: Vec<u32> = nand.bad_blocks(lun).iter().map(|(block, _)| block.0).collect();
            for chunk in 0..8 {
                let found = at.next().unwrap();
                assert_eq!(found.first.get(), u64::from(group) << 10 | unit << 9 | chunk << 6);
                assert_eq!((found.kind, found.wear, found.blocks.get(), found.written.get()), (1, 0, 64, 0));
                let is_bad = bad.iter().any(|block| u64::from(block / 2) == chunk);
                let state = if is_bad { ChunkFlags::Offline } else { ChunkFlags::Free };
                assert_eq!(found.state(), Some(state), "group {group} unit {unit} chunk {chunk}");
                offline += u32::from(is_bad);
            }
        }
    }
    assert!(offline > 0 && at.next().is_none());

    // Any part of it is the same. A part that reaches behind the end ends there.
    let whole = host.report_bytes(0, 32 * DESCRIPTOR_BYTES);
    assert_eq!(host.report_bytes(36, 400), whole[36..436]);
    assert_eq!(host.report_bytes(32 * 32 - 8, 64)[..8], whole[32 * 32 - 8..]);
    let page = host.run(async |driver| {
        let mut page = vec![0; 4096];
        driver.vendor_admin(AdminOpcode::Identify.raw(), [0; 6], &mut page).await.unwrap();
        page
    });
    let namespace = IdentifyNamespace::view(&page).unwrap();
    assert_eq!((namespace.nsze.get(), namespace.nsfeat & 4, namespace.vendor[0]), (1 << 11, 4, 1));
}

#[test]
fn a_chunk_is_written_to_its_end_and_reset() {
    let host = Host::power_on(&drive(|_| {}), Media::fresh());
    let [first, other] = [0, 1].map(|unit| host.free_chunks(0)[unit]);
    assert_eq!(host.chunk(first), (ChunkFlags::Free, 0));
    // The least write is a page of one plane, and one vector may name chunks of several units.
    assert_eq!(host.write(&[blocks(first, 0..4), blocks(other, 0..12)].concat(), 1), DONE);
    assert_eq!((host.chunk(first), host.chunk(other)), ((ChunkFlags::Open, 4), (ChunkFlags::Open, 12)));
    assert_eq!(host.write(&blocks(first, 4..64), 1), DONE);
    assert_eq!(host.chunk(first), (ChunkFlags::Closed, 64));
    host.must_hold(&blocks(first, 0..64), 1);
    let before = host.report();
    let (ended, told) = host.reset(&[other, first]);
    assert_eq!(ended, DONE);
    let report = host.report();
    let of = |first| report[host.shape.index_of(host.shape.decode(first).unwrap()) as usize];
    assert_eq!(told, [of(other), of(first)], "the metadata pointer got what the report says");
    assert_eq!((host.chunk(first), host.chunk(other)), ((ChunkFlags::Free, 0), (ChunkFlags::Free, 0)));
    let changed = before.iter().zip(&report).filter(|(before, after)| before != after).count();
    assert_eq!(changed, 2, "other chunks are as they were");
    assert_eq!(host.write(&blocks(first, 0..8), 2), DONE);
    host.must_hold(&blocks(first, 0..8), 2);
}

#[test]
fn what_is_illegal_is_refused_and_changes_nothing() {
    let host = Host::power_on(&drive(|p| p.package.factory_bad_per_mille = 60), Media::fresh());
    let (chunks, others) = (host.free_chunks(0), host.free_chunks(1));
    let is_offline = |chunk: &&ChunkDescriptor| chunk.state() == Some(ChunkFlags::Offline);
    let offline = host.report().iter().find(is_offline).expect("one in 16 is bad").first.get();
    let (first, full) = (chunks[0], chunks[1]);
    assert_eq!(host.write(&blocks(first, 0..8), 1), DONE);
    assert_eq!(host.write(&blocks(full, 0..64), 1), DONE);
    let before = (host.totals(), host.report());
    for (what, places) in [
        ("written already", blocks(first, 4..8)),
        ("a page ahead", blocks(first, 12..16)),
        ("part of a page", blocks(first, 8..11)),
        ("blocks in disorder", vec![first + 9, first + 8, first + 10, first + 11]),
        ("the same page twice", [blocks(first, 8..12), blocks(first, 8..12)].concat()),
        ("one good page and one ahead", [blocks(others[0], 0..4), blocks(first, 12..16)].concat()),
        ("a closed chunk", blocks(full, 0..4)),
        ("an offline chunk", blocks(offline, 0..4)),
    ] {
        assert_eq!(host.write(&places, 9), refused(status::OUT_OF_ORDER), "{what}");
    }
    assert_eq!(host.reset(&[first, others[0]]).0, refused(status::INVALID_RESET), "one is free");
    assert_eq!(host.reset(&[first, offline]).0, refused(status::OFFLINE));
    assert_eq!(host.read(&[first, offline + 3]).0, refused(status::OFFLINE));
    let outside = 1 << 11;
    assert_eq!(host.reset(&[outside]).0, refused(status::OUT_OF_RANGE));
    assert_eq!(host.read(&[first, outside]).0, refused(status::OUT_OF_RANGE));
    assert_eq!(host.write_as(IoOpcode::Write.raw(), &[outside], 9), refused(status::OUT_OF_RANGE));
    for (first, blocks) in [(full, 63), (full, 128), (full + 1, 64), (outside, 64)] {
        assert_eq!(host.deallocate(&[(first, blocks)]), refused(status::OUT_OF_RANGE), "{first:x}h");
    }
    let invalid = |opcode| host.write_as(opcode, &[first], 9).status;
    assert_eq!(invalid(IoOpcode::Compare.raw()), Status::INVALID_OPCODE.with_dnr(true));
    assert_eq!(invalid(io::WRITE_RAW), Status::INVALID_OPCODE.with_dnr(true));
    assert_eq!((host.totals(), host.report()), before, "nothing was programmed, erased or changed");
    assert_eq!(host.write(&blocks(first, 8..12), 1), DONE, "the chunk goes on where it was");
}

/// P29, MAXOC: a bound that the profile sets.
#[test]
fn no_more_chunks_are_open_than_the_drive_allows() {
    let profile = drive(|p| p.ftl.open_chunks_max = 3);
    let host = Host::power_on(&profile, Media::fresh());
    assert_eq!(host.geometry20().open_max.get(), 3);
    let [a, b, c, d] = [0, 1, 2, 3].map(|unit| host.free_chunks(0)[unit]);
    let refused = refused(status::OUT_OF_ORDER);
    let of_four = [a, b, c, d].map(|chunk| blocks(chunk, 0..4)).concat();
    assert_eq!(host.write(&of_four, 1), refused, "four in one vector");
    assert_eq!(host.write(&of_four[..12], 1), DONE);
    let before = (host.totals(), host.report());
    assert_eq!(host.write(&blocks(d, 0..4), 1), refused);
    assert_eq!(host.copy(&blocks(a, 0..4), &blocks(d, 0..4)), refused, "a copy writes");
    assert_eq!((host.totals(), host.report()), before);
    assert_eq!(host.write(&blocks(a, 4..8), 1), DONE, "what is open goes on");
    // A chunk that is full or free again makes room for another one, also after a loss of power.
    assert_eq!(host.write(&blocks(b, 4..64), 1), DONE);
    let host = Host::power_on(&profile, host.end());
    assert_eq!(host.write(&blocks(d, 0..4), 1), DONE);
    assert_eq!(host.reset(&[d]).0, DONE);
    let next = host.free_chunks(1)[0];
    assert_eq!(host.write(&[blocks(next, 0..4), blocks(a, 8..12)].concat(), 1), DONE);
    assert_eq!(host.write(&blocks(d, 0..4), 1), refused);
}

#[test]
fn reads_and_writes_of_nvme_and_deallocations_work_on_chunks() {
    // A page is a block, so that a command of one block is enough.
    let host = Host::power_on(&profile("pocket-ocssd-2", |p| p.target = None), Media::fresh());
    let (chunks, write) = (host.free_chunks(0), IoOpcode::Write.raw());
    for block in blocks(chunks[0], 0..3) {
        assert_eq!(host.write_as(write, &[block], 1), DONE);
    }
    assert_eq!(host.chunk(chunks[0]), (ChunkFlags::Open, 3));
    assert_eq!(host.write_as(write, &[chunks[0] + 4], 1), refused(status::OUT_OF_ORDER));
    let (ended, found) = host.read_as(IoOpcode::Read.raw(), &[chunks[0] + 1]);
    assert!(ended == DONE && found[0] == content(chunks[0] + 1, 1), "metadata too");
    host.must_hold(&blocks(chunks[0], 0..3), 1);
    // Several blocks, without metadata.
    let several: Vec<Sector> = blocks(chunks[0], 3..7).iter().map(|block| content(*block, 1)).collect();
    let data: Vec<u8> = several.iter().flat_map(|(data, _)| data.clone()).collect();
    let (first, sent) = (chunks[0] + 3, data.clone());
    let back = host.run(async move |driver| {
        driver.write(QUEUE, first, &sent, false).await.unwrap();
        let mut back = vec![0xee; sent.len()];
        driver.read(QUEUE, first, &mut back).await.unwrap();
        back
    });
    assert!(back == data);
    let (ended, found) = host.read(&blocks(chunks[0], 3..7));
    let expected = several.into_iter().map(|(data, _)| (data, vec![0; METADATA_BYTES]));
    assert!(ended == DONE && found.into_iter().eq(expected), "a vector finds them");
    assert_eq!(host.chunk(chunks[0]), (ChunkFlags::Open, 7));
    assert_eq!(host.write(&blocks(chunks[1], 0..16), 1), DONE);
    assert_eq!(host.deallocate(&[(chunks[1], 16), (chunks[0], 16)]), DONE);
    assert_eq!(
        (host.chunk(chunks[0]), host.chunk(chunks[1])),
        ((ChunkFlags::Free, 0), (ChunkFlags::Free, 0))
    );
    assert_eq!(host.deallocate(&[(chunks[1], 16)]), refused(status::INVALID_RESET));
}

/// DULBE decides what a read of blocks gets that nobody wrote.
#[test]
fn blocks_that_nobody_wrote_read_as_zeroes_or_not_at_all() {
    let host = Host::power_on(&drive(|_| {}), Media::fresh());
    let first = host.free_chunks(0)[0];
    assert_eq!(host.write(&blocks(first, 0..4), 1), DONE);
    let some = [first + 1, first + 4, first + 2, first + 63];
    let (ended, found) = host.read(&some);
    assert_eq!(ended, DONE);
    let zeroes = (vec![0; SECTOR], vec![0; METADATA_BYTES]);
    let expected = [content(some[0], 1), zeroes.clone(), content(some[2], 1), zeroes];
    assert!(found == expected);
    host.run(async |driver| {
        let dwords = [0x05, 1 << 16, 0, 0, 0, 0];
        driver.vendor_admin(AdminOpcode::SetFeatures.raw(), dwords, &mut []).await.unwrap();
    });
    let (ended, found) = host.read(&some);
    assert_eq!(ended, VectorEnd { status: status::UNWRITTEN, failed: 0b1010 });
    assert!(found[0] == expected[0] && found[2] == expected[2]);
    let (ended, _) = host.read_as(IoOpcode::Read.raw(), &some[1..2]);
    assert_eq!(ended, refused(status::UNWRITTEN), "a read of NVMe has no bits");
}

#[test]
fn states_and_write_pointers_outlast_a_loss_of_power() {
    let profile = drive(|_| {});
    let host = Host::power_on(&profile, Media::fresh());
    let chunks = host.free_chunks(0);
    assert_eq!(host.write(&blocks(chunks[0], 0..20), 1), DONE);
    assert_eq!(host.write(&blocks(chunks[1], 0..64), 1), DONE);
    assert_eq!(host.write(&blocks(chunks[2], 0..4), 1), DONE);
    assert_eq!(host.write(&blocks(chunks[3], 0..4), 1), DONE);
    assert_eq!(host.reset(&chunks[3..4]).0, DONE);
    let before = host.report();
    let host = Host::power_on(&profile, host.machine.cut_power());
    assert_eq!(host.report(), before);
    assert_eq!(host.chunk(chunks[0]), (ChunkFlags::Open, 20));
    assert_eq!(host.write(&blocks(chunks[0], 16..20), 1), refused(status::OUT_OF_ORDER));
    assert_eq!(host.write(&blocks(chunks[0], 20..24), 1), DONE);
    host.must_hold(&blocks(chunks[0], 0..24), 1);
}

/// A page that fails leaves its chunk open behind it; the second one closes it, and its reset takes it
/// offline.
#[test]
fn failed_writes_close_a_chunk_and_its_reset_takes_it_offline() {
    let profile = drive(|_| {});
    let host = Host::power_on(&profile, Media::fresh());
    let [first, other] = [0, 1].map(|unit| host.free_chunks(0)[unit]);
    let fail = |host: &Host, plane, page| {
        let (lun, block) = host.array(first, plane);
        host.machine.device().nand().fail_program(lun, block, PageInBlock(page));
    };
    fail(&host, 1, 0);
    let both = [blocks(other, 0..4), blocks(first, 0..12)].concat();
    assert_eq!(host.write(&both, 1), VectorEnd { status: status::WRITE_NEXT_UNIT, failed: 0xf00 });
    assert_eq!(host.chunk(first), (ChunkFlags::Open, 12));
    // That a page has failed is known after a loss of power.
    let host = Host::power_on(&profile, host.machine.cut_power());
    assert_eq!(host.chunk(first), (ChunkFlags::Open, 12));
    assert_eq!(
        host.write(&blocks(first, 12..20), 1),
        VectorEnd { status: status::CLOSED_EARLY, failed: 0x0f }
    );
    assert_eq!(host.chunk(first), (ChunkFlags::Closed, 20));
    assert_eq!(host.write(&blocks(first, 20..24), 1), refused(status::OUT_OF_ORDER));
    host.must_hold(&[blocks(first, 0..4), blocks(first, 8..12), blocks(first, 16..20)].concat(), 1);
    let host = Host::power_on(&profile, host.machine.cut_power());
    assert_eq!(host.chunk(first), (ChunkFlags::Closed, 20), "kept in NVRAM");
    host.must_hold(&blocks(first, 16..20), 1);
    let (ended, told) = host.reset(&[other, first]);
    assert_eq!(ended, VectorEnd { status: status::OFFLINE, failed: 0b10 });
    assert_eq!([told[0].state(), told[1].state()], [Some(ChunkFlags::Free), Some(ChunkFlags::Offline)]);
    let host = Host::power_on(&profile, host.machine.cut_power());
    assert_eq!(host.chunk(first), (ChunkFlags::Offline, 0));
    assert_eq!(host.reset(&[first]).0, refused(status::OFFLINE));
}

#[test]
fn a_reset_that_fails_takes_its_chunk_offline() {
    let profile = drive(|_| {});
    let host = Host::power_on(&profile, Media::fresh());
    let [first, other] = [0, 1].map(|unit| host.free_chunks(0)[unit]);
    assert_eq!(host.write(&[blocks(first, 0..8), blocks(other, 0..8)].concat(), 1), DONE);
    let (lun, block) = host.array(first, 1);
    host.machine.device().nand().fail_erase(lun, block);
    assert_eq!(host.reset(&[first, other]).0, VectorEnd { status: status::OFFLINE, failed: 0b01 });
    assert_eq!((host.chunk(first), host.chunk(other)), ((ChunkFlags::Offline, 0), (ChunkFlags::Free, 0)));
}
