//! `aster run`: the user's own work on a drive.

use crate::args::{ExplainArgs, HardwareArg, ReplayArgs, RunArgs};
use crate::console;
use crate::events::EventFile;
use crate::failure::Failure;
use crate::files::{HAND_WRITTEN_MAX, keep_apart, read_text};
use crate::follow::Followers;
use crate::interrupt::Interrupt;
use crate::monitor::MonitorFile;
use crate::profiles::{self, Named};
use crate::progress::Progress;
use crate::room::{self, Need};
use crate::spans::{SpanReport, SpanSink};
use crate::traces;
use crate::wave::WaveFile;
use aster_device::{ChannelHardware, FreshErrors, Media};
use aster_lab::explain::{Explanation, Which};
use aster_lab::own::{self, Moment, Setup, Work, WorkError};
use aster_lab::report::{RunReport, table};
use aster_lab::run::workload::trace::{Beyond, Replay, Unaligned};
use aster_lab::run::workload::{Drive, fio};
use aster_run_virtual::events::Recorder;
use aster_run_virtual::open_image;
use serde::Serialize;
use std::cell::RefCell;
use std::path::Path;

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
    let Named { name, profile } = profiles::find(&args.profile, &args.set)?;
    let setup = Setup {
        name,
        profile,
        hardware: hardware(args.hardware)?,
        content: args.content.map(Into::into),
        precondition_percent: args.precondition,
        age_hours: args.age,
        seed: args.seed,
        keep_going: args.keep_going,
    };
    keep_apart(
        &[Some(args.profile.as_path()), args.source.job.as_deref(), args.source.trace.as_deref()],
        &[
            args.image.as_deref(),
            args.wave.as_deref(),
            args.events.as_deref(),
            args.perfetto.as_deref(),
            args.monitor.as_deref(),
        ],
    )?;
    // Everything that is read is read and checked before anything is written.
    let content = setup.content;
    let existing = match &args.image {
        Some(path) if path.exists() => Some(open_image(path, &setup.profile, content)?),
        _ => None,
    };
    let (bytes, block_bytes) = aster_device::namespace(&setup.profile, content, existing.as_ref())?;
    let Asked { work, mut notes, written_bytes } = work(args, Drive { bytes, block_bytes })?;
    let kept = content.unwrap_or(setup.profile.content.into());
    let need = Need::of(&setup.profile, bytes, args.precondition, written_bytes);
    notes.extend(room::check(&need, kept, setup.profile.geometry.page_bytes.into(), args.image.as_deref())?);

    let recorder = Recorder::default();
    let wave = args.wave.as_deref().map(WaveFile::create).transpose()?;
    let events = args.events.as_deref().map(|path| EventFile::attach(path, &recorder)).transpose()?;
    let spans = args.spans.then(SpanSink::default);
    let monitor_file = |path| MonitorFile::create(path, &args.monitor_modules, args.monitor_ways);
    let monitor = args.monitor.as_deref().map(monitor_file).transpose()?;
    let followers = Followers::new(args.perfetto.as_deref(), which)?;
    let media = match (existing, &args.image) {
        (Some(media), _) => media,
        (None, Some(path)) => open_image(path, &setup.profile, content)?,
        (None, None) => Media::fresh(),
    };

    notes.iter().for_each(|note| console::note(note));
    if let Some(doubt) = profiles::doubt(&FreshErrors::of(&setup.profile)?) {
        console::note(&doubt);
    }
    let interrupt = Interrupt::listen()?;
    let progress = RefCell::new(Progress::new());
    let mut recovery = None;
    progress.borrow_mut().begin(if args.precondition.is_some() { "precondition" } else { "run" });
    let (report, machine) = own::run(
        &setup,
        work,
        media,
        &recorder,
        |machine, moment| {
            match moment {
                Moment::Booted => followers.attach(machine),
                Moment::Work => followers.begin(),
            }
            if let (Some(monitor), Moment::Work) = (&monitor, moment) {
                monitor.attach(machine, args.monitor_interval);
            }
            if let Some(spans) = &spans {
                match moment {
                    Moment::Booted => spans.attach(machine),
                    Moment::Work => spans.begin(machine),
                }
            }
            if moment == Moment::Booted {
                recovery = machine.device().recovery();
                return;
            }
            if args.precondition.is_some() {
                progress.borrow_mut().begin("run");
            }
            if let Some(wave) = &wave {
                wave.attach(machine);
            }
        },
        &mut |share| {
            progress.borrow_mut().set(share);
            if let Some(wave) = &wave {
                wave.settle();
            }
            !interrupt.asked()
        },
    )
    .map_err(|error| match error {
        WorkError::Run(error) => Failure::on_image(args.image.as_deref(), error),
        error => error.into(),
    })?;
    // Now, so that shutting down is no part of it.
    let spans = spans.map(|spans| spans.report(&machine));
    let explanation = followers.finish(&machine)?;
    if let Some(monitor) = monitor {
        monitor.finish(&machine)?;
    }
    if let Some(wave) = wave {
        wave.finish()?;
    }
    // Without an image nobody will see the drive again: its power may go as it is.
    let shut_down = match args.image {
        Some(_) => machine.shut_down().map(drop),
        None => Ok(()),
    };
    progress.borrow_mut().end();
    if let Some(events) = events {
        events.finish()?;
    }
    shut_down?;

    if let Some(recovery) = recovery {
        console::note(&recovery);
    }
    match which {
        None => print(args, &report, spans.as_ref())?,
        Some(which) => tell(args, explanation.as_ref(), which)?,
    }
    if report.reads_nothing() {
        console::note(
            "nothing of what was read had ever been written: the drive answered with zeroes and never touched flash \
             (--precondition 0 fills the drive first)",
        );
    }
    if interrupt.asked() {
        console::note("interrupted: the report covers what was done by then");
        return Err(Failure::Interrupted);
    }
    verdict([&report])
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
    spans: Option<&'a SpanReport>,
}

fn print(args: &RunArgs, report: &RunReport, spans: Option<&SpanReport>) -> Result<(), Failure> {
    if args.json {
        return console::json(&JsonReport { run: report, spans });
    }
    console::print(&table(std::slice::from_ref(report)))?;
    let checked: u64 = report.tasks.iter().map(|task| task.checked_blocks).sum();
    if checked > 0 {
        let blocks = if checked == 1 { "1 block was" } else { &format!("{checked} blocks were") };
        console::line(&format!("{blocks} checked."))?;
    }
    if let Some(spans) = spans {
        console::print(&format!("\n{}", spans.table()))?;
    }
    Ok(())
}

/// An error when requests failed: how many, and the first of them.
///
/// # Errors
/// When a request failed.
pub(crate) fn verdict<'a>(reports: impl IntoIterator<Item = &'a RunReport> + Clone) -> Result<(), Failure> {
    let failures: u64 = reports.clone().into_iter().map(RunReport::failures).sum();
    if failures == 0 {
        return Ok(());
    }
    let first = reports.into_iter().flat_map(|r| &r.tasks).find_map(|task| {
        let failure = task.first_failure.as_ref()?;
        Some(format!("; the first, of \"{}\": {failure}", task.name))
    });
    let requests = if failures == 1 { "1 request" } else { &format!("{failures} requests") };
    Err(Failure::run(format!("{requests} failed{}", first.unwrap_or_default())))
}

/// The work that the user named.
struct Asked {
    work: Work,
    /// What is to be said about it.
    notes: Vec<String>,
    /// Bytes that it writes, as far as that can be told.
    written_bytes: u64,
}

fn work(args: &RunArgs, drive: Drive) -> Result<Asked, Failure> {
    match (&args.source.job, &args.source.trace) {
        (Some(path), _) => jobs(path, args, drive),
        (None, Some(path)) => trace(path, &args.replay, args.verify, drive),
        (None, None) => Err(Failure::usage("name a job file with --job or a trace with --trace")),
    }
}

fn jobs(path: &Path, args: &RunArgs, drive: Drive) -> Result<Asked, Failure> {
    let text = read_text(path, HAND_WRITTEN_MAX)?;
    let mut jobs = fio::parse(&text).map_err(|error| Failure::file(path, error))?;
    jobs.iter_mut().for_each(|job| job.verify |= args.verify);
    let wrong = |error| Failure::file(path, error);
    let notes = own::check_jobs(&jobs, drive, args.seed).map_err(wrong)?;
    let written_bytes = own::written_bytes(&jobs, drive, args.seed).map_err(wrong)?;
    Ok(Asked { work: Work::Jobs { jobs, name: path.display().to_string() }, notes, written_bytes })
}

fn trace(path: &Path, args: &ReplayArgs, verify: bool, drive: Drive) -> Result<Asked, Failure> {
    let text = read_text(path, u64::MAX)?;
    let replay = Replay {
        times: args.trace_speed,
        beyond: if args.trace_wrap { Beyond::Wrap } else { Beyond::Refuse },
        unaligned: if args.trace_round { Unaligned::Widen } else { Unaligned::Refuse },
        device: args.trace_device.clone(),
    };
    let survey = traces::survey(path, &text, args.trace_format.map(Into::into), &replay, drive)?;
    let name = path.display().to_string();
    let mut notes = Vec::new();
    if survey.other_devices > 0 {
        notes.push(format!(
            "{name}: replaying the {} requests to \"{}\"; {} to other devices are left out (--trace-device names another)",
            survey.requests, survey.device, survey.other_devices
        ));
    }
    let (format, replay) = (survey.format, Replay { device: Some(survey.device), ..replay });
    let work = Work::Trace { text, name, format, replay, queue_depth: args.queue_depth, verify };
    Ok(Asked { work, notes, written_bytes: survey.written_bytes })
}
