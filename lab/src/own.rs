//! The user's own work on a drive: a fio job file or a trace.

use crate::measure::{Progress, drive_of, measure};
use crate::report::RunReport;
use aster_device::profile::Profile;
use aster_device::{ChannelHardware, Media};
use aster_run_virtual::driver::Config;
use aster_run_virtual::events::Recorder;
use aster_run_virtual::{Machine, RunError};
use aster_units::{Content, Instant};
use aster_workload::runner::{Contents, OnFailure, Precondition, Task, precondition};
use aster_workload::trace::{Format, Replay, Trace};
use aster_workload::{Drive, Job, Pace, PlanError};

/// What to run.
#[derive(Clone, Debug)]
pub enum Work {
    /// A fio job file.
    Jobs {
        /// What it asks for.
        jobs: Vec<Job>,
        /// Its name, for errors.
        name: String,
    },
    /// A trace.
    Trace {
        /// Its text.
        text: String,
        /// Its name, for errors.
        name: String,
        /// Its format.
        format: Format,
        /// How to replay it.
        replay: Replay,
        /// Requests in flight at most.
        queue_depth: u32,
        /// Check what it reads.
        verify: bool,
    },
}

/// A moment of a run at which the caller may look at the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// The drive is up; its I/O queues exist and have not been used.
    Booted,
    /// Preconditioned and aged: the work begins.
    Work,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The profile's name.
    pub name: String,
    /// The drive.
    pub profile: Profile,
    /// What its channels are.
    pub hardware: ChannelHardware,
    /// Overrides the profile's content.
    pub content: Option<Content>,
    /// Fills the drive before, and overwrites so many percent of it at random.
    pub precondition_percent: Option<u32>,
    /// Hours after the array was made that the work begins at: what is programmed by then has aged.
    pub age_hours: Option<u32>,
    /// Seeds what the work leaves to chance.
    pub seed: u64,
    /// Go on after a failed request.
    pub keep_going: bool,
}

/// Why the user's work could not be run.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// A job doesn't fit the drive.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The drive's image could not take the age.
    #[error("ageing the drive: {0}")]
    Age(String),
    /// The caller stopped it before the work began.
    #[error("interrupted while preconditioning: nothing was measured")]
    Interrupted,
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Most outstanding requests that one queue pair of the driver is set up for.
const DEPTH_MAX: u32 = 1024;

/// Powers a drive on and runs the work, calling `look` at each [`Moment`]. Gives the report, and the machine to go on with.
///
/// # Errors
/// When the work can't be understood or the run can't go on.
pub fn run(
    setup: &Setup,
    work: Work,
    media: Media,
    recorder: &Recorder,
    mut look: impl FnMut(&Machine, Moment),
    progress: Progress<'_>,
) -> Result<(RunReport, Machine), WorkError> {
    let machine = Machine::power_on_with(
        setup.hardware,
        &setup.name,
        &setup.profile,
        setup.content,
        media,
        recorder,
        driver_config(setup, &work),
    )?;
    machine.boot()?;
    look(&machine, Moment::Booted);
    match carry_out(setup, &machine, work, look, progress) {
        Ok(report) => Ok((report, machine)),
        Err(error) => {
            // The drive is not to blame: its image may be used again. If it can't be shut down either, the first error
            // says more.
            let _ = machine.shut_down();
            Err(error)
        }
    }
}

fn carry_out(
    setup: &Setup,
    machine: &Machine,
    work: Work,
    mut look: impl FnMut(&Machine, Moment),
    progress: Progress<'_>,
) -> Result<RunReport, WorkError> {
    let drive = drive_of(machine);
    let (name, tasks) = match work {
        Work::Jobs { jobs, name } => (name, Task::of_jobs(&jobs, drive, setup.seed)?),
        Work::Trace { text, name, format, replay, queue_depth, verify } => {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let trace = Trace::new(lines.into_iter(), format, drive, replay);
            let tasks =
                vec![Task::of_trace(name.clone(), Box::new(trace), Pace::unlimited(queue_depth), verify)];
            (name, tasks)
        }
    };
    let mut contents = Contents::unversioned(drive, setup.seed);
    if let Some(percent) = setup.precondition_percent {
        let how = Precondition {
            bytes: None,
            fill_block: 128 << 10,
            overwrite_block: 16 << 10,
            overwrite_percent: percent,
            queue_depth: 64,
            seed: setup.seed,
        };
        let tasks = Task::of_jobs(&precondition(drive.bytes, &how), drive, setup.seed)?;
        let mut stopped = false;
        let watched = &mut |share| {
            let goes_on = progress(share);
            stopped |= !goes_on;
            goes_on
        };
        (_, contents) = measure(machine, "precondition", tasks, contents, OnFailure::EndTask, watched)?;
        if stopped {
            return Err(WorkError::Interrupted);
        }
    }
    if let Some(hours) = setup.age_hours {
        let aged = machine.device().nand().set_age_hours(hours);
        aged.map_err(|error| WorkError::Age(error.to_string()))?;
    }
    look(machine, Moment::Work);
    let on_failure = if setup.keep_going { OnFailure::Continue } else { OnFailure::EndTask };
    let (report, _) = measure(machine, &name, tasks, contents, on_failure, progress)?;
    Ok(report)
}

/// Whether `jobs` fit `drive`, and what is to be said about them.
///
/// # Errors
/// The first job that doesn't fit.
pub fn check_jobs(jobs: &[Job], drive: Drive, seed: u64) -> Result<Vec<String>, PlanError> {
    let mut notes = Vec::new();
    for job in jobs {
        let plans = job.plans(drive, seed)?;
        let (Some(wanted), Some(plan)) = (job.number_ios, plans.first()) else { continue };
        // As many as there can be, if all were of the smallest block.
        let most = plan.io_bytes.saturating_mul(job.loops.into()).div_ceil(job.smallest_block().into());
        if wanted > most && !job.time_based {
            notes.push(format!(
                "job \"{}\": number_ios={wanted} is more than its size allows, as in fio: it ends after {} bytes; \
                 io_size, loops or time_based make it go on",
                job.name,
                plan.io_bytes.saturating_mul(job.loops.into())
            ));
        }
    }
    Ok(notes)
}

fn driver_config(setup: &Setup, work: &Work) -> Config {
    let (depth, copies) = match work {
        Work::Jobs { jobs, .. } => (
            jobs.iter().map(|j| j.queue_depth).max().unwrap_or(1),
            jobs.iter().map(|j| j.copies).sum::<u32>().max(1),
        ),
        Work::Trace { queue_depth, .. } => (*queue_depth, 1),
    };
    let depth = if setup.precondition_percent.is_some() { depth.max(64) } else { depth };
    let pairs = copies.min(u32::from(setup.profile.host.queue_pairs)) as u16;
    Config {
        queue_pairs: pairs,
        depth: (depth.min(DEPTH_MAX) as u16).min(setup.profile.host.queue_entries - 1),
        transfer_bytes_max: setup.profile.host.transfer_bytes_max.min(128 << 10),
        vectors: pairs + 1,
        ..Config::default()
    }
}

/// The simulated time of a machine, for messages.
pub fn clock(machine: &Machine) -> Instant {
    machine.now()
}
