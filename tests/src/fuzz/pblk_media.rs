//! What pblk finds on the media: lines that it has written, with other bytes in heads, tails, data and
//! metadata.

use super::input::Input;
use crate::{config, drive, profile};
use aster_codec::checksum::crc32c;
use aster_device::profile::TargetProfile;
use aster_device::{Media, Profile};
use aster_driver::{Config, Driver, DriverError, Moved, QueueId, Vector};
use aster_events::Recorder;
use aster_run_virtual::{Machine, VirtualBar};
use aster_units::Content;
use aster_wire::nvme::Status;
use aster_wire::ocssd::{ADDRESSES_MAX, AddressFormat, Place, io};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
const SECTOR: usize = 4096;
const METADATA: usize = aster_wire::ocssd::METADATA_BYTES as usize;
/// Where a head or tail has its checksum, and what it covers.
const CHECKSUM: std::ops::Range<usize> = 8..12;

/// A page of one sector: its data, and its metadata.
type Page = (Vec<u8>, [u8; METADATA]);
/// The pages of the blocks that are written, in their order.
type Pages = BTreeMap<Place, Vec<Page>>;

/// Four LUNs, lines of 64 sectors; nothing is bad, so that every line has its pages.
fn small(target: Option<&str>) -> Profile {
    profile("pocket-ocssd", |p| {
        p.target = target.map(|kind| TargetProfile { kind: kind.to_owned(), ..TargetProfile::default() });
        p.geometry.blocks_per_lun = 32;
        p.ftl.over_provisioning_percent = 60.0;
        p.package.factory_bad_per_mille = 0;
    })
}
fn power_on(profile: &Profile, media: Media, config: Config) -> Machine {
    Machine::power_on("fuzz", profile, Some(Content::Full), media, &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("power-on: {e}"))
}
/// Under pblk, which has not booted yet.
fn under_pblk(media: Media) -> Machine {
    let profile = small(Some("pblk"));
    power_on(&profile, media, Config { depth: 16, ..config(&profile) })
}
/// The drive itself, whose sectors are read and written as the host likes.
fn bare(media: Media) -> (Machine, AddressFormat) {
    let profile = small(None);
    let config = Config { depth: 16, transfer_bytes_max: 256 << 10, ..config(&profile) };
    let machine = power_on(&profile, media, config);
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    (machine, AddressFormat::of_geometry(&profile.used_geometry()))
}
/// The first byte of each sector, all of whose bytes must be the same.
fn everything(machine: &Machine) -> Vec<u8> {
    let (driver, sectors) = (Rc::clone(machine.driver()), drive(machine).bytes / SECTOR as u64);
    let read = async move {
        let mut all = Vec::new();
        for sector in 0..sectors {
            let mut bytes = vec![0; SECTOR];
            driver.read(QUEUE, sector, &mut bytes).await.unwrap_or_else(|e| panic!("{e}"));
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "sector {sector} is torn");
            all.push(bytes[0]);
        }
        all
    };
    machine.block_on("reading", read).unwrap_or_else(|e| panic!("{e}"))
}
/// Writes a byte to all of each sector of these, and flushes. Returns `false` if the drive takes no more.
fn write(machine: &Machine, sectors: Vec<(u64, u8)>) -> bool {
    let driver = Rc::clone(machine.driver());
    let write = async move {
        for (sector, byte) in sectors {
            driver.write(QUEUE, sector, &[byte; SECTOR], false).await?;
        }
        driver.flush(QUEUE).await
    };
    match machine.block_on("writing", write).unwrap_or_else(|e| panic!("{e}")) {
        Ok(()) => true,
        Err(DriverError::Command { status, .. }) if status.is(Status::WRITE_TO_READ_ONLY_RANGE) => false,
        Err(error) => panic!("{error}"),
    }
}

/// A vector of sectors of a block. Returns the sectors that could be moved.
async fn vector(driver: &Driver<VirtualBar>, addresses: &[u64], pages: &mut [Page], writes: bool) -> bool {
    let mut data: Vec<u8> = pages.iter().flat_map(|(data, _)| data.clone()).collect();
    let mut metadata: Vec<u8> = pages.iter().flat_map(|(_, metadata)| *metadata).collect();
    let opcode = if writes { io::WRITE } else { io::READ };
    let (moved, beside) = match writes {
        true => (Moved::ToDrive(&data), Moved::ToDrive(&metadata)),
        false => (Moved::FromDrive(&mut data), Moved::FromDrive(&mut metadata)),
    };
    let vector = Vector { opcode, control: 0, addresses, data: moved, metadata: beside };
    let ended = driver.send_vector(QUEUE, vector).await.unwrap_or_else(|e| panic!("{e}"));
    for ((to, beside), n) in pages.iter_mut().zip(0..) {
        to.copy_from_slice(&data[n * SECTOR..][..SECTOR]);
        beside.copy_from_slice(&metadata[n * METADATA..][..METADATA]);
    }
    ended.status.is_success()
}

/// What pblk has written: the pages, and the bytes that the host reads of them.
struct Written {
    pages: Pages,
    bytes: Vec<u8>,
}

fn written() -> Written {
    let machine = under_pblk(Media::fresh());
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    let sectors = drive(&machine).bytes / SECTOR as u64;
    // Each sector about twice, in no order.
    let all = write(&machine, (0..2 * sectors).map(|n| (n * 7919 % sectors, n as u8)).collect());
    assert!(all, "the drive is sound");
    let bytes = everything(&machine);
    let (machine, format) = bare(machine.shut_down().unwrap_or_else(|e| panic!("{e}")));
    let pages = Rc::new(RefCell::new(Pages::new()));
    let (into, geometry) = (Rc::clone(&pages), *machine.device().geometry());
    let driver = Rc::clone(machine.driver());
    let read = async move {
        for block in blocks(&geometry) {
            for page in 0..geometry.pages_per_block {
                let mut one = [(vec![0; SECTOR], [0; METADATA])];
                if !vector(&driver, &[format.encode(Place { page, ..block })], &mut one, false).await {
                    break;
                }
                let [one] = one;
                into.borrow_mut().entry(block).or_default().push(one);
            }
        }
    };
    machine.block_on("reading", read).unwrap_or_else(|e| panic!("{e}"));
    let pages = pages.take();
    assert!(pages.values().map(Vec::len).sum::<usize>() > 600, "most lines are written");
    Written { pages, bytes }
}
/// All blocks, each in its plane.
fn blocks(g: &aster_units::Geometry) -> impl Iterator<Item = Place> + use<> {
    let (channels, luns, planes) = (g.channels, g.luns_per_channel() as u16, g.planes);
    (0..g.blocks_per_lun / u32::from(planes)).flat_map(move |block| {
        (0..channels).flat_map(move |channel| {
            (0..luns).flat_map(move |lun| {
                (0..planes).map(move |plane| Place { channel, lun, plane, block, ..Place::default() })
            })
        })
    })
}

/// Changes pages. Returns whether it did.
fn change(input: &mut Input, pages: &mut Pages) -> bool {
    let mut changed = false;
    let blocks: Vec<Place> = pages.keys().copied().collect();
    while !input.is_empty() {
        let block = input.of(&blocks);
        let of_block = pages.get_mut(&block).expect("it is written");
        if of_block.is_empty() {
            continue;
        }
        let page = input.below(of_block.len() as u32) as usize;
        changed = true;
        match input.u8() % 8 {
            // The rest of the block is missing.
            0 => of_block.truncate(page),
            // The metadata of another page.
            1 => {
                let other = input.below(of_block.len() as u32) as usize;
                of_block[page].1 = of_block[other].1;
            }
            2 => {
                let sequence = input.of(&[u64::MAX, 1 << 62, 1 << 40, 0]);
                let sequence = if input.u8().is_multiple_of(2) { sequence } else { input.u64() };
                of_block[page].1[..8].copy_from_slice(&sequence.to_le_bytes());
            }
            3 => of_block[page].1[8..].copy_from_slice(&u64::from(input.u8()).to_le_bytes()),
            kind => {
                let (data, _) = &mut of_block[page];
                let at = input.below(if kind < 6 { 64 } else { SECTOR as u32 });
                data[at as usize] = input.u8();
                // What has a right checksum is looked at more closely.
                if kind % 2 == 0 {
                    let checksum = crc32c(&data[CHECKSUM.end..]);
                    data[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
                }
            }
        }
    }
    changed
}

/// Writes pages to a new drive.
fn media_of(pages: Pages) -> Media {
    let (machine, format) = bare(Media::fresh());
    let driver = Rc::clone(machine.driver());
    let write = async move {
        for (block, mut pages) in pages {
            let place = |page| format.encode(Place { page, ..block });
            let addresses: Vec<u64> = (0..pages.len() as u16).map(place).collect();
            let all = addresses.chunks(ADDRESSES_MAX).zip(pages.chunks_mut(ADDRESSES_MAX));
            for (addresses, pages) in all {
                assert!(vector(&driver, addresses, pages, true).await, "{block}");
            }
        }
    };
    machine.block_on("writing", write).unwrap_or_else(|e| panic!("{e}"));
    machine.cut_power()
}

pub(super) fn run(bytes: &[u8]) {
    thread_local! {
        static WRITTEN: Written = written();
    }
    let (mut pages, bytes_before) = WRITTEN.with(|of| (of.pages.clone(), of.bytes.clone()));
    let changed = change(&mut Input::new(bytes), &mut pages);
    let machine = under_pblk(media_of(pages));
    if let Err(error) = machine.boot() {
        assert!(changed && !error.to_string().is_empty(), "lines as pblk has written them: {error}");
        return;
    }
    if !changed {
        assert_eq!(everything(&machine), bytes_before, "all that was flushed");
        return;
    }
    let new: Vec<u8> = (0..bytes_before.len()).map(|sector| !sector as u8).collect();
    // Whatever it has found: it takes writes, and gives them back. Lines of which nobody knows what they hold
    // may have taken all the room.
    if !write(&machine, (0..).zip(new.iter().copied()).collect()) {
        return;
    }
    let machine = under_pblk(machine.cut_power());
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    assert_eq!(everything(&machine), new, "all that was flushed since");
}
