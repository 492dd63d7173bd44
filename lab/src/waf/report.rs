//! The plan of a measurement, and its results.

use crate::namespace::bytes_to_write;
use crate::spare::theory::policies;
use aster_device::STREAMS_MAX;
use aster_device::profile::{LevellingName, ONE_STREAM, Profile, UPDATE_DISTANCE};
use aster_device::{BuildError, Pieces};
use aster_units::Content;
use serde::Serialize;
use std::fmt::Write;
use std::ops::ControlFlow;

/// How often the drive is written over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passes {
    /// Before anything is counted.
    pub settle: u32,
    /// While pages are counted.
    pub measure: u32,
}

/// What to measure: each victim policy with each number of streams, at each over-provisioning under each
/// skew.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile's name.
    pub name: String,
    /// The drive. Its pages keep tags.
    pub profile: Profile,
    /// The seed of the addresses that are written.
    pub seed: u64,
    /// The victim policies, of those that the simulation knows.
    pub victims: Vec<&'static str>,
    /// `ftl.streams` of the drives.
    pub streams: Vec<u8>,
    /// `ftl.over_provisioning_percent` of the drives.
    pub over_provisioning: Vec<f64>,
    /// Skews, 50 to 99: with 90, 90 % of the writes go to 10 % of the pages; 50 is uniform.
    pub hot_percents: Vec<u8>,
    /// How often the drive is written over.
    pub passes: Passes,
}

impl Plan {
    /// The profile's drive, from uniform writes to 95 % of them on 5 % of the pages.
    pub fn new(name: impl Into<String>, profile: Profile, seed: u64) -> Self {
        Plan {
            name: name.into(),
            victims: policies(&profile).into_iter().map(|(name, _)| name).collect(),
            streams: vec![profile.ftl.streams],
            over_provisioning: vec![profile.ftl.over_provisioning_percent],
            profile,
            seed,
            hot_percents: vec![50, 60, 70, 80, 90, 95],
            passes: Passes { settle: 6, measure: 4 },
        }
    }
    /// The shape in seconds: three skews, and fewer writes.
    #[must_use]
    pub fn quick(self) -> Self {
        Plan { hot_percents: vec![50, 80, 95], passes: Passes { settle: 3, measure: 3 }, ..self }
    }
    /// Checks that each drive can be built, and that it collects garbage as the simulation does.
    ///
    /// # Errors
    /// What is wrong with the first drive that can't be measured.
    pub fn check(&self) -> Result<(), BuildError> {
        let content = Content::Fingerprint;
        if let Some(streams) = self.streams.iter().find(|streams| !(1..=STREAMS_MAX).contains(*streams)) {
            let reason = format!("must be from 1 to {STREAMS_MAX}, but is {streams}");
            return Err(BuildError::Value { key: "ftl.streams", reason });
        }
        self.drives().try_for_each(|(_, _, profile)| {
            bytes_to_write(&profile, Some(content))?;
            match aster_device::lun_pool(&Pieces::default(), &profile, content) {
                Some(_) => Ok(()),
                None => Err(BuildError::Value { key: "ftl.kind", reason: other_ftl(&profile) }),
            }
        })
    }
    /// The drives, each with its number of streams and its over-provisioning. Garbage collection is the only
    /// mechanism that moves data on them. Several streams go by the profile's policy, by update distance if
    /// that is for one alone.
    pub(super) fn drives(&self) -> impl Iterator<Item = (u8, f64, Profile)> + '_ {
        let shapes = self
            .streams
            .iter()
            .flat_map(|&streams| self.over_provisioning.iter().map(move |&percent| (streams, percent)));
        shapes.map(|(streams, percent)| {
            let mut profile = self.profile.clone();
            profile.package.factory_bad_per_mille = 0;
            profile.package.wear_out_percent = 0;
            profile.ftl.wear_levelling = LevellingName::None;
            (profile.ftl.refresh_corrected_percent, profile.ftl.refresh_reads, profile.ftl.scan_us) =
                (0, 0, 0);
            profile.ftl.over_provisioning_percent = percent;
            let policy = &mut profile.ftl.stream_policy;
            match streams {
                1 => ONE_STREAM.clone_into(policy),
                _ if policy == ONE_STREAM => UPDATE_DISTANCE.clone_into(policy),
                _ => {}
            }
            profile.ftl.streams = streams;
            (streams, percent, profile)
        })
    }
}

/// Why a drive of this profile isn't measured.
fn other_ftl(profile: &Profile) -> String {
    format!("must be \"page-mapping\", whose garbage collection is measured, but is \"{}\"", profile.ftl.kind)
}

/// Pages programmed for each page that the host wrote, by three ways.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Point {
    /// The victim policy.
    pub victims: &'static str,
    /// Streams of what the host writes.
    pub streams: u8,
    /// `ftl.over_provisioning_percent`.
    pub over_provisioning_percent: f64,
    /// The skew: with 90, 90 % of the writes went to 10 % of the pages.
    pub hot_percent: u8,
    /// The drive's.
    pub drive: f64,
    /// The bare simulation's, of a pool with the same number of blocks and of writes. It knows a single
    /// stream.
    pub simulation: Option<f64>,
    /// Theory's, of a pool of the same fill with many blocks, if there is a formula. It knows a single
    /// stream.
    pub theory: Option<f64>,
}

impl Point {
    /// The difference between drive and simulation, in percent of the simulation.
    pub fn error_percent(&self) -> Option<f64> {
        Some(crate::experiment::error_percent(self.drive, self.simulation?))
    }
}

/// The results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The profile.
    pub profile: String,
    /// The seed.
    pub seed: u64,
    /// Blocks of a LUN for data.
    pub blocks: u32,
    /// Pages of each.
    pub pages_per_block: u32,
    /// Free blocks that are reserved for garbage collection.
    pub reserve: u32,
    /// By policy, streams, over-provisioning and skew.
    pub points: Vec<Point>,
}

/// Follows the measurement of a policy.
pub type Follow<'a> = &'a mut dyn FnMut(&'static str, f64) -> ControlFlow<()>;

/// The report as a table for people.
pub fn table(report: &Report) -> String {
    let Report { profile, blocks, pages_per_block, reserve, .. } = report;
    let mut text = format!(
        "{profile}: pages programmed for each page written. A LUN has {blocks} blocks of {pages_per_block} \
         pages for data, {reserve} of them kept free.\nSkew 90 sends 90 % of the writes to 10 % of the \
         pages; 50 is uniform.\n\n"
    );
    let _ = writeln!(
        text,
        "{:<16}{:>7}{:>7}{:>6}{:>9}{:>12}{:>8}{:>9}",
        "victims", "streams", "spare", "skew", "drive", "simulation", "error", "theory"
    );
    for point in &report.points {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let (simulation, theory) = (number(point.simulation), number(point.theory));
        let error = point.error_percent().map_or("-".to_owned(), |error| format!("{error:.1} %"));
        let _ = writeln!(
            text,
            "{:<16}{:>7}{:>5} %{:>6}{:>9.2}{simulation:>12}{error:>8}{theory:>9}",
            point.victims, point.streams, point.over_provisioning_percent, point.hot_percent, point.drive,
        );
    }
    text
}
