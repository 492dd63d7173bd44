//! What is to be tested, and how the specification's times become ours.

use aster_device::profile::{Profile, RestrictProfile};
use aster_device::{BuildError, Media, Pieces, host_streams, namespace_with};
use aster_driver::Config;
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_targets::with_ours;
use aster_units::{Content, Duration};
use aster_workload::Drive;
use serde::Serialize;

/// The class of drive whose rules apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// PTS-E: 4 threads of 32 requests, write cache off, the whole capacity.
    Enterprise,
    /// PTS-C: 2 threads of 16 requests, write cache on, 75 % of the capacity.
    Client,
}

/// A test of the specification.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Requests per second by mix and block size.
    Iops,
    /// Sequential MB/s of large blocks.
    Throughput,
    /// Times of requests that are alone.
    Latency,
    /// Random writes from a purged drive on.
    WriteSaturation,
}

impl Test {
    /// All of them, in the order in which they are done.
    pub const ALL: [Test; 4] = [Test::Iops, Test::Throughput, Test::Latency, Test::WriteSaturation];

    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Test::Iops => "IOPS",
            Test::Throughput => "throughput",
            Test::Latency => "latency",
            Test::WriteSaturation => "write saturation",
        }
    }
}

/// What to test.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile's name.
    pub name: String,
    /// The drive.
    pub profile: Profile,
    /// What its pages keep; `None` for what the profile says.
    pub content: Option<Content>,
    /// Whose rules apply.
    pub class: Class,
    /// The tests, each once.
    pub tests: Vec<Test>,
    /// Threads of the IOPS and write saturation tests, at least 1.
    pub threads: u32,
    /// Requests that each of them has in flight, at least 1.
    pub depth: u32,
    /// The part of the drive that the tests use, 1 to 100.
    pub active_range_percent: u8,
    /// Whether the drive's volatile write cache is on.
    pub write_cache: bool,
    /// The time of a cell; `None` for the specification's minute, scaled with the drive ([`minute`]).
    pub minute: Option<Duration>,
    /// Rounds after which a drive counts as not steady, at least 5.
    pub rounds_max: usize,
    /// The seed of everything that is random.
    pub seed: u64,
    /// The shorter form ([`Plan::quick`]).
    pub is_quick: bool,
}

/// Where the time of a cell is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MinuteFrom {
    /// The specification's minute, scaled with the drive ([`minute`]).
    Scaled,
    /// The quick form's.
    Quick,
    /// The plan's own.
    Given,
}

/// The specification's rounds.
const ROUNDS_MAX: usize = 25;
/// The specification's minute.
pub(super) const MINUTE: Duration = Duration::from_secs(60);
/// Drives of fewer bytes count as parts of one of this size: in a minute they would be written over several
/// times.
const WHOLE_BYTES_MIN: u64 = 16 << 30;
/// The shortest time of a cell: a drive of 200 requests a second still completes more of them than are in
/// flight.
const MINUTE_MIN: Duration = Duration::from_millis(1000);
/// The time of a quick test's cell.
const QUICK_MINUTE: Duration = Duration::from_millis(250);
/// The largest flash of a quick test, in bytes: larger drives are restricted.
const QUICK_BYTES_MAX: u64 = 4 << 30;

/// The minute of a drive of `bytes` that is a part of one of `whole` bytes: 60 s times this part, so that a
/// cell writes as large a share of the drive as it would of the whole. At least a second.
pub fn minute(bytes: u64, whole: u64) -> Duration {
    let whole = whole.max(WHOLE_BYTES_MIN);
    let scaled = u128::from(MINUTE.as_picos()) * u128::from(bytes.min(whole)) / u128::from(whole);
    // In microseconds, so that the report prints it as it is.
    let micros = (scaled / 1_000_000) as u64;
    Duration::from_micros(micros).max(MINUTE_MIN)
}

/// Data bytes of all pages that a drive uses.
fn flash_bytes(profile: &Profile) -> u64 {
    let used = profile.used_geometry();
    used.total_pages() * u64::from(used.page_bytes)
}

impl Plan {
    /// All tests on a profile's drive, by the rules of a class.
    pub fn new(name: impl Into<String>, profile: Profile, class: Class) -> Self {
        let (threads, depth, active_range_percent, write_cache) = match class {
            Class::Enterprise => (4, 32, 100, false),
            Class::Client => (2, 16, 75, true),
        };
        Plan {
            name: name.into(),
            profile,
            content: None,
            class,
            tests: Test::ALL.to_vec(),
            threads,
            depth,
            active_range_percent,
            write_cache,
            minute: None,
            rounds_max: ROUNDS_MAX,
            seed: 1,
            is_quick: false,
        }
    }

    /// The same steps in less time: fewer mixes and block sizes, shorter cells, and of large drives fewer and
    /// shorter blocks, whose pages keep tags.
    #[must_use]
    pub fn quick(self) -> Self {
        let mut plan = Plan { is_quick: true, ..self };
        if flash_bytes(&plan.profile) > QUICK_BYTES_MAX {
            // A block takes the memory of all of its pages, so bytes would need more than the drive has.
            plan.content = plan.content.or(Some(Content::Fingerprint));
            if let Some(restrict) = plan.restricted() {
                plan.profile.restrict = restrict;
            }
        }
        plan
    }

    /// The restriction that makes a large drive small enough for a quick test; `None` if no such drive can be
    /// made.
    fn restricted(&self) -> Option<RestrictProfile> {
        let used = self.profile.used_geometry();
        let profile = |pages: u16, blocks: u32| {
            let restrict = RestrictProfile {
                pages_per_block: Some(pages),
                blocks_per_lun: Some(blocks),
                ..self.profile.restrict.clone()
            };
            Profile { restrict, ..self.profile.clone() }
        };
        // Halves of the drive's blocks are whole word lines if the blocks are.
        let pages = [16, 8, 4, 2, 1].map(|part| used.pages_per_block / part);
        let blocks = [32, 48, 64, 96, 128, 192, 256].map(|blocks: u32| blocks.min(used.blocks_per_lun));
        let mut drives: Vec<Profile> = pages
            .into_iter()
            .filter(|pages| *pages > 0)
            .flat_map(|pages| blocks.map(|blocks| profile(pages, blocks)))
            .filter(|profile| (QUICK_BYTES_MAX / 8..=QUICK_BYTES_MAX).contains(&flash_bytes(profile)))
            .collect();
        // The smallest that comes up: with bad blocks in it, one that can be made may be too small.
        drives.sort_by_key(flash_bytes);
        let comes_up = |profile: &Profile| Plan { profile: profile.clone(), ..self.clone() }.comes_up();
        drives.into_iter().find(comes_up).map(|profile| profile.restrict)
    }

    /// Whether the profile makes a drive that comes up.
    fn comes_up(&self) -> bool {
        let (media, recorder, config) = (Media::fresh(), Recorder::default(), Config::default());
        self.drive().is_ok()
            && Machine::power_on(&self.name, &self.profile, self.content, media, &recorder, config)
                .is_ok_and(|machine| machine.boot().is_ok())
    }

    /// The drive, as tests see it.
    ///
    /// # Errors
    /// When the profile makes none.
    pub fn drive(&self) -> Result<Drive, BuildError> {
        let pieces = with_ours(Pieces::default());
        let (bytes, block_bytes) = namespace_with(&pieces, &self.profile, self.content, None)?;
        Ok(Drive { bytes, block_bytes, streams: host_streams(&self.profile).into() })
    }

    /// The capacity of the drive of the whole array, which the profile may restrict.
    ///
    /// # Errors
    /// When the profile makes none.
    pub(super) fn whole_bytes(&self) -> Result<u64, BuildError> {
        let restrict =
            RestrictProfile { lsb_pages: self.profile.restrict.lsb_pages, ..RestrictProfile::default() };
        let profile = Profile { restrict, ..self.profile.clone() };
        let pieces = with_ours(Pieces::default());
        Ok(namespace_with(&pieces, &profile, self.content, None)?.0)
    }

    /// The time of a cell on a drive of `bytes` that is a part of one of `whole` bytes, and where it is from.
    pub(super) fn minute(&self, bytes: u64, whole: u64) -> (Duration, MinuteFrom) {
        match self.minute {
            Some(given) => (given, MinuteFrom::Given),
            None if self.is_quick => (QUICK_MINUTE, MinuteFrom::Quick),
            None => (minute(bytes, whole), MinuteFrom::Scaled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_device::profile::shipped;

    #[test]
    fn a_minute_is_as_short_as_the_drive_is_small() {
        const TIB: u64 = 1 << 40;
        assert_eq!(minute(TIB, TIB), MINUTE);
        assert_eq!(minute(TIB / 16, TIB), Duration::from_micros(3_750_000));
        assert_eq!(minute(2 * TIB, TIB), MINUTE, "never longer");
        // A small drive isn't written over several times in each cell, and a tiny one not for an instant.
        assert_eq!(minute(1 << 30, 1 << 30), Duration::from_micros(3_750_000));
        assert_eq!(minute(1 << 20, 1 << 20), MINUTE_MIN);
    }

    #[test]
    fn classes_differ_in_what_the_host_asks_for() {
        let of = |class| {
            let plan = Plan::new("tiny", shipped("tiny").unwrap(), class);
            (plan.threads, plan.depth, plan.active_range_percent, plan.write_cache)
        };
        assert_eq!(of(Class::Enterprise), (4, 32, 100, false));
        assert_eq!(of(Class::Client), (2, 16, 75, true));
    }

    #[test]
    fn a_quick_test_makes_large_drives_small_and_leaves_small_ones_alone() {
        for name in ["cosmos-plus", "cosmos-tlc", "host-ftl", "softssd", "ideal", "pocket", "tiny"] {
            let plan = Plan::new(name, shipped(name).unwrap(), Class::Enterprise);
            let (whole, quick) = (flash_bytes(&plan.profile), plan.clone().quick());
            let is_large = whole > QUICK_BYTES_MAX;
            let sizes = QUICK_BYTES_MAX / 8..=QUICK_BYTES_MAX;
            assert_eq!(is_large, !["pocket", "tiny"].contains(&name));
            assert_eq!(is_large, sizes.contains(&flash_bytes(&quick.profile)), "{name}");
            assert_eq!(is_large, quick.profile != plan.profile, "{name}");
            assert_eq!(quick.content, is_large.then_some(Content::Fingerprint), "{name}");
            assert!(quick.comes_up(), "{name}");
        }
    }
}
