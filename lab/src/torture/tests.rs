use super::*;
use crate::own::Steady;
use aster_device::profile::{
    COSMOS, CollectionName, CommandName, EmmcProfile, MappingName, Profile, RaidName, STRIPED,
    UPDATE_DISTANCE, shipped,
};
use aster_device::{BadBlock, Pieces};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_units::{BlockAddr, Content};
use std::collections::BTreeSet;

fn profile(name: &str) -> Profile {
    shipped(name).unwrap_or_else(|error| panic!("{error}"))
}

/// Tortures drives of `profile` with `cuts` losses of power.
fn go(profile: &Profile, content: Content, seed: u64, cuts: u64) -> Report {
    let plan = Plan { name: profile.description.clone(), seed, cuts: Some(cuts), only: None };
    let mut here = Here::new("drive", profile, Some(content));
    run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).expect("nothing can go wrong with a life here")
}

/// `short` cuts, or `long` with `ASTER_LONG=1`.
fn cuts(short: u64, long: u64) -> u64 {
    if is_long() { long } else { short }
}
fn is_long() -> bool {
    std::env::var("ASTER_LONG").is_ok_and(|wanted| wanted == "1")
}

#[test]
fn no_loss_of_power_takes_what_was_flushed_or_tears_anything_else() {
    for (name, content, pair_loss, unit_bytes, count) in [
        ("tiny", Content::Full, true, 0, cuts(12, 2_600)),
        ("tiny", Content::Fingerprint, true, 0, cuts(12, 2_600)),
        ("tiny", Content::Full, true, 1024, cuts(8, 2_600)),
        ("tiny", Content::Fingerprint, true, 4096, cuts(8, 2_600)),
        ("pocket", Content::Full, true, 0, cuts(24, 2_600)),
        ("pocket", Content::Full, false, 0, cuts(12, 2_600)),
        ("pocket", Content::Full, true, 1024, cuts(8, 2_600)),
        ("softssd-small", Content::Full, true, 0, cuts(12, 1_000)),
    ] {
        let mut profile = profile(name);
        profile.package.pair_loss = pair_loss;
        (profile.ftl.placement, profile.ftl.collection) = (None, CollectionName::OnDemand);
        profile.ftl.mapping_unit_bytes = unit_bytes;
        let report = go(&profile, content, 1, count);
        if let Some(failure) = &report.failure {
            let arguments = failure.case().arguments().join(" ");
            let set =
                format!("--set package.pair_loss={pair_loss} --set ftl.mapping_unit_bytes={unit_bytes}");
            panic!("aster torture {name} {set} {arguments}: {failure:#?}");
        }
        let seen = report.seen;
        assert_eq!(seen.cuts, count);
        assert!(seen.cuts_in_recovery > 0 && seen.torn_programs > 0, "{seen:?}");
        assert!(seen.commands > 100 && seen.durable > 0 && seen.recovery_reads_max > 0, "{seen:?}");
        if is_long() {
            assert!(seen.torn_erases > 0 && seen.formats > 0 && seen.shutdowns > 0, "{seen:?}");
            assert_eq!(seen.pages_lost > 0, pair_loss, "{seen:?}");
        }
    }
}

/// All LUNs as one pool, in pages and units, on demand and at the host's pace, with one stream and two.
#[test]
fn no_loss_of_power_takes_anything_of_luns_that_are_one_pool() {
    for (n, (unit_bytes, collection, streams, pair_loss)) in [
        (0, CollectionName::OnDemand, 1, true),
        (0, CollectionName::Paced, 1, false),
        (4096, CollectionName::OnDemand, 1, true),
        (4096, CollectionName::Paced, 1, true),
        (1024, CollectionName::Paced, 1, false),
        (0, CollectionName::OnDemand, 2, true),
    ]
    .into_iter()
    .enumerate()
    {
        let mut profile = profile("tiny");
        profile.package.pair_loss = pair_loss;
        profile.ftl.placement = Some(STRIPED.to_owned());
        profile.ftl.mapping_unit_bytes = unit_bytes;
        profile.ftl.collection = collection;
        profile.ftl.streams = streams;
        if streams > 1 {
            profile.ftl.stream_policy = UPDATE_DISTANCE.to_owned();
            profile.ftl.over_provisioning_percent = 40.0;
        }
        let report = go(&profile, Content::Full, 9_000 + n as u64, cuts(8, 1_700));
        assert!(report.failure.is_none(), "{unit_bytes} {streams} {:#?}", report.failure);
    }
}

#[test]
fn blocks_of_one_pool_that_fail_take_nothing_along() {
    let mut profile = profile("tiny");
    profile.ftl.placement = Some(STRIPED.to_owned());
    profile.ftl.over_provisioning_percent = 60.0;
    profile.package.program_failures_per_million = 2_000;
    profile.package.erase_failures_per_million = 2_000;
    let report = go(&profile, Content::Full, 9_100, cuts(12, 2_600));
    assert!(report.failure.is_none(), "{:#?}", report.failure);
}

/// S24: copies of the map's directory are deleted and damaged between losses of power.
#[test]
fn copies_of_the_directory_in_emmc_are_never_needed() {
    let mut tiny = profile("tiny");
    (tiny.ftl.placement, tiny.ftl.mapping_unit_bytes) = (None, 0);
    tiny.ftl.over_provisioning_percent = 60.0;
    // All of SoftSSD, with pages of 4 KiB: so its map has 17 translation pages.
    let mut softssd = profile("softssd-small");
    (softssd.geometry.page_bytes, softssd.geometry.spare_bytes) = (4096, 448);
    (softssd.geometry.pages_per_block, softssd.geometry.blocks_per_lun) = (64, 48);
    softssd.host.block_bytes = 4096;
    softssd.ftl.over_provisioning_percent = 40.0;
    for (mut profile, count) in [(tiny, cuts(16, 2_600)), (softssd, cuts(12, 1_000))] {
        profile.ftl.mapping = MappingName::DemandPaged;
        profile.board.emmc = Some(EmmcProfile { read_us: 150.0, write_us: 400.0 });
        let report = go(&profile, Content::Full, 3, count);
        assert_eq!(report.failure, None);
        let seen = report.seen;
        assert!(seen.spoilt_copies > 2 && seen.used_copies > 2, "{seen:?}");
    }
}

#[test]
fn many_luns_of_few_small_blocks_have_room_for_whatever_comes() {
    let mut profile = profile("pocket");
    profile.package.pair_loss = true;
    (profile.geometry.channels, profile.geometry.ways) = (4, 4);
    let report = go(&profile, Content::Full, 1988, cuts(12, 2_600));
    assert!(report.failure.is_none(), "{:#?}", report.failure);
}

/// Every second loss of power is of the host alone, and of the FTL that runs on it.
#[test]
fn an_ftl_on_the_host_loses_nothing_that_was_flushed_whoever_loses_power() {
    for (name, failures, content, seed, count) in [
        ("pocket-ocssd", 0, Content::Full, 5, cuts(30, 2_600)),
        ("pocket-ocssd", 0, Content::Fingerprint, 5, cuts(15, 2_600)),
        ("pocket-ocssd", 1_000, Content::Full, 5, cuts(12, 2_600)),
        ("pocket-ocssd", 1_000, Content::Fingerprint, 14, cuts(12, 2_600)),
        ("pocket-ocssd-2", 0, Content::Full, 5, cuts(30, 2_600)),
        ("pocket-ocssd-2", 0, Content::Fingerprint, 5, cuts(15, 2_600)),
        ("pocket-ocssd-2", 1_000, Content::Full, 5, cuts(8, 2_600)),
        ("pocket-ocssd-2", 1_000, Content::Fingerprint, 14, cuts(8, 2_600)),
    ] {
        let mut profile = profile(name);
        profile.package.program_failures_per_million = failures;
        profile.package.erase_failures_per_million = failures;
        let report = go(&profile, content, seed, count);
        assert!(report.failure.is_none(), "{name} {failures} {:#?}", report.failure);
        let seen = report.seen;
        assert_eq!(seen.failed_blocks > 0, failures > 0, "{seen:?}");
        assert!(seen.host_cuts > 2 && seen.host_cuts < seen.cuts + seen.cuts_in_recovery, "{seen:?}");
        assert!(seen.drive_cuts > 3, "{seen:?}");
        assert!(seen.torn_programs > 0 && seen.durable > 0, "{seen:?}");
    }
}

/// A bad chunk can't be erased. In this life versions that one still held came back after newer ones had been
/// deallocated and erased, before pblk kept a list of such chunks.
#[test]
fn what_a_bad_chunk_still_holds_does_not_come_back() {
    let mut profile = profile("pocket-ocssd");
    profile.package.program_failures_per_million = 3_000;
    profile.package.erase_failures_per_million = 3_000;
    let rounds = vec![0, 1, 2, 3, 4, 6, 7, 9];
    let life = Case { seed: 46, rounds, depth: DEPTH, cut_recovery: true };
    let plan = Plan { name: "pocket-ocssd".into(), seed: life.seed, cuts: None, only: Some(life) };
    let mut here = Here::new("pocket-ocssd", &profile, Some(Content::Full));
    let report = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.failure.is_none(), "{:#?}", report.failure);
    assert!(report.seen.failed_blocks > 0 && report.seen.drive_cuts > 0, "{:?}", report.seen);
}

/// What pblk had planned when the drive lost its power named pages behind one that was lost, and the drive
/// refused it. In these lives pblk took so many chunks for bad that the drive became read-only, though none
/// had failed; or a vector of two units on one LUN waited for itself.
#[test]
fn losses_of_the_drives_power_cost_pblk_no_chunk() {
    for (one_write_per_lun, sectors_per_write, seed, rounds) in [
        (true, None, 3007, vec![0, 1, 2, 3, 4, 5, 8]),
        (true, None, 1, (0..if is_long() { 80 } else { 24 }).collect()),
        (false, None, 900, vec![0, 1, 4, 5, 6, 7]),
        (false, None, 300, vec![0, 2, 3, 9, 10, 11]),
        (true, Some(16), 100, vec![0, 1, 2, 3, 4, 5]),
        (true, Some(4), 103, vec![0, 1, 2, 3, 4, 5]),
    ] {
        let mut profile = profile("pocket-ocssd");
        let target = profile.target.get_or_insert_default();
        (target.one_write_per_lun, target.sectors_per_write) = (Some(one_write_per_lun), sectors_per_write);
        "pblk".clone_into(&mut target.kind);
        let life = Case { seed, rounds, depth: DEPTH, cut_recovery: true };
        let plan = Plan { name: "pocket-ocssd".into(), seed, cuts: None, only: Some(life) };
        let mut here = Here::new("pocket-ocssd", &profile, Some(Content::Full));
        let report = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(report.failure.is_none(), "{:#?}", report.failure);
        assert!(report.seen.drive_cuts > 3 && report.seen.torn_programs > 0, "{:?}", report.seen);
    }
}

/// In this life the drive began anew when the host's clock was ahead of its own.
#[test]
fn a_drive_that_begins_anew_is_not_behind_its_host() {
    let mut profile = profile("host-ftl-small");
    profile.target.as_mut().expect("a target").raid = Some(RaidName::Off);
    let life = Case { seed: 120, rounds: vec![0, 1, 2, 3, 4], depth: DEPTH, cut_recovery: true };
    let plan = Plan { name: "host-ftl-small".into(), seed: life.seed, cuts: None, only: Some(life) };
    let mut here = Here::new("host-ftl-small", &profile, Some(Content::Full));
    let report = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.failure.is_none(), "{:#?}", report.failure);
    assert!(report.seen.drive_cuts > 3, "{:?}", report.seen);
}

/// H20, H25: each loss of power closes the groups that were being written. Any number of them leaves room.
#[test]
fn the_papers_ftl_has_room_after_any_number_of_losses_of_power() {
    for (failures, content, raid, count) in [
        (0, Content::Full, RaidName::Off, cuts(24, 500)),
        (0, Content::Fingerprint, RaidName::Off, cuts(24, 500)),
        (2_000, Content::Fingerprint, RaidName::Off, cuts(24, 500)),
        (0, Content::Full, RaidName::Fixed, cuts(24, 500)),
        (2_000, Content::Fingerprint, RaidName::Rotating, cuts(24, 500)),
    ] {
        let mut profile = profile("host-ftl-small");
        profile.target.as_mut().expect("a target").raid = Some(raid);
        profile.package.program_failures_per_million = failures;
        profile.package.erase_failures_per_million = failures;
        let report = go(&profile, content, 11, count);
        assert!(report.failure.is_none(), "{failures} {raid:?} {:#?}", report.failure);
        let seen = report.seen;
        assert!(seen.host_cuts > 5 && seen.drive_cuts > 5, "{seen:?}");
        assert!(seen.torn_programs > 0 && seen.torn_erases > 0, "{seen:?}");
        assert_eq!(seen.failed_blocks > 0, failures > 0, "{seen:?}");
    }
}

/// Of blocks of two pages a row is a half, so no group may have a row to gain.
#[test]
fn the_papers_ftl_has_room_on_blocks_of_two_pages() {
    for (raid, percent) in [(RaidName::Off, 60.0), (RaidName::Rotating, 120.0)] {
        let mut profile = profile("host-ftl-small");
        let target = profile.target.as_mut().expect("a target");
        (target.raid, target.wear_window) = (Some(raid), Some(4));
        profile.ftl.over_provisioning_percent = percent;
        profile.geometry.pages_per_block = 2;
        let report = go(&profile, Content::Fingerprint, 5, cuts(40, 500));
        assert!(report.failure.is_none(), "{raid:?} {:#?}", report.failure);
        assert!(report.seen.drive_cuts > 5 && report.seen.host_cuts > 5, "{:?}", report.seen);
    }
}

/// H32: a group that is being written anew when the power goes loses nothing, and takes no room.
#[test]
fn the_papers_ftl_writes_data_anew_and_takes_nothing_along() {
    for (content, raid, count) in [
        (Content::Full, RaidName::Off, cuts(24, 500)),
        (Content::Fingerprint, RaidName::Fixed, cuts(24, 500)),
    ] {
        let mut profile = profile("host-ftl-small");
        profile.target.as_mut().expect("a target").raid = Some(raid);
        profile.ftl.refresh_reads = 3;
        let report = go(&profile, content, 5, count);
        assert!(report.failure.is_none(), "{raid:?} {:#?}", report.failure);
        let seen = report.seen;
        assert!(seen.refreshed > 20 && seen.drive_cuts > 5 && seen.host_cuts > 5, "{seen:?}");
    }
}

/// Regions that hot data leave soon.
fn regions_of_short_blocks() -> Profile {
    let mut profile = profile("host-ftl-small");
    let target = profile.target.as_mut().expect("a target");
    (target.wear_window, target.region_percent) = (Some(4), Some(0.0));
    (target.region_groups, target.region_accesses) = (Some(2), Some(64));
    profile.ftl.over_provisioning_percent = 60.0;
    // Groups of two short blocks, so that eighty of them are erased between two losses of power.
    (profile.geometry.channels, profile.geometry.pages_per_block) = (2, 2);
    profile.channel.lanes = Some(2);
    profile
}

/// H30: hot data that leave their region when the power goes are there, in one region or the other.
#[test]
fn the_papers_ftl_moves_data_between_regions_and_takes_nothing_along() {
    let report = go(&regions_of_short_blocks(), Content::Fingerprint, 5, cuts(40, 500));
    assert!(report.failure.is_none(), "{:#?}", report.failure);
    let seen = report.seen;
    assert!(seen.levelled > 0 && seen.drive_cuts > 5 && seen.host_cuts > 5, "{seen:?}");
}

/// In this life the drive came up read-only when pages that waited for room could get the reserve of
/// collection.
#[test]
fn the_papers_ftl_keeps_its_reserve_for_the_next_power_on() {
    let life = Case { seed: 14, rounds: vec![0, 2, 3, 4], depth: DEPTH, cut_recovery: true };
    let plan = Plan { name: "host-ftl-small".into(), seed: life.seed, cuts: None, only: Some(life) };
    let profile = regions_of_short_blocks();
    let mut here = Here::new("host-ftl-small", &profile, Some(Content::Fingerprint));
    let report = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(report.failure.is_none(), "{:#?}", report.failure);
    assert!(report.seen.drive_cuts + report.seen.host_cuts > 3, "{:?}", report.seen);
}

/// H20: what is asked for while the drive is away reaches it in order, so that no group is erased behind the
/// first page that was written to it.
#[test]
fn a_drive_that_comes_back_gets_commands_in_the_order_of_asking() {
    for content in [Content::Full, Content::Fingerprint] {
        let report = go(&profile("host-ftl-small"), content, 320, 2);
        assert!(report.failure.is_none(), "{:#?}", report.failure);
        assert!(report.seen.drive_cuts > 0, "{:?}", report.seen);
    }
}

/// H33, G25: with parity a lane may die at any moment, beside the losses of power.
#[test]
fn a_lane_that_dies_at_any_moment_takes_nothing_along() {
    for (raid, seed) in [(RaidName::Fixed, 1), (RaidName::Rotating, 9)] {
        let mut profile = profile("host-ftl-small");
        profile.target.as_mut().expect("a target").raid = Some(raid);
        profile.ftl.over_provisioning_percent = 60.0;
        let plan = Plan { name: "lane".to_owned(), seed, cuts: Some(cuts(24, 1_300)), only: None };
        let mut here = Here::new("lane", &profile, Some(Content::Fingerprint)).with_dead_lane();
        let report = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(report.failure.is_none(), "{raid:?} {:#?}", report.failure);
        let seen = report.seen;
        assert!(seen.dead_lanes > 0 && seen.drive_cuts > 5 && seen.host_cuts > 5, "{seen:?}");
    }
}

#[test]
fn work_in_the_background_takes_nothing_along_either() {
    let mut profile = profile("pocket");
    let ftl = &mut profile.ftl;
    (ftl.wear_spread, ftl.refresh_reads, ftl.scan_us, ftl.background_gap_us) = (1, 4, 300, 100);
    let report = go(&profile, Content::Full, 9, cuts(24, 2_600));
    assert!(report.failure.is_none(), "{:#?}", report.failure);
    let seen = report.seen;
    assert!(seen.refreshed > 0 && seen.scanned > 0 && (seen.levelled > 0 || !is_long()), "{seen:?}");
}

/// Under the big loop the FTL learns that data has arrived some passes after the host has seen its write
/// complete. A slow core makes that time long.
#[test]
fn a_host_that_is_ahead_of_the_firmware_loses_nothing_that_was_flushed() {
    for (policy, frequency_mhz) in [("fifo", 1000.0), (COSMOS, 20.0)] {
        let mut profile = profile("pocket");
        profile.host.auto_completion = true;
        profile.package.pair_loss = true;
        profile.scheduler.policy = policy.to_owned();
        profile.cores.frequency_mhz = frequency_mhz;
        profile.costs.loop_pass = 100;
        let report = go(&profile, Content::Full, 31, cuts(60, 2_600));
        assert!(report.failure.is_none(), "{policy:?}: {:#?}", report.failure);
    }
}

#[test]
fn blocks_that_go_bad_take_nothing_along_either() {
    // A pool becomes read-only while several victims are in work.
    for placement in ["channel-first", STRIPED] {
        let mut profile = profile("pocket");
        profile.ftl.placement = Some(placement.to_owned());
        profile.package.program_failures_per_million = 300;
        profile.package.erase_failures_per_million = 10_000;
        let report = go(&profile, Content::Full, 5, cuts(24, 2_600));
        assert!(report.failure.is_none(), "{placement}: {:#?}", report.failure);
        let seen = report.seen;
        assert!(seen.failed_blocks > 0 && (seen.worn_out > 0 || !is_long()), "{placement}: {seen:?}");
    }
}

#[test]
fn a_bad_block_of_the_log_excuses_nothing_while_two_good_ones_are_left() {
    let profile = profile("pocket");
    let media = aster_device::Media::fresh();
    let machine = Machine::power_on("pocket", &profile, None, media, &Recorder::default(), Config::default());
    let machine = machine.expect("it is a shipped profile");
    let device = machine.device();
    let of_log = life::log_blocks(device).expect("our own has a log");
    let (of_log, luns) = (of_log, device.geometry().total_luns() as usize);
    assert_eq!((of_log, luns), (2, 2));
    let mut bad = vec![Vec::new(); luns];
    // The block after the log's blocks doesn't belong to the log.
    bad[0].push((BlockAddr(of_log), BadBlock::Grown));
    assert_eq!(life::good_of_first(of_log, &bad), 4);
    bad[0].push((BlockAddr(of_log - 1), BadBlock::Grown));
    bad[1].push((BlockAddr(0), BadBlock::Factory));
    assert_eq!(life::good_of_first(of_log, &bad), 2);
}

#[test]
fn the_same_seed_lives_the_same_life() {
    let once = || go(&profile("pocket"), Content::Full, 77, 6);
    assert_eq!(once(), once());
}

/// Fails in round `needs[1]` if round `needs[0]` came before it.
struct Planted {
    needs: [u32; 2],
    lives: u32,
}

impl Lives for Planted {
    fn live(
        &mut self,
        case: &Case,
        seen: &mut Seen,
        tick: &mut dyn FnMut(u64, &Seen) -> ControlFlow<()>,
    ) -> Result<(), End> {
        self.lives += 1;
        let mut had = false;
        for (n, &round) in case.rounds.iter().enumerate() {
            seen.cuts += 1;
            let _ = tick(u64::from(round), seen);
            had |= round == self.needs[0];
            let broken = |what: String| Err(End::Broken(Broken { rounds: n + 1, cut_at_ps: 5, what }));
            if had && round == self.needs[1] {
                return broken(format!(
                    "block {} holds version {round}, but must hold version 1",
                    case.depth
                ));
            }
            // A smaller case may show another fault, which is not the one that is reduced.
            if !had && round + 1 == self.needs[1] {
                return broken("the drive does not come up".to_owned());
            }
        }
        Ok(())
    }
}

#[test]
fn a_failing_case_is_made_as_small_as_what_it_needs() {
    for needs in [[0, 7], [2, 3], [5, 11]] {
        let mut lives = Planted { needs, lives: 0 };
        let plan = Plan { name: "planted".into(), seed: 4, cuts: Some(240), only: None };
        let report = run(&plan, &mut lives, &mut |_| ControlFlow::Continue(())).unwrap();
        let failure = report.failure.expect("it is planted");
        assert_eq!((failure.seed, failure.round, failure.cut_at_ps), (4, needs[1], 5));
        assert_eq!((failure.depth, failure.cut_recovery), (1, false));
        assert_eq!(failure.rounds, needs, "{failure:?}");
        assert!(lives.lives <= 1 + ATTEMPTS && report.seen.cuts == u64::from(needs[1]) + 1);
        let arguments = failure.case().arguments().join(" ");
        assert_eq!(
            arguments,
            format!("--seed 4 --rounds {},{} --depth 1 --recovery-uncut", needs[0], needs[1])
        );
    }
}

#[test]
fn failures_are_alike_that_differ_in_numbers_alone() {
    let one = "read again: block 7 holds version 12, but must hold version 3";
    assert!(is_alike(one, "read again: block 81 holds version 2, but must hold nothing or version 5"));
    for other in [
        "block 7 holds version 12, but must hold version 3",
        "read again: block 7 holds nothing, but must hold version 3",
    ] {
        assert!(!is_alike(one, other), "{other}");
    }
}

#[test]
fn a_drive_that_fails_is_told_with_a_smaller_case_that_fails_again() {
    let mut profile = profile("pocket");
    // Each read disturbs the cells so much that no code can correct them.
    profile.package.errors.read = 1e-3;
    let failure = go(&profile, Content::Full, 3, 240).failure.expect("a drive whose data is lost fails");
    let plan = Plan { name: "pocket".into(), seed: failure.seed, cuts: None, only: Some(failure.case()) };
    let mut here = Here::new("pocket", &profile, Some(Content::Full));
    let again = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap().failure;
    assert_eq!(again.expect("it fails again").what, failure.what_smaller);
    assert!(is_alike(&failure.what, &failure.what_smaller), "{failure:?}");
}

/// Another process ends life number `ends`. Each life from the second on fails.
struct EndedByOthers {
    ends: u32,
    lives: u32,
}

impl Lives for EndedByOthers {
    fn live(
        &mut self,
        case: &Case,
        seen: &mut Seen,
        tick: &mut dyn FnMut(u64, &Seen) -> ControlFlow<()>,
    ) -> Result<(), End> {
        self.lives += 1;
        seen.cuts += case.rounds.len() as u64;
        let _ = tick(1, seen);
        match self.lives {
            lives if lives == self.ends => Err(End::Ended("killed".to_owned())),
            1 => Ok(()),
            _ => {
                Err(End::Broken(Broken { rounds: case.rounds.len(), cut_at_ps: 5, what: "lost".to_owned() }))
            }
        }
    }
}

/// Of a large drive a window is written and read back, and nothing of it appears elsewhere.
#[test]
fn of_a_large_drive_a_window_is_tortured() {
    let profile = profile("pocket");
    let plan = Plan { name: "pocket".into(), seed: 1, cuts: Some(cuts(12, 600)), only: None };
    let mut here = Here { window_bytes: 1 << 20, ..Here::new("pocket", &profile, Some(Content::Full)) };
    let places: BTreeSet<_> = (0..50).map(|seed| here.window(seed, (1000, 4096))).collect();
    assert!(places.len() > 5, "{places:?}");
    assert!(places.iter().all(|&(first, blocks)| blocks == 256 && first % 32 == 0 && first + blocks <= 1000));
    assert_eq!(here.window(1, (100, 4096)), (0, 100), "a small drive has no window");
    let report = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(report.failure, None);
    assert!(report.seen.durable > 0 && report.seen.torn_programs > 0, "{:?}", report.seen);
}

/// With pages or units, paced or not: what a drive held before its first command is as durable as what was
/// written to it.
#[test]
fn a_drive_that_begins_in_steady_state_loses_nothing_of_it() {
    for (set, content) in [
        (vec![], Content::Full),
        (vec!["ftl.mapping_unit_bytes=4096", "ftl.collection=paced"], Content::Fingerprint),
        (vec!["package.pair_loss=true"], Content::Fingerprint),
        (
            vec!["ftl.placement=striped", "ftl.mapping_unit_bytes=4096", "ftl.collection=paced"],
            Content::Fingerprint,
        ),
        (vec!["ftl.placement=striped", "package.pair_loss=true"], Content::Full),
    ] {
        let set: Vec<String> = set.into_iter().map(str::to_owned).collect();
        let profile = crate::asked::profiles::find(std::path::Path::new("tiny"), &set).unwrap().profile;
        let plan = Plan { name: "tiny".into(), seed: 5, cuts: Some(cuts(12, 2000)), only: None };
        let mut here = Here::new("tiny", &profile, Some(content)).in_steady_state(Steady::default());
        let report = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(report.failure, None, "{set:?}");
        assert!(report.seen.durable > 0 && report.seen.torn_programs > 0, "{:?}", report.seen);
    }
}

#[test]
fn a_drive_of_a_terabyte_is_made_small_and_small_ones_stay_as_they_are() {
    let keys = |name: &str, set: &dyn Fn(&mut Profile)| {
        let mut profile = profile(name);
        set(&mut profile);
        smaller_drive(&|| aster_targets::with_ours(Pieces::default()), name, &profile, None)
    };
    assert_eq!(
        keys("cosmos-ocssd", &|_| {}),
        ["restrict.ways=2", "restrict.blocks_per_lun=32", "ftl.over_provisioning_percent=60"],
        "with fewer, pblk has no room"
    );
    assert!(keys("pocket-ocssd", &|_| {}).is_empty());
    let restricted = |profile: &mut Profile| profile.restrict.blocks_per_lun = Some(4096);
    assert!(keys("cosmos-ocssd", &restricted).is_empty(), "the user has said how large it is");
}

/// If another process ends a life, the report says so, and doesn't count it as the drive's failure. A
/// failure that was found before is still reported, although it could not be reduced.
#[test]
fn a_life_that_others_end_is_neither_a_failure_nor_hides_one() {
    let plan = Plan { name: "planted".into(), seed: 4, cuts: Some(240), only: None };
    let run = |ends| run(&plan, &mut EndedByOthers { ends, lives: 0 }, &mut |_| ControlFlow::Continue(()));
    let report = run(2).unwrap();
    assert_eq!((report.failure, report.stopped, report.ended.as_deref()), (None, true, Some("killed")));
    assert_eq!((report.drives, report.seen.cuts), (2, 24));
    let report = run(4).unwrap();
    let failure = report.failure.expect("the second life fails");
    assert_eq!((failure.seed, failure.what.as_str(), report.ended), (5, "lost", None));
    assert_eq!(failure.rounds.len(), 6, "made smaller once, then no more");
}

/// In these lives writes failed again and again while pblk moved the last line that it could collect. In
/// the first one it became read-only beside lines of which nothing counted. In the second one it was right
/// to, but flushes of what had come before ended with Write Fault.
#[test]
fn pblk_becomes_read_only_when_no_line_is_left_and_says_so() {
    for (failures, seed, rounds, worn_out) in [(4_000, 30_000, 0..6, 0), (16_000, 3_016, 0..10, 1)] {
        let mut profile = profile("pocket-ocssd-2");
        profile.package.program_failures_per_million = failures;
        profile.package.erase_failures_per_million = failures;
        profile.ftl.mp_native = true;
        // The lives were found without.
        profile.scheduler.read_retries = 0;
        profile.package.commands = vec![CommandName::MultiPlane];
        let life = Case { seed, rounds: rounds.collect(), depth: DEPTH, cut_recovery: true };
        let plan = Plan { name: "pocket-ocssd-2".into(), seed, cuts: None, only: Some(life) };
        let mut here = Here::new("pocket-ocssd-2", &profile, Some(Content::Full));
        let report = run(&plan, &mut here, &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(report.failure.is_none(), "{:#?}", report.failure);
        assert_eq!(report.seen.worn_out, worn_out, "{:?}", report.seen);
    }
}
