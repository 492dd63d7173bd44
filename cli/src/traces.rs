//! A trace that the user named, read once before the drive is powered on: an invalid line ends the run before
//! it begins, and notes say which requests will be left out.

use crate::args::{LoopArg, ReplayArgs};
use crate::failure::Failure;
use crate::files::{STANDARD_INPUT, is_standard_input};
use aster_lab::own::OwnWork;
use aster_lab::traces::{Choice, Survey, TraceFile, TraceOptions, survey};
use aster_lab::warning::Warning;
use aster_lab::words::counted;
use aster_workload::Drive;
use aster_workload::trace::{Beyond, Times, Unaligned};
use std::path::Path;

/// The name for all devices.
const ALL_DEVICES: &str = "all";

/// A trace as work.
pub(crate) struct Traced {
    pub(crate) work: OwnWork,
    /// Notes about it.
    pub(crate) notes: Vec<Warning>,
    /// Bytes that it writes.
    pub(crate) written_bytes: u64,
}

/// The trace at `path`, or on standard input.
///
/// # Errors
/// When it can't be opened.
pub(crate) fn open(path: &Path) -> Result<TraceFile, Failure> {
    if is_standard_input(path) {
        let copied = TraceFile::read_once(STANDARD_INPUT.into(), std::io::stdin().lock());
        return copied.map_err(|problem| Failure::file(Path::new(STANDARD_INPUT), problem));
    }
    TraceFile::open(path).map_err(|problem| Failure::file(path, problem))
}

/// Reads the whole trace at `path` as it will be replayed on `drive`.
///
/// # Errors
/// When the options contradict each other, or the trace can't be replayed.
pub(crate) fn work(path: &Path, args: &ReplayArgs, verify: bool, drive: Drive) -> Result<Traced, Failure> {
    if let (Some(kind), Times::AsFastAsPossible) = (args.trace_loop, args.trace_speed) {
        let kind = if kind == LoopArg::Open { "open" } else { "closed" };
        return Err(Failure::usage(format!(
            "--trace-loop {kind} means nothing to --trace-speed fastest, which leaves the recorded times \
             aside"
        )));
    }
    let file = open(path)?;
    let name = if is_standard_input(path) { Path::new(STANDARD_INPUT) } else { path };
    let fail = |problem: String| Failure::file(name, problem);
    let choice = match &args.trace_device[..] {
        [] => Choice::First,
        [all] if all == ALL_DEVICES => Choice::All,
        names if names.iter().any(|name| name == ALL_DEVICES) => {
            return Err(Failure::usage("--trace-device all names every device: name no others beside it"));
        }
        names => Choice::Named(names.to_vec()),
    };
    let asked = TraceOptions {
        format: args.format(),
        choice,
        placing: args.trace_place.into(),
        times: args.trace_speed,
        beyond: if args.trace_wrap { Beyond::Wrap } else { Beyond::Refuse },
        unaligned: if args.trace_round { Unaligned::Widen } else { Unaligned::Refuse },
    };
    let survey = survey(&file, &asked, drive).map_err(fail)?;
    let notes = notes(&name.display().to_string(), &survey);
    Ok(Traced {
        notes,
        written_bytes: survey.written_bytes,
        work: OwnWork::Trace {
            file,
            survey: Box::new(survey),
            keep_gaps: args.trace_loop == Some(LoopArg::Closed),
            queue_depth: args.queue_depth,
            verify,
        },
    })
}

/// The most devices of a trace that a note lists.
const TOLD_MAX: usize = 20;

/// The requests to devices that are not replayed, and their verb.
fn others(requests: u64) -> String {
    format!("{} to other devices {}", counted(requests, "request"), if requests == 1 { "is" } else { "are" })
}

/// Which devices are replayed where, and which are left out.
fn notes(name: &str, survey: &Survey) -> Vec<Warning> {
    let replayed: Vec<_> =
        survey.devices.iter().filter_map(|device| Some((device, device.region?))).collect();
    let (kept, all) = (
        replayed.iter().map(|(device, _)| device.requests).sum::<u64>(),
        survey.devices.iter().map(|device| device.requests).sum::<u64>(),
    );
    let mut notes = Vec::new();
    if let [(device, _)] = replayed[..]
        && all > kept
    {
        let message = format!(
            "{name}: replaying {} to \"{}\"; {} left out (--trace-device names another, or all)",
            counted(kept, "request"),
            device.name,
            others(all - kept)
        );
        notes.push(devices(message, kept, all - kept));
    }
    if replayed.len() > 1 {
        let mut told: Vec<_> = replayed
            .iter()
            .take(TOLD_MAX)
            .map(|(device, region)| {
                let (first, end) = (region.offset, region.offset + region.bytes);
                format!(
                    "\"{}\" ({}) at bytes {first} to {end}",
                    device.name,
                    counted(device.requests, "request")
                )
            })
            .collect();
        if replayed.len() > TOLD_MAX {
            told.push(format!("{} more", counted((replayed.len() - TOLD_MAX) as u64, "device")));
        }
        let left = if all > kept { format!("; {} left out", others(all - kept)) } else { String::new() };
        notes.push(devices(format!("{name}: replaying {}{left}", told.join(", ")), kept, all - kept));
    }
    notes
}

fn devices(message: String, replayed: u64, left_out: u64) -> Warning {
    let values = [("requests", replayed as f64), ("requests_left_out", left_out as f64)];
    Warning::new("trace-devices", message).with(values)
}
