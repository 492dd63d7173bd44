//! What papers measured, beside what comes out here.

use crate::args::{Experiment, ReproduceArgs};
use crate::console;
use crate::failure::Failure;
use crate::files::create;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use aster_lab::babol::{BabolError, BabolReport, Plan, polling_svg, run as run_babol, throughput_svg};
use aster_lab::cosmos::{CosmosError, CosmosReport};
use aster_lab::{area, babol, cosmos};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// Carries an experiment out and prints it.
///
/// # Errors
/// When a tool is missing or fails, a bench does, or a picture can't be written.
pub(crate) fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    if args.what != Experiment::Cosmos && (args.calibrate || !args.set.is_empty()) {
        return Err(Failure::usage("--calibrate, --set: only for cosmos"));
    }
    match args.what {
        Experiment::Babol => {
            let report = babol_report(args.out.as_deref(), args.quick)?;
            if args.json { console::json(&report) } else { console::line(&babol::table(&report)) }
        }
        Experiment::Cosmos => {
            let plan = aster_lab::cosmos::Plan::shipped().map_err(Failure::run)?;
            if args.calibrate {
                return calibrate(&plan, args.json);
            }
            let plan = if args.quick { plan.quick() } else { plan };
            let changed = args.set.iter().map(|one| number(one)).collect::<Result<Vec<_>, _>>()?;
            let plan = plan.changed(changed);
            let report = cosmos_report(&plan, args.out.as_deref())?;
            if args.json { console::json(&report) } else { console::line(&cosmos::table(&report, &plan)) }
        }
        Experiment::BabolArea if args.out.is_some() => {
            Err(Failure::usage("--out: babol-area has no figures"))
        }
        Experiment::BabolArea if args.quick => {
            Err(Failure::usage("--quick: babol-area has one way to synthesise"))
        }
        Experiment::BabolArea => {
            console::note("synthesising the channel controller");
            let report = area::babol_area(&args.rtl).map_err(Failure::run)?;
            if args.json { console::json(&report) } else { console::line(&area::table(&report)) }
        }
    }
}

fn babol_report(out: Option<&Path>, quick: bool) -> Result<BabolReport, Failure> {
    make_folder(out)?;
    let mut plan = Plan::shipped().map_err(Failure::run)?;
    if quick {
        plan = plan.quick();
    }
    let report = followed(|follow| {
        run_babol(&plan, follow).map_err(|error| match error {
            BabolError::Stopped => Failure::stopped(),
            error => Failure::run(error),
        })
    })?;
    if let Some(folder) = out {
        figure(folder, "fig9.svg", |file| file.write_all(&report.waveform_svg))?;
        figure(folder, "fig10.svg", |file| throughput_svg(file, &report.throughput))?;
        figure(folder, "fig11.svg", |file| polling_svg(file, &report.polling))?;
    }
    Ok(report)
}

/// A number of `--set`.
fn number(text: &str) -> Result<(String, f64), Failure> {
    let wrong = || Failure::usage(format!("--set {text}: must be KEY=NUMBER, such as ecc.detect_ns=9000"));
    let (key, number) = text.split_once('=').ok_or_else(wrong)?;
    // It would say that it had been used, and change nothing.
    if ["geometry.channels", "geometry.ways", "geometry.blocks_per_lun"].contains(&key)
        || key.starts_with("restrict.")
    {
        let reason = "each figure chooses its channels, ways and blocks itself";
        return Err(Failure::usage(format!("--set {text}: {reason}; `aster run` takes them")));
    }
    Ok((key.to_owned(), number.parse().map_err(|_| wrong())?))
}

fn calibrate(plan: &cosmos::Plan, json: bool) -> Result<(), Failure> {
    let fits = followed(|follow| cosmos::calibrate(plan, follow).map_err(cosmos_failure))?;
    match json {
        true => console::json(&fits),
        false => console::line(&cosmos::fits_table(&fits).map_err(Failure::run)?),
    }
}

fn cosmos_failure(error: CosmosError) -> Failure {
    match error {
        CosmosError::Stopped => Failure::stopped(),
        error => Failure::run(error),
    }
}

fn cosmos_report(plan: &cosmos::Plan, out: Option<&Path>) -> Result<CosmosReport, Failure> {
    make_folder(out)?;
    let report = followed(|follow| cosmos::run(plan, follow).map_err(cosmos_failure))?;
    if let Some(folder) = out {
        for drawn in cosmos::figures(&report, plan) {
            figure(folder, drawn.file, |file| drawn.write(file))?;
        }
    }
    Ok(report)
}

/// Before minutes of work rather than behind them.
fn make_folder(out: Option<&Path>) -> Result<(), Failure> {
    out.map_or(Ok(()), crate::files::make_folder)
}

/// What an experiment calls: the part that it is at, and the share of that part that is done.
type Follow<'a> = &'a mut dyn FnMut(&'static str, f64) -> ControlFlow<()>;

/// Carries an experiment out, showing where it is, until it ends or Ctrl-C stops it.
fn followed<T>(experiment: impl FnOnce(Follow<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
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

fn figure(
    folder: &Path,
    name: &str,
    draw: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let path = folder.join(name);
    let mut file = create(&path)?;
    draw(&mut file)
        .and_then(|()| file.flush())
        .map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
    // Not on standard output, where --json is alone.
    console::note(&format!("wrote {}", path.display()));
    Ok(())
}
