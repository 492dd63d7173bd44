//! Runs of work on a drive.

use crate::asking::{Asking, name_of};
use crate::columns::{self, Columns};
use crate::errors::{UsageError, raised};
use crate::own::OwnPieces;
use crate::profile::Profile;
use crate::replay::Options;
use crate::workload::{self, PythonWorkload};
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::keep_apart;
use aster_lab::asked::work::{self, Printed};
use aster_lab::asked::{monitor, traces};
use aster_lab::explain::{Explanation, Which};
use aster_lab::own::{self, Outcome as Done, Place, Preconditioning, Setup, WorkError};
use aster_lab::traces::TraceFile;
use aster_lab::watch::{CommandTable, DriveShape, SampleTable, SampleWatch, Watch, Watchers};
use aster_units::Content;
use pyo3::prelude::*;
use std::fs::File;
use std::path::PathBuf;

/// What is to be run.
#[derive(FromPyObject)]
struct Job {
    /// A file, or what errors call the text.
    path: PathBuf,
    text: Option<String>,
}

/// How a drive is preconditioned, in the words of the command line.
#[derive(FromPyObject)]
enum Precondition {
    Percent(u32),
    Words(String),
}

impl Precondition {
    fn read(&self) -> PyResult<Preconditioning> {
        let words = match self {
            Precondition::Percent(percent) => percent.to_string(),
            Precondition::Words(words) => words.clone(),
        };
        words.parse().map_err(|error| UsageError::new_err(format!("precondition: {error}")))
    }
}

/// What to run, and how. All of it is read before the drive is powered on.
#[derive(FromPyObject)]
pub(crate) struct Asked {
    job: Option<Job>,
    trace: Option<PathBuf>,
    /// The trace is there for this run alone, and is called so.
    trace_name: Option<String>,
    /// Makes an object that gives requests and hears of their completions.
    workload: Option<Py<PyAny>>,
    replay: Options,
    seed: u64,
    /// A percentage, or "steady" with what may follow.
    precondition: Option<Precondition>,
    age_hours: Option<u32>,
    content: Option<String>,
    verify: bool,
    keep_going: bool,
    /// Whether to keep a row for each command.
    commands: bool,
    /// Simulated milliseconds from sample to sample of the operation monitor; `None` for no samples.
    monitor_ms: Option<f64>,
    monitor_ways: bool,
    /// Whether the report says where the commands spent their time.
    spans: bool,
    /// The file that keeps the drive, made if it isn't there.
    image: Option<PathBuf>,
    /// Files for every event, for Perfetto's trace, and for the waveforms of the first operations.
    events: Option<PathBuf>,
    perfetto: Option<PathBuf>,
    wave: Option<PathBuf>,
    /// So many of the slowest commands are explained, or the one of this number.
    slowest: Option<usize>,
    command: Option<u64>,
    /// What decides in place of the profile's.
    pieces: OwnPieces,
    progress: Option<Py<PyAny>>,
}

/// What came of a run.
#[pyclass(frozen, module = "aster._aster")]
pub(crate) struct Outcome {
    report: String,
    /// Why the run ended early, or files could not be written.
    problems: Vec<String>,
    /// Requests that failed, and the first failure.
    failures: u64,
    first_failure: Option<String>,
    commands: Option<Py<Columns>>,
    samples: Option<Py<Columns>>,
    /// As `aster explain` has them, for programs and for people.
    explanations: Vec<(String, String)>,
}

#[pymethods]
impl Outcome {
    #[getter]
    fn commands(&self, py: Python<'_>) -> Option<Py<Columns>> {
        self.commands.as_ref().map(|columns| columns.clone_ref(py))
    }
    #[getter]
    fn samples(&self, py: Python<'_>) -> Option<Py<Columns>> {
        self.samples.as_ref().map(|columns| columns.clone_ref(py))
    }
    #[getter]
    fn explanations(&self) -> Vec<(String, String)> {
        self.explanations.clone()
    }
    /// What `aster run --json` prints.
    #[getter]
    fn report_json(&self) -> &str {
        &self.report
    }
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }
    #[getter]
    fn failures(&self) -> u64 {
        self.failures
    }
    #[getter]
    fn first_failure(&self) -> Option<&str> {
        self.first_failure.as_deref()
    }
}

/// What pages keep, by its name.
pub(crate) fn content_named(name: Option<&str>) -> PyResult<Option<Content>> {
    match name {
        None => Ok(None),
        Some("full") => Ok(Some(Content::Full)),
        Some("fingerprint") => Ok(Some(Content::Fingerprint)),
        Some(other) => Err(UsageError::new_err(format!(
            "content: must be \"full\" or \"fingerprint\", but is \"{other}\""
        ))),
    }
}

/// Runs work on a new drive of `profile`.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, profile: &Profile, asked: Asked) -> PyResult<Outcome> {
    let content = content_named(asked.content.as_deref())?;
    let setup = Setup {
        content,
        precondition: asked.precondition.as_ref().map(Precondition::read).transpose()?,
        age_hours: asked.age_hours,
        seed: asked.seed,
        keep_going: asked.keep_going,
        overrides: profile.overrides.clone(),
        ..Setup::new(profile.name(), profile.profile.clone())
    };
    let replay = asked.replay.replay().map_err(UsageError::new_err)?;
    let watch = asked.watch(&setup)?;
    let done = Asking::while_detached(py, |asking| carry_out(&setup, &asked, &replay, &watch, asking))?;
    let Carried { outcome, commands, samples } = done.map_err(|failure| raised(&failure))?;
    let kept = |columns: Option<PyResult<Columns>>| {
        columns.transpose()?.map(|columns| Py::new(py, columns)).transpose()
    };
    Ok(Outcome {
        commands: kept(commands.map(columns::of_commands))?,
        samples: kept(samples.map(columns::of_samples))?,
        ..outcome
    })
}

/// The shortest and the longest interval of samples, in simulated milliseconds.
const MONITOR_MS: (f64, f64) = (1e-3, 1e9);
/// Most commands that are explained at once.
const SLOWEST_MAX: usize = 1000;

impl Asked {
    /// The listeners that are asked for.
    fn watch(&self, setup: &Setup) -> PyResult<Watch> {
        let samples = match self.monitor_ms {
            None => None,
            Some(ms) if (MONITOR_MS.0..=MONITOR_MS.1).contains(&ms) => Some(SampleWatch {
                modules: monitor::of_drive(&setup.profile),
                each_way: self.monitor_ways,
                interval: aster_units::Duration::from_nanos_f64(ms * 1e6),
            }),
            Some(ms) => {
                let (least, most) = MONITOR_MS;
                return Err(UsageError::new_err(format!(
                    "monitor: must be simulated milliseconds from {least} to {most}, but is {ms}"
                )));
            }
        };
        let explain = match (self.slowest, self.command) {
            (None, None) => None,
            (None, Some(number)) => Some(Which::Number(number)),
            (Some(most), None) if (1..=SLOWEST_MAX).contains(&most) => Some(Which::SlowestOf(most)),
            (Some(most), None) => {
                return Err(UsageError::new_err(format!(
                    "slowest: must be from 1 to {SLOWEST_MAX}, but is {most}"
                )));
            }
            (Some(_), Some(_)) => return Err(UsageError::new_err("give slowest or command, not both")),
        };
        let read =
            [self.job.as_ref().filter(|job| job.text.is_none()).map(|job| &*job.path), self.trace.as_deref()];
        let written =
            [self.image.as_deref(), self.events.as_deref(), self.perfetto.as_deref(), self.wave.as_deref()];
        keep_apart(&read, &written).map_err(|failure| raised(&failure))?;
        Ok(Watch {
            commands: self.commands,
            samples,
            explain,
            spans: self.spans,
            events: self.events.clone(),
            shape: Some(DriveShape::of(&setup.profile)),
            perfetto: self.perfetto.clone(),
            wave: self.wave.clone(),
            ..Watch::default()
        })
    }
}

/// What a run brings back before Python's lock is taken again.
struct Carried {
    outcome: Outcome,
    commands: Option<CommandTable>,
    samples: Option<SampleTable>,
}

/// Runs it without Python's lock.
fn carry_out(
    setup: &Setup,
    asked: &Asked,
    replay: &traces::Replay,
    watch: &Watch,
    asking: &Asking,
) -> Result<Carried, Failure> {
    work::check_front_end(setup)?;
    let image = asked.image.as_deref();
    let chosen = asked.pieces.chosen_in(setup);
    let setup = chosen.as_ref().unwrap_or(setup);
    let pieces = || asked.pieces.pieces(&setup.profile, asking.raised());
    let place = Place::with_own(pieces(), setup, image)?;
    if asking.raised().borrow().is_some() {
        return Err(Failure::Interrupted);
    }
    let drive = place.drive();
    let to_do = match (&asked.job, &asked.trace, &asked.workload) {
        (None, None, Some(workload)) => match PythonWorkload::new(workload, drive, asking.raised()) {
            Ok(source) => Ok(work::live(workload::NAME, source, replay.queue_depth, asked.verify)),
            Err(error) => {
                *asking.raised().borrow_mut() = Some(error);
                return Err(Failure::Interrupted);
            }
        },
        (Some(Job { path, text: Some(text) }), None, None) => {
            work::job_text(path, text, asked.verify, setup.seed, drive)
        }
        (Some(Job { path, text: None }), None, None) => work::job_file(path, asked.verify, setup.seed, drive),
        (None, Some(path), None) => match &asked.trace_name {
            None => traces::read(path, replay, asked.verify, drive),
            Some(name) => {
                let fail = |problem: String| Failure::file(name.as_ref(), problem);
                let source = File::open(path).map_err(|error| fail(error.to_string()))?;
                let file = TraceFile::read_once(name.clone(), source).map_err(fail)?;
                traces::read_file(file, name.as_ref(), replay, asked.verify, drive)
            }
        },
        _ => Err(Failure::usage("give one of job, trace, requests and workload")),
    }?;
    let before = work::before(setup, &to_do, drive, image)?;
    let watchers = Watchers::new(watch)?;
    let progress = asked.progress.as_ref();
    let outcome = own::run(setup, pieces(), to_do.work, place, watchers, &mut |phase, share| {
        asking.goes_on(progress, Some(name_of(phase)), share)
    });
    let Done { mut report, heard, problems, first_lost_page } = outcome.map_err(|error| match error {
        WorkError::Run(error) => Failure::on_image(image, error),
        error => error.into(),
    })?;
    before.put_into(&mut report);
    let failures = report.failures();
    let first_failure = report.tasks.iter().find_map(|task| {
        let failure = task.first_failure.as_ref()?;
        Some(format!("of \"{}\": {failure}", task.name))
    });
    let printed = Printed { run: &report, first_lost_page, spans: heard.spans.as_ref() };
    let text = |value: &Explanation| {
        Ok::<_, Failure>((serde_json::to_string(value).map_err(Failure::run)?, value.table()))
    };
    let outcome = Outcome {
        report: serde_json::to_string(&printed).map_err(Failure::run)?,
        problems: problems.iter().map(WorkError::to_string).collect(),
        failures,
        first_failure,
        commands: None,
        samples: None,
        explanations: heard.explanations.iter().map(text).collect::<Result<_, _>>()?,
    };
    Ok(Carried { outcome, commands: heard.commands, samples: heard.samples })
}
