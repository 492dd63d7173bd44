//! `aster torture`: drives that lose power at any moment.

mod children;

use crate::args::TortureArgs;
use crate::console;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use aster_device::Pieces;
use aster_device::profile::RaidName;
use aster_lab::asked::drives::boot_new;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::profiles::{self, Named};
use aster_lab::namespace::bytes_to_write;
use aster_lab::own::Preconditioning;
use aster_lab::torture::{self, Case, DEPTH, Here, Moment, Plan, Report, WINDOW_BYTES};
use aster_lab::words::capacity;
use aster_lab::words::counted;
use aster_targets::with_ours;
use children::Children;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Tortures drives and reports the results.
///
/// # Errors
/// When a drive has lost data, or can't be built.
pub(crate) fn run(args: &TortureArgs) -> Result<(), Failure> {
    let Named { name, profile } = profiles::find(&args.profile, &args.set)?;
    let content = args.content.map(Into::into);
    // A profile that makes no drive is a mistake of the command line, not a failure of a drive.
    let bytes = bytes_to_write(&profile, content)?;
    // A life's own process gets the keys by its arguments.
    let keys = match args.full_size || args.case.child {
        true => Vec::new(),
        false => torture::smaller_drive(&|| with_ours(Pieces::default()), &name, &profile, content),
    };
    if !keys.is_empty() {
        console::note(&format!(
            "{name} has {}, too much to be read back at each loss of power: tortured with {} (--full-size \
             takes it as it is)",
            capacity(bytes),
            keys.join(", "),
        ));
        return run(&TortureArgs { set: [&args.set[..], &keys].concat(), ..args.clone() });
    }
    if bytes > WINDOW_BYTES && !args.case.child {
        console::note(&format!(
            "{name} has {}: {} of it, at a place that is drawn for each drive, are written and read back",
            capacity(bytes),
            capacity(WINDOW_BYTES),
        ));
    }
    let only = (!args.case.rounds.is_empty()).then(|| Case {
        seed: args.seed,
        rounds: args.case.rounds.clone(),
        depth: args.case.depth.unwrap_or(DEPTH),
        cut_recovery: !args.case.recovery_uncut,
    });
    let has_parity = profile
        .target
        .as_ref()
        .is_some_and(|target| matches!(target.raid, Some(RaidName::Fixed | RaidName::Rotating)));
    if args.dead_lane && !has_parity {
        let problem = "--dead-lane needs a drive with parity: target.raid = \"fixed\" or \"rotating\"";
        return Err(Failure::file(&args.profile, problem));
    }
    let steady = match &args.precondition {
        None => None,
        Some(Preconditioning::Steady(steady)) => Some(steady.clone()),
        Some(Preconditioning::Overwritten(_)) => {
            let problem =
                "--precondition must be steady: what is written by commands is torture's own choice";
            return Err(Failure::usage(problem));
        }
    };
    if let (true, Some(case)) = (args.case.child, &only) {
        let here = Here::new(&name, &profile, content);
        let here = if args.dead_lane { here.with_dead_lane() } else { here };
        let mut here = match steady {
            Some(steady) => here.in_steady_state(steady),
            None => here,
        };
        return children::be_one(case, &mut here);
    }
    let cuts = match (&only, args.minutes) {
        (Some(case), _) => Some(case.rounds.len() as u64),
        (None, Some(_)) => None,
        (None, None) => Some(args.cuts),
    };
    let plan = Plan { name, seed: args.seed, cuts, only };

    let interrupt = Interrupt::listen()?;
    // Nor is a profile whose new drive doesn't come up, for example for lack of good blocks.
    let goes_on = &mut || !interrupt.asked();
    boot_new(&args.profile, &plan.name, &profile, content, goes_on)?;
    let began = Instant::now();
    let limit = args.minutes.map(|minutes| Duration::from_secs(60 * u64::from(minutes)));
    let mut progress = Progress::new();
    progress.begin("torture");
    let mut timed_out = false;
    let report = torture::run(&plan, &mut Children::new(victim(args), &interrupt), &mut |moment| {
        if let Moment::Cut { cuts: done, .. } = moment {
            progress.set(match (cuts, limit) {
                (Some(cuts), _) => done as f64 / cuts as f64,
                (None, Some(limit)) => began.elapsed().as_secs_f64() / limit.as_secs_f64(),
                (None, None) => 0.0,
            });
            timed_out = limit.is_some_and(|limit| began.elapsed() >= limit);
        }
        if interrupt.asked() || timed_out { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let report = report.map_err(Failure::run)?;
    if !report.stopped || timed_out {
        progress.end();
    } else {
        drop(progress);
    }

    if args.json {
        console::json(&report)?;
    } else {
        console::print(&said(&report))?;
    }
    match &report.failure {
        Some(failure) => Err(Failure::run(format!(
            "seed {}, round {}, power lost at {:.6} ms: {}\nrepeat it with: aster torture {}\nwhich says: {}",
            failure.seed,
            failure.round,
            failure.cut_at_ps as f64 / 1e9,
            failure.what,
            quoted(victim(args).into_iter().chain(failure.case().arguments())),
            failure.what_smaller,
        ))),
        None if interrupt.asked() => Err(Failure::Interrupted),
        None => match report.ended {
            // This is neither a drive's failure nor a success.
            Some(how) => Err(Failure::InterruptedEarly(how)),
            None => Ok(()),
        },
    }
}

/// The arguments that describe the drive.
fn victim(args: &TortureArgs) -> Vec<String> {
    let mut arguments = vec![args.profile.display().to_string()];
    for set in &args.set {
        arguments.extend(["--set".to_owned(), set.clone()]);
    }
    if let Some(content) = args.content {
        use clap::ValueEnum;
        let name = content.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
        arguments.extend(["--content".to_owned(), name]);
    }
    if args.full_size {
        arguments.push("--full-size".to_owned());
    }
    if args.dead_lane {
        arguments.push("--dead-lane".to_owned());
    }
    if let Some(precondition) = &args.precondition {
        arguments.extend(["--precondition".to_owned(), precondition.to_string()]);
    }
    arguments
}

/// Arguments quoted for a shell.
fn quoted(arguments: impl IntoIterator<Item = String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+%@".contains(c);
    let quote = |word: String| match word.chars().all(is_plain) && !word.is_empty() {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    arguments.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}

fn said(report: &Report) -> String {
    let seen = &report.seen;
    let drives = counted(report.drives, "drive");
    let verdict = match (&report.failure, report.stopped) {
        (Some(_), _) => "",
        (None, true) => "; nothing that was flushed was lost by then",
        (None, false) => "; nothing that was flushed is lost",
    };
    let losses = if seen.cuts == 1 { "1 loss".to_owned() } else { format!("{} losses", seen.cuts) };
    let of_host = match seen.host_cuts {
        0 => String::new(),
        cuts => format!(", {cuts} of all these of the host alone"),
    };
    let of_drive = match seen.drive_cuts {
        0 => String::new(),
        1 => ", and 1 of a drive whose host went on".to_owned(),
        cuts => format!(", and {cuts} of drives whose hosts went on"),
    };
    let of_lanes = match seen.dead_lanes {
        0 => String::new(),
        lanes => format!("; {} stopped answering", counted(lanes, "lane")),
    };
    let of_copies = match seen.spoilt_copies + seen.used_copies {
        0 => String::new(),
        _ => format!(
            "Of the map's directory in eMMC {} spoilt; {} used one.\n",
            if seen.spoilt_copies == 1 {
                "1 copy was".into()
            } else {
                format!("{} copies were", seen.spoilt_copies)
            },
            if seen.used_copies == 1 {
                "1 recovery".into()
            } else {
                format!("{} recoveries", seen.used_copies)
            },
        ),
    };
    let recovery = if seen.recovery_ms_max > 0.0 {
        format!(
            "The longest recovery took {:.3} ms, simulated, and {} at most.",
            seen.recovery_ms_max,
            counted(seen.recovery_reads_max, "page read")
        )
    } else {
        "No drive came back: there was no recovery.".to_owned()
    };
    format!(
        "{}: {losses} of power on {drives}, and {} more during recovery{of_host}{of_drive}{of_lanes}\
         {verdict}.\n\
         {}, {} flushes, forced writes, formats and shutdowns; {} programs and {} erases were cut off, {} \
         pages taken along.\n\
         {recovery}\n{of_copies}",
        report.profile,
        seen.cuts_in_recovery,
        counted(seen.commands, "command"),
        seen.durable,
        seen.torn_programs,
        seen.torn_erases,
        seen.pages_lost,
    )
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn arguments_are_quoted_where_a_shell_would_read_them_otherwise() {
        let words = ["tiny", "--set", "a.b=\"it's\"", "", "x y"].map(str::to_owned);
        assert_eq!(quoted(words), r#"tiny --set 'a.b="it'\''s"' '' 'x y'"#);
    }
}
