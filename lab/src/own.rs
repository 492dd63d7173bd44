//! The user's own work on a drive: a fio job file or a trace, as `aster run` runs it.

mod origin;
mod whole;

pub use crate::preconditioning::{Preconditioning, Steady};
pub use origin::{record_of, setup_of};
pub use whole::{LostPage, Outcome, Phase, Place, run};

use crate::limits::{self, Asks, HostLimit, Queues};
use crate::measure::{Progress, drive_of, measure, measure_what_is_done};
use crate::preconditioning::OVERWRITE_BYTES;
use crate::report::RunReport;
use crate::spare::Spare;
use crate::traces::{Loop, Survey, TraceFile, TraceReport};
use crate::warning::Warning;
use crate::watch::WatchError;
use aster_device::profile::Profile;
use aster_device::{BuildError, Media, Pieces};
use aster_driver::Config;
use aster_events::Recorder;
use aster_image::ImageError;
use aster_run_virtual::{Machine, RunError};
use aster_units::Content;
use aster_workload::fio::{self, JobFileError};
use aster_workload::runner::{Contents, HostTask, OnFailure, Precondition, precondition};
use aster_workload::trace::{Beyond, SPEED_RECORDED, Times, Trace, Unaligned};
use aster_workload::{Drive, Job, Mix, Pace, PlanError, Source};
use std::convert::Infallible;
use std::fmt;

/// A source of requests that a program brings. It hears of completions ([`Source::completed`]).
pub struct LiveSource(Box<dyn Source<Error = Infallible>>);

impl fmt::Debug for LiveSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveSource")
    }
}

/// What to run.
#[derive(Debug)]
pub enum OwnWork {
    /// A fio job file.
    Jobs {
        /// What it asks for.
        jobs: Vec<Job>,
        /// Its name, for errors.
        name: String,
        /// Its text, for repeating the run.
        text: String,
        /// All reads are checked, whatever the jobs say.
        verify: bool,
    },
    /// A trace.
    Trace {
        /// Its file.
        file: TraceFile,
        /// What is in it and how to replay it.
        survey: Box<Survey>,
        /// The gaps between requests are kept, instead of the times ([`Loop::Closed`]).
        keep_gaps: bool,
        /// The most requests in flight; further ones wait in the host.
        queue_depth: u32,
        /// Check its reads.
        verify: bool,
    },
    /// Requests that a program gives one after the other, knowing which have completed.
    Live {
        /// What the report calls them.
        name: String,
        /// Where they come from.
        source: LiveSource,
        /// The most requests in flight.
        queue_depth: u32,
        /// Check its reads.
        verify: bool,
    },
}

impl OwnWork {
    /// The work of a program's own `source`, with `queue_depth` requests in flight at most, at least 1; with
    /// `verify` its reads are checked. The requests must be of whole blocks within the drive
    /// ([`Place::drive`]), and a function of the completions before them, so that the run can be repeated.
    pub fn live(
        name: &str,
        source: impl Source<Error = Infallible> + 'static,
        queue_depth: u32,
        verify: bool,
    ) -> Self {
        OwnWork::Live { name: name.to_owned(), source: LiveSource(Box::new(source)), queue_depth, verify }
    }

    /// The work of a job file's `text`; with `verify` all its reads are checked.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn jobs(name: &str, text: &str, verify: bool) -> Result<Self, JobFileError> {
        let mut jobs = fio::parse(text)?;
        jobs.iter_mut().for_each(|job| job.verify |= verify);
        Ok(OwnWork::Jobs { jobs, name: name.to_owned(), text: text.to_owned(), verify })
    }

    /// The jobs; none of a trace.
    pub fn as_jobs(&self) -> &[Job] {
        match self {
            OwnWork::Jobs { jobs, .. } => jobs,
            OwnWork::Trace { .. } | OwnWork::Live { .. } => &[],
        }
    }
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
    /// Overrides the profile's content.
    pub content: Option<Content>,
    /// What is written to the drive before the work.
    pub precondition: Option<Preconditioning>,
    /// Age of the array in hours when the work begins: pages that were programmed before have aged.
    pub age_hours: Option<u32>,
    /// The seed of the work's random choices.
    pub seed: u64,
    /// Go on after a failed request.
    pub keep_going: bool,
    /// The overridden keys of the profile, as KEY=VALUE, for the report: they are already applied.
    pub overrides: Vec<String>,
}

impl Setup {
    /// A fresh drive of `profile`, which reports call `name`, with default options.
    pub fn new(name: &str, profile: Profile) -> Self {
        Setup {
            name: name.to_owned(),
            profile,
            content: None,
            precondition: None,
            age_hours: None,
            seed: 1,
            keep_going: false,
            overrides: Vec::new(),
        }
    }
    /// The percentage of the drive that is overwritten by real writes after its fill; `None` without them.
    pub fn percent_overwritten(&self) -> Option<u32> {
        match self.precondition {
            Some(Preconditioning::Overwritten(percent)) => Some(percent),
            Some(Preconditioning::Steady(_)) | None => None,
        }
    }
    /// The kind of content that pages keep.
    pub(crate) fn kept(&self) -> Content {
        self.content.unwrap_or(self.profile.content.into())
    }
    /// `media` as they are when the drive is powered on.
    pub(crate) fn before_power_on(&self, media: Media, pieces: &Pieces) -> Result<Media, WorkError> {
        let Some(Preconditioning::Steady(steady)) = &self.precondition else { return Ok(media) };
        let drive = self.drive(pieces)?;
        Ok(media.written_by(steady.history(&self.profile, drive, self.kept(), self.seed)?))
    }
    /// The drive, as workloads see it.
    pub(crate) fn drive(&self, pieces: &Pieces) -> Result<Drive, BuildError> {
        let (bytes, block_bytes) = aster_device::namespace_with(pieces, &self.profile, self.content, None)?;
        let streams = aster_device::host_streams(&self.profile).into();
        Ok(Drive { bytes, block_bytes, streams })
    }
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
    #[error("interrupted before the work began: nothing was measured")]
    Interrupted,
    /// The image that the drive is kept in.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A listener's output can't be written.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<BuildError> for WorkError {
    fn from(error: BuildError) -> Self {
        WorkError::Run(error.into())
    }
}

/// Requests in flight during the fill before the work.
const PRECONDITION_DEPTH: u32 = 64;

/// Powers a drive of `media`, built with `pieces`, on and runs the work, calling `look` at each [`Moment`].
/// Returns the report, and the machine for further use. [`run`] also does everything around it.
///
/// # Errors
/// When the work is invalid or the run can't continue.
pub fn run_on(
    setup: &Setup,
    pieces: impl Into<Pieces>,
    work: OwnWork,
    media: Media,
    recorder: &Recorder,
    look: impl FnMut(&Machine, Moment),
    progress: Progress<'_>,
) -> Result<(RunReport, Machine), WorkError> {
    match run_as_far_as_it_goes(setup, pieces, work, media, recorder, look, progress)? {
        (report, machine, Ok(())) => Ok((report, machine)),
        (_, machine, Err(error)) => {
            let _ = machine.shut_down();
            Err(error.into())
        }
    }
}

/// As [`run_on`], but returns the figures so far when the work can't continue. The report's warnings begin
/// with those of [`said_before`].
fn run_as_far_as_it_goes(
    setup: &Setup,
    pieces: impl Into<Pieces>,
    work: OwnWork,
    media: Media,
    recorder: &Recorder,
    mut look: impl FnMut(&Machine, Moment),
    progress: Progress<'_>,
) -> Result<(RunReport, Machine, Result<(), RunError>), WorkError> {
    let queues = queues(setup, &work);
    let pieces = pieces.into();
    let content = setup.kept();
    let spare = Spare::of(&pieces, &setup.profile, content);
    let media = setup.before_power_on(media, &pieces)?;
    let machine = Machine::power_on_with(
        pieces,
        &setup.name,
        &setup.profile,
        setup.content,
        media,
        recorder,
        driver_config(&queues),
    )?;
    let filled = || machine.device().translation().filled_share().unwrap_or(0.0);
    machine.boot_while(&mut || progress(filled())).map_err(|error| match error {
        RunError::Interrupted(_) => WorkError::Interrupted,
        error => error.into(),
    })?;
    look(&machine, Moment::Booted);
    let said = said_before(setup, &work, drive_of(&machine))?;
    match carry_out(setup, &machine, work, look, progress) {
        Ok((report, ran)) => {
            let warnings = said.into_iter().chain(report.warnings).collect();
            Ok((RunReport { limits: queues.limits, warnings, spare, ..report }, machine, ran))
        }
        Err(error) => {
            // The drive isn't at fault, so its image may be used again. If the shutdown fails, too, the first
            // error is more useful.
            let _ = machine.shut_down();
            Err(error)
        }
    }
}

fn carry_out(
    setup: &Setup,
    machine: &Machine,
    work: OwnWork,
    mut look: impl FnMut(&Machine, Moment),
    progress: Progress<'_>,
) -> Result<(RunReport, Result<(), RunError>), WorkError> {
    let drive = drive_of(machine);
    let mut trace = None;
    let (name, tasks) = match work {
        OwnWork::Jobs { jobs, name, .. } => (name, HostTask::of_jobs(&jobs, drive, setup.seed)?),
        OwnWork::Trace { file, survey, keep_gaps, queue_depth, verify } => {
            trace = Some(trace_report(&file, &survey, keep_gaps, queue_depth));
            let source = Trace::new(file.lines(), survey.format, drive, survey.replay);
            let pace = Pace { keep_gaps, ..Pace::unlimited(queue_depth) };
            let task = HostTask::of_trace(file.name().to_owned(), Box::new(source), pace, verify);
            (file.name().to_owned(), vec![task.expecting(survey.requests)])
        }
        OwnWork::Live { name, source, queue_depth, verify } => {
            let task = HostTask::of_source(name.clone(), source.0, queue_depth, verify);
            (name, vec![task])
        }
    };
    let mut contents = Contents::unversioned(drive, setup.seed);
    if let Some(percent) = setup.percent_overwritten() {
        let how = Precondition {
            bytes: None,
            fill_block: 128 << 10,
            overwrite_block: OVERWRITE_BYTES,
            overwrite_percent: percent,
            queue_depth: PRECONDITION_DEPTH,
            seed: setup.seed,
        };
        let tasks = HostTask::of_jobs(&precondition(drive.bytes, &how), drive, setup.seed)?;
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
    let (report, _, ran) = measure_what_is_done(machine, &name, tasks, contents, on_failure, progress);
    Ok((RunReport { trace, ..report }, ran))
}

/// A report's record of a trace and how it was replayed.
fn trace_report(file: &TraceFile, survey: &Survey, keep_gaps: bool, queue_depth: u32) -> TraceReport {
    let (loop_kind, speed) = match survey.replay.times {
        Times::AsFastAsPossible => (Loop::Fastest, None),
        Times::Recorded { speed } => {
            let speed = f64::from(speed) / f64::from(SPEED_RECORDED);
            (if keep_gaps { Loop::Closed } else { Loop::Open }, Some(speed))
        }
    };
    TraceReport {
        file: file.name().to_owned(),
        file_bytes: survey.file_bytes,
        sha256: survey.sha256.clone(),
        compression: file.compression(),
        format: survey.format.name(),
        loop_kind,
        speed,
        queue_depth,
        wrap: survey.replay.beyond == Beyond::Wrap,
        round: survey.replay.unaligned == Unaligned::Widen,
        devices: survey.device_reports(),
    }
}

/// Checks that `jobs` fit `drive`, and returns warnings about them.
///
/// # Errors
/// The first job that doesn't fit.
pub fn check_jobs(jobs: &[Job], drive: Drive, seed: u64) -> Result<Vec<Warning>, PlanError> {
    let mut notes = Vec::new();
    for job in jobs {
        let plans = job.plans(drive, seed)?;
        let (Some(wanted), Some(plan)) = (job.number_ios, plans.first()) else { continue };
        // The most requests there can be, if all had the smallest block.
        let most = plan.io_bytes.saturating_mul(job.loops.into()).div_ceil(job.smallest_block().into());
        if wanted > most && !job.time_based {
            let message = format!(
                "job \"{}\": number_ios={wanted} is more than its size allows, as in fio: it ends after {} \
                 bytes; io_size, loops or time_based make it go on",
                job.name,
                plan.io_bytes.saturating_mul(job.loops.into())
            );
            notes.push(Warning::new("number-ios", message).of_task(&job.name));
        }
    }
    Ok(notes)
}

/// What keeps the jobs of a file's `text` from `drive`: for each of them the first mistake, with its line.
///
/// # Errors
/// All of these, in words.
pub fn check_fit(text: &str, drive: Drive, seed: u64) -> Result<(), String> {
    // A text with mistakes of its own has been refused before.
    let jobs = fio::parse_with_lines(text).unwrap_or_default();
    let wrong: Vec<String> = jobs
        .iter()
        .filter_map(|(job, lines)| {
            let error = job.plans(drive, seed).err()?;
            Some(format!("line {}: {error}", lines.of(error.option)))
        })
        .collect();
    match &wrong[..] {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("{} mistakes\n  {}", several.len(), several.join("\n  "))),
    }
}

/// Warnings about `work` on `drive` before it runs; the report has them, too.
///
/// # Errors
/// The first job that doesn't fit.
pub fn said_before(setup: &Setup, work: &OwnWork, drive: Drive) -> Result<Vec<Warning>, PlanError> {
    let mut said = check_jobs(work.as_jobs(), drive, setup.seed)?;
    said.extend(queues(setup, work).limits.iter().map(HostLimit::warning));
    said.extend(timeless(&setup.profile));
    Ok(said)
}

/// A warning when a page cache serves commands in no time.
fn timeless(profile: &Profile) -> Option<Warning> {
    let target = profile.target.as_ref()?;
    let is_timeless = target.page_cache_mib.is_some() && target.command_ns.unwrap_or(0) == 0;
    is_timeless.then(|| {
        let message = "the time of the host's software isn't modelled, since target.command_ns is not given: \
                       what the page cache (target.page_cache_mib) serves takes hardly any time, and its \
                       rates mean nothing. target.command_ns=1000, say, takes a microsecond per command";
        Warning::new("host-time", message)
    })
}

/// Bytes that `jobs` write on `drive`, as far as known in advance: for jobs with a time limit, one loop.
///
/// # Errors
/// The first job that doesn't fit.
pub fn written_bytes(jobs: &[Job], drive: Drive, seed: u64) -> Result<u64, PlanError> {
    let mut all = 0u64;
    for job in jobs.iter().filter(|job| !job.write_zeroes) {
        let percent = match job.mix {
            Mix::Read | Mix::Trim => 0,
            Mix::Write | Mix::TrimWrite => 100,
            Mix::ReadWrite => 100 - u64::from(job.read_percent.min(100)),
        };
        for plan in job.plans(drive, seed)? {
            let asked = plan.io_bytes.saturating_mul(job.loops.into());
            let counted = job.number_ios.map(|n| n.saturating_mul(job.smallest_block().into()));
            all = all.saturating_add(asked.min(counted.unwrap_or(u64::MAX)) / 100 * percent);
        }
    }
    Ok(all)
}

/// The queues of the driver, and what the work asks for beyond them.
pub fn queues(setup: &Setup, work: &OwnWork) -> Queues {
    let fill = setup.percent_overwritten().map_or(1, |_| PRECONDITION_DEPTH);
    let asks = match work {
        OwnWork::Jobs { jobs, .. } => Asks::of_jobs(jobs),
        OwnWork::Trace { file, queue_depth, .. } => Asks::of_trace(file.name(), *queue_depth),
        OwnWork::Live { name, queue_depth, .. } => Asks::of_source(name, *queue_depth),
    };
    limits::queues(&setup.profile, &asks, fill)
}

fn driver_config(queues: &Queues) -> Config {
    Config {
        queue_pairs: queues.pairs,
        depth: queues.depth,
        transfer_bytes_max: queues.transfer_bytes,
        vectors: Config::vectors_for(queues.pairs),
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jobs_write_is_told_before() {
        let drive = Drive { bytes: 1 << 30, block_bytes: 4096, streams: 0 };
        let written =
            |job: &str| written_bytes(&fio::parse(&format!("[j]\n{job}\n")).unwrap(), drive, 1).unwrap();
        assert_eq!(written("rw=read"), 0);
        assert_eq!(written("rw=write\nsize=100m"), 100 << 20);
        assert_eq!(written("rw=write\nsize=100m\nloops=3\nnumjobs=2"), 600 << 20);
        assert_eq!(written("rw=randrw\nrwmixread=75\nsize=100m"), 25 << 20);
        assert_eq!(written("rw=randwrite\nbs=4k\nnumber_ios=100"), 409_600);
        assert_eq!(written("rw=write\nsize=100m\nwrite_mode=zeroes"), 0);
    }
}
