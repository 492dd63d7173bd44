//! `aster lifetime`: writes a drive until its end of life.

use crate::args::LifetimeArgs;
use crate::console;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::{create, keep_apart};
use aster_lab::asked::profiles::{self, Named};
use aster_lab::figure::beside;
use aster_lab::lifetime::{self, Age, LifetimeError, Plan, Report};
use aster_lab::namespace::bytes_to_write;
use std::fs::File;
use std::io::{self, BufWriter};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Writes one form of a report to a file.
type Writer = fn(&mut BufWriter<File>, &Report) -> io::Result<()>;

/// Writes a drive until its end of life, without wear levelling and with each kind, and reports the results.
///
/// # Errors
/// When the drive can't be built, loses data silently, or the picture can't be written.
pub(crate) fn run(args: &LifetimeArgs) -> Result<(), Failure> {
    let Named { name, profile } = profiles::find(&args.profile, &args.set)?;
    // A profile that makes no drive is a mistake of the command line, not a failure of a drive.
    bytes_to_write(&profile, Some(aster_units::Content::Fingerprint))?;
    let plan = Plan {
        name,
        profile,
        seed: args.seed,
        hot_percent: args.hot.into(),
        drive_writes_max: args.drive_writes.map(f64::from),
    };
    // Check this before minutes of work, not after them.
    let numbers = args.svg.as_deref().map(beside);
    keep_apart(&[Some(args.profile.as_path())], &[args.svg.as_deref()])?;
    let mut files = Vec::new();
    for path in [args.svg.as_deref(), numbers.as_deref()].into_iter().flatten() {
        files.push((create(path)?, path));
    }
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    let (mut stage, mut began) = ("", Instant::now());
    let report = lifetime::run(&plan, &mut |life, age| {
        if stage != life {
            (stage, began) = (life, Instant::now());
            progress.begin(life);
        }
        match age.share() {
            Some(share) => progress.set(share),
            None => progress.tell(&used(age, began.elapsed())),
        }
        if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let report = report.map_err(|error| match error {
        LifetimeError::Stopped => Failure::stopped(),
        error => Failure::run(error),
    })?;
    progress.end();
    // Before the picture, so that the figures are printed even if it can't be written.
    if args.json {
        console::json(&report)?;
    } else {
        console::print(&lifetime::table(&report))?;
    }
    let writers: [Writer; 2] =
        [|file, report| lifetime::figure(report).write_svg(file), |file, report| lifetime::csv(file, report)];
    for ((mut file, path), write) in files.into_iter().zip(writers) {
        write(&mut file, &report).map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
        console::note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// How much of a drive's life is used, and how fast; when it ends isn't known.
fn used(age: &Age, elapsed: Duration) -> String {
    let (mean, most, spare) = (age.mean_percent(), age.most_percent(), age.now.available_spare);
    let rate = match elapsed.as_secs_f64() {
        seconds if seconds >= 1.0 => format!(", {:.2} % a second", mean / seconds),
        _ => String::new(),
    };
    format!(
        "blocks have used {mean:.1} % of their cycles in the mean{rate}, {most:.1} % at most; spare {spare} %"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use aster_lab::lifetime::Sample;

    #[test]
    fn a_life_tells_what_it_has_used_and_how_fast() {
        let now = Sample {
            drive_writes: 3.0,
            erases_min: 0,
            erases_mean: 12.5,
            erases_max: 40,
            available_spare: 98,
            percentage_used: 12,
            grown_bad_blocks: 1,
        };
        let age = Age { now, cycles: 100, drive_writes_max: None };
        let told = "blocks have used 12.5 % of their cycles in the mean, 2.50 % a second, 40.0 % at most; \
                    spare 98 %";
        assert_eq!(used(&age, Duration::from_secs(5)), told);
        assert_eq!(used(&age, Duration::ZERO), told.replace(", 2.50 % a second", ""));
    }
}
