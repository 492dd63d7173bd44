//! The experiment's drives, and how work on them is measured.

use super::plan::Plan;
use crate::experiment::{Done, ExperimentDrive, ExperimentError};
use aster_device::Pieces;
use aster_device::profile::Profile;
use aster_driver::Config;
use aster_events::Recorder;
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection};

/// What the threads of a host ask for, each with a number of requests outstanding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) write: bool,
    pub(super) random: bool,
    pub(super) bytes: u32,
    pub(super) threads: u32,
    pub(super) outstanding: u32,
    /// Requests of all threads together.
    pub(super) requests: u64,
    /// Where on the drive.
    pub(super) from: u64,
    pub(super) range: u64,
}

/// A drive of the paper.
pub(super) struct PaperDrive {
    pub(super) drive: ExperimentDrive,
}

/// Bytes per request of the writes before a measurement.
const FILL_BYTES: u32 = 256 << 10;
const FILL_OUTSTANDING: u32 = 16;

impl PaperDrive {
    /// The plan's drive.
    pub(super) fn new(plan: &Plan, recorder: &Recorder) -> Result<Self, ExperimentError> {
        Self::of(plan.small_profile()?, Pieces::default(), recorder)
    }
    pub(super) fn of(profile: Profile, pieces: Pieces, recorder: &Recorder) -> Result<Self, ExperimentError> {
        let config = Config {
            queue_pairs: profile.host.queue_pairs,
            depth: profile.host.queue_entries - 1,
            ..Config::default()
        };
        let drive = ExperimentDrive::power_on("softssd", profile, pieces, config, recorder)?;
        Ok(PaperDrive { drive })
    }
    /// Bytes of the write cache.
    pub(super) fn cache_bytes(&self) -> u64 {
        u64::from(self.drive.profile.ftl.buffer_entries) * u64::from(self.drive.profile.geometry.page_bytes)
    }

    /// Writes a range in order, and flushes it to flash.
    pub(super) fn fill(&mut self, from: u64, range: u64) -> Result<(), ExperimentError> {
        let requests = range.div_ceil(u64::from(FILL_BYTES));
        let work = Work {
            write: true,
            random: false,
            bytes: FILL_BYTES,
            threads: 1,
            outstanding: FILL_OUTSTANDING,
            requests,
            from,
            range,
        };
        self.run("fill", &work)?;
        self.drive.flush()
    }

    /// Carries `work` out.
    pub(super) fn run(&mut self, name: &str, work: &Work) -> Result<Done, ExperimentError> {
        let jobs: Vec<Job> = (0..work.threads).map(|thread| job(name, work, thread)).collect();
        self.drive.run(&jobs)
    }
}

/// The work of one thread, in a range of its own, so that no thread reads what another has read. The ranges
/// begin a page further each, so that threads that go in order don't all meet at one LUN.
fn job(name: &str, work: &Work, thread: u32) -> Job {
    let threads = u64::from(work.threads);
    let (page, bytes) = (16 << 10, u64::from(work.bytes));
    let range = (work.range / threads / bytes).max(1) * bytes;
    let from = work.from + range * u64::from(thread) + page * u64::from(thread);
    Job {
        name: name.to_owned(),
        access: if work.random { Access::Random } else { Access::Sequential },
        mix: if work.write { Mix::Write } else { Mix::Read },
        block_sizes: PerDirection::all(BlockSizes::Fixed(work.bytes)),
        offset: Extent::Bytes(from),
        size: Some(Extent::Bytes(range)),
        io_size: Some(Extent::Bytes(work.requests.div_ceil(threads) * u64::from(work.bytes))),
        queue_depth: work.outstanding,
        seed: u64::from(thread) + 1,
        ..Job::default()
    }
}
