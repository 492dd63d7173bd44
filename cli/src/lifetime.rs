//! `aster lifetime`: a drive that is written to its end.

use crate::args::LifetimeArgs;
use crate::console;
use crate::failure::Failure;
use crate::files::{beside, create, keep_apart};
use crate::interrupt::Interrupt;
use crate::profiles::{self, Named};
use crate::progress::Progress;
use aster_lab::lifetime::{self, LifetimeError, Plan, Report};
use std::fs::File;
use std::io::{self, BufWriter};
use std::ops::ControlFlow;

/// Writes one form of a report to a file.
type Writer = fn(&mut BufWriter<File>, &Report) -> io::Result<()>;

/// Writes a drive to its end, without wear levelling and with either kind, and reports its lives.
///
/// # Errors
/// When the drive can't be made, loses something without saying so, or the picture can't be written.
pub(crate) fn run(args: &LifetimeArgs) -> Result<(), Failure> {
    let Named { name, profile } = profiles::find(&args.profile, &args.set)?;
    // A profile that makes no drive is a mistake of the command line, and no drive's failure.
    aster_device::check(&profile, Some(aster_units::Content::Fingerprint))?;
    let plan = Plan {
        name,
        profile,
        seed: args.seed,
        hot_percent: args.hot.into(),
        drive_writes_max: args.drive_writes.map(f64::from),
    };
    // Before minutes of work rather than behind them.
    let numbers = args.svg.as_deref().map(beside);
    keep_apart(&[Some(args.profile.as_path())], &[args.svg.as_deref()])?;
    let mut files = Vec::new();
    for path in [args.svg.as_deref(), numbers.as_deref()].into_iter().flatten() {
        files.push((create(path)?, path));
    }
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    let mut stage = "";
    let report = lifetime::run(&plan, &mut |life, share| {
        if stage != life {
            stage = life;
            progress.begin(life);
        }
        progress.set(share);
        if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let report = report.map_err(|error| match error {
        LifetimeError::Stopped => Failure::stopped(),
        error => Failure::run(error),
    })?;
    progress.end();
    let writers: [Writer; 2] =
        [|file, report| lifetime::svg(file, report), |file, report| lifetime::csv(file, report)];
    for ((mut file, path), write) in files.into_iter().zip(writers) {
        write(&mut file, &report).map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
        console::note(&format!("wrote {}", path.display()));
    }
    if args.json { console::json(&report) } else { console::print(&lifetime::table(&report)) }
}
