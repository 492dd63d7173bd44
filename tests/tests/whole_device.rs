//! Whole drives against an oracle: every read must return a version that the block may hold.

use aster_device::Media;
use aster_device::control::{Answer, ControlWord, Filter, Passage, SegmentKind, StatisticsFilter};
use aster_device::profile::{ControllerName, Profile};
use aster_driver::QueueId;
use aster_events::Recorder;
use aster_tests::{SMALL, cases, drive, job, machine, profile, run, run_with, versioned};
use aster_units::{Content, Instant, LunIndex};
use aster_workload::{Access, BlockSizes, Job, Mix, PerDirection};
use std::cell::Cell;
use std::rc::Rc;

fn mixed(name: &str, requests: u64, seed: u64) -> Job {
    Job {
        block_sizes: PerDirection::all(BlockSizes::Range { min: 512, max: 40 << 10 }),
        read_percent: 40,
        seed,
        flush_every: 61,
        ..job(name, Access::Random, Mix::ReadWrite, 4096, requests)
    }
}

#[test]
fn a_small_drive_keeps_every_byte_under_mixed_random_work() {
    for (nth, name) in SMALL.into_iter().enumerate() {
        let profile = profile(name, |_| {});
        for seed in 0..cases(2 - nth as u64, 40) {
            let m = machine(&profile, None, Media::fresh(), &Recorder::default());
            let contents = versioned(&m);
            run(&m, &[mixed("mixed", 4_000, seed)], contents);
        }
    }
}

#[test]
fn trimmed_blocks_read_as_zeroes_and_the_rest_is_untouched() {
    for (nth, name) in SMALL.into_iter().enumerate() {
        let m = machine(&profile(name, |_| {}), None, Media::fresh(), &Recorder::default());
        let mut contents = versioned(&m);
        for round in 0..cases(3 - 2 * nth as u64, 30) {
            let write = job("write", Access::Random, Mix::Write, 8 << 10, 1_000);
            let trim = Job {
                block_sizes: PerDirection::all(BlockSizes::Range { min: 512, max: 64 << 10 }),
                seed: round,
                ..job("trim", Access::Random, Mix::Trim, 4096, 300)
            };
            let read = job("read", Access::Random, Mix::Read, 16 << 10, 1_000);
            contents = run(&m, &[write, trim, read], contents);
        }
    }
}

/// A host whose driver sees the guarantee in DLFEAT sends Write Zeroes with DEAC instead of a trim (NVMe
/// 1.4 §6.17).
#[test]
fn zeroes_with_the_deallocate_bit_give_their_pages_up() {
    let profile = profile("tiny", |_| {});
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let (driver, block) = (m.driver().clone(), drive(&m).block_bytes as usize);
    let read = m.block_on("zeroing", async move {
        let (queue, blocks) = (QueueId(1), (1 << 20) / block as u64);
        driver.write(queue, 0, &vec![7; 1 << 20], true).await?;
        driver.write_zeroes(queue, 0, blocks, true, true).await?;
        let mut back = vec![9; 1 << 20];
        driver.read(queue, 0, &mut back).await?;
        Ok::<_, aster_driver::DriverError>(back)
    });
    assert!(read.unwrap().unwrap().iter().all(|&byte| byte == 0));
    let stats = m.device().stats().ftl;
    let pages = (1 << 20) / u64::from(profile.geometry.page_bytes);
    assert_eq!((stats.host_pages_read, stats.host_pages_unmapped), (pages, pages));
}

#[test]
fn program_and_erase_failures_and_bit_errors_lose_nothing() {
    let profile = profile("tiny", |p| {
        p.package.program_failures_per_million = 300;
        p.package.erase_failures_per_million = 2_000;
        p.package.errors.fresh = 2e-4;
        p.geometry.blocks_per_lun = 48;
    });
    for content in [Content::Full, Content::Fingerprint] {
        let mut profile = profile.clone();
        if content == Content::Fingerprint {
            profile.host.block_bytes = 4096;
        }
        let (mut media, mut kept, mut grown) = (Media::fresh(), None, 0);
        for round in 0..4 {
            let m = machine(&profile, Some(content), media, &Recorder::default());
            let contents = kept.take().unwrap_or_else(|| versioned(&m));
            let read = job("read back", Access::Sequential, Mix::Read, 64 << 10, 200);
            let work = Job {
                block_sizes: PerDirection::all(BlockSizes::Fixed(8192)),
                seed: round,
                flush_every: 97,
                ..job("work", Access::Random, Mix::ReadWrite, 8192, cases(3_000, 8_000))
            };
            let trim = Job {
                block_sizes: PerDirection::all(BlockSizes::Range { min: 4096, max: 64 << 10 }),
                seed: round,
                ..job("trim", Access::Random, Mix::Trim, 4096, 100)
            };
            kept = Some(run(&m, &[read, work, trim], contents));
            grown = grown.max(m.device().stats().ftl.grown_bad_blocks);
            media = m.shut_down().unwrap_or_else(|e| panic!("round {round}: {e}"));
        }
        assert!(grown > 0, "the failures were met");
    }
}

#[test]
fn a_drive_shut_down_cleanly_comes_back_from_its_media_alone() {
    for (nth, name) in SMALL.into_iter().enumerate() {
        let profile = profile(name, |_| {});
        let (mut media, mut kept) = (Media::fresh(), None);
        for round in 0..cases(4 - 2 * nth as u64, 40) {
            let m = machine(&profile, None, media, &Recorder::default());
            let contents = kept.take().unwrap_or_else(|| versioned(&m));
            let read = job("read back", Access::Sequential, Mix::Read, 32 << 10, 200);
            let contents = run(&m, &[read, mixed("mixed", 1_500, round)], contents);
            kept = Some(contents);
            media = m.shut_down().unwrap_or_else(|e| panic!("{name}, round {round}: {e}"));
        }
    }
}

/// Rewrites a drive ten times. Returns how many factory bad blocks each LUN has.
fn rewritten_ten_times(content: Content, change: impl FnOnce(&mut Profile)) -> Vec<usize> {
    let profile = profile("tiny", |p| {
        p.ftl.over_provisioning_percent = 7.0;
        p.host.block_bytes = 4096;
        change(p);
    });
    let m = machine(&profile, Some(content), Media::fresh(), &Recorder::default());
    let pages = drive(&m).bytes / (16 << 10);
    let fill = job("fill", Access::Sequential, Mix::Write, 64 << 10, pages / 4);
    let rewrite = job("rewrite", Access::Random, Mix::Write, 16 << 10, pages * cases(10, 30));
    let read = job("read", Access::Sequential, Mix::Read, 128 << 10, pages / 8);
    let contents = versioned(&m);
    run(&m, &[fill, rewrite, read], contents);
    let stats = m.device().stats();
    assert!(stats.ftl.gc_runs > 100 && stats.ftl.waf() > 1.5, "{:?}", stats.ftl);
    assert_eq!(format!("{:?}", stats.ftl.state), "Ready", "{:?}", stats.ftl);
    let luns = m.device().geometry().total_luns();
    (0..luns).map(|lun| m.device().nand().bad_blocks(LunIndex(lun)).len()).collect()
}

#[test]
fn a_full_drive_rewritten_at_random_ten_times_at_seven_percent_finishes() {
    for content in [Content::Fingerprint, Content::Full] {
        rewritten_ten_times(content, |p| {
            p.geometry.blocks_per_lun = 128;
            p.geometry.channels = 1;
            p.geometry.ways = 1;
            p.package.factory_bad_per_mille = 5;
        });
    }
}

#[test]
fn so_does_one_of_many_luns_with_unequal_factory_bad_blocks() {
    let bad = rewritten_ten_times(Content::Fingerprint, |p| {
        p.geometry.blocks_per_lun = 128;
        p.geometry.luns = 1;
        p.package.factory_bad_per_mille = 5;
    });
    assert!(bad.len() == 4 && bad.iter().any(|&b| b != bad[0]), "{bad:?}");
}

/// The composition test of design §3: the same scheduler and FTL over each channel controller, checked byte
/// by byte, with failures on the way and a restart in between.
#[test]
fn a_drive_keeps_every_byte_over_each_channel_controller() {
    for controller in [ControllerName::Software, ControllerName::Synchronous, ControllerName::Asynchronous] {
        let profile = profile("tiny", |p| {
            p.channel.controller = controller;
            p.package.errors.fresh = 1e-4;
            p.package.program_failures_per_million = 200;
            p.geometry.blocks_per_lun = 48;
        });
        let (mut media, mut kept) = (Media::fresh(), None);
        // After some twelve rounds a LUN has lost so many blocks that the drive rightly becomes read-only.
        for round in 0..cases(2, 10) {
            let m = machine(&profile, None, media, &Recorder::default());
            let contents = kept.take().unwrap_or_else(|| versioned(&m));
            let read = job("read back", Access::Sequential, Mix::Read, 32 << 10, 200);
            kept = Some(run(&m, &[read, mixed("mixed", 2_500, round)], contents));
            media = m.shut_down().unwrap_or_else(|e| panic!("{controller:?}, round {round}: {e}"));
        }
    }
}

/// Refuses programs, and counts them.
struct WriteProtect(Rc<Cell<u64>>);

impl Filter for WriteProtect {
    fn pass(&mut self, _: Instant, word: &ControlWord) -> Passage {
        match word {
            ControlWord::Access { segment, .. } if segment.kind == SegmentKind::Program => {
                self.0.set(self.0.get() + 1);
                Passage::Up(Answer::Refused)
            }
            _ => Passage::Down,
        }
    }
}

#[test]
fn what_a_users_filter_refuses_reaches_no_cell() {
    let profile = profile("tiny", |p| p.channel.controller = ControllerName::Asynchronous);
    let m = machine(&profile, None, Media::fresh(), &Recorder::default());
    let refused = Rc::new(Cell::new(0));
    for channel in 0..usize::from(m.device().geometry().channels) {
        assert!(m.device().insert_filter(channel, Box::new(WriteProtect(Rc::clone(&refused)))));
    }
    let before = m.device().stats().nand.programs;
    let contents = versioned(&m);
    run_with(&m, &[job("write", Access::Sequential, Mix::Write, 64 << 10, 40)], contents, ());
    assert_eq!(m.device().stats().nand.programs, before);
    assert!(refused.get() > 0);
}

#[test]
fn only_the_asynchronous_controller_has_a_control_path() {
    for controller in [ControllerName::Software, ControllerName::Synchronous] {
        let profile = profile("tiny", |p| p.channel.controller = controller);
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        assert!(!m.device().insert_filter(0, Box::new(StatisticsFilter::default())));
    }
}
