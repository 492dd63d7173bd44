//! `aster torture`: drives whose power goes at any moment.

use crate::args::TortureArgs;
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::profiles::{self, Named};
use crate::progress::Progress;
use aster_lab::torture::{self, Case, DEPTH, Moment, Plan, Report};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Tortures drives and reports what they have seen.
///
/// # Errors
/// When a drive has lost something, or can't be made.
pub(crate) fn run(args: &TortureArgs) -> Result<(), Failure> {
    let Named { name, profile } = profiles::find(&args.profile, &args.set)?;
    let content = args.content.map(Into::into);
    // A profile that makes no drive is a mistake of the command line, and no drive's failure.
    aster_device::namespace(&profile, content, None)?;
    let only = (!args.case.rounds.is_empty()).then(|| Case {
        seed: args.seed,
        rounds: args.case.rounds.clone(),
        depth: args.case.depth.unwrap_or(DEPTH),
        cut_recovery: !args.case.recovery_uncut,
    });
    let cuts = match (&only, args.minutes) {
        (Some(case), _) => Some(case.rounds.len() as u64),
        (None, Some(_)) => None,
        (None, None) => Some(args.cuts),
    };
    let plan = Plan { name, profile, content, seed: args.seed, cuts, only };

    let interrupt = Interrupt::listen()?;
    let began = Instant::now();
    let limit = args.minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
    let latest = tell_of_panics(&args.profile);
    let mut progress = Progress::new();
    progress.begin("torture");
    let mut stopped = false;
    let report = torture::run(&plan, &mut |moment| {
        match moment {
            Moment::Cut { case, cuts: done } => {
                if let Ok(mut latest) = latest.lock() {
                    latest.clone_from(&repeat(case));
                }
                progress.set(match (cuts, limit) {
                    (Some(cuts), _) => done as f64 / cuts as f64,
                    (None, Some(limit)) => began.elapsed().as_secs_f64() / limit.as_secs_f64(),
                    (None, None) => 0.0,
                });
                stopped = interrupt.asked();
                if stopped || limit.is_some_and(|limit| began.elapsed() >= limit) {
                    return ControlFlow::Break(());
                }
            }
            Moment::Smaller(_) if interrupt.asked() => return ControlFlow::Break(()),
            Moment::Smaller(_) => {}
        }
        ControlFlow::Continue(())
    });
    progress.end();

    if args.json {
        console::json(&report)?;
    } else {
        console::print(&said(&report))?;
    }
    match &report.failure {
        Some(failure) => Err(Failure::run(format!(
            "seed {}, round {}, power lost at {:.6} ms: {}\nrepeat it with: aster torture {}{} {}\nwhich says: {}",
            failure.seed,
            failure.round,
            failure.cut_at_ps as f64 / 1e9,
            failure.what,
            args.profile.display(),
            overrides(args),
            failure.arguments(),
            failure.what_smaller,
        ))),
        None if stopped => Err(Failure::Interrupted),
        None => Ok(()),
    }
}

/// The arguments that repeat a life.
fn repeat(case: &Case) -> String {
    let rounds: Vec<String> = case.rounds.iter().map(u32::to_string).collect();
    format!("--seed {} --rounds {}", case.seed, rounds.join(","))
}

/// The profile's overrides and the content, as they were given.
fn overrides(args: &TortureArgs) -> String {
    let mut text: String = args.set.iter().map(|set| format!(" --set '{set}'")).collect();
    if let Some(content) = args.content {
        use clap::ValueEnum;
        let name = content.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
        text += &format!(" --content {name}");
    }
    text
}

/// An assertion of the firmware ends the process where panics abort: then, too, it is told which life led there.
fn tell_of_panics(profile: &Path) -> Arc<Mutex<String>> {
    let latest = Arc::new(Mutex::new(String::new()));
    let (told, profile) = (Arc::clone(&latest), profile.display().to_string());
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        if let Ok(case) = told.lock()
            && !case.is_empty()
        {
            console::note(&format!("the life that was led: aster torture {profile} {case}"));
        }
    }));
    latest
}

fn said(report: &Report) -> String {
    let seen = &report.seen;
    let drives = if report.drives == 1 { "1 drive".to_owned() } else { format!("{} drives", report.drives) };
    let verdict = if report.failure.is_some() { "" } else { "; nothing that was flushed is lost" };
    format!(
        "{}: {} losses of power on {drives}, and {} more during recovery{verdict}.\n\
         {} commands, {} flushes and forced writes; {} programs and {} erases were cut off.\n\
         The longest recovery took {:.3} ms, simulated, and {} page reads at most.\n",
        report.profile,
        seen.cuts,
        seen.cuts_in_recovery,
        seen.commands,
        seen.durable,
        seen.torn_programs,
        seen.torn_erases,
        seen.recovery_ms_max,
        seen.recovery_reads_max,
    )
}
