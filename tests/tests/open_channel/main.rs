//! An open-channel drive: a command set that isn't NVM, over a translation without a map. The host
//! addresses pages of flash directly, in vectors, and writes metadata with each.

mod direct;
mod set;
mod shape;

use aster_device::plug::{BlockState, Status};
use aster_device::{Media, NVRAM_BYTES, Pieces, Profile};
use aster_driver::{Config, Driver, Moved, QueueId, Vector, VectorEnd};
use aster_events::Recorder;
use aster_ports::medium::Nvram;
use aster_run_virtual::{Machine, VirtualBar};
use aster_tests::{big_loop, config, profile};
use aster_units::{Content, Geometry, LunIndex};
use aster_wire::nvme::admin::{GetLogPage, SecureErase};
use aster_wire::nvme::identify::Cns;
use direct::Direct;
use set::{
    CHUNK_BYTES, CHUNKS, COPY, ERASE, GET_STATES, IDENTITY, METADATA_BYTES, OpenChannel, READ, SET_STATES,
    TABLE_HEADER_BYTES, VENDOR_SPECIFIC, WRITE, code_of,
};
use shape::Shape;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

const QUEUE: QueueId = QueueId(1);
const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;

fn geometry(profile: &Profile) -> Geometry {
    let g = &profile.geometry;
    Geometry {
        channels: g.channels,
        ways: g.ways,
        luns: g.luns,
        planes: g.planes,
        blocks_per_lun: g.blocks_per_lun,
        pages_per_block: g.pages_per_block,
        page_bytes: g.page_bytes,
        spare_bytes: g.spare_bytes,
    }
}

fn pieces() -> Pieces {
    Pieces::default()
        .command_set("open-channel", |profile| {
            Ok(Box::new(OpenChannel(Shape { geometry: geometry(profile) })))
        })
        .translation("direct", |_, facts| {
            Ok(Box::new(Direct { shape: Shape { geometry: facts.geometry }, restriction: facts.restriction }))
        })
}

/// `tiny` as an open-channel drive.
fn open_channel(change: impl FnOnce(&mut Profile)) -> Profile {
    profile("tiny", |p| {
        p.geometry.blocks_per_lun = 8;
        p.ftl.kind = "direct".to_owned();
        p.board.nvram_kept = true;
        p.host.command_set = "open-channel".to_owned();
        p.host.block_bytes = 4096;
        p.host.transfer_bytes_max = 1 << 20;
        change(p);
    })
}

/// A page's data and its metadata.
type Read = (Vec<u8>, Vec<u8>);

struct Host {
    machine: Machine,
    shape: Shape,
}

impl Host {
    fn power_on(profile: &Profile, media: Media) -> Self {
        let config = Config { depth: 4, transfer_bytes_max: 1 << 20, ..config(profile) };
        let (content, recorder) = (Some(Content::Full), Recorder::default());
        let machine = Machine::power_on_with(pieces(), "test", profile, content, media, &recorder, config)
            .unwrap_or_else(|e| panic!("power-on: {e}"));
        machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
        Host { machine, shape: Shape { geometry: geometry(profile) } }
    }
    fn page_bytes(&self) -> usize {
        self.shape.geometry.page_bytes as usize
    }
    fn run<T: 'static>(&self, work: impl AsyncFnOnce(Rc<Driver<VirtualBar>>) -> T + 'static) -> T {
        let driver = Rc::clone(self.machine.driver());
        self.machine
            .block_on("a command", async move { work(driver).await })
            .unwrap_or_else(|e| panic!("{e}"))
    }
    /// Pages with the bytes of [`content`].
    fn write(&self, pages: &[u64], version: u8) -> VectorEnd {
        let (pages, page_bytes) = (pages.to_vec(), self.page_bytes());
        self.run(async move |driver| {
            let data: Vec<u8> = pages.iter().flat_map(|&p| content(p, version, page_bytes)).collect();
            let beside: Vec<u8> =
                pages.iter().flat_map(|&p| content(p, !version, METADATA_BYTES as usize)).collect();
            let (data, beside) = (Moved::ToDrive(&data), Moved::ToDrive(&beside));
            driver.send_vector(QUEUE, vector(WRITE, &pages, data, beside)).await.unwrap()
        })
    }
    /// What pages hold, each with its metadata.
    fn read(&self, pages: &[u64]) -> (VectorEnd, Vec<Read>) {
        let (pages, page_bytes) = (pages.to_vec(), self.page_bytes());
        self.run(async move |driver| {
            let (mut data, mut beside) =
                (vec![0xee; pages.len() * page_bytes], vec![0xee; pages.len() * METADATA_BYTES as usize]);
            let (to_data, to_beside) = (Moved::FromDrive(&mut data), Moved::FromDrive(&mut beside));
            let ended = driver.send_vector(QUEUE, vector(READ, &pages, to_data, to_beside)).await.unwrap();
            let both = data.chunks(page_bytes).zip(beside.chunks(METADATA_BYTES as usize));
            (ended, both.map(|(data, beside)| (data.to_vec(), beside.to_vec())).collect())
        })
    }
    fn erase(&self, blocks: &[u64]) -> VectorEnd {
        let blocks = blocks.to_vec();
        self.run(async move |driver| {
            driver.send_vector(QUEUE, vector(ERASE, &blocks, Moved::Nothing, Moved::Nothing)).await.unwrap()
        })
    }
    /// Copies pages within the drive: sources, then destinations.
    fn copy(&self, pages: &[u64]) -> VectorEnd {
        let pages = pages.to_vec();
        self.run(async move |driver| {
            driver.send_vector(QUEUE, vector(COPY, &pages, Moved::Nothing, Moved::Nothing)).await.unwrap()
        })
    }
    fn admin(&self, opcode: u8, dwords: [u32; 6], bytes: usize) -> Result<Vec<u8>, Status> {
        self.run(async move |driver| {
            let mut into = vec![0; bytes];
            match driver.vendor_admin(opcode, dwords, &mut into).await {
                Ok(_) => Ok(into),
                Err(aster_driver::DriverError::Command { status, .. }) => Err(status),
                Err(error) => panic!("{error}"),
            }
        })
    }
    /// A LUN's bad-block table: its counts and its states.
    fn states(&self, lun: u32) -> (Vec<u32>, Vec<u8>) {
        let at = self.shape.address(LunIndex(lun), 0, 0);
        let blocks = self.shape.geometry.blocks_per_lun as usize;
        let dwords = [at as u32, (at >> 32) as u32, 0, 0, 0, 0];
        let table = self.admin(GET_STATES, dwords, TABLE_HEADER_BYTES + blocks).unwrap();
        assert_eq!(&table[..4], b"BBLT");
        let (counts, _) = table[12..32].as_chunks::<4>();
        (counts.iter().map(|c| u32::from_le_bytes(*c)).collect(), table[TABLE_HEADER_BYTES..].to_vec())
    }
    fn set_state(&self, address: u64, code: u8) -> Result<(), Status> {
        let dwords = [address as u32, (address >> 32) as u32, u32::from(code) << 16, 0, 0, 0];
        self.admin(SET_STATES, dwords, 0).map(|_| ())
    }
    /// The first good block of each LUN after skipping `skip`.
    fn good_blocks(&self, skip: usize) -> Vec<(LunIndex, u32)> {
        let of = |lun: u32| {
            let (_, states) = self.states(lun);
            let good = states.iter().enumerate().filter(|(_, state)| **state == 0).nth(skip);
            (LunIndex(lun), good.expect("some block is good").0 as u32)
        };
        (0..self.shape.geometry.total_luns()).map(of).collect()
    }
    /// Pages `pages` of these blocks, one block after the other for each page: so neighbours lie on different
    /// LUNs.
    fn stripe(&self, blocks: &[(LunIndex, u32)], pages: std::ops::Range<u16>) -> Vec<u64> {
        pages
            .flat_map(|page| blocks.iter().map(move |&(lun, block)| (lun, block, page)))
            .map(|(lun, block, page)| self.shape.address(lun, block, page))
            .collect()
    }
    fn must_hold(&self, pages: &[u64], version: u8) {
        let (ended, found) = self.read(pages);
        assert_eq!(ended, VectorEnd { status: Status::SUCCESS, failed: 0 });
        for (&page, (data, beside)) in pages.iter().zip(found) {
            assert!(data == content(page, version, data.len()), "data of {page:x}h");
            assert!(beside == content(page, !version, beside.len()), "metadata of {page:x}h");
        }
    }
}

fn vector<'a>(opcode: u8, addresses: &'a [u64], data: Moved<'a>, metadata: Moved<'a>) -> Vector<'a> {
    Vector { opcode, control: 0, addresses, data, metadata }
}

/// Bytes that no other page or version has.
fn content(page: u64, version: u8, bytes: usize) -> Vec<u8> {
    let of = |n: u64| aster_units::mix64(page << 8 | u64::from(version) ^ n << 40).to_le_bytes();
    (0..).flat_map(of).take(bytes).collect()
}
const DONE: VectorEnd = VectorEnd { status: Status::SUCCESS, failed: 0 };

#[test]
fn pages_are_written_read_and_erased_by_their_place_under_each_scheduler() {
    for arrange in [(|_: &mut Profile| {}) as fn(&mut Profile), big_loop] {
        let profile = open_channel(|p| {
            p.geometry.luns = 1;
            arrange(p);
        });
        let host = Host::power_on(&profile, Media::fresh());
        let blocks = [host.good_blocks(0), host.good_blocks(1)].concat();
        // 64 pages in one command, eight of each block; and a single one, whose address is in the command.
        let pages = host.stripe(&blocks, 0..8);
        assert_eq!(pages.len(), 64);
        assert_eq!(host.write(&pages, 1), DONE);
        let next = host.stripe(&blocks[3..4], 8..9);
        assert_eq!(host.write(&next, 2), DONE);
        let mut scattered = pages.clone();
        scattered.reverse();
        scattered.rotate_left(11);
        host.must_hold(&scattered, 1);
        host.must_hold(&next, 2);
        let counts = host.machine.device().stats().nand;
        assert_eq!((counts.programs, counts.erases), (65, 0), "each page is programmed where the host said");

        // Some pages of a vector were never written. Their bits are set, and the other pages are returned
        // nevertheless.
        let mut mixed = pages[..4].to_vec();
        mixed[1] = host.stripe(&blocks[5..6], 12..13)[0];
        mixed[2] = host.stripe(&blocks[6..7], 8..9)[0];
        let (ended, found) = host.read(&mixed);
        assert!(ended.status.is(Status::UNRECOVERED_READ_ERROR), "{ended:?}");
        assert_eq!(ended.failed, 0b0110);
        assert!(found[0].0 == content(mixed[0], 1, host.page_bytes()));
        assert!(found[3].1 == content(mixed[3], !1, METADATA_BYTES as usize));

        // An erased block starts again at its first page.
        assert_eq!(host.erase(&[pages[0], pages[1]]), DONE);
        assert_eq!(host.read(&pages[..3]).0.failed, 0b011);
        assert_eq!(host.write(&pages[..2], 3), DONE);
        host.must_hold(&pages[..2], 3);
        host.must_hold(&pages[2..8], 1);
    }
}

#[test]
fn a_copy_moves_pages_and_what_is_beside_them_inside_of_the_drive() {
    let host = Host::power_on(&open_channel(|_| {}), Media::fresh());
    let (from, to) = (host.good_blocks(0), host.good_blocks(1));
    let (from, to) = (host.stripe(&from, 0..2), host.stripe(&to, 0..2));
    assert_eq!(host.write(&from, 1), DONE);
    let moved = |host: &Host| host.machine.device().stats().link.to_host;
    let before = moved(&host);
    assert_eq!(host.copy(&[from.clone(), to.clone()].concat()), DONE);
    assert!(moved(&host) - before < host.page_bytes() as u64, "no data on the link");
    let (_, originals) = host.read(&from);
    let (ended, copies) = host.read(&to);
    assert!(ended == DONE && copies == originals);
    host.must_hold(&from, 1);

    // A page that can't be copied has its bit set, and nothing is programmed then.
    let next = host.stripe(&host.good_blocks(1), 2..3);
    let programs = host.machine.device().stats().nand.programs;
    let unwritten = host.stripe(&host.good_blocks(2), 0..1)[0];
    let ended = host.copy(&[from[0], unwritten, next[0], next[1]]);
    assert!(ended.status.is(Status::UNRECOVERED_READ_ERROR) && ended.failed == 0b10, "{ended:?}");
    let ended = host.copy(&[from[0], to[0]]);
    assert!(ended.status.is(Status::INVALID_FIELD), "it is written already: {ended:?}");
    let ended = host.copy(&[from[0], next[0], next[1]]);
    assert!(ended.status.is(Status::INVALID_FIELD), "they don't pair up: {ended:?}");
    assert_eq!(host.machine.device().stats().nand.programs, programs);
}

#[test]
fn no_vector_reaches_a_drive_that_is_being_formatted() {
    let host = Host::power_on(&open_channel(|_| {}), Media::fresh());
    let pages = host.stripe(&host.good_blocks(0), 0..2);
    assert_eq!(host.write(&pages, 1), DONE);
    let erase = vec![pages[0]];
    let (formatted, vector) = host.run(async move |driver| {
        let mut format = pin!(driver.format(0, SecureErase::None));
        let vector = async {
            // By then the format has reached the translation.
            driver.identify(Cns::Controller, 0, &mut [0; 4096]).await.unwrap();
            driver.send_vector(QUEUE, vector(ERASE, &erase, Moved::Nothing, Moved::Nothing)).await.unwrap()
        };
        let mut vector = pin!(vector);
        let (mut formatted, mut ended) = (None, None);
        poll_fn(|context| {
            if formatted.is_none()
                && let Poll::Ready(result) = format.as_mut().poll(context)
            {
                formatted = Some(result);
            }
            if ended.is_none()
                && let Poll::Ready(result) = vector.as_mut().poll(context)
            {
                ended = Some(result);
            }
            if formatted.is_some() && ended.is_some() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        (formatted.unwrap(), ended.unwrap())
    });
    formatted.unwrap();
    assert!(vector.status.is(Status::FORMAT_IN_PROGRESS), "{vector:?}");
    assert_eq!(host.read(&pages).0.failed, 0xffff, "all is erased");
}

#[test]
fn a_set_over_a_translation_without_its_operations_is_refused_by_both_names() {
    let refusal = |profile: &Profile| {
        let (key, reason) = aster_device::check_with(&pieces(), profile, None).expect_err("no drive").blame();
        assert_eq!(key, "host.command_set");
        reason
    };
    let reason =
        refusal(&open_channel(|p| (p.ftl.kind, p.geometry.blocks_per_lun) = ("page-mapping".to_owned(), 24)));
    assert!(
        reason.contains("\"open-channel\"")
            && reason.contains("needs vectors, copies of vectors, reports, states"),
        "{reason}"
    );
    assert!(reason.contains("ftl.kind = \"page-mapping\" doesn't have"), "{reason}");
    let reason = refusal(&open_channel(|p| p.host.command_set = "nvm".to_owned()));
    assert!(reason.contains("\"nvm\"") && reason.contains("needs reads and writes of blocks"), "{reason}");
    assert!(reason.contains("ftl.kind = \"direct\" doesn't have"), "{reason}");
}

#[test]
fn damage_in_nvram_is_judged_by_the_translation_that_wrote_there() {
    let nvram = Nvram::volatile(NVRAM_BYTES);
    nvram.write(0, &[1, 0, 3, 8]);
    let records = |profile: &Profile| {
        let found = aster_device::damaged_records(&pieces(), profile, Some(Content::Full), &nvram).unwrap();
        found.into_iter().map(|record| (record.at, record.what)).collect::<Vec<_>>()
    };
    assert_eq!(records(&open_channel(|_| {})), [(2, "the state of a block")]);
    assert_eq!(records(&profile("tiny", |_| {})), [(0, "copy 1 of 2 of the root record")]);
    nvram.write(NVRAM_BYTES - 1, &[1]);
    let life = (NVRAM_BYTES - 128, "the record of the drive's life");
    assert_eq!(records(&open_channel(|_| {})), [(2, "the state of a block"), life]);
}

#[test]
fn a_vector_that_cannot_be_gets_a_status_and_changes_nothing() {
    let host = Host::power_on(&open_channel(|_| {}), Media::fresh());
    let blocks = host.good_blocks(0);
    let pages = host.stripe(&blocks, 0..4);
    assert_eq!(host.write(&pages, 1), DONE);
    let before = host.machine.device().stats().nand;
    let beyond = 1 << 40;
    let page = |lun: usize, page| host.stripe(&blocks[lun..lun + 1], page..page + 1)[0];
    let bad = host.shape.address(blocks[2].0, blocks[2].1, 0);
    let spare = host.good_blocks(1)[2];
    let spare = host.shape.address(spare.0, spare.1, 0);
    host.set_state(spare, code_of(BlockState::GrownBad)).unwrap();

    let refused = |what: &str, ended: VectorEnd, status: Status| {
        assert!(ended.status.is(status) && ended.failed == 0, "{what}: {ended:?}");
    };
    let (range, field) = (Status::LBA_OUT_OF_RANGE, Status::INVALID_FIELD);
    refused("no such page", host.write(&[page(0, 4), beyond], 2), range);
    refused("one page twice", host.write(&[page(0, 4), page(0, 4)], 2), range);
    refused("a gap", host.write(&[page(0, 4), page(1, 5)], 2), field);
    refused("out of order", host.write(&[page(0, 5), page(0, 4)], 2), field);
    refused("written already", host.write(&[page(0, 4), page(1, 3)], 2), field);
    refused("a bad block", host.write(&[page(0, 4), spare], 2), field);
    refused("a bad block", host.erase(&[page(0, 0), spare]), field);
    refused("no such block", host.erase(&[beyond, page(0, 0)]), range);
    assert!(host.set_state(bad, 3).unwrap_err().is(field), "no such state");
    let after = host.machine.device().stats().nand;
    assert_eq!((before.programs, before.erases), (after.programs, after.erases));
    host.must_hold(&pages, 1);
    assert_eq!(host.write(&[page(0, 4), page(0, 5)], 2), DONE, "where its host left off");
}

#[test]
fn what_a_host_must_know_of_the_drive_it_is_told_and_states_outlast_the_power() {
    let profile = open_channel(|p| p.package.factory_bad_per_mille = 200);
    let host = Host::power_on(&profile, Media::fresh());
    let g = host.shape.geometry;
    let identity = host.admin(IDENTITY, [0; 6], 4096).unwrap();
    let number = |at: usize| u32::from(u16::from_le_bytes([identity[at], identity[at + 1]]));
    assert_eq!((identity[0], identity[2]), (1, 1), "version 1, one group");
    assert_eq!(
        (u32::from(identity[260]), u32::from(identity[261])),
        (g.channels.into(), g.luns_per_channel())
    );
    assert_eq!((number(264), number(266)), (g.blocks_per_lun, g.pages_per_block.into()));
    assert_eq!((number(270), number(272)), (g.page_bytes, METADATA_BYTES));
    // The reported address format matches ours.
    let field = |at: usize, value: u32| {
        assert!(value < 1 << identity[at + 1], "a field of {} bits", identity[at + 1]);
        u64::from(value) << identity[at]
    };
    let named = field(12, 1) | field(14, 3) | field(18, 5) | field(20, 7);
    let at = aster_units::LunAddr { channel: 1, way: 1, lun: 1 };
    assert_eq!(named, host.shape.address(g.lun_index(at), 5, 7));
    let namespace = host.admin(IDENTIFY, [Cns::Namespace.raw().into(), 0, 0, 0, 0, 0], 4096).unwrap();
    assert_eq!(namespace[VENDOR_SPECIFIC], 1);

    // The factory bad blocks, and those that the host adds.
    let states = |host: &Host| (0..g.total_luns()).map(|lun| host.states(lun)).collect::<Vec<_>>();
    let fresh = states(&host);
    let bad: u32 = fresh.iter().map(|(counts, _)| counts[1]).sum();
    assert!(bad > 0 && bad < 32, "{bad} blocks are bad at 200 in a thousand of 64");
    assert!(fresh.iter().all(|(counts, states)| counts[0] == 8
        && counts[1] as usize == states.iter().filter(|s| **s == code_of(BlockState::FactoryBad)).count()));
    let blocks = host.good_blocks(1);
    let page = host.stripe(&blocks, 0..2);
    assert_eq!(host.write(&page, 9), DONE);
    host.set_state(host.shape.address(blocks[0].0, blocks[0].1, 0), code_of(BlockState::GrownBad)).unwrap();
    host.set_state(host.shape.address(blocks[1].0, blocks[1].1, 0), code_of(BlockState::Host)).unwrap();

    let chunk = |host: &Host, (lun, block): (LunIndex, u32)| {
        let offset = (lun.0 * g.blocks_per_lun + block) * CHUNK_BYTES as u32;
        let log = GetLogPage::new(CHUNKS, CHUNK_BYTES as u64 / 4);
        let bytes = host
            .admin(GET_LOG_PAGE, [log.control.0, log.control_upper.0, offset, 0, 0, 0], CHUNK_BYTES)
            .unwrap();
        (bytes[0], u64::from_le_bytes(bytes[24..].try_into().unwrap()))
    };
    let look = |host: &Host| {
        assert_eq!(chunk(host, blocks[0]), (8, 2), "offline");
        assert_eq!(chunk(host, blocks[2]), (4, 2), "open, two pages written");
        let good = host.good_blocks(2)[4];
        assert_eq!(chunk(host, good), (1, 0), "free");
        states(host)
    };
    let changed = look(&host);
    assert_eq!(changed[0].0[2..], [1, 0, 0], "one block has gone bad");
    assert_eq!(changed[1].0[2..], [0, 0, 1], "one is set aside");
    let beyond = GetLogPage::new(CHUNKS, 1 << 12);
    let beyond = [beyond.control.0, beyond.control_upper.0, 0, 0, 0, 0];
    assert!(host.admin(GET_LOG_PAGE, beyond, 0).unwrap_err().is(Status::INVALID_FIELD));

    // After a loss of power the states, the write pointers and the data are as before.
    let host = Host::power_on(&profile, host.machine.cut_power());
    assert_eq!(look(&host), changed);
    host.must_hold(&page[..4], 9);
    assert_eq!(host.write(&host.stripe(&blocks[3..4], 2..3), 1), DONE);
}
