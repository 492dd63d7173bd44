//! Host-FTL: a drive that takes frames and knows no logical address, and FTLs on its host.

use aster_device::{Boot, DriveState, Media, Profile, least_command};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, run, run_with, versioned};
use aster_units::{Content, Duration, Rng};
use aster_wire::array::{FrameAddress, registers};
use aster_wire::nvme::log::HealthLog;
use aster_workload::runner::LatencySink;
use aster_workload::{Access, Extent, Job, Mix, RequestKind};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The small profile with our FTL on its host.
fn small() -> Profile {
    let mut profile = paper();
    profile.target.as_mut().expect("a target").kind = "page-mapping".to_owned();
    profile.ftl.buffer_entries = 128;
    profile
}

/// The small profile: the paper's FTL is on its host.
fn paper() -> Profile {
    aster_device::profile::shipped("host-ftl-small").expect("a shipped profile")
}

fn machine(profile: &Profile, content: Content, media: Media) -> Machine {
    let config = Config { depth: 32, ..config(profile) };
    let machine = Machine::power_on("host-ftl", profile, Some(content), media, &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

fn random(requests: u64, block: u32, mix: Mix) -> Job {
    Job { queue_depth: 16, ..job("random", Access::Random, mix, block, requests) }
}
fn everything(machine: &Machine) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10);
    job("everything", Access::Sequential, Mix::Read, 64 << 10, requests)
}

#[test]
fn jobs_with_verification_run_through_frames_and_survive_a_restart() {
    works_and_survives_a_restart(&small(), Content::Full);
}

/// H19 to H21: the map is in the host's memory, so that the drive may keep fingerprints.
#[test]
fn the_papers_ftl_works_and_survives_a_restart_in_both_contents() {
    works_and_survives_a_restart(&pages(), Content::Fingerprint);
    let mut profile = pages();
    profile.host.block_bytes = 512;
    works_and_survives_a_restart(&profile, Content::Full);
}

fn works_and_survives_a_restart(profile: &Profile, content: Content) {
    let first = machine(profile, content, Media::fresh());
    assert_eq!(first.device().stats().ftl.boot, Boot::Fresh);
    let below = first.device().below().expect("the drive");
    assert!(first.device().is_nvme() && !below.is_nvme());
    let mut jobs = vec![
        job("fill", Access::Sequential, Mix::Write, 128 << 10, drive(&first).bytes.div_ceil(128 << 10)),
        random(3_000, 4096, Mix::ReadWrite),
        random(400, 64 << 10, Mix::ReadWrite),
        Job { flush_every: 10, ..random(300, 8192, Mix::Write) },
    ];
    if profile.host.block_bytes < 4096 {
        // Parts of sectors.
        jobs.push(random(2_000, 512, Mix::ReadWrite));
    }
    let contents = run(&first, &jobs, versioned(&first));
    let stats = first.device().stats();
    // The host's FTL collects garbage in a drive that knows of none.
    assert!(stats.ftl.flash_erases.gc > 0 && stats.ftl.flash_programs.gc > 0, "{:?}", stats.ftl);
    assert!(below.completed() > stats.ftl.flash_programs.host);
    drop(below);
    let media = first.shut_down().unwrap();
    let second = machine(profile, content, media);
    assert_ne!(second.device().stats().ftl.boot, Boot::Fresh);
    run(&second, &[everything(&second), random(200, 4096, Mix::ReadWrite)], contents);
}

/// Numbers of status entries come round after 65,536 commands. By then the host's status buffer has held
/// frames of many entries and frames of one.
#[test]
fn reads_at_high_depth_go_on_when_the_numbers_of_statuses_come_round() {
    let profile = small();
    let machine = machine(&profile, Content::Full, Media::fresh());
    let fill = job("fill", Access::Sequential, Mix::Write, 128 << 10, drive(&machine).bytes / (128 << 10));
    let reads = Job { queue_depth: 64, ..random(70_000, 4096, Mix::Read) };
    run(&machine, &[fill, reads], versioned(&machine));
    assert!(machine.device().below().expect("the drive").completed() > 65_536);
}

/// The paper's FTL without composite pages, which then needs less spare.
fn pages() -> Profile {
    let mut profile = paper();
    let target = profile.target.as_mut().expect("a target");
    (target.composite_bytes, target.hot_writes) = (None, None);
    profile.ftl.over_provisioning_percent = 40.0;
    profile
}

/// A write is hot if one of the 40 before it wrote the same sectors.
fn composite() -> Profile {
    let mut profile = paper();
    profile.target.as_mut().expect("a target").hot_writes = Some(40);
    profile
}

fn counter(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).unwrap_or_else(|| panic!("it counts {name}"))
}

#[test]
fn composite_pages_work_and_survive_a_restart_in_both_contents() {
    works_and_survives_a_restart(&composite(), Content::Fingerprint);
    let mut profile = composite();
    profile.host.block_bytes = 512;
    works_and_survives_a_restart(&profile, Content::Full);
}

/// H22: large writes of cold sectors become composite pages, and only those.
#[test]
fn large_cold_writes_become_composite_pages_and_no_others() {
    let machine = machine(&composite(), Content::Fingerprint, Media::fresh());
    let sequential = |mix, requests, block: u32| Job {
        queue_depth: 4,
        ..job("s", Access::Sequential, mix, block, requests)
    };
    let mut contents = Some(versioned(&machine));
    let mut sent = |jobs: &[Job]| {
        let before = counter(&machine, "composite_pages");
        contents = contents.take().map(|contents| run(&machine, jobs, contents));
        counter(&machine, "composite_pages") - before
    };
    // 44 writes of a whole row of eight pages: all are cold, and so are the first ones once more.
    assert_eq!(sent(&[sequential(Mix::Write, 44, 128 << 10)]), 44);
    assert_eq!(sent(&[sequential(Mix::Write, 3, 128 << 10)]), 3);
    // Now they are hot.
    assert_eq!(sent(&[sequential(Mix::Write, 3, 128 << 10)]), 0);
    // Others are too small.
    assert_eq!(sent(&[sequential(Mix::Write, 8, 32 << 10)]), 0);
    // Two of half a row share one.
    let halves = Job { offset: Extent::Bytes(8 << 20), ..sequential(Mix::Write, 8, 64 << 10) };
    assert_eq!(sent(std::slice::from_ref(&halves)), 4);
    // A flush makes pages of half a row.
    let flushed = Job { offset: Extent::Bytes(10 << 20), flush_every: 1, ..halves };
    assert_eq!(sent(&[flushed]), 0);
    run(&machine, &[everything(&machine)], contents.expect("they are kept"));
}

/// H22: one command carries the pages of all lanes, written or read.
#[test]
fn a_composite_page_is_one_command() {
    let commands = |profile: &Profile| {
        let machine = machine(profile, Content::Fingerprint, Media::fresh());
        let before = counter(&machine, "commands_sent");
        let write = job("write", Access::Sequential, Mix::Write, 128 << 10, 40);
        run(&machine, &[Job { queue_depth: 8, ..write }], versioned(&machine));
        counter(&machine, "commands_sent") - before
    };
    // 40 rows of eight pages are written, and read for verification. Of each die three groups of eight rows
    // are begun and erased.
    assert_eq!(commands(&composite()), 40 + 40 + 6);
    assert_eq!(commands(&pages()), 8 * (40 + 40) + 6);
}

#[test]
fn composite_pages_keep_what_was_flushed_through_cuts_of_the_host_or_of_both() {
    let profile = composite();
    keeps_what_was_flushed(&profile);
    let mut now = machine(&profile, Content::Full, Media::fresh());
    let mut contents = versioned(&now);
    for round in 0..12 {
        let write = Job { seed: round, ..random(12, 128 << 10, Mix::Write) };
        let flush = Job { seed: round, flush_every: 1, ..random(2, 96 << 10, Mix::Write) };
        contents = run(&now, &[write, flush], contents);
        assert!(counter(&now, "composite_pages") > 3);
        now = machine(&profile, Content::Full, now.cut_power());
        contents = run(&now, &[everything(&now)], contents);
    }
}

#[test]
fn what_was_flushed_is_there_after_a_cut_of_the_host_or_of_both() {
    keeps_what_was_flushed(&small());
}

#[test]
fn the_papers_ftl_keeps_what_was_flushed_through_cuts_of_the_host_or_of_both() {
    keeps_what_was_flushed(&pages());
}

fn keeps_what_was_flushed(profile: &Profile) {
    let mut now = machine(profile, Content::Full, Media::fresh());
    let mut contents = versioned(&now);
    for round in 0..24 {
        let write = Job { seed: round, ..random(60, 8192, Mix::Write) };
        let flush = Job { flush_every: 1, ..random(1, 4096, Mix::Write) };
        contents = run(&now, &[write, flush], contents);
        let driver = Rc::clone(now.driver());
        // Reads are in flight, through frames, when the power goes.
        now.host().spawn(async move {
            let mut page = vec![0; 4096];
            for lba in 0.. {
                let _ = driver.read(aster_driver::QueueId(1), lba * 8 % 512, &mut page).await;
            }
        });
        for _ in 0..13 * round {
            assert!(now.step());
        }
        now = if round % 3 == 0 {
            machine(profile, Content::Full, now.cut_power())
        } else {
            let drive = now.cut_host().expect("there is a target");
            let config = Config { depth: 32, ..config(profile) };
            let next = Machine::power_on_over(aster_device::Pieces::default(), "h", profile, drive, config)
                .unwrap_or_else(|e| panic!("power-on: {e}"));
            next.boot().unwrap_or_else(|e| panic!("boot: {e}"));
            next
        };
        contents = run(&now, &[everything(&now)], contents);
    }
}

/// The host has what the drive loses, and sends it again.
#[test]
fn a_loss_of_power_of_the_drive_alone_takes_nothing_along() {
    loses_nothing(24, |now, profile| {
        let pieces = aster_device::Pieces::default();
        now.restart_drive(pieces, "h", profile).unwrap_or_else(|e| panic!("power-on: {e}"));
    });
}

/// H10: a frame that isn't there stops the unit. What it had not processed is lost to it, and the host resets
/// it and sends that again.
#[test]
fn a_unit_that_stops_is_reset_and_nothing_is_lost() {
    let stops = Cell::new(0);
    loses_nothing(12, |now, _| {
        let drive = now.device().function_below().expect("a drive under the target");
        let nowhere = FrameAddress::of(1 << 60, 64);
        drive.bar_write(0, registers::FRAME_ADDRESS, 8, nowhere.0);
        stops.set(stops.get() % 12 + 1);
        let reset = || counter(now, "unit_resets") == stops.get();
        while !reset() {
            assert!(now.step(), "{} of {} stops", counter(now, "unit_resets"), stops.get());
        }
    });
}

/// Has something `happen` to the drive again and again, at work.
fn loses_nothing(rounds: u64, happen: impl Fn(&Machine, &Profile)) {
    for (profile, block) in [(pages(), 8192), (composite(), 96 << 10)] {
        let now = machine(&profile, Content::Full, Media::fresh());
        let mut contents = versioned(&now);
        for round in 0..rounds {
            contents = run(&now, &[Job { seed: round, ..random(400, block, Mix::ReadWrite) }], contents);
            // Pages of it, and reads, are on their way.
            let driver = Rc::clone(now.driver());
            now.host().spawn(async move {
                let mut page = vec![0; 4096];
                for lba in 0..512 {
                    let _ = driver.read(aster_driver::QueueId(1), lba * 8 % 512, &mut page).await;
                }
            });
            for _ in 0..13 * round {
                assert!(now.step());
            }
            happen(&now, &profile);
            contents = run(&now, &[everything(&now)], contents);
        }
        assert!(now.device().stats().ftl.flash_erases.gc > 0);
        let flush = Job { flush_every: 1, ..random(1, 4096, Mix::Write) };
        contents = run(&now, &[flush], contents);
        let next = machine(&profile, Content::Full, now.cut_power());
        run(&next, &[everything(&next)], contents);
    }
}

/// The health that the host reads.
fn health(machine: &Machine) -> HealthLog {
    let driver = Rc::clone(machine.driver());
    machine.block_on("SMART", async move { driver.health().await }).unwrap().unwrap()
}

/// H25: blocks in which a program or an erase fails are left out, until none is spare.
#[test]
fn bad_blocks_take_nothing_along_and_the_last_spare_one_ends_the_writes() {
    comes_to_its_end(pages(), 10, 8192);
}

/// H22: a row of which a page can't be programmed, and those behind it that the drive refuses.
#[test]
fn bad_blocks_take_nothing_of_composite_pages_along() {
    comes_to_its_end(composite(), 12, 128 << 10);
}

/// Groups that the FTL works with, and bytes of a write.
fn comes_to_its_end(mut profile: Profile, working: u64, block: u32) {
    profile.package.program_failures_per_million = 3_000;
    profile.package.erase_failures_per_million = 3_000;
    let first = machine(&profile, Content::Full, Media::fresh());
    let mut contents = versioned(&first);
    let (mut spare, mut ended) = (health(&first).available_spare, None);
    assert_eq!(spare, 100);
    for seed in 0..60 {
        let write = Job { seed, ..random((16 << 20) / u64::from(block), block, Mix::ReadWrite) };
        let (statistics, after) = run_with(&first, &[write], contents, ());
        contents = after;
        let left = health(&first).available_spare;
        assert!(left <= spare);
        spare = left;
        if statistics[0].failures > 0 {
            ended = statistics[0].first_failure.clone();
            break;
        }
    }
    let ended = ended.expect("the drive comes to its end").to_string();
    assert!(ended.contains("Read Only Range"), "{ended}");
    let stats = first.device().stats().ftl;
    assert_eq!(stats.state, DriveState::ReadOnly);
    // Blocks of 32 sectors, and groups of 8 to work with, are needed; pages on their way may fail as well.
    let needed = (drive(&first).bytes / 4096).div_ceil(32) + working * 8;
    let spare_blocks = 16 * 24 - stats.factory_bad_blocks - needed;
    let grown = stats.grown_bad_blocks;
    assert!((spare_blocks..spare_blocks + 8).contains(&grown), "{grown} of {spare_blocks}");
    assert_eq!((spare, health(&first).critical_warning & 0b1001), (0, 0b1001));
    // A flush still stores what was taken, and power-on finds all of it, and no spare block either.
    let contents = run(&first, &[everything(&first)], contents);
    let media = first.shut_down().unwrap();
    let second = machine(&profile, Content::Full, media);
    assert_eq!(second.device().stats().ftl.state, DriveState::ReadOnly);
    run(&second, &[everything(&second)], contents);
}

/// H21: full pages of 4 KiB writes, or a page for each.
#[test]
fn pages_are_gathered_unless_the_profile_says_not_to() {
    let programs = |buffers| {
        let mut profile = pages();
        profile.target.as_mut().expect("a target").gather_pages = buffers;
        let machine = machine(&profile, Content::Fingerprint, Media::fresh());
        let contents = run(&machine, &[random(400, 4096, Mix::Write)], versioned(&machine));
        run(&machine, &[everything(&machine)], contents);
        let padded = machine.device().translation().counter("padded_sectors").expect("it counts them");
        let stats = machine.device().stats().ftl;
        (stats.flash_programs.host, padded)
    };
    let (gathered, padded) = programs(None);
    assert!(gathered <= 100 && padded == 0, "{gathered} {padded}");
    assert_eq!(programs(Some(0)), (400, 1_200));
    assert!(programs(Some(8)).0 <= 100);
}

/// H17: a read alone waits for the time, and of many none does when the entries are enough.
#[test]
fn a_status_frame_comes_at_so_many_entries_or_after_a_time() {
    let a_read = |depth, status: Option<(u8, u16)>| {
        let mut profile = pages();
        let target = profile.target.as_mut().expect("a target");
        target.status_entries = status.map(|(entries, _)| entries);
        target.status_us = status.map(|(_, us)| us);
        let machine = machine(&profile, Content::Fingerprint, Media::fresh());
        let fill = Job { mix: Mix::Write, ..everything(&machine) };
        let contents = run(&machine, &[fill], versioned(&machine));
        let before = machine.now();
        let reads = Job { queue_depth: depth, ..random(256, 4096, Mix::Read) };
        run(&machine, &[reads], contents);
        machine.now().since(before).as_nanos() as f64 / 256e3
    };
    let (at_once, later) = (a_read(1, None), a_read(1, Some((16, 300))));
    assert!((later - at_once - 300.0).abs() < 2.0, "{at_once} and {later} µs");
    let (many, enough, few) = (a_read(32, None), a_read(32, Some((4, 5_000))), a_read(8, Some((16, 5_000))));
    assert!(enough < 4.0 * many && few > 500.0, "{many}, {enough} and {few} µs");
}

/// Random writes of 4 KiB against a bare simulation of the same groups: map, open groups and victims, without
/// time, frames or flash.
#[test]
fn the_write_amplification_is_that_of_a_bare_simulation() {
    let mut profile = pages();
    profile.package.factory_bad_per_mille = 0;
    let machine = machine(&profile, Content::Fingerprint, Media::fresh());
    let sectors = drive(&machine).bytes / 4096;
    let fill = job("fill", Access::Sequential, Mix::Write, 64 << 10, sectors / 16);
    let contents = run(&machine, &[fill, random(4 * sectors, 4096, Mix::Write)], versioned(&machine));
    let bytes = |machine: &Machine| {
        let stats = machine.device().stats().ftl;
        (stats.flash_bytes_written as f64, stats.host_bytes_written as f64)
    };
    let before = bytes(&machine);
    let mut latest = Latest::default();
    let writes = Job { seed: 2, ..random(3 * sectors, 4096, Mix::Write) };
    let (statistics, contents) = run_with(&machine, &[writes], contents, &mut latest);
    assert_eq!(statistics[0].failures, 0);
    let after = bytes(&machine);
    let waf = (after.0 - before.0) / (after.1 - before.1);
    let [least, most] = [0, DIES].map(|ahead| {
        Bare::write_amplification(sectors as usize, 7 * sectors as usize, 3 * sectors as usize, ahead)
    });
    println!("{waf}; {least} to {most} by the simulation");
    assert!(waf > least * 0.95 && waf < most * 1.05, "{waf} beside {least} to {most}");
    // A write waits for a group at most as long as collection needs for some victims.
    assert!(latest.0 < Duration::from_millis(40), "{:?}", latest.0);
    run(&machine, &[everything(&machine)], contents);
}

/// The longest time that a command took.
#[derive(Default)]
struct Latest(Duration);

impl LatencySink for &mut Latest {
    fn record(&mut self, _task: usize, _kind: RequestKind, latency: Duration) {
        self.0 = self.0.max(latency);
    }
}

/// Groups of the small profile: 2 dies of 24, each of 8 lanes, 8 pages and 4 sectors.
const GROUPS: usize = 48;
const GROUP_SECTORS: usize = 256;
const DIES: usize = 2;
/// Free groups that are left to collection.
const RESERVE: usize = 2;

/// A bare simulation of them.
struct Bare {
    place: Vec<Option<usize>>,
    content: Vec<Vec<usize>>,
    valid: [usize; GROUPS],
    free: VecDeque<usize>,
    /// The open groups of the host's pages and of copies, of each die, and the sectors of each stream.
    open: [[Option<usize>; 2]; 2],
    turns: [usize; 2],
}

impl Bare {
    fn put(&mut self, sector: Option<usize>, stream: usize) {
        let die = self.die(stream);
        self.turns[stream] += 1;
        let free = &mut self.free;
        let group = *self.open[stream][die].get_or_insert_with(|| free.pop_front().expect("a free group"));
        self.content[group].extend(sector.or(Some(usize::MAX)));
        if let Some(sector) = sector {
            if let Some(before) = self.place[sector].replace(group) {
                self.valid[before] -= 1;
            }
            self.valid[group] += 1;
        }
        if self.content[group].len() == GROUP_SECTORS {
            self.open[stream][die] = None;
        }
    }
    /// The die of the next sector: eight pages, one on each lane of a die, come before the other die's. When
    /// no group is left beside the reserve, only open groups are written.
    fn die(&self, stream: usize) -> usize {
        let die = self.turns[stream] / 32 % 2;
        let passed_over = self.open[stream][die].is_none() && self.free.len() <= RESERVE;
        if passed_over && self.open[stream][1 - die].is_some() { 1 - die } else { die }
    }
    fn collect(&mut self) {
        let full = (0..GROUPS).filter(|&group| self.content[group].len() == GROUP_SECTORS);
        let victim = full.min_by_key(|&group| self.valid[group]).expect("a full group");
        for sector in std::mem::take(&mut self.content[victim]) {
            if sector != usize::MAX && self.place[sector] == Some(victim) {
                self.put(Some(sector), 1);
            }
        }
        // The last page of copies is programmed as it is.
        while !self.turns[1].is_multiple_of(4) {
            self.put(None, 1);
        }
        self.free.push_back(victim);
    }
    /// Programmed over written sectors of the last `measured` of so many random writes, after a sequential
    /// one of everything. So many groups are freed before the host needs them: none if it always has
    /// something to write, one of each die if collection is faster than the host's programs are.
    fn write_amplification(sectors: usize, writes: usize, measured: usize, ahead: usize) -> f64 {
        let mut bare = Bare {
            place: vec![None; sectors],
            content: vec![vec![]; GROUPS],
            valid: [0; GROUPS],
            free: (0..GROUPS).collect(),
            open: [[None; 2]; 2],
            turns: [0; 2],
        };
        let mut random = Rng::new(3);
        let mut copies = 0;
        for n in 0..sectors + writes {
            if n == sectors + writes - measured {
                copies = bare.turns[1];
            }
            let sector = if n < sectors { n } else { random.below(sectors as u64) as usize };
            while (ahead > 0 || bare.open[0][bare.die(0)].is_none()) && bare.free.len() <= RESERVE + ahead {
                bare.collect();
            }
            bare.put(Some(sector), 0);
        }
        1.0 + (bare.turns[1] - copies) as f64 / measured as f64
    }
}

#[test]
fn the_least_time_of_a_command_is_that_of_the_hosts_software() {
    let mut profile = small();
    let least = |profile: &Profile| least_command(profile);
    let before = least(&profile);
    profile.target.as_mut().expect("a target").command_ns = Some(6_000);
    assert_eq!(least(&profile) - before, Duration::from_micros(5));
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let refused_of = |mut profile: Profile, content, change: fn(&mut Profile)| {
        change(&mut profile);
        let (media, recorder) = (Media::fresh(), Recorder::default());
        let built =
            Machine::power_on("h", &profile, Some(content), media, &recorder, config(&profile)).map(|_| ());
        built.unwrap_err().to_string()
    };
    let refused = |content, change| refused_of(small(), content, change);
    let tags = refused(Content::Fingerprint, |_| ());
    assert!(tags.starts_with("content: must be \"full\" under target.kind"), "{tags}");
    let units = refused(Content::Full, |p| p.ftl.mapping_unit_bytes = 4096);
    assert!(units.starts_with("ftl.mapping_unit_bytes: must be 0 for an FTL on the host"), "{units}");
    let other = refused(Content::Full, |p| p.ftl.kind = "page-mapping".to_owned());
    assert!(other.contains("vectors"), "{other}");
    let nvme = refused(Content::Full, |p| p.host.front_end = "nvme".to_owned());
    assert!(nvme.contains("front_end") || nvme.contains("command_set"), "{nvme}");
    let pairs = refused_of(paper(), Content::Full, |p| p.package.pair_loss = true);
    assert!(pairs.starts_with("package.pair_loss: must be false under target.kind"), "{pairs}");
    let spare = refused_of(pages(), Content::Full, |p| p.ftl.over_provisioning_percent = 20.0);
    assert!(spare.starts_with("ftl.over_provisioning_percent: must leave 6 blocks"), "{spare}");
    let buffers = refused_of(composite(), Content::Full, |p| p.ftl.buffer_entries = 17);
    assert!(buffers.starts_with("target.composite_bytes: needs 18 page buffers"), "{buffers}");
    let spare = refused_of(composite(), Content::Full, |p| p.ftl.over_provisioning_percent = 40.0);
    assert!(spare.starts_with("ftl.over_provisioning_percent: must leave 7 blocks"), "{spare}");
    let policy = refused_of(paper(), Content::Full, |p| p.ftl.victims = "none".to_owned());
    assert!(policy.starts_with("ftl.victims: must be one of"), "{policy}");
}
