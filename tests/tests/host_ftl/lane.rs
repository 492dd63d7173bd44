//! Host-FTL with a lane that doesn't answer any more (H33, H34, G25).

use aster_device::profile::RaidName;
use aster_device::{Media, Profile};
use aster_driver::{Config, QueueId};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{config, drive, job, run, versioned};
use aster_units::{Content, Duration, LunIndex};
use aster_workload::{Access, Job, Mix};
use std::rc::Rc;

/// Lanes of a channel.
const LANES: u32 = 8;

/// The small profile, with room for a lane to die.
fn profile(raid: Option<RaidName>) -> Profile {
    let mut profile = aster_device::profile::shipped("host-ftl-small").expect("a shipped profile");
    profile.target.as_mut().expect("a target").raid = raid;
    profile.package.factory_bad_per_mille = 0;
    profile.ftl.over_provisioning_percent = 65.0;
    profile
}

fn random(requests: u64, mix: Mix) -> Job {
    Job { queue_depth: 16, ..job("random", Access::Random, mix, 4096, requests) }
}

/// The last one makes all durable.
fn flushed() -> Job {
    Job { flush_every: 1, ..random(1, Mix::Write) }
}

/// A third of the drive, in order.
fn part(machine: &Machine, mix: Mix) -> Job {
    let requests = drive(machine).bytes.div_ceil(64 << 10) / 3;
    job("part", Access::Sequential, mix, 64 << 10, requests)
}

fn counter(machine: &Machine, name: &str) -> u64 {
    machine.device().translation().counter(name).unwrap_or_else(|| panic!("it counts {name}"))
}

/// The dies of a lane don't answer any more.
fn kill(machine: &Machine, lane: u32) {
    (0..2).for_each(|die| machine.device().nand().force_busy(LunIndex(die * LANES + lane), true));
}

/// The next power-on, at which a lane doesn't answer, or answers again.
fn power_on(profile: &Profile, content: Content, media: Media, dead: Option<u32>) -> Machine {
    let config = Config { depth: 32, ..config(profile) };
    let machine = Machine::power_on("lane", profile, Some(content), media, &Recorder::default(), config)
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    dead.into_iter().for_each(|lane| kill(&machine, lane));
    machine
}

fn booted(profile: &Profile, content: Content, media: Media, dead: Option<u32>) -> Machine {
    let machine = power_on(profile, content, media, dead);
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

fn booted_with(profile: &Profile, content: Content, media: Media, dead: &[u32]) -> Machine {
    let machine = power_on(profile, content, media, None);
    dead.iter().for_each(|&lane| kill(&machine, lane));
    machine.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    machine
}

/// Lets time pass, in which collection may work.
fn idle(machine: &Machine) {
    let exec = machine.driver().exec().clone();
    let later = exec.now() + Duration::from_secs(1);
    machine.block_on("idling", async move { exec.sleep_until(later).await }).unwrap();
}

/// H33, G25: whichever lane dies, its data are made of the others, written elsewhere, and found again.
#[test]
fn a_lane_dies_and_nothing_is_lost() {
    for (lane, raid, content, lockstep) in [
        (3, RaidName::Fixed, Content::Fingerprint, false),
        (7, RaidName::Fixed, Content::Fingerprint, false),
        (0, RaidName::Rotating, Content::Full, false),
        (5, RaidName::Rotating, Content::Fingerprint, true),
    ] {
        let mut profile = profile(Some(raid));
        // H2: the lanes of a group work in lockstep, and the dead one doesn't hold the others.
        profile.channel.lanes = lockstep.then_some(LANES as u8);
        let first = booted(&profile, content, Media::fresh(), None);
        let write = [part(&first, Mix::Write), random(300, Mix::Write)];
        let contents = run(&first, &write, versioned(&first));
        kill(&first, lane);
        let read = |machine: &Machine, contents| {
            let began = machine.now();
            let contents = run(machine, &[part(machine, Mix::Read)], contents);
            (contents, machine.now().since(began))
        };
        let (contents, waited) = read(&first, contents);
        // The lane with the sums is read for nobody.
        let has_data = (lane, raid) != (7, RaidName::Fixed);
        let rebuilt = counter(&first, "rebuilt_pages");
        assert_eq!(rebuilt > 20, has_data, "{rebuilt}");
        idle(&first);
        let moved = counter(&first, "rebuilt_pages");
        // All has been written elsewhere, what open groups held as well.
        let (contents, quick) = read(&first, contents);
        let again = counter(&first, "rebuilt_pages") - moved;
        assert_eq!(again, 0, "after {moved}");
        let is_quick = quick < waited / 2;
        assert!(is_quick || !has_data, "{quick:?} and {waited:?}: a controller waits for a lane once");
        let contents = run(&first, &[random(600, Mix::ReadWrite), flushed()], contents);
        let stats = first.device().stats().ftl;
        // 24 blocks of each of two dies.
        assert_eq!((stats.grown_bad_blocks, stats.uncorrectable_sectors), (48, 0));

        // Power-on finds it without the lane, and again when the lane answers.
        let second = booted(&profile, content, first.cut_power(), Some(lane));
        let contents =
            run(&second, &[part(&second, Mix::Read), random(300, Mix::Write), flushed()], contents);
        let third = booted(&profile, content, second.cut_power(), None);
        let contents = run(&third, &[part(&third, Mix::Read), random(300, Mix::ReadWrite)], contents);
        run(&third, &[part(&third, Mix::Read)], contents);
    }
}

/// H33, G25: rows get their redundancy back on the lanes that are left, so another lane may die later. A
/// group that is being written when a lane dies is no exception.
#[test]
fn lanes_die_one_after_the_other_and_nothing_is_lost() {
    for raid in [RaidName::Fixed, RaidName::Rotating] {
        let mut profile = profile(Some(raid));
        profile.ftl.over_provisioning_percent = 150.0;
        let machine = booted(&profile, Content::Fingerprint, Media::fresh(), None);
        let mut contents = run(&machine, &[part(&machine, Mix::Write)], versioned(&machine));
        for lane in [4, 1] {
            contents = run(&machine, &[random(50, Mix::Write), flushed()], contents);
            kill(&machine, lane);
            contents = run(&machine, &[part(&machine, Mix::Read)], contents);
            idle(&machine);
        }
        let rebuilt = counter(&machine, "rebuilt_pages");
        run(&machine, &[part(&machine, Mix::Read)], contents);
        assert_eq!(counter(&machine, "rebuilt_pages"), rebuilt, "all was written elsewhere");
        let stats = machine.device().stats().ftl;
        assert_eq!((stats.grown_bad_blocks, stats.uncorrectable_sectors), (96, 0));
    }
}

/// The same if the first one dies while the drive is off. The lane with the sums is read for nobody.
#[test]
fn what_a_lane_held_that_is_dead_at_power_on_is_written_elsewhere() {
    for (raid, lane) in [(RaidName::Fixed, 7), (RaidName::Rotating, 4), (RaidName::Fixed, 0)] {
        let mut profile = profile(Some(raid));
        profile.ftl.over_provisioning_percent = 150.0;
        let first = booted(&profile, Content::Fingerprint, Media::fresh(), None);
        let contents = run(&first, &[part(&first, Mix::Write), flushed()], versioned(&first));
        let second = booted(&profile, Content::Fingerprint, first.cut_power(), Some(lane));
        idle(&second);
        kill(&second, 2);
        run(&second, &[part(&second, Mix::Read)], contents);
        assert_eq!(second.device().stats().ftl.uncorrectable_sectors, 0);
    }
}

/// The same on a drive whose groups have all been written before, under a load that leaves collection no
/// rest: copies go to groups that were erased when the lane was alive.
#[test]
fn a_drive_in_use_gets_its_redundancy_back_too() {
    for (raid, at_power_on) in [(RaidName::Fixed, false), (RaidName::Rotating, true)] {
        let mut profile = profile(Some(raid));
        profile.ftl.over_provisioning_percent = 150.0;
        let first = booted(&profile, Content::Fingerprint, Media::fresh(), None);
        let used = [part(&first, Mix::Write), random(20_000, Mix::Write)];
        let contents = run(&first, &used, versioned(&first));
        kill(&first, 4);
        let contents = run(&first, &[random(6_000, Mix::ReadWrite), flushed()], contents);
        idle(&first);
        let second = match at_power_on {
            true => booted_with(&profile, Content::Fingerprint, first.cut_power(), &[4, 1]),
            false => {
                kill(&first, 1);
                first
            }
        };
        run(&second, &[part(&second, Mix::Read), random(2_000, Mix::Read)], contents);
        assert_eq!(second.device().stats().ftl.uncorrectable_sectors, 0, "{raid:?}");
    }
}

/// Parity makes what one lane held. Two that are gone at once end the boot in words.
#[test]
fn two_lanes_that_are_dead_at_power_on_are_told_before_older_data_come_back() {
    let mut profile = profile(Some(RaidName::Fixed));
    profile.ftl.over_provisioning_percent = 150.0;
    let first = booted(&profile, Content::Fingerprint, Media::fresh(), None);
    let contents = run(&first, &[part(&first, Mix::Write), flushed()], versioned(&first));
    let second = power_on(&profile, Content::Fingerprint, first.cut_power(), Some(4));
    kill(&second, 1);
    let error = second.boot().unwrap_err().to_string();
    assert!(error.contains("2 lanes of channel 0 don't answer on die 0"), "{error}");
    // Nothing has been erased.
    let third = power_on(&profile, Content::Fingerprint, second.cut_power(), None);
    let luns = (0..2).flat_map(|die| [1, 4].map(|lane| LunIndex(die * LANES + lane)));
    luns.for_each(|lun| third.device().nand().force_busy(lun, false));
    third.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    run(&third, &[part(&third, Mix::Read)], contents);
}

/// Of two lanes one has the sums: without the other there is nothing to write to.
#[test]
fn a_channel_of_two_lanes_that_loses_one_is_written_no_more() {
    let mut profile = profile(Some(RaidName::Fixed));
    profile.channel.lanes = Some(2);
    profile.ftl.over_provisioning_percent = 150.0;
    let machine = booted(&profile, Content::Fingerprint, Media::fresh(), None);
    let contents = run(&machine, &[part(&machine, Mix::Write), random(50, Mix::Write)], versioned(&machine));
    kill(&machine, 0);
    let contents = run(&machine, &[random(300, Mix::ReadWrite), flushed()], contents);
    idle(&machine);
    let contents = run(&machine, &[part(&machine, Mix::Read), random(300, Mix::ReadWrite)], contents);
    run(&machine, &[part(&machine, Mix::Read)], contents);
    let stats = machine.device().stats().ftl;
    assert_eq!((stats.grown_bad_blocks, stats.uncorrectable_sectors), (48, 0));
}

/// Without parity what the lane holds is gone. The rest is there, and writes go round the lane.
#[test]
fn without_parity_only_the_lanes_own_sectors_are_lost() {
    let profile = profile(None);
    let content = Content::Fingerprint;
    let first = booted(&profile, content, Media::fresh(), None);
    run(&first, &[part(&first, Mix::Write)], versioned(&first));
    kill(&first, 5);
    let driver = Rc::clone(first.driver());
    let sectors = drive(&first).bytes / 3 / 4096 / 4 * 4;
    let lost = first
        .block_on("reading", async move {
            let mut lost = Vec::new();
            for sector in 0..sectors {
                let mut tags = [[0; 8]];
                match driver.read_tags(QueueId(1), sector, &mut tags).await {
                    Ok(()) => {}
                    Err(error) if error.is_unrecovered_read() => lost.push(sector),
                    Err(error) => panic!("{error}"),
                }
            }
            lost
        })
        .unwrap();
    let count = lost.len() as u64;
    assert!((sectors / 10..=sectors / 6).contains(&count), "{count} of {sectors}");
    // Written again they are there.
    let driver = Rc::clone(first.driver());
    let again = first.block_on("writing", async move {
        for &sector in &lost {
            let tags = [(sector + 1).to_le_bytes()];
            driver.write_tags(QueueId(1), sector, &tags, true).await.unwrap();
            let mut found = [[0; 8]];
            driver.read_tags(QueueId(1), sector, &mut found).await.unwrap();
            assert_eq!(found, tags);
        }
    });
    again.unwrap();
    let second = power_on(&profile, content, first.cut_power(), Some(5));
    let error = second.boot().unwrap_err().to_string();
    assert!(error.contains("lane 5 of channel 0 doesn't answer on die"), "{error}");
}
