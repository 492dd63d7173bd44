//! Format with User Data Erase on a whole drive, checked by the content of its image.

use aster_device::Media;
use aster_device::profile::Profile;
use aster_driver::QueueId;
use aster_events::Recorder;
use aster_image::open_image;
use aster_run_virtual::Machine;
use aster_tests::{cases, drive, job, machine, run_with, small, versioned};
use aster_units::{BlockAddr, LunIndex};
use aster_wire::nvme::admin::SecureErase;
use aster_workload::{Access, Mix};
use std::path::Path;

const MARK: [u8; 16] = *b"mine, not yours!";
const LENGTH: u64 = 1 << 20;

fn drives() -> [(&'static str, Profile); 3] {
    small(|p| p.geometry.blocks_per_lun = 32)
}
/// Overwrites a megabyte of marks again and again, and flushes each time.
fn write_marks(m: &Machine) {
    let driver = m.driver().clone();
    let block = drive(m).block_bytes as usize;
    m.block_on("writing", async move {
        for round in 0..3 {
            let marks = MARK.repeat(LENGTH as usize / MARK.len());
            driver.write(QueueId(1), 0, &marks, round == 1).await?;
            driver.flush(QueueId(1)).await?;
            let mut back = vec![0; 8 * block];
            driver.read(QueueId(1), 0, &mut back).await?;
            assert_eq!(back[..16], MARK);
        }
        Ok::<_, aster_driver::DriverError>(())
    })
    .unwrap()
    .unwrap();
}
fn format(m: &Machine, erase: SecureErase) {
    let driver = m.driver().clone();
    m.block_on("formatting", async move { driver.format(0, erase).await }).unwrap().unwrap();
}
/// How often the mark occurs in a file.
fn marks_in(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    bytes.chunks_exact(16).filter(|chunk| *chunk == MARK).count()
}

#[test]
fn a_format_with_user_data_erase_leaves_nothing_of_it_in_the_image() {
    for (name, profile) in drives() {
        println!("{name}");
        leaves_nothing(&profile);
    }
}

fn leaves_nothing(profile: &Profile) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive");
    let marks = LENGTH as usize / MARK.len();
    let power_on = || machine(profile, None, open_image(&path, profile, None).unwrap(), &Recorder::default());
    let m = power_on();
    write_marks(&m);
    // Remains of earlier stored maps are checked, too.
    drop(m.shut_down().unwrap());
    let m = power_on();
    write_marks(&m);
    format(&m, SecureErase::None);
    assert!(
        marks_in(&path) >= 3 * marks,
        "unmapping erases nothing: the marks are there, those written over included"
    );
    let before = m.device().nand().totals_of_drive().erases;
    let worn = m.device().nand().erase_spread((0..32).map(BlockAddr)).mean;
    format(&m, SecureErase::UserData);
    assert_eq!(marks_in(&path), 0);
    assert!(m.device().nand().totals_of_drive().erases > before);
    assert!(m.device().nand().erase_spread((0..32).map(BlockAddr)).mean > worn);
    drop(m.shut_down().unwrap());
    let m = power_on();
    assert_eq!(marks_in(&path), 0);
    let driver = m.driver().clone();
    let read = m.block_on("reading", async move {
        let mut back = vec![1; LENGTH as usize];
        driver.read(QueueId(1), 0, &mut back).await.map(|()| back)
    });
    assert!(read.unwrap().unwrap().iter().all(|&byte| byte == 0));
}

#[test]
fn a_fresh_drive_s_every_page_is_erased_and_it_works_on() {
    for ((name, profile), percent) in drives().iter().zip([300, 100, 50]) {
        println!("{name}");
        works_on(profile, cases(percent, 300));
    }
}

fn works_on(profile: &Profile, percent: u64) {
    let m = machine(profile, None, Media::fresh(), &Recorder::default());
    let pages = drive(&m).bytes / (16 << 10);
    let work = job("fill", Access::Random, Mix::Write, 16 << 10, pages * percent / 100);
    run_with(&m, std::slice::from_ref(&work), versioned(&m), ());
    let nand = m.device().nand();
    assert!(nand.programmed_pages() > 0);
    format(&m, SecureErase::UserData);
    // The rest contains none of the host's data: the log, one block per LUN, and an empty stored map.
    let per_block = u64::from(profile.geometry.pages_per_block);
    let left = u64::from(m.device().geometry().total_luns()) * per_block + 2 * per_block;
    assert!(nand.programmed_pages() <= left, "{} pages", nand.programmed_pages());
    assert_eq!(nand.totals_of_drive().erase_failures, 0);
    for lun in (0..m.device().geometry().total_luns()).map(LunIndex) {
        assert!(nand.bad_blocks(lun).iter().all(|(block, _)| nand.block(lun, *block).erases == 0));
    }
    run_with(&m, &[work], versioned(&m), ());
    assert!(nand.programmed_pages() > 0);
}
