//! `aster waf`: write amplification by victim policy and skew.

use crate::args::WafArgs;
use crate::console;
use crate::drawn::Drawn;
use crate::reproduce::followed;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::make_folder;
use aster_lab::asked::profiles::{self, Named};
use aster_lab::waf::{self, Plan};

/// Measures write amplification, and prints it beside the results of a bare simulation and of theory.
///
/// # Errors
/// When a drive can't be built or run, or the picture can't be written.
pub(crate) fn run(args: &WafArgs) -> Result<(), Failure> {
    let Named { name, profile } = profiles::find(&args.profile, &args.set)?;
    let mut plan = Plan::new(name, profile, args.seed);
    if !args.over_provisioning.is_empty() {
        plan.over_provisioning.clone_from(&args.over_provisioning);
    }
    if !args.streams.is_empty() {
        plan.streams.clone_from(&args.streams);
    }
    if let Some(unknown) = args.victims.iter().find(|name| !plan.victims.contains(&name.as_str())) {
        let known = plan.victims.join(", ");
        return Err(Failure::Usage(format!("--victims: {unknown} is not one of {known}")));
    }
    if !args.victims.is_empty() {
        plan.victims.retain(|name| args.victims.iter().any(|asked| asked == name));
    }
    let plan = if args.quick { plan.quick() } else { plan };
    // A profile that makes no drive is a mistake of the command line, not a failure of a drive.
    plan.check()?;
    // Check this before minutes of work, not after them.
    args.out.as_deref().map_or(Ok(()), make_folder)?;
    let report = followed(|follow| waf::run(&plan, follow))?;
    // Before the picture, so that the figures are printed even if it can't be written.
    if args.json {
        console::json(&report)?
    } else {
        console::print(&waf::table(&report))?
    }
    let Some(folder) = &args.out else { return Ok(()) };
    Drawn::of_figure(&waf::figure(&report)).into_iter().try_for_each(|drawn| drawn?.write_to(folder))
}
