//! `aster run`: the user's own work on a drive.

use crate::again::{Again, build};
use crate::args::{ExplainArgs, HardwareArg, RunArgs};
use crate::console;
use crate::failure::Failure;
use crate::files::{HAND_WRITTEN_MAX, STANDARD_INPUT, is_standard_input, keep_apart, read_text};
use crate::image::content_of;
use crate::interrupt::Interrupt;
use crate::profiles::{self, Named};
use crate::progress::Progress;
use crate::room::{self, Need};
use crate::traces::{self, Traced};
use crate::words::count;
use aster_device::{ChannelHardware, FreshErrors};
use aster_lab::explain::{Explanation, Which};
use aster_lab::limits::Limit;
use aster_lab::own::{self, LostPage, Outcome, Phase, Place, Setup, Work, WorkError};
use aster_lab::report::{RunReport, table};
use aster_lab::run::workload::Drive;
use aster_lab::watch::{MonitorWatch, SpanReport, Watch, Watchers};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Runs the work and reports it.
///
/// # Errors
/// When it can't be run, when requests failed, or when what was asked for can't be written.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    carry_out(args, None)
}

/// Runs the work and explains one command of it.
///
/// # Errors
/// As [`run`], and when there was no such command.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    carry_out(&args.run, Some(args.command.map_or(Which::Slowest, Which::Number)))
}

fn carry_out(args: &RunArgs, which: Option<Which>) -> Result<(), Failure> {
    let again = args.source.again.as_deref().map(Again::read).transpose()?;
    let as_recorded = again.as_ref().map(|again| again.arguments(args.clone())).transpose()?;
    let args = as_recorded.as_ref().unwrap_or(args);
    let explains_any = which == Some(Which::Slowest);
    args.window.check(args.events.is_some() || args.perfetto.is_some(), explains_any)?;
    let setup = match &again {
        Some(again) => again.setup()?,
        None => setup(args)?,
    };
    let hardware = hardware(args.hardware)?;
    let is_file = |path: &&Path| !is_standard_input(path);
    keep_apart(
        &[
            args.profile.as_deref(),
            args.source.job.as_deref().filter(is_file),
            args.source.trace.as_deref().filter(is_file),
            args.source.again.as_deref(),
        ],
        &[
            args.image.as_deref(),
            args.wave.as_deref(),
            args.events.as_deref(),
            args.perfetto.as_deref(),
            args.monitor.as_deref(),
        ],
    )?;
    // Everything that is read is read and checked before anything is written.
    let place = Place::new(&setup, args.image.as_deref())?;
    // Only --json prints where a report comes from; to sum up a large image takes a while.
    let place = if args.json && which.is_none() { place } else { place.without_provenance() };
    let drive = place.drive();
    let Asked { mut work, mut notes, written_bytes } = work(args, again.as_ref(), drive)?;
    if let Some(again) = &again {
        again.check(&work, || Ok(place.state(&setup)?.map(str::to_owned)))?;
        again.rename(&mut work);
        notes.extend(again.notes());
    }
    let kept = setup.content.unwrap_or(setup.profile.content.into());
    let need = Need::of(&setup.profile, drive.bytes, setup.precondition_percent, written_bytes);
    notes.extend(room::check(&need, kept, setup.profile.geometry.page_bytes.into(), args.image.as_deref())?);
    notes.extend(own::queues(&setup, &work).limits.iter().map(Limit::note));
    let watchers = Watchers::new(&watch(args, which)?)?;

    notes.iter().for_each(|note| console::note(note));
    if let Some(doubt) = profiles::doubt(&FreshErrors::of(&setup.profile)?) {
        console::note(&doubt);
    }
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    let mut at = if setup.precondition_percent.is_some() { Phase::Before } else { Phase::Work };
    progress.begin_parts(match setup.precondition_percent {
        None => &["run"],
        Some(0) => &["precondition: fill"],
        Some(_) => &["precondition: fill", "precondition: overwrite"],
    });
    let outcome = own::run(&setup, hardware, work, place, watchers, &mut |phase, share| {
        if phase == Phase::Work && at == Phase::Before {
            at = phase;
            progress.begin("run");
        }
        progress.set(share);
        !interrupt.asked()
    });
    let Outcome { mut report, heard, recovery, first_lost_page: lost } =
        outcome.map_err(|error| match error {
            WorkError::Run(error) => Failure::on_image(args.image.as_deref(), error),
            error => error.into(),
        })?;
    progress.end();
    if let Some(provenance) = &mut report.provenance {
        provenance.aster = build();
        match &again {
            Some(again) => again.hand_on(provenance),
            None => {
                let arguments = std::env::args_os().skip(1);
                provenance.arguments = arguments.map(|text| text.to_string_lossy().into_owned()).collect();
            }
        }
    }

    heard.notes.iter().chain(&recovery).for_each(|note| console::note(note));
    match which {
        None => {
            print(args, &JsonReport { run: &report, first_lost_page: lost, spans: heard.spans.as_ref() })?
        }
        Some(which) => tell(args, heard.explanation.as_ref(), which)?,
    }
    report.lateness_notes().iter().for_each(|note| console::note(note));
    for warning in &report.warnings {
        let help = match (warning.code, setup.precondition_percent) {
            ("reads-unmapped", None) => " (--precondition 0 fills the drive first)",
            _ => "",
        };
        console::note(&format!("{}{help}", warning.message));
    }
    if interrupt.asked() {
        console::note("interrupted: the report covers what was done by then");
        return Err(Failure::Interrupted);
    }
    if let Some(again) = &again {
        again.compare(&JsonReport { run: &report, first_lost_page: lost, spans: None })?;
    }
    verdict([&report]).map_err(|failure| match lost {
        Some(page) => {
            Failure::run(format!("{failure}; the first page of flash that could not be corrected is {page}"))
        }
        None => failure,
    })
}

/// How the command line says to run.
fn setup(args: &RunArgs) -> Result<Setup, Failure> {
    let Named { name, profile } =
        profiles::find_or_kept(args.profile.as_deref(), args.image.as_deref(), &args.set)?;
    let content = match (args.content, &args.profile, &args.image) {
        (None, None, Some(image)) => Some(content_of(image)?),
        (content, ..) => content.map(Into::into),
    };
    Ok(Setup {
        content,
        precondition_percent: args.precondition,
        age_hours: args.age,
        seed: args.seed,
        keep_going: args.keep_going,
        overrides: args.set.clone(),
        ..Setup::new(&name, profile)
    })
}

/// What is to be heard of the run.
fn watch(args: &RunArgs, which: Option<Which>) -> Result<Watch, Failure> {
    let monitor = |path: &PathBuf| {
        let modules = args.monitor_modules.chosen(args.monitor_ways)?;
        let (path, interval) = (path.clone(), args.monitor_interval);
        Ok::<_, Failure>(MonitorWatch { path, modules, each_way: args.monitor_ways, interval })
    };
    Ok(Watch {
        wave: args.wave.clone(),
        events: args.events.clone(),
        perfetto: args.perfetto.clone(),
        monitor: args.monitor.as_ref().map(monitor).transpose()?,
        spans: args.spans,
        explain: which,
        part: args.window.part(),
    })
}

/// Prints an explanation.
fn tell(args: &RunArgs, explanation: Option<&Explanation>, which: Which) -> Result<(), Failure> {
    match (explanation, which) {
        (Some(explanation), _) if args.json => console::json(explanation),
        (Some(explanation), _) => console::print(&explanation.table()),
        (None, Which::Slowest) => {
            Err(Failure::run("there is nothing to explain: no command of the work has ended"))
        }
        (None, Which::Number(n)) => {
            Err(Failure::run(format!("--command {n}: the work has no command of that number that has ended")))
        }
    }
}

/// What `--hardware` names.
fn hardware(name: HardwareArg) -> Result<ChannelHardware, Failure> {
    match name {
        HardwareArg::Timed => Ok(ChannelHardware::Timed),
        #[cfg(feature = "rtl")]
        HardwareArg::Rtl => Ok(aster_run_cosim::RTL),
        #[cfg(not(feature = "rtl"))]
        HardwareArg::Rtl => Err(Failure::usage(
            "--hardware rtl: this aster was built without RTL; build it with --features rtl, which needs Verilator \
             (`make run` sees to both)",
        )),
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct JsonReport<'a> {
    #[serde(flatten)]
    run: &'a RunReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_lost_page: Option<LostPage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spans: Option<&'a SpanReport>,
}

fn print(args: &RunArgs, printed: &JsonReport) -> Result<(), Failure> {
    if args.json {
        return console::json(printed);
    }
    let JsonReport { run: report, spans, .. } = printed;
    console::print(&table(std::slice::from_ref(*report)))?;
    let checked: u64 = report.tasks.iter().map(|task| task.checked_blocks).sum();
    if report.went_in_time() {
        console::line(
            "Every request went at its recorded time: latencies from arrival are those from issue.",
        )?;
    }
    if checked > 0 {
        let were = if checked == 1 { "was" } else { "were" };
        console::line(&format!("{} {were} checked.", count(checked, "block")))?;
    }
    for task in &report.tasks {
        if let Some(steady) = &task.steady_state {
            console::line(&format!("{}.", steady.note(&task.name)))?;
        }
        if task.ended_by_another {
            console::line(&format!("{}: ended before its time, by exitall.", task.name))?;
        }
    }
    if let Some(spans) = spans {
        console::print(&format!("\n{}", spans.table()))?;
    }
    Ok(())
}

/// An error when requests failed, or a job fell below its least rate: how often, and the first of them.
///
/// # Errors
/// When anything failed.
pub(crate) fn verdict<'a>(reports: impl IntoIterator<Item = &'a RunReport> + Clone) -> Result<(), Failure> {
    let failures: u64 = reports.clone().into_iter().map(RunReport::failures).sum();
    if failures == 0 {
        return Ok(());
    }
    let first = reports.into_iter().flat_map(|r| &r.tasks).find_map(|task| {
        let failure = task.first_failure.as_ref()?;
        Some(format!("of \"{}\": {failure}", task.name))
    });
    let told = match (failures, first) {
        (n, None) => count(n, "failure"),
        (1, Some(first)) => format!("1 failure, {first}"),
        (n, Some(first)) => format!("{n} failures; the first, {first}"),
    };
    Err(Failure::run(told))
}

/// The work that the user named.
struct Asked {
    work: Work,
    /// What is to be said about it.
    notes: Vec<String>,
    /// Bytes that it writes, as far as that can be told.
    written_bytes: u64,
}

fn work(args: &RunArgs, again: Option<&Again>, drive: Drive) -> Result<Asked, Failure> {
    match (&args.source.job, &args.source.trace) {
        (Some(path), _) => match again.and_then(Again::job_text) {
            Some(text) => jobs(path, text, args, drive),
            None => jobs(path, &read_text(path, HAND_WRITTEN_MAX)?, args, drive),
        },
        (None, Some(path)) => {
            let Traced { work, notes, written_bytes } = traces::work(path, &args.replay, args.verify, drive)?;
            Ok(Asked { work, notes, written_bytes })
        }
        (None, None) => Err(Failure::usage("name a job file with --job or a trace with --trace")),
    }
}

fn jobs(path: &Path, text: &str, args: &RunArgs, drive: Drive) -> Result<Asked, Failure> {
    let path = if is_standard_input(path) { Path::new(STANDARD_INPUT) } else { path };
    let work = Work::jobs(&path.display().to_string(), text, args.verify);
    let work = work.map_err(|error| Failure::file(path, error))?;
    let wrong = |error| Failure::file(path, error);
    let jobs = work.as_jobs();
    let notes = own::check_jobs(jobs, drive, args.seed).map_err(wrong)?;
    let written_bytes = own::written_bytes(jobs, drive, args.seed).map_err(wrong)?;
    Ok(Asked { work, notes, written_bytes })
}
