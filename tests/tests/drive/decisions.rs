//! Victim policies and placements, as profiles choose them.

use aster_device::plug::{ClosedBlocks, Placement, VictimPolicy};
use aster_device::profile::{CellUse, Profile};
use aster_device::units::{BlockAddr, Geometry, LunIndex};
use aster_device::{Media, Pieces};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_tests::{as_in_papers, config, drive, job, profile, run, versioned};
use aster_units::{Content, Lpn};
use aster_workload::{Access, Distribution, Extent, Job, Mix, PerDirection, Zone};

/// `tiny` with a victim policy and a placement, on four LUNs of two channels, with enough blocks for their
/// ages to differ.
fn deciding(victims: &str, placement: Option<&str>) -> Profile {
    profile("tiny", |p| {
        as_in_papers(p);
        (p.geometry.ways, p.geometry.luns) = (2, 1);
        p.package.cells = CellUse::Slc;
        p.package.read_us.truncate(1);
        p.package.program_us.truncate(1);
        p.geometry.blocks_per_lun = 48;
        p.ftl.victims = victims.to_owned();
        p.ftl.placement = placement.map(str::to_owned);
    })
}

fn power_on(pieces: Pieces, profile: &Profile, media: Media) -> Machine {
    let (content, recorder) = (Some(Content::Fingerprint), Recorder::default());
    let m = Machine::power_on_with(pieces, "test", profile, content, media, &recorder, config(profile))
        .unwrap_or_else(|e| panic!("power-on: {e}"));
    m.boot().unwrap_or_else(|e| panic!("boot: {e}"));
    m
}

/// The percentage of writes that go to the first tenth of the drive.
fn writes(hot_percent: u8, requests: u64) -> Job {
    let zones = [(hot_percent, 10), (100 - hot_percent, 90)];
    let zone = |(requests_percent, size)| Zone { requests_percent, size: Extent::Percent(size) };
    let distribution = Distribution::Zoned(PerDirection::all(zones.map(zone).into()));
    Job { distribution, ..job("skewed", Access::Random, Mix::Write, 16 << 10, requests) }
}

/// The settled write amplification of a full drive under this work.
fn amplification(pieces: Pieces, profile: &Profile, hot_percent: u8) -> f64 {
    let m = power_on(pieces, profile, Media::fresh());
    let pages = drive(&m).bytes >> 14;
    let fill = job("fill", Access::Sequential, Mix::Write, 16 << 10, pages);
    let contents = run(&m, &[fill, writes(hot_percent, 2 * pages)], versioned(&m));
    let before = m.device().stats().ftl;
    run(&m, &[writes(hot_percent, 4 * pages)], contents);
    let after = m.device().stats().ftl;
    let flash = after.flash_bytes_written - before.flash_bytes_written;
    flash as f64 / (after.host_bytes_written - before.host_bytes_written) as f64
}

#[test]
fn cost_benefit_copies_less_than_greedy_where_a_tenth_of_the_drive_takes_most_writes() {
    let [greedy, cost_benefit] = ["greedy", "cost-benefit"]
        .map(|victims| amplification(Pieces::default(), &deciding(victims, None), 90));
    assert!(cost_benefit < 0.9 * greedy, "{cost_benefit} of cost-benefit, {greedy} of greedy");
}

/// Empties the block with the most valid pages, which is the worst choice.
#[derive(Debug)]
struct Fullest;

impl VictimPolicy for Fullest {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        closed.iter().max_by_key(|block| block.valid).expect("at least one is offered").block
    }
}

/// Places two consecutive pages on the same LUN, or all pages on the first.
#[derive(Debug)]
struct Pairs {
    crowded: bool,
}

impl Placement for Pairs {
    fn order(&self, geometry: &Geometry) -> Vec<LunIndex> {
        let luns = if self.crowded { 1 } else { geometry.total_luns() };
        (0..2 * luns).map(|n| LunIndex(n / 2)).collect()
    }
}

fn own() -> Pieces {
    Pieces::default()
        .victims("fullest", |_| Ok(Box::new(Fullest)))
        .placement("pairs", |_| Ok(Box::new(Pairs { crowded: false })))
        .placement("crowded", |_| Ok(Box::new(Pairs { crowded: true })))
}

#[test]
fn a_victim_policy_of_a_readers_own_decides_what_is_copied() {
    let [greedy, fullest] =
        ["greedy", "fullest"].map(|victims| amplification(own(), &deciding(victims, None), 90));
    assert!(fullest > 2.0 * greedy, "{fullest} of the fullest, {greedy} of greedy");
}

#[test]
fn a_placement_of_a_readers_own_places_pages_and_finds_them_again_with_that_placement_alone() {
    let profile = deciding("greedy", Some("pairs"));
    let m = power_on(own(), &profile, Media::fresh());
    let contents = run(&m, &[job("fill", Access::Sequential, Mix::Write, 16 << 10, 16)], versioned(&m));
    let read = || job("read", Access::Sequential, Mix::Read, 16 << 10, 16);
    let contents = run(&m, &[read()], contents);
    let media = m.shut_down().unwrap();

    let m = power_on(own(), &profile, media);
    let lun = |lpn| {
        let at = m.device().translation().location_of(Lpn(lpn)).expect("it was written");
        m.device().geometry().split_ppa(at).0.0
    };
    assert_eq!([0, 1, 2, 3, 8].map(lun), [0, 0, 1, 1, 0]);
    run(&m, &[read()], contents);
    let media = m.shut_down().unwrap();

    let (recorder, other) = (Recorder::default(), deciding("greedy", None));
    let content = Some(Content::Fingerprint);
    let m = Machine::power_on("test", &other, content, media, &recorder, config(&other)).unwrap();
    let refusal = m.boot().unwrap_err().to_string();
    assert!(refusal.contains("another geometry, capacity, placement or content"), "{refusal}");
}

#[test]
fn a_decision_that_a_drive_cannot_have_is_refused_by_file_line_and_key() {
    let refusal = |pieces: &Pieces, profile: &Profile| {
        let error = Profile::parse_with(pieces, "mine.toml", &profile.to_toml().unwrap()).unwrap_err();
        assert!(error.file == "mine.toml" && error.line.is_some(), "{error}");
        (error.key.unwrap_or_default(), error.reason)
    };
    let said = |(key, reason): (String, String), of: &str, what: &str| {
        assert!(key == of && reason.contains(what), "{key}: {reason}");
    };
    let there = "must be one of \"cost-benefit\", \"d-choices\", \"fifo\", \"fullest\", \"greedy\", \
                 \"windowed-greedy\", but is \"newest\"";
    said(refusal(&own(), &deciding("newest", None)), "ftl.victims", there);
    let pairs = || refusal(&Pieces::default(), &deciding("greedy", Some("pairs")));
    said(pairs(), "ftl.placement", "must be one of \"cdpw\", \"cdwp\", \"channel-first\", ");
    said(pairs(), "ftl.placement", "\"random\", \"striped\", \"way-first\", \"wcdp\", ");
    let crowded = "of 2 pages 2 go to LUN 0 and 0 to LUN 1";
    said(refusal(&own(), &deciding("greedy", Some("crowded"))), "ftl.placement", crowded);
}

/// A policy that chooses a block that was not offered.
#[derive(Debug)]
struct Stray;

impl VictimPolicy for Stray {
    fn choose(&mut self, closed: &ClosedBlocks<'_>) -> BlockAddr {
        let last = closed.iter().last().expect("at least one is offered").block;
        BlockAddr(last.0 + 1)
    }
}

#[test]
#[should_panic(expected = "which was not offered")]
fn a_policy_that_chooses_a_block_beyond_those_offered_is_a_bug_that_shows() {
    let pieces = Pieces::default().victims("stray", |_| Ok(Box::new(Stray)));
    amplification(pieces, &deciding("stray", None), 50);
}
