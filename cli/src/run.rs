//! `aster run`: the user's own work on a drive.

use crate::again::{Again, Compared, build};
use crate::args::{ExplainArgs, HardwareArg, RunArgs};
use crate::console;
use crate::image::content_of;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use aster_device::{ChannelHardware, Profile};
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::{create, is_standard_input, keep_apart};
use aster_lab::asked::profiles::{Named, find_or_kept};
use aster_lab::asked::traces;
use aster_lab::asked::work::{self as asked, Asked, Printed};
use aster_lab::explain::{Explanation, Which};
use aster_lab::own::{self, Outcome, Phase, Place, Preconditioning, Setup, WorkError};
use aster_lab::page::page;
use aster_lab::provenance::Provenance;
use aster_lab::report::{DriveReport, RunReport, TaskReport, table};
use aster_lab::warning::Warning;
use aster_lab::watch::{DriveShape, Heard, MonitorWatch, Watch, Watchers};
use aster_lab::words::counted;
use aster_workload::Drive;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the work and reports it.
///
/// # Errors
/// When it can't be run, requests failed, or an output can't be written.
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
    asked::check_front_end(&setup)?;
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
            args.report.as_deref(),
        ],
    )?;
    // Read and check all inputs before anything is written.
    let place = Place::new(&setup, args.image.as_deref())?;
    // Only --json and a page show the provenance; the checksum of a large image takes a while.
    let place = if args.json || args.report.is_some() { place } else { place.without_provenance() };
    let drive = place.drive();
    let mut asked = work(args, again.as_ref(), drive)?;
    if let Some(again) = &again {
        again.check(&asked.work, || Ok(place.state(&setup)?.map(str::to_owned)))?;
        again.rename(&mut asked.work);
        asked.notes.extend(again.notes());
    }
    let before = asked::before(&setup, &asked, drive, args.image.as_deref())?;
    let watchers = Watchers::new(&watch(args, &setup.profile, which)?)?;
    let drawn = args.report.as_deref().map(|path| create(path).map(|file| (path, file))).transpose()?;

    before.notes.iter().chain(&before.said).for_each(|note| console::note(&note.message));
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    let mut at = if setup.precondition.is_some() { Phase::Before } else { Phase::Work };
    progress.begin_parts(match setup.precondition {
        None => &["run"],
        Some(Preconditioning::Overwritten(0)) => &["precondition: fill"],
        Some(Preconditioning::Steady(_)) => &["precondition: steady state"],
        Some(Preconditioning::Overwritten(_)) => &["precondition: fill", "precondition: overwrite"],
    });
    let outcome = own::run(&setup, hardware, asked.work, place, watchers, &mut |phase, share| {
        if phase == Phase::Work && at == Phase::Before {
            at = phase;
            progress.begin("run");
        }
        progress.set(share);
        !interrupt.asked()
    });
    let Outcome { mut report, heard, problems, first_lost_page: lost } =
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
    let problems: Vec<Failure> = problems.into_iter().map(|problem| of_problem(args, problem)).collect();
    let compared = match &again {
        Some(again) if !report.interrupted && report.error.is_none() => {
            Some(again.compare(&Printed { run: &report, first_lost_page: lost, spans: None })?)
        }
        _ => None,
    };
    // One list for the terminal and for programs: warnings from before the run come first.
    let behind = before.put_into(&mut report);
    report.warnings.extend(compared.as_ref().and_then(Compared::warning));

    let printed = match which {
        None => print(args, &Printed { run: &report, first_lost_page: lost, spans: heard.spans.as_ref() }),
        Some(which) => tell(args, &heard, &report, which),
    };
    for warning in &behind {
        let help = match (warning.code, &setup.precondition) {
            ("reads-unmapped", None) => " (--precondition 0 fills the drive first)",
            // These are errors, and are reported as errors.
            ("file-not-written" | "run-broken-off", _) => continue,
            _ => "",
        };
        console::note(&format!("{}{help}", warning.message));
    }
    let drawn = match (drawn, &heard.gathered) {
        (Some((path, file)), Some(gathered)) => {
            let title = format!("{} on {}", report.name, setup.name);
            write_page(path, file, &page(&title, &report, gathered))
        }
        _ => Ok(()),
    };
    // All failures are reported, causes before what followed from them; the last one ends the command.
    let mut failures: Vec<Failure> = problems.into_iter().chain(printed.err()).chain(drawn.err()).collect();
    match compared {
        Some(Compared::Same(text) | Compared::Other(text)) => console::note(&text),
        Some(Compared::Wrong(text)) => failures.push(Failure::run(text)),
        None => {}
    }
    failures.extend(match verdict([&report]) {
        _ if report.interrupted => Some(Failure::Interrupted),
        Err(failure) => Some(match lost {
            Some(page) => Failure::run(format!(
                "{failure}; the first page of flash that could not be corrected is {page}"
            )),
            None => failure,
        }),
        Ok(()) => None,
    });
    said_all(failures)
}

/// Writes the page of a run.
fn write_page(path: &Path, mut file: impl Write, page: &str) -> Result<(), Failure> {
    let written = file.write_all(page.as_bytes()).and_then(|()| file.flush());
    written.map_err(|error| Failure::run(format!("{}: {error}", path.display())))
}

/// Reports all failures except the last, with which the command ends, by the exit status of the first. A
/// closed output and an interruption are no news to the user: they count where there is nothing else.
///
/// # Errors
/// The last one, where there is any.
fn said_all(failures: Vec<Failure>) -> Result<(), Failure> {
    let is_news = |failure: &Failure| matches!(failure, Failure::Usage(_) | Failure::Run(_));
    let (mut news, others): (Vec<_>, Vec<_>) = failures.into_iter().partition(is_news);
    let Some(last) = news.pop() else { return others.into_iter().next().map_or(Ok(()), Err) };
    for failure in &news {
        console::note(&format!("error: {failure}"));
    }
    Err(match news.first() {
        Some(Failure::Usage(_)) => Failure::usage(last),
        Some(_) => Failure::run(last),
        None => last,
    })
}

/// A failure after the beginning of valid work.
fn of_problem(args: &RunArgs, problem: WorkError) -> Failure {
    match problem {
        WorkError::Run(error) => Failure::on_image(args.image.as_deref(), error),
        error => error.into(),
    }
}

/// The run's setup from the command line.
fn setup(args: &RunArgs) -> Result<Setup, Failure> {
    let Named { name, profile } = find_or_kept(args.profile.as_deref(), args.image.as_deref(), &args.set)?;
    let content = match (args.content, &args.profile, &args.image) {
        (None, None, Some(image)) => Some(content_of(image)?),
        (content, ..) => content.map(Into::into),
    };
    Ok(Setup {
        content,
        precondition: args.precondition.clone(),
        age_hours: args.age,
        seed: args.seed,
        keep_going: args.keep_going,
        overrides: args.set.clone(),
        ..Setup::new(&name, profile)
    })
}

/// The listeners that the command line asks for.
fn watch(args: &RunArgs, profile: &Profile, which: Option<Which>) -> Result<Watch, Failure> {
    let monitor = |path: &PathBuf| {
        let modules = args.monitor_modules.chosen(profile, args.monitor_ways)?;
        let (path, interval) = (path.clone(), args.monitor_interval);
        Ok::<_, Failure>(MonitorWatch { path, modules, each_way: args.monitor_ways, interval })
    };
    Ok(Watch {
        wave: args.wave.clone(),
        events: args.events.clone(),
        shape: Some(DriveShape::of(profile)),
        perfetto: args.perfetto.clone(),
        monitor: args.monitor.as_ref().map(monitor).transpose()?,
        spans: args.spans,
        explain: which,
        page: args.report.is_some(),
        part: args.window.part(),
        ..Watch::default()
    })
}

/// Prints an explanation.
fn tell(args: &RunArgs, heard: &Heard, report: &RunReport, which: Which) -> Result<(), Failure> {
    match (heard.explanations.first(), which) {
        (Some(explanation), _) if args.json => console::json(&JsonExplanation {
            explanation,
            interrupted: report.interrupted,
            error: report.error.as_deref(),
            warnings: &report.warnings,
            provenance: report.provenance.as_ref(),
        }),
        (Some(explanation), _) => console::print(&explanation.table()),
        (None, Which::Slowest | Which::SlowestOf(_))
            if args.window.from.is_some() || args.window.until.is_some() =>
        {
            let ends = [("--from", args.window.from), ("--until", args.window.until)];
            let ends = ends.into_iter().filter_map(|(name, at)| Some(format!("{name} {}", at?)));
            let ends = ends.collect::<Vec<_>>().join(" ");
            Err(Failure::run(format!(
                "there is nothing to explain: no command of the work began within {ends} and ended"
            )))
        }
        (None, Which::Slowest | Which::SlowestOf(_)) => {
            Err(Failure::run("there is nothing to explain: no command of the work has ended"))
        }
        (None, Which::Number(n)) => {
            Err(Failure::run(format!("--command {n}: the work has no command of that number that has ended")))
        }
    }
}

/// The channels that `--hardware` names.
fn hardware(name: HardwareArg) -> Result<ChannelHardware, Failure> {
    match name {
        HardwareArg::Timed => Ok(ChannelHardware::Timed),
        #[cfg(feature = "rtl")]
        HardwareArg::Rtl => Ok(ChannelHardware::Cycles(|_| Box::new(aster_rtl_cosim::RtlChannel::new()))),
        #[cfg(not(feature = "rtl"))]
        HardwareArg::Rtl => Err(Failure::usage(
            "--hardware rtl: this aster was built without RTL; build it with --features rtl, which needs \
             Verilator \
             (`make run` sees to both)",
        )),
    }
}

/// What `aster explain --json` prints.
#[derive(Serialize)]
struct JsonExplanation<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    warnings: &'a [Warning],
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<&'a Provenance>,
}

/// What the ECC engine did, on a drive that has one.
fn corrected(drive: &DriveReport) -> Option<String> {
    let of = |name| drive.parts.get(name).copied().unwrap_or(0);
    let reads = drive.parts.get("ecc_reads")?;
    let lost = match of("ecc_uncorrectable_frames") {
        0 => String::new(),
        lost => format!("; {} could not be corrected", counted(lost, "frame")),
    };
    Some(format!(
        "{reads} of {} brought wrong bits: the ECC engine corrected {} in {}{lost}.",
        counted(drive.flash_reads, "page read"),
        counted(of("ecc_corrected_bits"), "bit"),
        counted(of("ecc_frames"), "frame"),
    ))
}

/// The WAF of the whole run beside what theory expects.
fn spare(run: &RunReport) -> Option<String> {
    let waf = run.drive.waf.filter(|&waf| waf > 0.0)?;
    Some(run.spare.as_ref()?.beside(waf))
}

/// What firmware had to do with the link's packets, on a drive that sends them itself (S7).
fn packets(drive: &DriveReport) -> Option<String> {
    let of = |name| drive.parts.get(name).copied().unwrap_or(0);
    let touched = drive.parts.get("tlp_touched")?;
    let failed = match of("tlp_failed_reads") + of("tlp_timed_out_reads") {
        0 => String::new(),
        failed => format!("; {} failed", counted(failed, "read")),
    };
    let registers = match drive.parts.get("tlp_register_requests") {
        None => String::new(),
        Some(requests) => format!(", and {} of the host to registers", counted(*requests, "packet")),
    };
    Some(format!(
        "{} to the host and {} back{registers}: firmware handled {touched} of them and copied {} ({}), the \
         data mover moved {}{failed}.",
        counted(of("tlp_sent"), "packet"),
        of("tlp_received"),
        counted(of("tlp_copied_bytes"), "byte"),
        counted(of("tlp_copies"), "time"),
        counted(of("tlp_moved_bytes"), "byte"),
    ))
}

/// How often the firmware's tasks were switched, on a drive on which they have stacks of their own (S14).
fn switches(drive: &DriveReport) -> Option<String> {
    let switches = *drive.parts.get("stack_switches")?;
    Some(format!("The firmware's tasks were resumed on their stacks {}.", counted(switches, "time")))
}

fn print(args: &RunArgs, printed: &Printed) -> Result<(), Failure> {
    if args.json {
        return console::json(printed).inspect_err(|failure| {
            // After a failure such as a full disk, print the figures that are there: they took time to
            // compute.
            if !matches!(failure, Failure::Closed) {
                console::note(&table(std::slice::from_ref(printed.run)));
            }
        });
    }
    let Printed { run: report, spans, .. } = printed;
    console::print(&table(std::slice::from_ref(*report)))?;
    let checked: u64 = report.tasks.iter().map(|task| task.checked_blocks).sum();
    if report.went_in_time() {
        let late = |task: &TaskReport| task.lateness.as_ref().map_or(0, |lateness| lateness.flushes_late);
        let but = match report.tasks.iter().map(late).sum::<u64>() {
            0 => "",
            1 => " but a flush, which waited for what was before it",
            _ => " but flushes, which waited for what was before them",
        };
        console::line(&format!(
            "Every request{but} went at its recorded time: latencies from arrival are those from issue."
        ))?;
    }
    if checked > 0 {
        let were = if checked == 1 { "was" } else { "were" };
        console::line(&format!("{} {were} checked.", counted(checked, "block")))?;
    }
    let of_drive = [corrected, packets, switches].map(|line| line(&report.drive));
    for line in of_drive.into_iter().chain([spare(report)]).flatten() {
        console::line(&line)?;
    }
    for task in &report.tasks {
        // If it was never reached, there is a warning instead.
        if let Some(steady) = task.steady_state.as_ref().filter(|steady| steady.attained_s.is_some()) {
            console::line(&format!("{}.", steady.note(&task.name)))?;
        }
    }
    if let Some(spans) = spans {
        console::print(&format!("\n{}", spans.table()))?;
    }
    Ok(())
}

/// An error when requests failed, or a job was slower than its minimum rate: the number of failures, and the
/// first one.
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
        (n, None) => counted(n, "failure"),
        (1, Some(first)) => format!("1 failure, {first}"),
        (n, Some(first)) => format!("{n} failures; the first, {first}"),
    };
    Err(Failure::run(told))
}

fn work(args: &RunArgs, again: Option<&Again>, drive: Drive) -> Result<Asked, Failure> {
    match (&args.source.job, &args.source.trace) {
        (Some(path), _) => match again.and_then(Again::job_text) {
            Some(text) => asked::job_text(path, text, args.verify, args.seed, drive),
            None => asked::job_file(path, args.verify, args.seed, drive),
        },
        (None, Some(path)) => traces::read(path, &args.replay.replay(), args.verify, drive),
        (None, None) => Err(Failure::usage("name a job file with --job or a trace with --trace")),
    }
}
