//! Explanations of commands on whole drives.

use super::names::*;
use super::*;
use crate::watch::add_lives;
use aster_device::Media;
use aster_device::profile::{ContentKind, MappingName, Profile, TargetProfile, shipped};
use aster_driver::Config;
use aster_events::{Recorder, Wait};
use aster_observe::Lives;
use aster_run_virtual::Machine;
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner};
use aster_workload::{Access, BlockSizes, Drive, Extent, Job, Mix, PerDirection};
use std::cell::RefCell;
use std::rc::Rc;

fn job(access: Access, mix: Mix, block: u32, requests: u64) -> Job {
    Job {
        name: "work".into(),
        access,
        mix,
        block_sizes: PerDirection::all(BlockSizes::Fixed(block)),
        number_ios: Some(requests),
        size: Some(Extent::Percent(100)),
        io_size: Some(Extent::Bytes(requests * (1 << 20))),
        queue_depth: 8,
        random_map: false,
        ..Job::default()
    }
}

/// Explains every command of `work` and a flush after it; `before` runs first.
fn explained(profile: &Profile, before: &[Job], work: &[Job], flush: bool) -> Vec<Explanation> {
    let recorder = Recorder::default();
    let config = Config { depth: 64, transfer_bytes_max: 128 << 10, ..Config::default() };
    let machine = Machine::power_on("test", profile, None, Media::fresh(), &recorder, config).unwrap();
    machine.boot().unwrap();
    let namespace = machine.driver().namespace();
    let drive = Drive {
        bytes: namespace.blocks * u64::from(namespace.block_bytes),
        block_bytes: namespace.block_bytes,
        streams: machine.driver().streams(),
    };
    let run = |jobs: &[Job]| {
        let tasks = HostTask::of_jobs(jobs, drive, 1).unwrap();
        let mut runner =
            Runner::new(machine.driver(), tasks, Contents::versioned(drive, 1), (), OnFailure::Continue);
        machine.run(&mut runner, |_| true).unwrap();
    };
    let geometry = *machine.device().geometry();
    let kept = Rc::new(RefCell::new((BTreeMap::<u64, Kept>::new(), Vec::new(), Histories::default())));
    run(before);
    let into = Rc::clone(&kept);
    let on_host = machine.device().below().is_some();
    let lives = Lives::new(geometry, 1024, move |piece: &Piece| {
        let (open, ended, histories) = &mut *into.borrow_mut();
        histories.hear(piece);
        let Some(command) = piece.command else { return };
        match piece.activity {
            Activity::Command(span) => {
                let kept = open.remove(&command).unwrap_or_default();
                ended.push(Explanation::of(command, Instant::ZERO, &span, &kept, (&geometry, on_host)));
            }
            _ => open.entry(command).or_default().hear(piece, histories),
        }
    });
    let recorder = machine.device().command_recorder().clone();
    let lives = Rc::new(RefCell::new(lives));
    add_lives(&machine, &lives);
    run(work);
    if flush {
        let driver = Rc::clone(machine.driver());
        let queue = driver.queues().next().unwrap();
        let flush = async move {
            driver.flush(queue).await?;
            // The controller notes the end of a command after the host.
            let later = driver.exec().now() + aster_units::Duration::from_micros(1);
            driver.exec().sleep_until(later).await;
            Ok::<_, aster_driver::DriverError>(())
        };
        machine.block_on("flush", flush).unwrap().unwrap();
    }
    drop((recorder.detach(), machine.device().recorder().detach(), lives));
    Rc::into_inner(kept).unwrap().into_inner().1
}

fn share(told: &Explanation, what: &str) -> f64 {
    told.shares.iter().find(|share| share.what == what).map_or(0.0, |share| share.percent)
}
fn add_up(all: &[Explanation]) {
    for told in all {
        let sum: f64 = told.shares.iter().map(|share| share.us).sum();
        assert!((sum - told.total_us).abs() < 1e-6 * told.total_us.max(1.0), "{}", told.table());
    }
}

#[test]
fn a_write_that_waits_for_garbage_collection_says_so() {
    let fill = job(Access::Sequential, Mix::Write, 128 << 10, 2_000);
    let churn = job(Access::Random, Mix::Write, 16 << 10, 2_000);
    let all = explained(&shipped("tiny").unwrap(), &[fill, churn.clone()], &[churn], false);
    add_up(&all);
    let slowest = all.iter().max_by(|a, b| a.total_us.total_cmp(&b.total_us)).unwrap();
    // Where collection is paced, some of it is the program that follows.
    assert!(share(slowest, wait_name(Wait::Room)) > 60.0, "{}", slowest.table());
    assert!(slowest.table().contains("FTL: waiting for garbage collection"));
}

#[test]
fn a_flush_is_told_by_the_programs_that_it_waited_for() {
    let writes = job(Access::Random, Mix::Write, 16 << 10, 60);
    let all = explained(&shipped("tiny").unwrap(), &[], &[writes], true);
    add_up(&all);
    let flush = all.iter().find(|told| told.name == "Flush").unwrap();
    let programs = [LUN, CHANNEL, PROGRAM_ARRAY, OPERATION].map(|what| share(flush, what));
    assert!(programs.iter().sum::<f64>() > 95.0 && programs[2] > 25.0, "{}", flush.table());
}

/// O7, C90: what an FTL on the host waits for is told of the host's commands, not of the drive's.
#[test]
fn a_flush_through_pblk_is_told_by_the_luns_and_programs_that_it_waited_for() {
    let profile = shipped("pocket-ocssd").unwrap();
    let some = |job: Job| Job { size: Some(Extent::Bytes(1 << 20)), ..job };
    let writes = some(job(Access::Random, Mix::Write, 16 << 10, 40));
    let reads = some(job(Access::Random, Mix::Read, 4096, 40));
    let fill = job(Access::Sequential, Mix::Write, 16 << 10, 200);
    let all = explained(&profile, &[fill], &[writes, reads], true);
    add_up(&all);
    assert_eq!(all.len(), 81, "the host's commands alone");
    let flush = all.iter().find(|told| told.name == "Flush").unwrap();
    let waits = holder_name(Wait::Flush).unwrap();
    let [program, lun, operation] =
        [PROGRAM_ARRAY, LUN, OPERATION].map(|what| share(flush, &format!("{waits}: {what}")));
    assert!(program > 20.0 && lun > 0.0 && operation < 5.0, "{}", flush.table());
}

/// An FTL on the host sends a LUN several operations at once. A command is told what the drive did for it,
/// and that it waited while the drive did others.
#[test]
fn through_the_page_mapping_on_the_host_a_read_is_told_what_the_drive_did_for_it() {
    let mut profile = shipped("pocket-ocssd").unwrap();
    profile.target.as_mut().unwrap().kind = "page-mapping".to_owned();
    profile.content = ContentKind::Full;
    let some = |job: Job| Job { size: Some(Extent::Bytes(1 << 20)), ..job };
    let fill = job(Access::Sequential, Mix::Write, 16 << 10, 100);
    let writes = some(job(Access::Random, Mix::Write, 4096, 200));
    let reads = some(job(Access::Random, Mix::Read, 4096, 200));
    let all = explained(&profile, &[fill], &[writes, reads], true);
    add_up(&all);
    let arrays = spent(&all, |what| what.contains("array: "));
    let luns = spent(&all, |what| what.ends_with(LUN));
    let operations = spent(&all, |what| what.ends_with(OPERATION));
    assert!(arrays > 0.1 && luns > 0.3 && operations < 0.05, "{arrays}, {luns}, {operations}");
}

/// H19, H21: the paper's FTL tells what a command waits for: room in its write buffer, which programs make,
/// and the reads of a page.
#[test]
fn a_command_through_hostftl_is_told_by_the_pages_that_it_waited_for() {
    let profile = shipped("host-ftl-small").unwrap();
    let of = |depth, job: Job| Job { queue_depth: depth, ..job };
    let fill = job(Access::Sequential, Mix::Write, 128 << 10, 400);
    let writes = of(64, job(Access::Random, Mix::Write, 4096, 20_000));
    let all = explained(&profile, std::slice::from_ref(&fill), &[writes], true);
    add_up(&all);
    assert_eq!(all.len(), 20_001, "the host's commands alone");
    // While free groups are few, a page also waits for the program before it of its block. That has no name
    // of its own.
    let (room, buffer) = (holder_name(Wait::WriteBuffer).unwrap(), wait_name(Wait::WriteBuffer));
    let waited = spent(&all, |what| what.starts_with(room) || what == buffer);
    let [program, operation] =
        [PROGRAM_ARRAY, OPERATION].map(|what| spent(&all, |of| of == format!("{room}: {what}")));
    assert!(waited > 0.9 && program > 0.2 && operation < 0.05, "{waited}, {program}, {operation}");
    let reads = of(1, job(Access::Random, Mix::Read, 4096, 200));
    let all = explained(&profile, &[fill], &[reads], false);
    add_up(&all);
    let [array, bus, rest] = [READ_ARRAY, CHANNEL, REST].map(|what| spent(&all, |of| of == what));
    assert!(array > 0.3 && bus > 0.2 && rest < 0.01, "{array}, {bus}, {rest}");
}

/// O16: what the host's block layer waits for is the drive, and its own time is not the FTL's.
#[test]
fn a_command_of_the_block_layer_is_told_as_the_host_s() {
    let mut profile = shipped("tiny").unwrap();
    let some = |job: Job| Job { size: Some(Extent::Bytes(1 << 20)), queue_depth: 1, ..job };
    let fill = some(job(Access::Sequential, Mix::Write, 16 << 10, 64));
    let read = some(job(Access::Random, Mix::Read, 4096, 50));
    let (software, drive) = (served(CORE, true), wait_name(Wait::Drive));
    profile.target =
        Some(TargetProfile { kind: "block".to_owned(), command_ns: Some(2_000), ..TargetProfile::default() });
    let all = explained(&profile, &[fill], &[read], false);
    add_up(&all);
    let shares = [software, drive].map(|name| spent(&all, |what| what == name));
    assert!(shares[0] > 0.002 && shares[1] > 0.9 && shares[0] + shares[1] > 0.999, "{shares:?}");
}

/// S27: a command of SoftSSD is told by NVMe in firmware, packets, cores, the array and the ECC engine.
#[test]
fn a_command_of_softssd_is_told_by_its_phases() {
    let profile = shipped("softssd-small").unwrap();
    let of = |depth, job: Job| Job { queue_depth: depth, ..job };
    let fill = job(Access::Sequential, Mix::Write, 128 << 10, 250);
    for depth in [1, 32] {
        let reads = of(depth, job(Access::Random, Mix::Read, 4096, 300));
        let writes = of(depth, job(Access::Random, Mix::Write, 16 << 10, 300));
        let all = explained(&profile, std::slice::from_ref(&fill), &[reads, writes], true);
        add_up(&all);
        assert_eq!(all.len(), 601);
        // A packet has 256 bytes at most; those of a transfer are one line.
        let whole = all.iter().flat_map(|told| &told.steps).find(|step| step.transfers == 16);
        let whole = whole.expect("a sector to the host");
        assert_eq!(whole.what, "link: 4096 B to the host in 16 transfers");
        let lines =
            |told: &Explanation| told.steps.iter().filter(|step| step.what.starts_with("link: ")).count();
        assert!(all.iter().all(|told| lines(told) < 40), "{}", all[100].table());
        for part in ["ECC engine: ", "what the front end adds", "completion entry", READ_ARRAY, CHANNEL, CORE]
        {
            let part = spent(&all, |what| what.contains(part));
            assert!(part > 0.0001, "{depth}: {part}, {}", all[100].table());
        }
        let operations = spent(&all, |what| what.ends_with(OPERATION));
        assert!(operations < 0.05, "what has no name of its own: {operations}");
    }
}

#[test]
fn under_the_big_loop_the_dependency_checker_and_the_reservation_station_are_told() {
    let profile = shipped("cosmos-board").unwrap();
    let some = |job: Job| Job { size: Some(Extent::Bytes(32 << 20)), ..job };
    let fill = some(job(Access::Sequential, Mix::Write, 128 << 10, 256));
    let read = some(job(Access::Random, Mix::Read, 16 << 10, 200));
    let all = explained(&profile, &[fill], &[read], true);
    add_up(&all);
    let kinds = ["TxDMA", "read-trigger", "read-transfer"];
    let told = |read: &Explanation, kind: &str, place: &str| {
        read.steps.iter().any(|step| step.what == format!("{kind} waits {place}") && step.took_us > 0.0)
    };
    let of_flash = |read: &Explanation| read.steps.iter().any(|step| step.what.starts_with("flash read"));
    let reads: Vec<_> = all.iter().filter(|told| told.name == "Read" && of_flash(told)).collect();
    assert!(reads.len() > 50, "{} reads of flash", reads.len());
    for kind in kinds {
        let waited = reads.iter().filter(|read| told(read, kind, "in the reservation station")).count();
        assert!(waited > reads.len() / 2, "{kind}: {waited} of {}\n{}", reads.len(), reads[0].table());
    }
    let mean = |what| reads.iter().map(|read| share(read, what)).sum::<f64>() / reads.len() as f64;
    assert!(mean(STATION) > 1.0 && mean(DEPENDENCY) > 0.0 && mean(CORE) < 3.0, "{}", reads[0].table());
}

#[test]
fn under_auto_completion_a_command_is_shorter_by_what_the_firmware_does_after_its_last_byte() {
    let run = |name: &str, mix: Mix, depth: u32, auto_completion: bool| {
        let mut profile = shipped(name).unwrap();
        profile.host.auto_completion = auto_completion;
        // A microsecond of the core.
        profile.costs.complete = profile.cores.frequency_mhz as u64;
        if name == "cosmos-board" {
            profile.restrict.blocks_per_lun = Some(64);
        }
        let some = |job: Job| Job { size: Some(Extent::Bytes(8 << 20)), queue_depth: depth, ..job };
        let fill = some(job(Access::Sequential, Mix::Write, 128 << 10, 64));
        let work = some(job(Access::Random, mix, 16 << 10, 40));
        let all = explained(&profile, &[fill], &[work], true);
        add_up(&all);
        assert_eq!(all.len(), 41, "none is lost");
        // The firmware answers the flush.
        let (flushes, others): (Vec<_>, _) = all.into_iter().partition(|told| told.name == "Flush");
        assert!(share(&flushes[0], LAST) > 0.0);
        others
    };
    let runs =
        |name, mix: Mix, depth| [false, true].map(|auto_completion| run(name, mix, depth, auto_completion));
    let mean = |all: &[Explanation]| total(all) / all.len() as f64;
    for mix in [Mix::Read, Mix::Write] {
        let [by_firmware, by_itself] = runs("tiny", mix, 1);
        // Each command is shorter by a microsecond, except some that wait for another one's end.
        let shorter = by_firmware.iter().zip(&by_itself).map(|(one, other)| one.total_us - other.total_us);
        let exact = shorter.filter(|us| (0.99..1.01).contains(us)).count();
        assert!(exact > 35, "{exact} of 40");
        let last = |all: &[Explanation]| all.iter().filter(|told| share(told, LAST) > 0.0).count();
        assert_eq!((last(&by_firmware), last(&by_itself)), (40, 0));
    }
    // The FTL learns that the data has moved only when the status checker has checked the transfer.
    let [by_firmware, by_itself] = runs("cosmos-board", Mix::Read, 1);
    assert!(mean(&by_firmware) - mean(&by_itself) > 1.5);
    // Many commands at once, and slices that end long after their commands.
    for name in ["tiny", "cosmos-board"] {
        run(name, Mix::Read, 8, true);
        run(name, Mix::Write, 8, true);
    }
}

/// Microseconds that all commands spent on shares of that name, and in total.
fn spent(all: &[Explanation], is: impl Fn(&str) -> bool) -> f64 {
    let shares = all.iter().flat_map(|told| &told.shares);
    shares.filter(|share| is(&share.what)).map(|share| share.us).sum::<f64>() / total(all)
}
fn total(all: &[Explanation]) -> f64 {
    all.iter().map(|told| told.total_us).sum()
}

#[test]
fn a_loaded_drives_writes_are_told_what_the_holders_of_the_data_buffer_did() {
    let mut profile = shipped("ideal").unwrap();
    profile.ftl.buffer_entries = 16;
    let fill = Job { queue_depth: 60, ..job(Access::Random, Mix::Write, 16 << 10, 1_000) };
    let all = explained(&profile, std::slice::from_ref(&fill), std::slice::from_ref(&fill), false);
    add_up(&all);
    let holder = "waiting for a data buffer entry, its holder: ";
    let followed = spent(&all, |what| what.starts_with(holder));
    let not_followed = spent(&all, |what| what == wait_name(Wait::BufferEntry));
    assert!(followed > 0.3 && not_followed < 0.1 * followed, "{followed} and {not_followed}");
    let program = spent(&all, |what| what == format!("{holder}{PROGRAM_ARRAY}"));
    assert!(program > 0.3 * followed, "{program} of {followed}");
}

/// S24, S27: by the worker that reads a translation page and by those that wait for it alike.
#[test]
fn a_read_that_waits_for_the_map_says_so_whoever_reads_the_translation_page() {
    let run = |map_cache_bytes: Option<u64>, access, depth| {
        let mut profile = shipped("tiny").unwrap();
        (profile.geometry.page_bytes, profile.geometry.spare_bytes) = (4096, 448);
        (profile.geometry.pages_per_block, profile.geometry.blocks_per_lun) = (64, 48);
        profile.host.block_bytes = 4096;
        profile.ftl.over_provisioning_percent = 40.0;
        if map_cache_bytes.is_some() {
            profile.ftl.mapping = MappingName::DemandPaged;
            (profile.ftl.placement, profile.ftl.mapping_unit_bytes) = (None, 0);
        }
        profile.ftl.map_cache_bytes = map_cache_bytes;
        let fill = job(Access::Sequential, Mix::Write, 128 << 10, 2_000);
        let read = Job { queue_depth: depth, ..job(access, Mix::Read, 4096, 300) };
        let all = explained(&profile, &[fill.clone(), fill], &[read], false);
        add_up(&all);
        all
    };
    let all = run(Some(24_000), Access::Random, 1);
    let of_map = |told: &&Explanation| told.steps.iter().any(|step| step.what.contains("translation page"));
    // Some have to evict what was written before.
    let evicts = |told: &Explanation| share(told, PROGRAM_ARRAY) > 0.0;
    let missed: Vec<_> = all.iter().filter(of_map).filter(|told| !evicts(told)).collect();
    assert!(missed.len() > 100, "{} of 300", missed.len());
    for told in missed {
        // Two pages are read, one after the other, and nothing else takes long.
        let [map, array] = [MAP, READ_ARRAY].map(|what| share(told, what));
        assert!(map > 30.0 && array > 10.0 && share(told, CORE) < 5.0, "{}", told.table());
    }
    // Of eight reads that follow each other one reads the page, and nobody waits for the core meanwhile.
    let all = run(Some(24_000), Access::Sequential, 8);
    let waited = all.iter().filter(|told| share(told, MAP) > 0.0).count();
    let reads = |told: &Explanation| told.steps.iter().filter(|s| s.what.starts_with("flash read")).count();
    let alone = all.iter().filter(|told| share(told, MAP) > 0.0 && reads(told) < 2).count();
    assert!(waited > 1 && alone > 0, "{waited}, {alone}");
    assert!(spent(&all, |what| what == CORE) < 0.02);
    // A map that is in memory as a whole.
    assert_eq!(spent(&run(None, Access::Random, 8), |what| what == MAP), 0.0);
}

#[test]
fn waiting_for_the_link_is_told_apart_from_moving_over_it() {
    let reads = |depth| {
        let mut profile = shipped("ideal").unwrap();
        (profile.link.generation, profile.link.lanes, profile.link.unlimited) = (1, 1, false);
        let some = |job: Job| Job { size: Some(Extent::Bytes(8 << 20)), queue_depth: depth, ..job };
        let fill = some(job(Access::Sequential, Mix::Write, 128 << 10, 64));
        let read = some(job(Access::Random, Mix::Read, 128 << 10, 64));
        let all = explained(&profile, &[fill], &[read], false);
        add_up(&all);
        [LINK, LINK_QUEUED].map(|name| spent(&all, |what| what == name))
    };
    let [moving, waiting] = reads(16);
    assert!(moving > 0.005 && waiting > 0.3, "a narrow link: {moving}, {waiting}");
    let [moving, waiting] = reads(1);
    assert!(moving > 0.1 && waiting < 0.9, "one at a time: {moving}, {waiting}");
}
