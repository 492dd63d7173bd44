//! `aster bench-channel`: measures one channel.

use crate::args::BenchChannelArgs;
use crate::console;
use crate::interrupt::Interrupt;
use crate::operation::OperationArg;
use crate::progress::Progress;
use aster_device::wave::{WaveFilter, WaveTap};
use aster_events::Recorder;
use aster_lab::asked::failure::Failure;
use aster_lab::asked::files::keep_apart;
use aster_lab::asked::profiles::{self, Named};
use aster_lab::channel::{self, BenchStage, ChannelReport, Setup};
use aster_lab::watch::{Tell, WaveFile};
use aster_lab::words::counted;
use aster_run_bench::{BenchWork, set_rate};
use aster_units::{ChannelId, Geometry};
use clap::ValueEnum;

/// Default number of requests.
const REQUESTS: u64 = 10_000;
/// Default number of requests in flight per LUN.
const DEPTH_OF_A_LUN: u16 = 4;

/// Measures and reports.
///
/// # Errors
/// When the bench can't be built, requests failed, or an output can't be written.
pub(crate) fn run(args: &BenchChannelArgs) -> Result<(), Failure> {
    let setup = setup(args)?;
    keep_apart(&[Some(args.profile.as_path())], &[args.wave.as_deref()])?;
    let recorder = Recorder::default();
    let wave = args.wave.as_deref().map(WaveFile::create).transpose()?;
    let ways = setup.luns / setup.profile.geometry.luns;
    let tap = WaveTap::new(ChannelId(0), ways, WaveFilter::Everything);

    let interrupt = Interrupt::listen()?;
    let mut progress = Progress::new();
    let mut stage = None;
    let report = channel::run(
        &setup,
        &recorder,
        &mut |now, share| {
            if stage != Some(now) {
                stage = Some(now);
                progress.begin(match now {
                    BenchStage::Prepare => "program what will be read",
                    BenchStage::Measure => "measure",
                });
            }
            progress.set(share);
            !interrupt.asked()
        },
        &mut |bench| {
            if wave.is_some() {
                recorder.attach(Tell::only(&tap));
                bench.set_tap(Some(Box::new(tap.clone())));
            }
        },
        &mut |bench, requests| {
            // Drawing takes time; one operation per LUN shows how they share the channel.
            if wave.is_some() && requests == u64::from(setup.luns) {
                bench.set_tap(None);
            }
        },
    )?;
    progress.end();
    match args.json {
        true => console::json(&report)?,
        false => console::print(&report.table())?,
    }
    // After the figures, so that they are printed even if the waveform can't be written.
    if let Some(wave) = wave
        && let Some(note) = wave.finish_with(&tap)?
    {
        console::note(&note);
    }
    if interrupt.asked() {
        console::note("interrupted: the report covers what was done by then");
        return Err(Failure::Interrupted);
    }
    verdict(&report)
}

fn setup(args: &BenchChannelArgs) -> Result<Setup, Failure> {
    let Named { name, mut profile } = profiles::find_with(&args.profile, args.package.as_deref(), &args.set)?;
    let name = args.package.as_ref().map_or(name.clone(), |package| format!("{name} with {package}"));
    if let Some(controller) = args.controller {
        profile.channel.controller = controller.into();
    }
    if let Some(rate) = args.rate {
        set_rate(&mut profile, rate)?;
    }
    let behind = profile.geometry.luns;
    let most = u16::from(behind) * u16::from(Geometry::WAYS_MAX);
    if u16::from(args.luns) > most || !args.luns.is_multiple_of(behind) {
        let enables = format!("a channel has at most {} chip enables", Geometry::WAYS_MAX);
        let must = match behind {
            1 => format!("must be from 1 to {most} on {name}: {enables}, each of one LUN"),
            _ => format!(
                "must be a multiple of {behind} up to {most} on {name}: {enables}, each of {behind} LUNs"
            ),
        };
        return Err(Failure::usage(format!("--luns {}: {must}", args.luns)));
    }
    let sectors_of_page = profile.array_geometry().sectors_per_page();
    if args.sectors.is_some_and(|sectors| sectors > sectors_of_page) {
        return Err(Failure::usage(format!("--sectors: a page of {name} has {sectors_of_page}")));
    }
    refuse_for_nothing(args)?;
    if args.read_level.is_some() && matches!(args.operation, OperationArg::ReadRetry) {
        return Err(Failure::usage("--read-level: operation read-retry goes through the levels by itself"));
    }
    let endless = if args.seconds.is_some() { u64::MAX } else { REQUESTS };
    Ok(Setup {
        name,
        luns: args.luns,
        depth: args.depth.unwrap_or(u16::from(args.luns) * DEPTH_OF_A_LUN),
        content: args.content.map(Into::into),
        age_hours: args.age,
        read_level: args.read_level,
        work: BenchWork {
            operation: args.operation.into(),
            pattern: args.pattern.into(),
            requests: args.requests.unwrap_or(endless),
            time: args.seconds,
            sectors: args.sectors,
            seed: args.seed,
        },
        profile,
    })
}

/// Refuses options that have no effect on the operation.
fn refuse_for_nothing(args: &BenchChannelArgs) -> Result<(), Failure> {
    let operation = args.operation;
    let refuse = |option: &str, why: &str| {
        let name = operation.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
        Err(Failure::usage(format!(
            "{option} means nothing to --operation {name}, {why}: leave it out, or ask for a read"
        )))
    };
    if args.sectors.is_some() && !operation.brings_sectors() {
        return refuse("--sectors", "which moves whole pages or none");
    }
    let unseen = "which looks at no page's bits";
    if args.age > 0 && !operation.finds_errors() {
        return refuse("--age", unseen);
    }
    if args.read_level.is_some() && !operation.finds_errors() {
        return refuse("--read-level", unseen);
    }
    Ok(())
}

fn verdict(report: &ChannelReport) -> Result<(), Failure> {
    match (report.failures, &report.first_failure) {
        (0, _) => Ok(()),
        (n, first) => {
            let requests = counted(n, "request");
            let first = first.as_ref().map_or(String::new(), |first| format!("; the first: a {first}"));
            Err(Failure::run(format!("{requests} failed{first}")))
        }
    }
}
