//! The experiment's drives, and how work on them is measured.

use super::plan::Plan;
use crate::experiment::ExperimentError;
use aster_device::profile::Profile;
use aster_device::{Media, Pieces};
use aster_run_virtual::Machine;
use aster_run_virtual::driver::{Config, QueueId};
use aster_run_virtual::events::Recorder;
use aster_units::{Content, Duration};
use aster_workload::runner::{Contents, HostTask, LatencySink, OnFailure, Runner, Statistics};
use aster_workload::{Access, BlockSizes, Extent, Job, Mix, PerDirection, RequestKind};
use std::rc::Rc;

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

/// What was measured.
pub(super) struct Done {
    pub(super) took: Duration,
    pub(super) bytes: u64,
    /// Of each request, in the order of their ends.
    pub(super) latencies: Vec<Duration>,
}

/// Latencies of all requests.
#[derive(Default)]
struct All(Vec<Duration>);

impl LatencySink for All {
    fn record(&mut self, _: usize, _: RequestKind, latency: Duration) {
        self.0.push(latency);
    }
}

/// A drive that has booted, and its host.
pub(super) struct PaperDrive {
    pub(super) machine: Machine,
    pub(super) profile: Profile,
    contents: Option<Contents>,
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
            transfer_bytes_max: profile.host.transfer_bytes_max,
            ..Config::default()
        };
        let (content, media) = (Some(Content::Fingerprint), Media::fresh());
        let machine = Machine::power_on_with(pieces, "softssd", &profile, content, media, recorder, config)?;
        machine.boot()?;
        let contents = Some(crate::measure::unversioned(&machine, profile.seed));
        Ok(PaperDrive { machine, profile, contents })
    }
    /// Bytes of the write cache.
    pub(super) fn cache_bytes(&self) -> u64 {
        u64::from(self.profile.ftl.buffer_entries) * u64::from(self.profile.geometry.page_bytes)
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
        let driver = Rc::clone(self.machine.driver());
        let flushed = self.machine.block_on("flushing", async move { driver.flush(QueueId(1)).await })?;
        flushed.map_err(|error| ExperimentError::Run(error.to_string()))
    }

    /// Carries `work` out.
    pub(super) fn run(&mut self, name: &str, work: &Work) -> Result<Done, ExperimentError> {
        let drive = crate::measure::drive_of(&self.machine);
        let wrong = |what: String| ExperimentError::Run(format!("{name}: {what}"));
        let jobs: Vec<Job> = (0..work.threads).map(|thread| job(name, work, thread)).collect();
        let tasks = HostTask::of_jobs(&jobs, drive, self.profile.seed).map_err(|e| wrong(e.to_string()))?;
        let contents = self.contents.take().expect("given back after each run");
        let mut runner =
            Runner::new(self.machine.driver(), tasks, contents, All::default(), OnFailure::EndTask);
        self.machine.run(&mut runner, |_| true)?;
        let (statistics, contents, All(latencies)) = runner.finish();
        self.contents = Some(contents);
        if let Some(failure) = statistics.iter().find_map(|task| task.first_failure.as_ref()) {
            return Err(wrong(failure.to_string()));
        }
        let bytes_of =
            |task: &Statistics| -> u64 { Statistics::KINDS.iter().map(|kind| task.of(*kind).bytes).sum() };
        Ok(Done {
            // The threads begin together and have as much to do.
            took: statistics.iter().map(Statistics::measured).max().unwrap_or(Duration::ZERO),
            bytes: statistics.iter().map(bytes_of).sum(),
            latencies,
        })
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
