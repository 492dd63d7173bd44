//! `aster reproduce`: the papers' measurements beside Aster's.

use crate::args::{Experiment, ReproduceArgs};
use crate::console;
use crate::drawn::Drawn;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use aster_device::profile::SHIPPED;
use aster_lab::area;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::make_folder;
use aster_lab::asked::set;
use aster_lab::babol::{self, BabolReport};
use aster_lab::cosmos;
use aster_lab::experiment::{Changes, ExperimentError};
use aster_lab::hostftl;
use aster_lab::ocssd;
use aster_lab::softssd;
use serde::Serialize;
use std::ops::ControlFlow;

/// Carries an experiment out and prints it.
///
/// # Errors
/// When a tool is missing or fails, a bench fails, or a picture can't be written.
pub(crate) fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    let is_fitted = matches!(args.what, Experiment::Cosmos | Experiment::Softssd);
    if !is_fitted && args.calibrate {
        return Err(Failure::usage("--calibrate: only for cosmos and softssd"));
    }
    let is_varied = is_fitted || matches!(args.what, Experiment::Ocssd | Experiment::HostFtl);
    if !is_varied && !args.set.is_empty() {
        return Err(Failure::usage("--set: only for cosmos, softssd, ocssd and host-ftl"));
    }
    if args.what != Experiment::Ocssd && args.share.is_some() {
        return Err(Failure::usage("--share: only for ocssd"));
    }
    match args.what {
        Experiment::Babol => babol(args),
        Experiment::Cosmos => cosmos(args),
        Experiment::Softssd => softssd(args),
        Experiment::Ocssd => ocssd(args),
        Experiment::HostFtl => host_ftl(args),
        Experiment::BabolArea if args.out.is_some() => {
            Err(Failure::usage("--out: babol-area has no figures"))
        }
        Experiment::BabolArea if args.quick => {
            Err(Failure::usage("--quick: babol-area has one way to synthesise"))
        }
        Experiment::BabolArea => {
            console::note("synthesising the channel controller");
            let report = area::babol_area(&args.rtl).map_err(Failure::run)?;
            print(args, &report, || area::table(&report))
        }
    }
}

fn babol(args: &ReproduceArgs) -> Result<(), Failure> {
    let plan = babol::Plan::shipped()?;
    let plan = if args.quick { plan.quick() } else { plan };
    let report = carried_out(args, |follow| babol::run(&plan, follow))?;
    print(args, &report, || babol::table(&report))?;
    draw(args, || babol_figures(&report))
}

fn cosmos(args: &ReproduceArgs) -> Result<(), Failure> {
    let plan = cosmos::Plan::shipped()?;
    if args.calibrate {
        let fits = followed(|follow| cosmos::calibrate(&plan, follow))?;
        let table = cosmos::fits_table(&fits)?;
        return print(args, &fits, || table);
    }
    let plan = if args.quick { plan.quick() } else { plan };
    let plan = plan.changed(changed(&plan, &args.set)?);
    // Check all drives first, so that one that can't be built doesn't cost the results of the others.
    plan.check().map_err(|error| match args.set.is_empty() {
        true => error.into(),
        false => Failure::usage(format!("{}: {error}", set::spelt(&args.set))),
    })?;
    let report = carried_out(args, |follow| cosmos::run(&plan, follow))?;
    print(args, &cosmos::json(&report, &plan), || cosmos::table(&report, &plan))?;
    draw(args, || cosmos::figures(&report, &plan).iter().flat_map(Drawn::of_figure).collect())
}

fn softssd(args: &ReproduceArgs) -> Result<(), Failure> {
    let plan = softssd::Plan::shipped()?;
    if args.calibrate {
        let fits = followed(|follow| softssd::calibrate(&plan, follow))?;
        let table = softssd::fits_table(&fits)?;
        return print(args, &fits, || table);
    }
    let plan = if args.quick { plan.quick() } else { plan };
    let plan = plan.changed(checked(&args.set, plan.profile_name())?);
    let report = carried_out(args, |follow| softssd::run(&plan, follow))?;
    print(args, &softssd::json(&report, &plan), || softssd::table(&report, &plan))?;
    draw(args, || softssd::figures(&report, &plan).iter().flat_map(Drawn::of_figure).collect())?;
    // Other values may be the point of the run; the shipped ones must be Table 2's.
    match report.table_2.iter().find(|row| !row.agrees && args.set.is_empty()) {
        Some(row) => Err(Failure::run(format!("Table 2: {} is {}, not {}", row.name, row.ours, row.paper))),
        None => Ok(()),
    }
}

fn ocssd(args: &ReproduceArgs) -> Result<(), Failure> {
    let plan = ocssd::Plan::shipped()?;
    let plan = if args.quick { plan.quick() } else { plan };
    let plan = match args.share {
        Some(share) => plan.with_share(share).map_err(Failure::usage)?,
        None => plan,
    };
    let values = set::values(&args.set)?;
    let [open_channel, legacy] = plan.profile_names();
    for (name, text) in SHIPPED.iter().filter(|(name, _)| [open_channel, legacy].contains(name)) {
        // The board has no FTL on the host.
        let taken =
            |argument: &&String| *name == open_channel || !argument.trim_start().starts_with("target.");
        let taken: Vec<String> = args.set.iter().filter(taken).cloned().collect();
        set::parse_with(&format!("profiles/{name}.toml"), text, &taken)?;
    }
    let plan = plan.changed(values);
    let report = carried_out(args, |follow| ocssd::run(&plan, follow))?;
    print(args, &ocssd::json(&report, &plan), || ocssd::table(&report, &plan))?;
    draw(args, || {
        let figures = ocssd::figures(&report, &plan);
        let timelines = ocssd::timelines(&report, &plan);
        let timelines = timelines.iter().flat_map(Drawn::of_timeline);
        figures.iter().flat_map(Drawn::of_figure).chain(timelines).collect()
    })
}

fn host_ftl(args: &ReproduceArgs) -> Result<(), Failure> {
    let plan = hostftl::Plan::shipped()?;
    let plan = if args.quick { plan.quick() } else { plan };
    let plan = plan.changed(checked(&args.set, plan.profile_name())?);
    let report = carried_out(args, |follow| hostftl::run(&plan, follow))?;
    print(args, &hostftl::json(&report, &plan), || hostftl::table(&report, &plan))?;
    draw(args, || hostftl::figures(&report, &plan).iter().flat_map(Drawn::of_figure).collect())
}

/// The values of `--set`, once the shipped profile `name` has taken them.
fn checked(arguments: &[String], name: &str) -> Result<Changes, Failure> {
    let values = set::values(arguments)?;
    let (name, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name).expect("it is shipped");
    set::parse_with(&format!("profiles/{name}.toml"), text, arguments)?;
    Ok(values)
}

/// The values of `--set`, which apply to each profile of the plan.
fn changed(plan: &cosmos::Plan, arguments: &[String]) -> Result<Changes, Failure> {
    let values = set::values(arguments)?;
    for ((key, _), argument) in values.iter().zip(arguments) {
        // The report would list it as used, but it would change nothing.
        if ["geometry.channels", "geometry.ways", "geometry.blocks_per_lun"].contains(&key.as_str())
            || key.starts_with("restrict.")
        {
            let reason = "each figure chooses its channels, ways and blocks itself";
            return Err(Failure::usage(format!("--set {argument}: {reason}; `aster run` takes them")));
        }
    }
    let [varied, other] = plan.profiles();
    for (name, text) in SHIPPED.iter().filter(|(name, _)| [varied, other].contains(name)) {
        let taken = |argument: &&String| *name == varied || !argument.trim_start().starts_with("package.");
        let taken: Vec<String> = arguments.iter().filter(taken).cloned().collect();
        set::parse_with(&format!("profiles/{name}.toml"), text, &taken)?;
    }
    Ok(values)
}

fn print(
    args: &ReproduceArgs,
    report: &impl Serialize,
    table: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if args.json { console::json(report) } else { console::line(&table()) }
}

fn babol_figures(report: &BabolReport) -> Result<Vec<Drawn>, Failure> {
    let (throughput, polling) =
        (babol::throughput_figure(&report.throughput), babol::polling_figure(&report.polling));
    let mut drawn = vec![
        Drawn::of_bytes("fig9.svg", &report.waveform_svg),
        Drawn::of_bytes("fig9.csv", &report.waveform_csv),
    ];
    drawn.extend(Drawn::of_figure(&throughput).into_iter().collect::<Result<Vec<_>, _>>()?);
    let (reports, period_us) = (&report.polling, report.paper_poll_period_us);
    drawn.push(Drawn::new("fig11.svg", |file| polling.write_svg(file))?);
    drawn.push(Drawn::new("fig11.png", |file| polling.write_png(file))?);
    drawn.push(Drawn::new("fig11.csv", |file| babol::polling_csv(file, reports, period_us))?);
    Ok(drawn)
}

/// Carries an experiment out.
fn carried_out<R>(
    args: &ReproduceArgs,
    experiment: impl FnOnce(Follow<'_>) -> Result<R, ExperimentError>,
) -> Result<R, Failure> {
    // Check this before minutes of work, not after them.
    args.out.as_deref().map_or(Ok(()), make_folder)?;
    followed(experiment)
}

/// Writes an experiment's figures, if requested. It runs after the report, so that the report is printed even
/// if a figure can't be written.
fn draw(args: &ReproduceArgs, figures: impl FnOnce() -> Result<Vec<Drawn>, Failure>) -> Result<(), Failure> {
    match &args.out {
        Some(folder) => figures()?.iter().try_for_each(|drawn| drawn.write_to(folder)),
        None => Ok(()),
    }
}

/// An experiment's progress callback: the current part, and the share of that part that is done.
type Follow<'a> = &'a mut dyn FnMut(&'static str, f64) -> ControlFlow<()>;

/// Carries out an experiment, showing progress, until it ends or Ctrl-C stops it.
///
/// # Errors
/// Those of the experiment.
pub(crate) fn followed<T>(
    experiment: impl FnOnce(Follow<'_>) -> Result<T, ExperimentError>,
) -> Result<T, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    let mut stage = "";
    let result = experiment(&mut |part, share| {
        if stage != part {
            stage = part;
            progress.begin(part);
        }
        progress.set(share);
        if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    progress.end();
    Ok(result)
}
