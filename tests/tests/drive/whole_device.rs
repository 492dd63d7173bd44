//! Whole drives against an oracle: every read must return a version that the block may hold.

use aster_device::Media;
use aster_device::control::{Answer, ControlWord, Filter, Passage, SegmentKind, StatisticsFilter};
use aster_device::profile::{ControllerName, Profile};
use aster_driver::QueueId;
use aster_events::Recorder;
use aster_tests::{SMALL, cases, drive, job, machine, profile, run, run_with, small, versioned};
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
    for ((_, profile), (seeds, requests)) in small(|_| {}).iter().zip([(2, 4_000), (1, 4_000), (1, 500)]) {
        for seed in 0..cases(seeds, 40) {
            let m = machine(profile, None, Media::fresh(), &Recorder::default());
            let contents = versioned(&m);
            run(&m, &[mixed("mixed", cases(requests, 4_000), seed)], contents);
        }
    }
}

#[test]
fn trimmed_blocks_read_as_zeroes_and_the_rest_is_untouched() {
    for ((_, profile), (rounds, reads)) in small(|_| {}).iter().zip([(3, 1_000), (1, 1_000), (1, 200)]) {
        let m = machine(profile, None, Media::fresh(), &Recorder::default());
        let mut contents = versioned(&m);
        for round in 0..cases(rounds, 30) {
            let write = job("write", Access::Random, Mix::Write, 8 << 10, 1_000);
            let trim = Job {
                block_sizes: PerDirection::all(BlockSizes::Range { min: 512, max: 64 << 10 }),
                seed: round,
                ..job("trim", Access::Random, Mix::Trim, 4096, 300)
            };
            let read = job("read", Access::Random, Mix::Read, 16 << 10, reads);
            contents = run(&m, &[write, trim, read], contents);
        }
    }
}

/// A host whose driver sees the guarantee in DLFEAT sends Write Zeroes with DEAC instead of a trim (NVMe
/// 1.4 §6.17).
#[test]
fn zeroes_with_the_deallocate_bit_give_their_pages_up() {
    for (name, profile) in small(|_| {}) {
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
        assert_eq!((stats.host_pages_read, stats.host_pages_unmapped), (pages, pages), "{name}");
    }
}

#[test]
fn program_and_erase_failures_and_bit_errors_lose_nothing() {
    let drives = small(|p| {
        p.package.errors.fresh = 2e-4;
        p.geometry.blocks_per_lun = 48;
    });
    // Few requests must meet failures, too.
    for (nth, content, requests, failures) in [
        (0, Content::Full, 3_000, 300),
        (0, Content::Fingerprint, 3_000, 300),
        (1, Content::Full, 400, 2_000),
        (2, Content::Full, 400, 2_000),
    ] {
        let (name, mut profile) = drives[nth].clone();
        profile.package.program_failures_per_million = cases(failures, 300) as u32;
        profile.package.erase_failures_per_million = 2_000;
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
                ..job("work", Access::Random, Mix::ReadWrite, 8192, cases(requests, 8_000))
            };
            let trim = Job {
                block_sizes: PerDirection::all(BlockSizes::Range { min: 4096, max: 64 << 10 }),
                seed: round,
                ..job("trim", Access::Random, Mix::Trim, 4096, 100)
            };
            kept = Some(run(&m, &[read, work, trim], contents));
            grown = grown.max(m.device().stats().ftl.grown_bad_blocks);
            media = m.shut_down().unwrap_or_else(|e| panic!("{name}, round {round}: {e}"));
        }
        assert!(grown > 0, "{name}: the failures were met");
    }
}

#[test]
fn a_drive_shut_down_cleanly_comes_back_from_its_media_alone() {
    for ((name, profile), (rounds, requests)) in small(|_| {}).iter().zip([(4, 1_500), (2, 1_500), (2, 300)])
    {
        let (mut media, mut kept) = (Media::fresh(), None);
        for round in 0..cases(rounds, 40) {
            let m = machine(profile, None, media, &Recorder::default());
            let contents = kept.take().unwrap_or_else(|| versioned(&m));
            let read = job("read back", Access::Sequential, Mix::Read, 32 << 10, 200);
            let contents = run(&m, &[read, mixed("mixed", cases(requests, 1_500), round)], contents);
            kept = Some(contents);
            media = m.shut_down().unwrap_or_else(|e| panic!("{name}, round {round}: {e}"));
        }
    }
}

/// Small drives of 128 blocks a LUN, of which few are bad, with seven percent to spare.
fn nearly_full(change: fn(&mut Profile)) -> [(&'static str, Profile); 3] {
    small(|p| {
        p.ftl.over_provisioning_percent = 7.0;
        p.host.block_bytes = 4096;
        (p.geometry.blocks_per_lun, p.geometry.pages_per_block) = (128, 16);
        p.package.factory_bad_per_mille = 5;
        change(p);
    })
}

/// Rewrites a drive so many times. Returns how many factory bad blocks each LUN has.
fn rewritten(profile: &Profile, content: Content, times: u64) -> Vec<usize> {
    let m = machine(profile, Some(content), Media::fresh(), &Recorder::default());
    let pages = drive(&m).bytes / (16 << 10);
    let fill = job("fill", Access::Sequential, Mix::Write, 64 << 10, pages / 4);
    let rewrite = job("rewrite", Access::Random, Mix::Write, 16 << 10, pages * times);
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
    let drives = nearly_full(|p| (p.geometry.channels, p.geometry.ways) = (1, 1));
    for (nth, content, times) in [
        (0, Content::Fingerprint, 10),
        (0, Content::Full, 10),
        (1, Content::Full, 1),
        (2, Content::Fingerprint, 1),
    ] {
        rewritten(&drives[nth].1, content, cases(times, 30));
    }
}

#[test]
fn so_does_one_of_many_luns_with_unequal_factory_bad_blocks() {
    let [(_, tiny), ..] = nearly_full(|p| p.geometry.luns = 1);
    let bad = rewritten(&tiny, Content::Fingerprint, cases(10, 30));
    assert!(bad.len() == 4 && bad.iter().any(|&b| b != bad[0]), "{bad:?}");
}

/// The composition test of design §3: the same scheduler and FTL over each channel controller, checked byte
/// by byte, with failures on the way and a restart in between.
#[test]
fn a_drive_keeps_every_byte_over_each_channel_controller() {
    for controller in [ControllerName::Software, ControllerName::Synchronous, ControllerName::Asynchronous] {
        let drives = small(|p| {
            p.channel.controller = controller;
            p.package.errors.fresh = 1e-4;
            p.package.program_failures_per_million = 200;
            p.geometry.blocks_per_lun = 48;
        });
        for ((name, profile), requests) in drives.iter().zip([2_500, 500, 300]) {
            let (mut media, mut kept) = (Media::fresh(), None);
            // After some twelve rounds a LUN has lost so many blocks that the drive rightly becomes
            // read-only.
            for round in 0..cases(2, 10) {
                let m = machine(profile, None, media, &Recorder::default());
                let contents = kept.take().unwrap_or_else(|| versioned(&m));
                let read = job("read back", Access::Sequential, Mix::Read, 32 << 10, 200);
                println!("{name}, {controller:?}, round {round}");
                kept = Some(run(&m, &[read, mixed("mixed", requests, round)], contents));
                media = m.shut_down().unwrap_or_else(|e| panic!("{name}, {controller:?}, {round}: {e}"));
            }
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
    for (name, profile) in small(|p| p.channel.controller = ControllerName::Asynchronous) {
        let m = machine(&profile, None, Media::fresh(), &Recorder::default());
        let refused = Rc::new(Cell::new(0));
        for channel in 0..usize::from(m.device().geometry().channels) {
            assert!(m.device().insert_filter(channel, Box::new(WriteProtect(Rc::clone(&refused)))));
        }
        let before = m.device().stats().nand.programs;
        let contents = versioned(&m);
        run_with(&m, &[job("write", Access::Sequential, Mix::Write, 64 << 10, 40)], contents, ());
        assert_eq!(m.device().stats().nand.programs, before, "{name}");
        assert!(refused.get() > 0, "{name}");
    }
}

#[test]
fn only_the_asynchronous_controller_has_a_control_path() {
    for controller in [ControllerName::Software, ControllerName::Synchronous] {
        for name in SMALL {
            let profile = profile(name, |p| p.channel.controller = controller);
            let m = machine(&profile, None, Media::fresh(), &Recorder::default());
            assert!(!m.device().insert_filter(0, Box::new(StatisticsFilter::default())), "{name}");
        }
    }
}
