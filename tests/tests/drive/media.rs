//! Lost data and exhausted spare blocks: what the drive reports to the host, and for which logical blocks.

use aster_device::profile::{MappingName, Profile};
use aster_device::{DriveState, Media};
use aster_driver::{DriverError, QueueId};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{SMALL, as_in_papers, machine, profile, small_beside};
use aster_units::{BlockAddr, Duration, Lpn, LunIndex, PageInBlock, Ppa};
use aster_wire::nvme::Status;
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);
const BLOCK: usize = 512;
/// Logical blocks of a page of 16 KiB, and of a sector of 4 KiB.
const PAGE_BLOCKS: u64 = 32;
const SECTOR_BLOCKS: u64 = 8;

/// Drives with pages of this size: the small ones, and SoftSSD's with its map on flash.
fn drives(change: impl Fn(&mut Profile)) -> [(&'static str, Profile); 3] {
    let on_flash = profile(SMALL[1], |p| {
        p.ftl.mapping = MappingName::DemandPaged;
        p.ftl.over_provisioning_percent = 60.0;
    });
    small_beside(on_flash, |p| {
        as_in_papers(p);
        change(p);
    })
}

fn write(m: &Machine, block: u64, blocks: u64, fill: u8, fua: bool) -> Result<(), DriverError> {
    let driver = Rc::clone(m.driver());
    let bytes = vec![fill; blocks as usize * BLOCK];
    let work = async move { driver.write(QUEUE, block, &bytes, fua).await };
    m.block_on("writing", work).unwrap_or_else(|e| panic!("{e}"))
}
fn read(m: &Machine, block: u64) -> Result<u8, DriverError> {
    let driver = Rc::clone(m.driver());
    let work = async move {
        let mut bytes = vec![0xEE; BLOCK];
        driver.read(QUEUE, block, &mut bytes).await.map(|()| bytes)
    };
    let bytes = m.block_on("reading", work).unwrap_or_else(|e| panic!("{e}"))?;
    assert!(bytes.iter().all(|b| *b == bytes[0]), "block {block} is torn");
    Ok(bytes[0])
}
fn status_of(error: &DriverError) -> Status {
    match error {
        DriverError::Command { status, .. } => *status,
        other => panic!("{other}"),
    }
}
fn at(m: &Machine, page: u32) -> Ppa {
    m.device().translation().location_of(Lpn(page)).unwrap_or_else(|| panic!("page {page} is mapped"))
}
/// Overwrites a quarter of the drive until a page outside of it has been moved.
fn move_away(m: &Machine, page: u32) {
    let from = at(m, page);
    let pages = m.driver().namespace().blocks / PAGE_BLOCKS;
    for n in 0..40 * pages {
        write(m, (pages - 1 - n * 7 % (pages / 4)) * PAGE_BLOCKS, PAGE_BLOCKS, n as u8, false)
            .unwrap_or_else(|e| panic!("{e}"));
        if at(m, page) != from {
            return;
        }
    }
    panic!("nothing moves the page");
}

/// Which blocks of a page are lost; the others hold `fill`.
fn lost(m: &Machine, page: u32, fill: u8) -> Vec<u64> {
    let first = u64::from(page) * PAGE_BLOCKS;
    let is_lost = |n: &u64| match read(m, first + n) {
        Ok(found) => {
            assert_eq!(found, fill, "block {n} of the page");
            false
        }
        Err(error) => {
            assert!(status_of(&error).is(Status::UNRECOVERED_READ_ERROR), "{error}");
            true
        }
    };
    (0..PAGE_BLOCKS).filter(is_lost).collect()
}

/// Reads three pages at once, `page` the second of them, and returns the logical block that the error log
/// names.
fn first_failed(m: &Machine, page: u32) -> u64 {
    let driver = Rc::clone(m.driver());
    let work = async move {
        let mut bytes = vec![0; 3 * PAGE_BLOCKS as usize * BLOCK];
        let read = driver.read(QUEUE, u64::from(page - 1) * PAGE_BLOCKS, &mut bytes).await;
        assert!(read.is_err_and(|error| status_of(&error).is(Status::UNRECOVERED_READ_ERROR)));
        driver.error_log().await
    };
    let log = m.block_on("reading three pages", work).unwrap().unwrap_or_else(|e| panic!("{e}"));
    log[0].lba.get()
}

/// Damages the chunk that has this byte of the second sector of a page. Each has its parity behind it.
fn damage(m: &Machine, profile: &Profile, page: u32, byte: u32) {
    let geometry = *m.device().geometry();
    let (lun, block, of_block) = geometry.split_ppa(at(m, page));
    let ecc = &profile.ecc;
    let (bytes, parity) = (u32::from(ecc.chunk_bytes), (ecc.field as usize * ecc.designed).div_ceil(8));
    let data = ((4096 + byte) / bytes * (bytes + parity as u32), bytes);
    assert!(m.device().nand().flip_random_bits(lun, block, of_block, data, 60, 9));
    // Other pages replace it in the data buffer.
    for n in 1..100 {
        read(m, u64::from(page + n) * PAGE_BLOCKS).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn lost_data_fails_for_exactly_its_blocks_wherever_it_goes_until_they_are_written() {
    // Wear levelling moves data that isn't rewritten.
    for (name, profile) in drives(|p| p.ftl.wear_spread = 2) {
        println!("{name}");
        fails_for_exactly_its_blocks(&profile);
    }
}

fn fails_for_exactly_its_blocks(profile: &Profile) {
    let m = machine(profile, None, Media::fresh(), &Recorder::default());
    let pages = (m.driver().namespace().blocks / PAGE_BLOCKS) as u32;
    for page in 0..pages {
        write(&m, u64::from(page) * PAGE_BLOCKS, PAGE_BLOCKS, 1 + (page % 250) as u8, false)
            .unwrap_or_else(|e| panic!("{e}"));
    }
    let driver = Rc::clone(m.driver());
    m.block_on("flushing", async move { driver.flush(QUEUE).await }).unwrap().unwrap();
    let (page, fill) = (5, 6);
    // In the third of its blocks, of which a chunk is a half or all.
    let third = 2 * BLOCK as u32 + 256;
    damage(&m, profile, page, third);
    assert_eq!(lost(&m, page, fill), [SECTOR_BLOCKS + 2]);
    assert_eq!(first_failed(&m, page), u64::from(page) * PAGE_BLOCKS + SECTOR_BLOCKS + 2);
    move_away(&m, page);
    assert_eq!(lost(&m, page, fill), [SECTOR_BLOCKS + 2], "after it was moved");
    // The sector that says so fails, too: in the block that stands in the lost one's place, and then in its
    // note.
    damage(&m, profile, page, third);
    assert_eq!(lost(&m, page, fill), [SECTOR_BLOCKS, SECTOR_BLOCKS + 2]);
    move_away(&m, page);
    assert_eq!(lost(&m, page, fill), [SECTOR_BLOCKS, SECTOR_BLOCKS + 2], "after it was moved again");
    damage(&m, profile, page, 0);
    let sector: Vec<u64> = (SECTOR_BLOCKS..2 * SECTOR_BLOCKS).collect();
    assert_eq!(lost(&m, page, fill), sector, "nothing vouches for the others");
    move_away(&m, page);
    assert_eq!(lost(&m, page, fill), sector);
    // One of the lost blocks is written again.
    write(&m, u64::from(page) * PAGE_BLOCKS + 10, 1, fill, true).unwrap_or_else(|e| panic!("{e}"));
    let others: Vec<u64> = sector.iter().copied().filter(|n| *n != 10).collect();
    assert_eq!(lost(&m, page, fill), others);
    let driver = Rc::clone(m.driver());
    let health = m.block_on("SMART", async move { driver.health().await }).unwrap().unwrap();
    assert_eq!(health.media_errors.get(), 1 + 1 + 1 + 2 + 2 + 8 + 8 + 7);

    let m = machine(profile, None, m.cut_power(), &Recorder::default());
    assert_eq!(lost(&m, page, fill), others, "after a loss of power");
    move_away(&m, page);
    assert_eq!(lost(&m, page, fill), others, "moved once more");
    write(&m, u64::from(page) * PAGE_BLOCKS, PAGE_BLOCKS, fill, true).unwrap_or_else(|e| panic!("{e}"));
    assert!(lost(&m, page, fill).is_empty());
}

#[test]
fn a_new_drive_has_all_of_its_spare_however_many_blocks_the_factory_marked() {
    // One drive has no spare block from the factory on, others have fewer than at first.
    let pocket = ("pocket", profile("pocket", |_| {}));
    for (name, profile) in drives(|_| {}).into_iter().chain([pocket]) {
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let driver = Rc::clone(m.driver());
        let smart = m.block_on("SMART", async move { driver.health().await }).unwrap().unwrap();
        assert_eq!((smart.available_spare, smart.critical_warning), (100, 0), "{name}");
    }
}

/// Only the log and the map record trims. Without them the drive finds all data again, and reports that
/// its content may be outdated.
#[test]
fn a_drive_that_has_lost_its_log_has_all_data_and_warns_that_trims_may_be_undone() {
    for (name, profile) in drives(|_| {}) {
        println!("{name}");
        has_all_data(&profile);
    }
}

fn has_all_data(profile: &Profile) {
    let m = machine(profile, None, Media::fresh(), &Recorder::default());
    let pages = 64u64;
    for page in 0..pages {
        let first = page * PAGE_BLOCKS;
        write(&m, first, PAGE_BLOCKS, page as u8 + 1, true).unwrap_or_else(|e| panic!("{e}"));
    }
    let smart = |m: &Machine| {
        let driver = Rc::clone(m.driver());
        let smart = m.block_on("SMART", async move { driver.health().await }).unwrap().unwrap();
        (smart.critical_warning, smart.media_errors.get())
    };
    assert_eq!((smart(&m), m.device().recovery()), ((0, 0), None));
    let nand = m.device().nand();
    let geometry = m.device().geometry();
    let of_log = m.device().translation().counter("log_blocks_per_lun").expect("ours has a log");
    let bits: Vec<u32> = (0..8 * geometry.raw_page_bytes()).step_by(16).collect();
    for lun in (0..geometry.total_luns()).map(LunIndex) {
        for block in (0..of_log as u32).map(BlockAddr) {
            for page in (0..geometry.pages_per_block).map(PageInBlock) {
                nand.flip_bits(lun, block, page, &bits);
            }
        }
    }
    let m = machine(profile, None, m.cut_power(), &Recorder::default());
    for page in 0..pages {
        assert_eq!(read(&m, page * PAGE_BLOCKS).unwrap_or_else(|e| panic!("{e}")), page as u8 + 1);
    }
    assert_eq!(smart(&m), (0b100, 1), "reliability degraded, one integrity error");
    let told = m.device().recovery().expect("the power was lost");
    assert!(told.contains("what was trimmed may be back"), "{told}");
    // The loss stays counted. The warning ends with the next power-on, at which there is a log again.
    let m = machine(profile, None, m.cut_power(), &Recorder::default());
    assert_eq!(smart(&m), (0, 1));
}

#[test]
fn a_drive_without_spare_blocks_warns_and_takes_no_more_writes_whatever_the_power_does() {
    let profile = profile("pocket", |p| {
        as_in_papers(p);
        p.geometry.blocks_per_lun = 48;
        p.package.endurance = 12;
        p.package.wear_out_percent = 100;
        p.host.spare_threshold_percent = 60;
        p.host.block_bytes = 512;
    });
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let blocks = m.driver().namespace().blocks;
    let smart = |m: &Machine| {
        let driver = Rc::clone(m.driver());
        m.block_on("SMART", async move { driver.health().await }).unwrap().unwrap()
    };
    assert_eq!((smart(&m).available_spare, smart(&m).critical_warning), (100, 0));
    let mut warned = None;
    let refused = (0u64..100_000).find_map(|n| {
        let error = write(&m, n * 8 % (blocks - 8), 8, n as u8, false).err();
        if warned.is_none() && n % 16 == 0 && smart(&m).critical_warning & 1 != 0 {
            warned = Some(smart(&m));
        }
        error
    });
    let refused = status_of(&refused.expect("the drive comes to its end"));
    assert!(refused.is(Status::WRITE_TO_READ_ONLY_RANGE), "{refused}");
    let warned = warned.expect("it warns before");
    assert!(warned.available_spare < 60 && warned.available_spare_threshold == 60, "{warned:?}");
    assert_eq!(smart(&m).critical_warning & 0b1001, 0b1001);
    assert!(smart(&m).percentage_used >= 80, "{:?}", smart(&m));
    m.idle(Duration::from_millis(20));

    let m = machine(&profile, None, m.cut_power(), &Recorder::default());
    assert_eq!(m.device().stats().ftl.state, DriveState::ReadOnly);
    assert_eq!(smart(&m).critical_warning & 0b1001, 0b1001);
    assert!((0..blocks).all(|block| read(&m, block).is_ok()));
    let refused = status_of(&write(&m, 0, 8, 1, false).expect_err("it stays read-only"));
    assert!(refused.is(Status::WRITE_TO_READ_ONLY_RANGE), "{refused}");
}
