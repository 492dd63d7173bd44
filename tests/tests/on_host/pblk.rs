//! pblk, our FTL of the host, over whole open-channel drives.

use aster_device::profile::{Profile, TargetProfile};
use aster_device::{Boot, DriveState, Media, Pieces};
use aster_driver::{Config, QueueId};
use aster_events::{Event, EventSink, Recorder};
use aster_observe::FlashKind;
use aster_run_virtual::Machine;
use aster_tests::{cases, config, drive, job, profile, run, versioned};
use aster_units::{BlockAddr, Content, Duration, Instant, LunIndex, PageInBlock};
use aster_wire::nvme::admin::SecureErase;
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner};
use aster_workload::{Access, Job, Mix};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

const QUEUE: QueueId = QueueId(1);

/// The same drive in both versions of Open-Channel SSD.
const VERSIONS: [&str; 2] = ["pocket-ocssd", "pocket-ocssd-2"];

/// A drive of four LUNs whose lines have 64 sectors of 4 KiB.
fn pocket(change: impl FnOnce(&mut Profile)) -> Profile {
    pocket_of("pocket-ocssd", change)
}
fn pocket_of(version: &str, change: impl FnOnce(&mut Profile)) -> Profile {
    profile(version, |p| {
        p.target = Some(TargetProfile { kind: "pblk".to_owned(), ..TargetProfile::default() });
        change(p);
    })
}
/// A drive with pages of four sectors, as the board has them.
fn large_pages(change: impl FnOnce(&mut Profile)) -> Profile {
    large_pages_of("pocket-ocssd", |p| {
        p.host.transfer_bytes_max = 1 << 20;
        change(p);
    })
}
fn large_pages_of(version: &str, change: impl FnOnce(&mut Profile)) -> Profile {
    pocket_of(version, |p| {
        (p.geometry.page_bytes, p.geometry.spare_bytes) = (16_384, 1_664);
        p.geometry.pages_per_block = 16;
        change(p);
    })
}

fn power_on(profile: &Profile, content: Content, media: Media) -> Machine {
    powered_on(profile, content, media, &Recorder::default())
}
fn powered_on(profile: &Profile, content: Content, media: Media, recorder: &Recorder) -> Machine {
    let config = Config { depth: 31, ..config(profile) };
    let machine = Machine::power_on("pblk", profile, Some(content), media, recorder, config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}
fn random(mix: Mix, block: u32, requests: u64) -> Job {
    job("random", Access::Random, mix, block, requests)
}
fn everything(machine: &Machine) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10);
    job("everything", Access::Sequential, Mix::Read, 64 << 10, requests)
}
fn counter(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).expect("it is counted")
}

// O7, O10, O11, P29, P30.
#[test]
fn jobs_are_written_and_read_back_for_many_times_the_capacity() {
    for (profile, content) in [
        (pocket(|_| ()), Content::Full),
        (large_pages(|_| ()), Content::Full),
        (large_pages(|_| ()), Content::Fingerprint),
        (pocket_of(VERSIONS[1], |_| ()), Content::Full),
        (large_pages_of(VERSIONS[1], |_| ()), Content::Full),
        (
            large_pages_of(VERSIONS[1], |p| p.target.as_mut().unwrap().one_write_per_lun = Some(false)),
            Content::Fingerprint,
        ),
    ] {
        let machine = power_on(&profile, content, Media::fresh());
        let ftl = machine.device().stats().ftl;
        assert_eq!((ftl.boot, ftl.state), (Boot::Fresh, DriveState::Ready));
        let pages = drive(&machine).bytes / 4096;
        let write = random(Mix::Write, 4096, 4 * pages);
        let mixed = Job { seed: 5, ..random(Mix::ReadWrite, 32 << 10, 400) };
        let contents = run(&machine, &[write, mixed], versioned(&machine));
        run(&machine, &[everything(&machine)], contents);
        let stats = machine.device().stats();
        assert!(stats.ftl.gc_runs > 10 && stats.ftl.waf() > 1.0, "{:?}", stats.ftl);
        assert!(stats.ftl.waf() < 8.0, "{}", stats.ftl.waf());
        assert_eq!(machine.device().translation().state(), DriveState::Ready);
        assert!(counter(&machine, "erased_ahead") > 0);
    }
}

/// G15: a forced write takes a unit of its own, so that collection works all the time. It must choose lines
/// that free some, and no write may wait for ever while others pass it.
#[test]
fn forced_writes_to_a_full_drive_all_end() {
    let machine = power_on(&pocket(|_| ()), Content::Full, Media::fresh());
    let pages = drive(&machine).bytes / 4096;
    let write = job("fill", Access::Sequential, Mix::Write, 128 << 10, 2 * pages / 32);
    let contents = run(&machine, &[write], versioned(&machine));
    let forced = Job { fua: true, queue_depth: 96, ..random(Mix::Write, 4096, 2 * pages) };
    let before = machine.device().stats().ftl;
    let contents = run(&machine, &[forced], contents);
    run(&machine, &[everything(&machine)], contents);
    let ftl = machine.device().stats().ftl;
    assert!(counter(&machine, "limited") > 0 && ftl.gc_runs > before.gc_runs, "{ftl:?}");
}

#[test]
fn all_is_there_after_a_shutdown_and_what_was_flushed_after_a_loss_of_power() {
    let cases_of = |version| {
        let large = large_pages_of(version, |_| ());
        [(pocket_of(version, |_| ()), Content::Full), (large, Content::Fingerprint)]
    };
    for (profile, content) in VERSIONS.into_iter().flat_map(cases_of) {
        let mut machine = power_on(&profile, content, Media::fresh());
        let mut contents: Contents = versioned(&machine);
        for round in 0..cases(6, 40) {
            let write = Job { seed: round, ..random(Mix::Write, 8192, 400) };
            let flush = Job { flush_every: 1, seed: round, ..random(Mix::Write, 4096, 2) };
            contents = run(&machine, &[write, flush], contents);
            let shuts_down = round % 2 == 0;
            let media = if shuts_down { machine.shut_down().unwrap() } else { machine.cut_power() };
            machine = power_on(&profile, content, media);
            let ftl = machine.device().stats().ftl;
            let expected = if shuts_down { Boot::Clean } else { Boot::Recovered };
            assert_eq!((ftl.boot, ftl.state), (expected, DriveState::Ready), "round {round}");
            contents = run(&machine, &[everything(&machine)], contents);
        }
    }
}

/// P30: boot reads the tails of closed lines, and the metadata of all sectors only where a tail is missing or
/// damaged. Fingerprints keep no tails.
#[test]
fn tails_of_lines_spare_reads_at_boot_and_a_damaged_one_is_not_believed() {
    let boot = |content, damage: bool| {
        let profile = large_pages(|p| p.package.factory_bad_per_mille = 0);
        let machine = power_on(&profile, content, Media::fresh());
        let pages = drive(&machine).bytes / 4096;
        let write = random(Mix::Write, 4096, 2 * pages);
        let contents = run(&machine, &[write], versioned(&machine));
        let below = machine.device().below().expect("the drive");
        if damage {
            // The last page of the last LUN, in which a line's tail ends.
            let g = *below.geometry();
            let (lun, page) = (LunIndex(g.total_luns() - 1), PageInBlock(g.pages_per_block - 1));
            for block in (0..g.blocks_per_lun).map(BlockAddr) {
                machine.device().nand().flip_random_bits(lun, block, page, (0, 256), 60, 9);
            }
        }
        drop(below);
        let machine = power_on(&profile, content, machine.shut_down().unwrap());
        let ftl = machine.device().stats().ftl;
        assert_eq!(ftl.boot, Boot::Clean);
        run(&machine, &[everything(&machine)], contents);
        (ftl.boot_reads, counter(&machine, "tails_read"), counter(&machine, "lines_scanned"))
    };
    let (reads, by_tail, scanned) = boot(Content::Full, false);
    assert!(by_tail > 10 && scanned < 3, "{by_tail} by tail, {scanned} scanned");
    let (all_reads, none, all) = boot(Content::Fingerprint, false);
    assert_eq!((none, all), (0, by_tail + scanned));
    assert!(3 * reads < all_reads, "{reads} of {all_reads}");
    let (_, believed, scanned) = boot(Content::Full, true);
    assert_eq!((believed, scanned), (0, all), "each tail is damaged");
}

/// The same job takes the same programs on both versions: only the commands differ.
#[test]
fn both_versions_are_written_alike() {
    let programs = |name| {
        let profile = profile(name, |p| p.package.factory_bad_per_mille = 0);
        let machine = power_on(&profile, Content::Full, Media::fresh());
        // The flush sends what is left in the write buffer.
        let write = job("write", Access::Sequential, Mix::Write, 32 << 10, 100);
        run(&machine, &[Job { flush_every: 100, ..write }], versioned(&machine));
        let totals = machine.device().nand().totals_of_drive();
        (totals.programs, machine.device().stats().ftl.flash_programs)
    };
    assert_eq!(programs(VERSIONS[0]), programs(VERSIONS[1]));
}

/// Writes that fail leave their chunk open or close it early, and resets that fail take it offline.
#[test]
fn chunks_that_fail_lose_nothing() {
    let profile = pocket_of(VERSIONS[1], |p| {
        p.package.program_failures_per_million = 500;
        p.package.erase_failures_per_million = 6_000;
        p.ftl.over_provisioning_percent = 60.0;
    });
    let machine = power_on(&profile, Content::Full, Media::fresh());
    let pages = drive(&machine).bytes / 4096;
    let contents = run(&machine, &[random(Mix::Write, 4096, 6 * pages)], versioned(&machine));
    let contents = run(&machine, &[everything(&machine)], contents);
    let totals = machine.device().nand().totals_of_drive();
    assert!(totals.program_failures > 0 && totals.erase_failures > 0, "{totals:?}");
    let again = power_on(&profile, Content::Full, machine.shut_down().unwrap());
    let contents = run(&again, &[everything(&again)], contents);
    let again = power_on(&profile, Content::Full, again.cut_power());
    run(&again, &[everything(&again)], contents);
}

#[test]
fn failing_programs_and_erases_lose_nothing() {
    let profile = pocket(|p| {
        p.package.program_failures_per_million = 500;
        p.package.erase_failures_per_million = 500;
        p.ftl.over_provisioning_percent = 60.0;
    });
    let machine = power_on(&profile, Content::Full, Media::fresh());
    let pages = drive(&machine).bytes / 4096;
    let write = random(Mix::Write, 4096, 6 * pages);
    let jobs = [write, everything(&machine)];
    let tasks = HostTask::of_jobs(&jobs, drive(&machine), 1).unwrap();
    let mut runner = Runner::new(machine.driver(), tasks, versioned(&machine), (), OnFailure::Continue);
    if let Err(e) = machine.run(&mut runner, |_| true) {
        let view = machine.device().translation();
        view.counters(&mut |name, value| println!("{name} {value}"));
        panic!("{e} {:?} {:?}", machine.device().stats().ftl, machine.device().fault());
    }
    let (statistics, contents, _) = runner.finish();
    let failed: Vec<_> = statistics.iter().filter_map(|s| s.first_failure.as_ref()).collect();
    assert!(failed.is_empty(), "{failed:?} {:?}", machine.device().fault());
    let ftl = machine.device().stats().ftl;
    assert!(ftl.grown_bad_blocks > 0 && counter(&machine, "rewritten") > 0, "{ftl:?}");
    let again = power_on(&profile, Content::Full, machine.shut_down().unwrap());
    run(&again, &[everything(&again)], contents);
}

/// A block that has gone bad is not erased by a format. What it holds counts no more.
#[test]
fn nothing_of_before_a_format_comes_back_from_blocks_that_have_gone_bad() {
    let profile = pocket(|p| {
        p.package.program_failures_per_million = 2_000;
        p.ftl.over_provisioning_percent = 60.0;
    });
    let mut machine = power_on(&profile, Content::Full, Media::fresh());
    let pages = drive(&machine).bytes / 4096;
    for round in 0..2 {
        let write = Job { seed: round, ..random(Mix::Write, 4096, pages) };
        run(&machine, &[write], versioned(&machine));
        let driver = Rc::clone(machine.driver());
        let formatted =
            machine.block_on("formatting", async move { driver.format(0, SecureErase::None).await });
        formatted.unwrap().unwrap();
        let flush = Job { flush_every: 1, ..random(Mix::Write, 4096, 4) };
        let contents = run(&machine, &[flush], versioned(&machine));
        assert!(machine.device().stats().ftl.grown_bad_blocks > 0, "round {round}");
        machine = power_on(&profile, Content::Full, machine.cut_power());
        // What was never written since the format must read as nothing.
        run(&machine, &[everything(&machine)], contents);
    }
}

// O10: 128 KiB are four commands of eight sectors, each of a page in both planes of one LUN. C90: no LUN has
// two writes in flight.
#[test]
fn the_keys_of_the_writer_have_the_effect_that_they_name() {
    let written = |change: fn(&mut TargetProfile)| {
        let profile = large_pages(|p| change(p.target.as_mut().unwrap()));
        let machine = power_on(&profile, Content::Fingerprint, Media::fresh());
        let begun = machine.now();
        let write = job("write", Access::Sequential, Mix::Write, 128 << 10, 32);
        run(&machine, &[write], versioned(&machine));
        (counter(&machine, "vectors"), counter(&machine, "lun_waits"), machine.now().since(begun))
    };
    let (vectors, waits, time) = written(|_| ());
    // What is left in the write buffer at the end has not been sent.
    assert!((24 * 4..=32 * 4).contains(&vectors) && waits > 50, "{vectors} commands, {waits} waits");
    let (fewer, ..) = written(|target| target.sectors_per_write = Some(32));
    assert!((24..=32).contains(&fewer), "{fewer} commands of 32 sectors");
    // Whether writing is faster without the semaphore depends on what else waits in the drive.
    let (_, none, other) = written(|target| target.one_write_per_lun = Some(false));
    assert!(none == 0 && other != time, "{none} waits, {other} and {time}");
}

/// Programs and erases in the order in which they are issued: the kind, and the row.
type Operations = Vec<(u8, u32)>;
/// Those of each LUN.
#[derive(Clone, Default)]
struct Issued(Rc<RefCell<BTreeMap<u32, Operations>>>);

impl EventSink for Issued {
    fn event(&mut self, _: Instant, event: &Event) {
        if let Event::FlashIssued { lun, kind, row, .. } = *event
            && kind != FlashKind::Read as u8
        {
            self.0.borrow_mut().entry(lun).or_default().push((kind, row));
        }
    }
}

/// O11: in a write of the whole drive, each LUN erases its block of the next line behind a write to it.
#[test]
fn an_erase_of_the_next_block_follows_a_write_of_each_lun() {
    let profile = large_pages(|_| ());
    let (recorder, issued) = (Recorder::default(), Issued::default());
    let machine = powered_on(&profile, Content::Fingerprint, Media::fresh(), &recorder);
    recorder.attach(issued.clone());
    let write = job("write", Access::Sequential, Mix::Write, 128 << 10, drive(&machine).bytes >> 17);
    run(&machine, &[write], versioned(&machine));
    let block_of = |row: u32| row / 16;
    let planes = profile.geometry.planes;
    let line_of = |row: u32| block_of(row) / u32::from(planes);
    let is_program = |(kind, _): &&(u8, u32)| *kind == FlashKind::Program as u8;
    for (lun, issued) in &*issued.0.borrow() {
        let first =
            issued.iter().position(|(kind, _)| *kind == FlashKind::Program as u8).expect("it is written");
        let mut erases = 0;
        let mut follows_write = true;
        for &(kind, row) in &issued[first..] {
            if kind == FlashKind::Program as u8 {
                follows_write = true;
                continue;
            }
            assert_eq!(kind, FlashKind::Erase as u8, "LUN {lun}");
            let erased = block_of(row);
            // Behind a write one block is erased in each plane.
            let of_same = erases % u32::from(planes) != 0;
            assert!(follows_write || of_same, "LUN {lun}: the erase of block {erased} follows no write");
            (erases, follows_write) = (erases + 1, false);
        }
        assert!(erases > 8, "LUN {lun}: {erases} erases");
        // Blocks are erased in the order in which they are written, and one ahead of that at most.
        let lines = |programs: bool| {
            let of_kind = issued.iter().filter(|one| is_program(one) == programs);
            let mut lines: Vec<u32> = of_kind.map(|(_, row)| line_of(*row)).collect();
            lines.dedup();
            lines
        };
        let (written, erased) = (lines(true), lines(false));
        assert_eq!(erased[..written.len()], written, "LUN {lun}: {erased:?}");
        assert!(erased.len() <= written.len() + 1, "LUN {lun}: {erased:?}, {written:?}");
        // O10: a page in both planes each time, which is eight sectors.
        let programs: Vec<u32> = issued.iter().filter(is_program).map(|(_, row)| *row).collect();
        for unit in programs.chunks(planes.into()) {
            let places = unit.iter().map(|row| (line_of(*row), row % 16));
            let in_planes: BTreeSet<u32> =
                unit.iter().map(|row| block_of(*row) % u32::from(planes)).collect();
            assert!(places.clone().all(|place| Some(place) == places.clone().next()), "LUN {lun}: {unit:?}");
            assert_eq!(in_planes.len(), usize::from(planes), "LUN {lun}: {unit:?}");
        }
    }
}

/// A vector of more units than the line has LUNs doesn't wait for itself.
#[test]
fn vectors_of_any_size_are_written() {
    for sectors in [8, 16, 24, 40, 64] {
        let profile = large_pages(|p| p.target.as_mut().unwrap().sectors_per_write = Some(sectors));
        let machine = power_on(&profile, Content::Fingerprint, Media::fresh());
        let write = job("write", Access::Sequential, Mix::Write, 128 << 10, 64);
        let contents = run(&machine, &[write], versioned(&machine));
        run(&machine, &[everything(&machine)], contents);
        // Four LUNs of eight sectors are one vector at most.
        let most = u64::from(sectors.min(32) / 8);
        let vectors = counter(&machine, "vectors");
        assert!(vectors >= 64 * 4 / most - 32 / most, "{sectors} sectors: {vectors} vectors");
        assert!(vectors <= 64 * 4 / most * 3 / 2, "{sectors} sectors: {vectors} vectors");
    }
}

/// A write of part of a sector puts nothing back that another command has written since it began.
#[test]
fn a_write_of_part_of_a_sector_undoes_no_other() {
    let machine = power_on(&pocket(|_| ()), Content::Full, Media::fresh());
    let driver = Rc::clone(machine.driver());
    let formatted = machine.block_on("formatting", async move { driver.format(0, SecureErase::None).await });
    formatted.unwrap().unwrap();
    let blocks = machine.driver().namespace().blocks;
    assert_eq!(machine.driver().namespace().block_bytes, 512);
    let write = Job { verify: false, ..job("fill", Access::Sequential, Mix::Write, 128 << 10, blocks / 256) };
    run(&machine, &[write], versioned(&machine));
    for round in 0..40_u64 {
        let first = round * 8;
        let ended = Rc::new(RefCell::new(0));
        let (driver, part) = (Rc::clone(machine.driver()), Rc::clone(&ended));
        machine.host().spawn(async move {
            driver.write(QUEUE, first + 3, &[1; 512], false).await.unwrap();
            *part.borrow_mut() += 1;
        });
        let (driver, whole) = (Rc::clone(machine.driver()), Rc::clone(&ended));
        let exec = machine.host().clone();
        machine.host().spawn(async move {
            exec.sleep(Duration::from_micros(3 * round)).await;
            driver.write(QUEUE, first, &[2; 4096], false).await.unwrap();
            *whole.borrow_mut() += 1;
        });
        while *ended.borrow() < 2 {
            assert!(machine.step());
        }
        let driver = Rc::clone(machine.driver());
        let found = machine.block_on("reading", async move {
            let mut found = [0; 4096];
            driver.read(QUEUE, first, &mut found).await.map(|()| found)
        });
        let found = found.unwrap().unwrap();
        for (n, block) in found.chunks(512).enumerate() {
            let may_be = |value: u8| block == [value; 512];
            assert!(may_be(2) || n == 3 && may_be(1), "round {round}, block {n}: {}", block[0]);
        }
    }
}

#[test]
fn what_pblk_cannot_do_is_refused_by_its_key() {
    let refused = |profile: Profile| {
        let pieces = aster_targets::with_ours(Pieces::default());
        let error = aster_device::check_with(&pieces, &profile, None).unwrap_err();
        format!("{}: {}", error.blame().0, error.blame().1)
    };
    let map = refused(profile("cosmos-ocssd", |p| p.target.as_mut().unwrap().map_mib = Some(100)));
    assert!(map.starts_with("target.map_mib: must be at least"), "{map}");
    let unit = refused(large_pages(|p| p.target.as_mut().unwrap().sectors_per_write = Some(12)));
    assert!(unit.starts_with("target.sectors_per_write: must be a multiple of 8 up to 64"), "{unit}");
    let spare = refused(pocket(|p| p.ftl.over_provisioning_percent = 5.0));
    assert!(spare.starts_with("ftl.over_provisioning_percent: must be at least 19"), "{spare}");
    let one_less = refused(pocket(|p| p.ftl.over_provisioning_percent = 18.0));
    assert_eq!(one_less, spare.replace("but is 5", "but is 18"));
    let enough = pocket(|p| p.ftl.over_provisioning_percent = 19.0);
    let pieces = aster_targets::with_ours(Pieces::default());
    assert!(aster_device::check_with(&pieces, &enough, None).is_ok());
    let lines = refused(pocket(|p| p.restrict.blocks_per_lun = Some(10)));
    assert!(lines.starts_with("geometry.blocks_per_lun: must be more under pblk, which takes 6"), "{lines}");
    let pairs = refused(pocket(|p| p.package.pair_loss = true));
    assert!(pairs.starts_with("package.pair_loss: must be false"), "{pairs}");
    let blocks = refused(profile("tiny", |p| {
        p.target = Some(TargetProfile { kind: "pblk".to_owned(), ..TargetProfile::default() });
    }));
    assert!(blocks.starts_with("host.command_set: must be \"open-channel-1.2\""), "{blocks}");
}
