//! The drive under test: purged, preconditioned and measured through NVMe.

use super::plan::Plan;
use super::report::{Measured, Preconditioned, Purge};
use super::sweep::{Cell, Sweep};
use crate::experiment::ExperimentError;
use crate::limits::Queues;
use crate::measure::{drive_of, measure, unversioned};
use crate::report::{KindReport, RunReport};
use aster_device::Media;
use aster_driver::{Config, DriverError, FeatureId, SecureErase, VolatileWriteCache};
use aster_events::Recorder;
use aster_run_virtual::Machine;
use aster_units::Duration;
use aster_workload::runner::{Contents, HostTask, OnFailure};
use aster_workload::{Drive, Job};
use std::rc::Rc;

/// How long a command may take. A hundred requests of 1 MiB in flight keep a slow drive busy for a minute.
const PATIENCE: Duration = Duration::from_secs(600);

/// A drive that has booted, and its host.
pub(super) struct TestedDrive<'a> {
    plan: &'a Plan,
    config: Config,
    machine: Machine,
    contents: Option<Contents>,
    /// Blocks of flash erased while cells were measured, since the last purge.
    pub(super) erases: u64,
}

impl<'a> TestedDrive<'a> {
    /// Powers a new drive on.
    ///
    /// # Errors
    /// When the profile makes none, or it doesn't come up.
    pub(super) fn power_on(plan: &'a Plan, queues: &Queues) -> Result<Self, ExperimentError> {
        let config = Config {
            queue_pairs: queues.pairs,
            depth: queues.depth,
            transfer_bytes_max: queues.transfer_bytes,
            vectors: Config::vectors_for(queues.pairs),
            command_timeout: PATIENCE,
            ..Config::default()
        };
        let machine = boot(plan, config)?;
        let contents = Some(unversioned(&machine, plan.seed));
        Ok(TestedDrive { plan, config, machine, contents, erases: 0 })
    }

    /// The drive, as tests see it.
    pub(super) fn drive(&self) -> Drive {
        drive_of(&self.machine)
    }

    /// Makes the drive as if it had never been written: it is formatted, with user data erase. One that can't
    /// be formatted is replaced by a new one. Then sets its write cache.
    ///
    /// # Errors
    /// When a command fails for another reason.
    pub(super) fn purge(&mut self) -> Result<Purge, ExperimentError> {
        let driver = Rc::clone(self.machine.driver());
        let format = async move { driver.format(driver.namespace().lba_format, SecureErase::UserData).await };
        let purge = match self.machine.block_on("formatting", format)? {
            Ok(()) => Purge::Format,
            Err(error @ DriverError::Command { .. }) => {
                self.machine = boot(self.plan, self.config)?;
                Purge::NewDrive { because: error.to_string() }
            }
            Err(error) => return Err(ExperimentError::Run(error.to_string())),
        };
        self.contents = Some(unversioned(&self.machine, self.plan.seed));
        self.erases = 0;
        self.set_write_cache()?;
        Ok(purge)
    }

    /// Whether the drive has a volatile write cache.
    pub(super) fn has_write_cache(&self) -> bool {
        const PRESENT: u8 = 1;
        self.machine.driver().identity().is_some_and(|identity| identity.vwc & PRESENT != 0)
    }

    fn set_write_cache(&self) -> Result<(), ExperimentError> {
        if !self.has_write_cache() {
            return Ok(());
        }
        let driver = Rc::clone(self.machine.driver());
        let value = VolatileWriteCache(0).with_enabled(self.plan.write_cache).0;
        let set = async move { driver.set_feature(FeatureId::VolatileWriteCache, value, false, 0).await };
        let set = self.machine.block_on("setting the write cache", set)?;
        set.map(drop).map_err(|error| ExperimentError::Run(error.to_string()))
    }

    /// Writes the whole drive, one block after the other, as often as the sweep says.
    ///
    /// # Errors
    /// When a request fails, or the caller stops it.
    pub(super) fn precondition(
        &mut self,
        sweep: &Sweep,
        follow: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
    ) -> Result<Preconditioned, ExperimentError> {
        let (_, all) = self.run(sweep.precondition(), follow)?;
        let (block_bytes, bytes) = (sweep.precondition_block, all.bytes);
        Ok(Preconditioned { block_bytes, bytes, mb_per_s: all.mb_per_s.unwrap_or_default() })
    }

    /// Measures a job, which has requests of a cell.
    ///
    /// # Errors
    /// When a request fails, or the caller stops it.
    pub(super) fn cell(
        &mut self,
        cell: Cell,
        job: Job,
        follow: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
    ) -> Result<Measured, ExperimentError> {
        let name = job.name.clone();
        let (report, all) = self.run(job, follow)?;
        self.erases += report.drive.flash_erases;
        let (Some(iops), Some(mb_per_s), Some(latency)) = (all.iops, all.mb_per_s, all.latency) else {
            return Err(ExperimentError::Run(format!("{name}: its requests took no time")));
        };
        Ok(Measured {
            read_percent: cell.read_percent,
            block_bytes: cell.block_bytes,
            requests: all.requests,
            iops,
            mb_per_s,
            mean_us: latency.mean_us,
            max_us: latency.max_us,
        })
    }

    /// Runs a job; returns its report, and all its requests together.
    fn run(
        &mut self,
        job: Job,
        follow: &mut dyn FnMut(f64) -> Result<(), ExperimentError>,
    ) -> Result<(RunReport, KindReport), ExperimentError> {
        let name = job.name.clone();
        let wrong = |what: String| ExperimentError::Run(format!("{name}: {what}"));
        let tasks = HostTask::of_jobs(&[job], self.drive(), self.plan.seed);
        let tasks = tasks.map_err(|error| wrong(error.to_string()))?;
        let contents = self.contents.take().expect("given back after each run");
        let mut heard = Ok(());
        let (report, contents) =
            measure(&self.machine, &name, tasks, contents, OnFailure::EndTask, &mut |share| {
                heard = follow(share);
                heard.is_ok()
            })?;
        heard?;
        self.contents = Some(contents);
        if let Some(failure) = report.tasks.iter().find_map(|task| task.first_failure.as_ref()) {
            return Err(wrong(failure.clone()));
        }
        let all = report.total.all.clone().ok_or_else(|| wrong("it made no request".to_owned()))?;
        Ok((report, all))
    }
}

fn boot(plan: &Plan, config: Config) -> Result<Machine, ExperimentError> {
    let (media, recorder) = (Media::fresh(), Recorder::default());
    let machine = Machine::power_on(&plan.name, &plan.profile, plan.content, media, &recorder, config)?;
    machine.boot()?;
    Ok(machine)
}
