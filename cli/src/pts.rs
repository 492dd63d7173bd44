//! `aster pts`: SNIA's performance test on a profile's drive.

use crate::args::{PtsArgs, WriteCacheArg};
use crate::console;
use crate::drawn::Drawn;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::make_folder;
use aster_lab::asked::profiles::{self, Named};
use aster_lab::asked::room::{self, Need};
use aster_lab::namespace::bytes_to_write;
use aster_lab::own::Preconditioning;
use aster_lab::pts::{self, Plan, Test};
use std::ops::ControlFlow;

/// Tests a drive, and prints the results.
///
/// # Errors
/// When the drive can't be built, a request fails, or a picture can't be written.
pub(crate) fn run(args: &PtsArgs) -> Result<(), Failure> {
    let plan = plan(args)?;
    // A profile that makes no drive is a mistake of the command line, not a failure of a drive.
    bytes_to_write(&plan.profile, plan.content)?;
    let drive = plan.drive()?;
    let content = plan.content.unwrap_or(plan.profile.content.into());
    let fill = Preconditioning::Overwritten(0);
    let need = Need::of(&plan.profile, drive.bytes, Some(&fill), u64::MAX);
    let need = Need { takes_image: false, ..need };
    let room = room::check(&need, content, plan.profile.geometry.page_bytes.into(), None)?;
    room.iter().for_each(|note| console::note(&note.message));
    // Check this before minutes of work, not after them.
    args.out.as_deref().map_or(Ok(()), make_folder)?;
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    let mut stage = String::new();
    let report = pts::run(&plan, &mut |step| {
        if stage != step.stage {
            step.stage.clone_into(&mut stage);
            progress.begin(step.stage);
        }
        match step.share {
            Some(share) => progress.set(share),
            None => progress.tell(step.words),
        }
        if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    progress.end();
    report.warnings.iter().for_each(|warning| console::note(&warning.message));
    // Before the pictures, so that the figures are printed even if these can't be written.
    if args.json {
        console::json(&report)?;
    } else {
        console::print(&pts::table(&report))?;
    }
    let Some(folder) = &args.out else { return Ok(()) };
    let figures = pts::figures(&report);
    figures.iter().flat_map(Drawn::of_figure).try_for_each(|drawn| drawn?.write_to(folder))
}

fn plan(args: &PtsArgs) -> Result<Plan, Failure> {
    let Named { name, profile } = profiles::find(&args.profile, &args.set)?;
    let mut plan = Plan::new(name, profile, args.class.into());
    // In the specification's order, each once.
    let asked = |test: &Test| args.test.iter().any(|asked| Test::from(*asked) == *test);
    plan.tests = Test::ALL.into_iter().filter(asked).collect();
    plan.content = args.content.map(Into::into);
    plan.threads = args.threads.unwrap_or(plan.threads);
    plan.depth = args.depth.unwrap_or(plan.depth);
    plan.active_range_percent = args.active_range.unwrap_or(plan.active_range_percent);
    plan.write_cache = args.write_cache.map_or(plan.write_cache, |state| state == WriteCacheArg::On);
    plan.minute = args.minute;
    plan.rounds_max = args.rounds.into();
    plan.seed = args.seed;
    Ok(if args.quick { plan.quick() } else { plan })
}
