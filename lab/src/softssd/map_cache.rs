//! Throughput by the part of the map that memory has, under three patterns. It is our own figure: the paper's
//! cache holds the whole map, so that none of its figures ever misses (P32).

use super::drive::PaperDrive;
use super::plan::{MapCachePlan, Plan};
use crate::experiment::ExperimentError;
use aster_device::Pieces;
use aster_device::profile::{MappingName, Profile, TransportName};
use aster_events::Recorder;
use aster_workload::{Access, BlockSizes, Distribution, Extent, Job, Mix, PerDirection};
use serde::Serialize;

/// Which pages are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// All alike.
    Uniform,
    /// After Zipf, with the pages that are asked for most spread over the drive, and so over translation
    /// pages.
    Skewed,
    /// One behind the other.
    Sequential,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Pattern; 3] = [Pattern::Uniform, Pattern::Skewed, Pattern::Sequential];
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::Skewed => "Zipf",
            Pattern::Sequential => "sequential",
        }
    }
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapCachePoint {
    /// Which pages.
    pub pattern: Pattern,
    /// Whether they are written.
    pub write: bool,
    /// The cache in percent of the whole map.
    pub percent: f64,
    /// 10⁶ bytes per second.
    pub mb_per_s: f64,
    /// The part of the look-ups that found their entry in memory, from 0 to 1.
    pub hit_rate: f64,
    /// Translation pages read per request.
    pub reads_per_request: f64,
    /// Translation pages programmed per request.
    pub programs_per_request: f64,
}

impl MapCachePlan {
    /// The drive with a cache of that size.
    ///
    /// # Errors
    /// As [`Plan::profile`].
    pub(super) fn profile(&self, plan: &Plan, percent: f64) -> Result<Profile, ExperimentError> {
        let mut profile = plan.profile()?;
        (profile.geometry.channels, profile.geometry.ways) = (self.channels, self.ways);
        profile.geometry.blocks_per_lun = self.blocks_per_lun;
        profile.package.factory_bad_per_mille = 0;
        profile.ftl.over_provisioning_percent = profile.ftl.over_provisioning_percent.max(60.0);
        profile.ftl.buffer_entries = self.buffer_entries;
        // How requests come and how pages are corrected makes no difference to the map.
        (profile.host.transport, profile.host.completion_offload) = (TransportName::Link, None);
        profile.host.register_packets = false;
        profile.ftl.mapping = MappingName::DemandPaged;
        profile.ftl.map_cache_bytes = Some((self.map_bytes(&profile) as f64 * percent / 100.0) as u64);
        Ok(profile)
    }
    /// Four bytes for each page of the host, of which there are as many as over-provisioning leaves.
    fn map_bytes(&self, profile: &Profile) -> u64 {
        let geometry = &profile.geometry;
        let luns = u64::from(geometry.channels) * u64::from(geometry.ways) * u64::from(geometry.luns);
        let pages = luns * u64::from(geometry.blocks_per_lun) * u64::from(geometry.pages_per_block);
        (4.0 * pages as f64 / (1.0 + profile.ftl.over_provisioning_percent / 100.0)) as u64
    }
    fn job(&self, pattern: Pattern, write: bool, page_bytes: u32) -> Job {
        Job {
            name: format!("{} {}", pattern.name(), if write { "writes" } else { "reads" }),
            access: if pattern == Pattern::Sequential { Access::Sequential } else { Access::Random },
            distribution: match pattern {
                Pattern::Uniform | Pattern::Sequential => Distribution::Uniform,
                Pattern::Skewed => Distribution::Zipf(self.zipf),
            },
            mix: if write { Mix::Write } else { Mix::Read },
            block_sizes: PerDirection::all(BlockSizes::Fixed(page_bytes)),
            io_size: Some(Extent::Bytes(self.requests * u64::from(page_bytes))),
            queue_depth: self.outstanding,
            seed: 1,
            ..Job::default()
        }
    }
}

/// All points, by the size of the cache. Each drive is written full once, in order, and then read before it
/// is written again.
pub(super) fn measure(
    plan: &Plan,
    told: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
) -> Result<Vec<MapCachePoint>, ExperimentError> {
    let of = &plan.map_cache;
    let mut points = Vec::new();
    for (at, &percent) in of.percent.iter().enumerate() {
        let share = |part: f64| (at as f64 + part) / of.percent.len() as f64;
        told(share(0.0))?;
        let mut drive = PaperDrive::of(of.profile(plan, percent)?, Pieces::default(), &Recorder::default())?;
        let range = crate::measure::drive_of(&drive.drive.machine).bytes;
        drive.fill(0, range)?;
        told(share(0.5))?;
        for (done, write) in [false, true].into_iter().enumerate() {
            for (nth, pattern) in Pattern::ALL.into_iter().enumerate() {
                points.push(point(of, &mut drive, pattern, write, percent)?);
                told(share(
                    0.5 + (done * Pattern::ALL.len() + nth + 1) as f64 / (4 * Pattern::ALL.len()) as f64,
                ))?;
            }
        }
    }
    Ok(points)
}

fn point(
    of: &MapCachePlan,
    drive: &mut PaperDrive,
    pattern: Pattern,
    write: bool,
    percent: f64,
) -> Result<MapCachePoint, ExperimentError> {
    let counted = |drive: &PaperDrive| {
        ["map_hits", "map_misses", "map_page_reads", "map_page_programs"]
            .map(|name| drive.drive.machine.device().translation().counter(name).unwrap_or(0))
    };
    let before = counted(drive);
    let job = of.job(pattern, write, drive.drive.profile.geometry.page_bytes);
    let done = drive.drive.run(&[job])?;
    let after = counted(drive);
    let [hits, misses, reads, programs] = std::array::from_fn(|at| (after[at] - before[at]) as f64);
    let requests = done.latencies.len().max(1) as f64;
    Ok(MapCachePoint {
        pattern,
        write,
        percent,
        mb_per_s: done.bytes as f64 / 1e6 / done.took.as_secs_f64().max(f64::MIN_POSITIVE),
        hit_rate: hits / (hits + misses).max(1.0),
        reads_per_request: reads / requests,
        programs_per_request: programs / requests,
    })
}
