//! Drives that use less than their packages have (C31): the place of data, bad blocks, power cuts and
//! images.

use aster_device::Media;
use aster_device::profile::{FactoryMarksName, MappingName, Profile, RestrictProfile};
use aster_events::{Event, EventSink, Recorder};
use aster_image::{ImageError, open_image};
use aster_tests::{as_in_papers, big_loop, cases, drive, job, machine, profile, run, versioned};
use aster_units::{BlockAddr, Instant, LunIndex, PageInBlock, PageType};
use aster_workload::{Access, Job, Mix};
use std::cell::RefCell;
use std::rc::Rc;

/// Ways to restrict packages of two planes, 96 blocks and 16 pages of MLC.
fn restrictions() -> [RestrictProfile; 4] {
    let none = RestrictProfile::default();
    [
        RestrictProfile { planes: Some(1), ..none.clone() },
        RestrictProfile { pages_per_block: Some(11), ..none.clone() },
        RestrictProfile { lsb_pages: true, ..none.clone() },
        RestrictProfile {
            planes: Some(1),
            blocks_per_lun: Some(40),
            pages_per_block: Some(7),
            lsb_pages: true,
            ..none
        },
    ]
}

/// There are many bad blocks, with the mark on their last page.
fn restricted(restrict: &RestrictProfile) -> Profile {
    restricted_of("tiny", restrict)
}

fn softssd(restrict: &RestrictProfile) -> Profile {
    restricted_of("softssd-small", restrict)
}

fn restricted_of(name: &str, restrict: &RestrictProfile) -> Profile {
    profile(name, |p| {
        as_in_papers(p);
        p.restrict = restrict.clone();
        p.geometry.blocks_per_lun = 96;
        p.package.factory_bad_per_mille = 60;
        p.package.factory_marks = FactoryMarksName::LastPage;
        // A program of an upper page that is cut off destroys lower pages.
        p.package.pair_loss = true;
        p.ftl.over_provisioning_percent = 60.0;
    })
}

fn looped(restrict: &RestrictProfile) -> Profile {
    let mut p = restricted(restrict);
    p.geometry.luns = 1;
    big_loop(&mut p);
    p
}

fn work(name: &str, mix: Mix, requests: u64, seed: u64) -> Job {
    Job { seed, flush_every: 20, ..job(name, Access::Random, mix, 16 << 10, requests) }
}

/// Whether the drive uses a block, by its address in the package.
fn is_used(profile: &Profile, block: u32) -> bool {
    let used = profile.used_geometry();
    let (planes, all) = (u32::from(used.planes), u32::from(profile.geometry.planes));
    block % all < planes && block / all < used.blocks_per_lun / planes
}

/// Only used pages of used blocks are ever written, and every good used block is.
fn check_cells(m: &aster_run_virtual::Machine, profile: &Profile, written: bool) {
    let (nand, array) = (m.device().nand(), profile.array_geometry());
    for lun in (0..array.total_luns()).map(LunIndex) {
        for block in (0..array.blocks_per_lun).map(BlockAddr) {
            let info = nand.block(lun, block);
            let touched = info.erases > 0 || info.programmed > 0;
            let used = is_used(profile, block.0);
            assert!(used || !touched, "{lun:?} {block:?} is none of the drive's: {info:?}");
            assert!(!used || touched || info.bad.is_some() || !written, "{lun:?} {block:?}: {info:?}");
            assert!(info.programmed <= profile.used_geometry().pages_per_block, "{info:?}");
        }
    }
    let totals = nand.totals_of_drive();
    assert_eq!(totals.erase_failures, 0, "a bad block was used");
}

#[test]
fn a_restricted_drive_keeps_to_its_part_and_its_data_over_power_cuts() {
    let [_, pages, lsb, all] = &restrictions();
    let mut on_flash = softssd(pages);
    on_flash.ftl.mapping = MappingName::DemandPaged;
    let of_softssd = [softssd(lsb), softssd(all), on_flash];
    let of_tiny = restrictions().map(|restrict| [restricted(&restrict), looped(&restrict)]);
    for profile in of_tiny.into_iter().flatten().chain(of_softssd) {
        let what = format!("{}, {:?}, {:?}", profile.description, profile.ftl.mapping, profile.restrict);
        let (mut media, mut contents) = (Media::fresh(), None);
        for round in 0..cases(3, 20) {
            let m = machine(&profile, None, media, &Recorder::default());
            let ftl = m.device().stats().ftl;
            if round == 0 {
                let all: Vec<_> = (0..profile.array_geometry().total_luns())
                    .flat_map(|lun| m.device().nand().bad_blocks(LunIndex(lun)))
                    .collect();
                let bad = all.iter().filter(|(block, _)| is_used(&profile, block.0)).count();
                assert!(bad > 2, "{what}: {bad}");
                assert_eq!(ftl.factory_bad_blocks, bad as u64, "{what}");
            } else {
                assert_eq!(format!("{:?} {:?}", ftl.boot, ftl.state), "Recovered Ready", "{what}");
            }
            let kept = contents.take().unwrap_or_else(|| versioned(&m));
            let bytes = drive(&m).bytes;
            let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, bytes.div_ceil(64 << 10));
            let write = work("write", Mix::Write, bytes / (16 << 10), round);
            let flush = Job { flush_every: 1, ..work("flush", Mix::Write, 1, round) };
            contents = Some(run(&m, &[read, write, flush], kept));
            check_cells(&m, &profile, round > 1);
            media = m.cut_power();
        }
    }
}

/// All programs' rows and times.
#[derive(Clone, Default)]
struct Programs(Rc<RefCell<(Vec<u32>, Vec<f64>)>>);

impl EventSink for Programs {
    fn event(&mut self, _: Instant, event: &Event) {
        match *event {
            Event::FlashIssued { kind: 1, row, .. } => self.0.borrow_mut().0.push(row),
            Event::ArrayBusy { kind: 1, picoseconds, .. } => {
                self.0.borrow_mut().1.push(picoseconds as f64 / 1e6);
            }
            _ => {}
        }
    }
}

#[test]
fn slc_mode_writes_lsb_pages_in_their_time() {
    for make in [restricted, looped, softssd] {
        let restrict = RestrictProfile { lsb_pages: true, ..RestrictProfile::default() };
        let profile = make(&restrict);
        let (recorder, programs) = (Recorder::default(), Programs::default());
        recorder.attach(programs.clone());
        let m = machine(&profile, None, Media::fresh(), &recorder);
        run(&m, &[work("write", Mix::Write, 400, 1)], versioned(&m));
        let (rows, times) = programs.0.take();
        assert!(rows.len() > 300 && times.len() > 300, "{} {}", rows.len(), times.len());
        let array = profile.array_geometry();
        let cells = aster_units::CellMode::Mlc;
        for row in rows {
            let (_, _, PageInBlock(page)) = array.split_row(aster_units::RowAddr(row));
            assert_eq!(cells.page_type(PageInBlock(page)), PageType::Lsb, "page {page}");
        }
        let (lsb, deviation) = (profile.package.program_us[0], profile.package.page_deviation_us);
        let most = lsb + deviation + profile.package.die_deviation_us;
        assert!(times.iter().all(|time| *time <= most), "{times:?}");
    }
}

#[test]
fn an_image_of_a_restricted_drive_opens_again_and_as_nothing_else() {
    let [.., all] = &restrictions();
    let of_tiny = restrictions().map(|restrict| restricted(&restrict));
    for profile in of_tiny.into_iter().chain([softssd(all)]) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("drive.aster");
        let open = |profile: &Profile| open_image(&path, profile, None);
        let boot = || {
            let media = open(&profile).unwrap_or_else(|e| panic!("{e}"));
            machine(&profile, None, media, &Recorder::default())
        };
        let m = boot();
        let contents = run(&m, &[work("write", Mix::Write, 600, 1)], versioned(&m));
        m.shut_down().map(drop).unwrap_or_else(|e| panic!("{e}"));
        // The drive comes back after a shutdown, and then after a power cut.
        let m = boot();
        let read = |m: &_| job("read", Access::Sequential, Mix::Read, 64 << 10, drive(m).bytes >> 16);
        let jobs = [read(&m), work("write", Mix::Write, 300, 2)];
        let contents = run(&m, &jobs, contents);
        drop(m.cut_power());
        let m = boot();
        run(&m, &[read(&m)], contents);
        drop(m.cut_power());
        let mut other = profile.clone();
        other.restrict = RestrictProfile::default();
        match open(&other) {
            Err(ImageError::OtherDrive { differences, .. }) => {
                assert!(differences.contains("restrict."), "{differences}");
            }
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it was opened as a whole drive"),
        }
    }
}
