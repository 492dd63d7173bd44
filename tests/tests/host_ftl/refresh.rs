//! Data that fade under the host's FTL over a drive of groups, and are written anew in time (H32).

use aster_device::profile::{ContentKind, Profile};
use aster_device::{DriveState, Media};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, profile, run, run_with, versioned};
use aster_units::{Content, Duration};
use aster_workload::runner::Contents;
use aster_workload::{Access, Extent, Job, Mix};

/// The small profile, with these limits of refresh.
fn small(reads: u32, corrected_percent: u32) -> Profile {
    profile("host-ftl-small", |p| {
        p.content = ContentKind::Fingerprint;
        (p.ftl.refresh_reads, p.ftl.refresh_corrected_percent) = (reads, corrected_percent);
    })
}
fn power_on(profile: &Profile, media: Media) -> Machine {
    let config = Config { depth: 32, ..config(profile) };
    let content = Some(Content::Fingerprint);
    let machine = Machine::power_on("refresh", profile, content, media, &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}
/// A drive that was written in order once.
fn filled(profile: &Profile) -> (Machine, Contents) {
    let machine = power_on(profile, Media::fresh());
    let requests = drive(&machine).bytes.div_ceil(128 << 10);
    // Without reads of its own to verify, and all of it on flash.
    let fill = job("fill", Access::Sequential, Mix::Write, 128 << 10, requests);
    let fill = Job { verify: false, flush_every: requests, ..fill };
    let contents = run(&machine, &[fill], versioned(&machine));
    (machine, contents)
}
fn everything(machine: &Machine) -> Job {
    job("everything", Access::Sequential, Mix::Read, 64 << 10, drive(machine).bytes.div_ceil(64 << 10))
}
/// Reads of one sector, one after the other.
fn one_sector(reads: u64) -> Job {
    let size = Some(Extent::Bytes(4096));
    Job { size, queue_depth: 1, ..job("one", Access::Random, Mix::Read, 4096, reads) }
}
fn random(mix: Mix, requests: u64) -> Job {
    job("random", Access::Random, mix, 4096, requests)
}
fn counted(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).unwrap_or_else(|| panic!("no counter {name}"))
}
fn refreshed(machine: &Machine) -> u64 {
    machine.device().stats().ftl.refreshed
}

/// H32: the limit, the move with the erase, and the counter that begins at 0 again and is lost with the
/// power.
#[test]
fn a_group_is_written_anew_after_so_many_reads_of_a_block_and_counted_from_0_again() {
    let profile = small(200, 0);
    let (machine, contents) = filled(&profile);
    let erases = machine.device().stats().nand.erases;
    let contents = run(&machine, &[one_sector(199)], contents);
    machine.idle(Duration::from_millis(100));
    assert_eq!((counted(&machine, "reads_most"), refreshed(&machine)), (199, 0));
    let contents = run(&machine, &[one_sector(1)], contents);
    machine.idle(Duration::from_millis(100));
    assert_eq!((counted(&machine, "reads_most"), refreshed(&machine)), (0, 1));
    // The blocks of a group, and those of the groups that were opened for the copies.
    let erased = machine.device().stats().nand.erases - erases;
    assert!((8..=24).contains(&erased), "{erased} blocks were erased");
    let contents = run(&machine, &[one_sector(150)], contents);
    assert_eq!((counted(&machine, "reads_most"), refreshed(&machine)), (150, 1));
    let machine = power_on(&profile, machine.cut_power());
    assert_eq!(counted(&machine, "reads_most"), 0);
    let contents = run(&machine, &[one_sector(150)], contents);
    assert_eq!((counted(&machine, "reads_most"), refreshed(&machine)), (150, 0));
    run(&machine, &[everything(&machine)], contents);
}

/// The host writes a tenth of the drive over and over, and reads all of it so often that nearly all groups
/// are to be written anew all the time. Most of them hold data that nobody writes, and so give no room.
#[test]
fn refresh_takes_no_room_from_collection_and_never_makes_the_drive_read_only() {
    let written = |reads| {
        let (machine, mut contents) = filled(&small(reads, 0));
        let began = machine.now();
        let tenth = Some(Extent::Bytes(drive(&machine).bytes / 10));
        for seed in 0..3 {
            let writes = Job { size: tenth, seed, verify: false, ..random(Mix::Write, 10_000) };
            let reads = Job { seed, after_previous: false, ..random(Mix::Read, 4_000) };
            contents = run(&machine, &[writes, reads], contents);
            assert_eq!(machine.device().stats().ftl.state, DriveState::Ready);
        }
        let (took, stats) = (machine.now().since(began), machine.device().stats().ftl);
        run(&machine, &[everything(&machine)], contents);
        (took.as_nanos() / 1000, stats.refreshed, stats.gc_runs - stats.refreshed)
    };
    let [(without, none, alone), (with, refreshed, beside)] = [0, 2].map(written);
    println!("{refreshed} refreshed and {beside} others in {with} us; {alone} in {without} us without");
    // Seven others go first while free groups are few, which they are nearly all the time.
    assert!(none == 0 && refreshed > beside / 9, "{refreshed} groups were refreshed, {beside} others");
    assert!(with < without * 3 / 2, "{with} and {without} us, {beside} and {alone} others");
}

/// What an ageing drive has lost: requests that fail at the end, and those that failed until then.
struct Aged {
    lost: u64,
    failed: u64,
    refreshed: u64,
    erases: u64,
}

/// Reads all of a drive every eight hours, and writes a few sectors at random, for twenty days.
fn aged(corrected_percent: u32) -> Aged {
    let mut profile = small(0, corrected_percent);
    profile.package.errors.retention = 1.6e-4;
    let (machine, mut contents) = filled(&profile);
    let (mut lost, mut failed) = (0, 0);
    for step in 1..=60u32 {
        let writes = Job { seed: step.into(), flush_every: 4, verify: false, ..random(Mix::Write, 4) };
        contents = run(&machine, &[writes], contents);
        machine.device().nand().set_age_hours(8 * step).unwrap();
        let (statistics, read) = run_with(&machine, &[everything(&machine)], contents, ());
        (lost, contents) = (statistics[0].failures, read);
        failed += lost;
        machine.idle(Duration::from_secs(2));
    }
    let stats = machine.device().stats();
    assert_eq!(stats.ftl.state, DriveState::Ready);
    let aged = Aged { lost, failed, refreshed: stats.ftl.refreshed, erases: stats.nand.erases };
    let Aged { refreshed, erases, .. } = aged;
    println!(
        "{corrected_percent} %: {failed} reads failed, {lost} of them at the end; {refreshed} groups were \
              written anew, {erases} blocks erased"
    );
    aged
}

/// H32: the second trigger.
#[test]
fn a_drive_that_ages_loses_nothing_if_data_are_written_anew_by_corrected_bits() {
    let [without, with] = [0, 80].map(aged);
    assert!(without.lost > 30 && without.failed > 10 * without.lost && without.refreshed == 0);
    // A page that gets from below the limit beyond all correction between two reads is lost, and fails in
    // each later one: 0 to 46 with several seeds and costs.
    assert!(with.failed * 20 < without.failed && with.lost * 8 < without.lost && with.refreshed > 20);
}

/// All cells are so bad that data have as many wrong bits in their new place.
#[test]
fn worn_cells_are_not_worn_further_for_data_that_stay_as_bad() {
    let mut profile = small(0, 50);
    profile.package.errors.fresh = 4e-4;
    let (machine, mut contents) = filled(&profile);
    let mut after = vec![];
    for _ in 0..8 {
        contents = run(&machine, &[everything(&machine)], contents);
        machine.idle(Duration::from_secs(2));
        after.push(refreshed(&machine));
    }
    // There are 48 groups.
    assert!(after[0] > 20 && after[7] < 2 * 48, "{after:?}");
    assert!(after[7] - after[5] < 10, "{after:?}");
}

/// Power-on reads every page that was written, also what nobody has read for long.
#[test]
fn power_on_finds_data_that_fade() {
    for (corrected_percent, fades) in [(0, false), (80, true)] {
        let mut profile = small(0, corrected_percent);
        profile.package.errors.retention = 1.6e-4;
        let (machine, contents) = filled(&profile);
        machine.device().nand().set_age_hours(40).unwrap();
        let machine = power_on(&profile, machine.cut_power());
        machine.idle(Duration::from_secs(2));
        assert_eq!(refreshed(&machine) > 20, fades, "{}", refreshed(&machine));
        run(&machine, &[everything(&machine)], contents);
    }
}
