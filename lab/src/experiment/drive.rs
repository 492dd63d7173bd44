//! A whole drive under an experiment, and its host.

use super::error::ExperimentError;
use aster_device::profile::Profile;
use aster_device::{Media, Pieces};
use aster_driver::{Config, QueueId};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_units::{Content, Duration};
use aster_workload::Job;
use aster_workload::RequestKind;
use aster_workload::runner::{Contents, HostTask, LatencySink, OnFailure, Runner, Statistics};
use std::rc::Rc;

/// A new drive that has booted.
pub(crate) struct ExperimentDrive {
    pub(crate) machine: Machine,
    pub(crate) profile: Profile,
    contents: Option<Contents>,
}

/// What jobs have done.
pub(crate) struct Done {
    /// Of the job that took the longest.
    pub(crate) took: Duration,
    /// Of all requests.
    pub(crate) bytes: u64,
    /// Of each request, in the order of their ends.
    pub(crate) latencies: Vec<Duration>,
}

#[derive(Default)]
struct Latencies(Vec<Duration>);

impl LatencySink for Latencies {
    fn record(&mut self, _: usize, _: RequestKind, latency: Duration) {
        self.0.push(latency);
    }
}

impl ExperimentDrive {
    /// Powers a drive on that keeps fingerprints. `config` is the host's, with `transfer_bytes_max` left to
    /// the profile.
    ///
    /// # Errors
    /// When the profile makes no drive, or it doesn't come up.
    pub(crate) fn power_on(
        name: &str,
        profile: Profile,
        pieces: Pieces,
        config: Config,
        recorder: &Recorder,
    ) -> Result<Self, ExperimentError> {
        Self::keeping(Content::Fingerprint, name, profile, pieces, config, recorder)
    }
    /// Powers a drive on that keeps data so.
    ///
    /// # Errors
    /// As [`ExperimentDrive::power_on`].
    pub(crate) fn keeping(
        content: Content,
        name: &str,
        profile: Profile,
        pieces: Pieces,
        config: Config,
        recorder: &Recorder,
    ) -> Result<Self, ExperimentError> {
        let config = Config { transfer_bytes_max: profile.host.transfer_bytes_max, ..config };
        let (kept, media) = (Some(content), Media::fresh());
        let machine = Machine::power_on_with(pieces, name, &profile, kept, media, recorder, config)?;
        machine.boot()?;
        let contents = Some(crate::measure::unversioned(&machine, profile.seed));
        Ok(ExperimentDrive { machine, profile, contents })
    }

    /// Runs jobs side by side.
    ///
    /// # Errors
    /// When a job doesn't fit the drive, or a request fails.
    pub(crate) fn run(&mut self, jobs: &[Job]) -> Result<Done, ExperimentError> {
        let name = jobs.first().map_or("", |job| &job.name);
        let wrong = |what: String| ExperimentError::Run(format!("{name}: {what}"));
        let drive = crate::measure::drive_of(&self.machine);
        let tasks = HostTask::of_jobs(jobs, drive, self.profile.seed).map_err(|e| wrong(e.to_string()))?;
        let contents = self.contents.take().expect("given back after each run");
        let mut runner =
            Runner::new(self.machine.driver(), tasks, contents, Latencies::default(), OnFailure::EndTask);
        self.machine.run(&mut runner, |_| true)?;
        let (statistics, contents, Latencies(latencies)) = runner.finish();
        self.contents = Some(contents);
        if let Some(failure) = statistics.iter().find_map(|task| task.first_failure.as_ref()) {
            return Err(wrong(failure.to_string()));
        }
        let bytes_of =
            |task: &Statistics| -> u64 { Statistics::KINDS.iter().map(|kind| task.of(*kind).bytes).sum() };
        Ok(Done {
            took: statistics.iter().map(Statistics::measured).max().unwrap_or(Duration::ZERO),
            bytes: statistics.iter().map(bytes_of).sum(),
            latencies,
        })
    }
    /// Flushes all written data to flash.
    ///
    /// # Errors
    /// When the drive can't.
    pub(crate) fn flush(&self) -> Result<(), ExperimentError> {
        let driver = Rc::clone(self.machine.driver());
        let flushed = self.machine.block_on("flushing", async move { driver.flush(QueueId(1)).await })?;
        flushed.map_err(|error| ExperimentError::Run(error.to_string()))
    }
}
