//! A trace that the user named, read once before the drive is powered on: an invalid line ends the run before
//! it begins, and notes say which requests will be left out.

use super::failure::Failure;
use super::files::{STANDARD_INPUT, is_standard_input};
use super::work::Asked;
use crate::own::OwnWork;
use crate::traces::{Choice, Placing, Survey, TraceFile, TraceOptions, survey};
use crate::warning::Warning;
use crate::words::counted;
use aster_workload::Drive;
use aster_workload::trace::{Beyond, Format, SPEED_RECORDED, Times, Unaligned};
use std::path::Path;

/// The name for all devices.
const ALL_DEVICES: &str = "all";

/// What a request does that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It waits in the host, late; those behind it keep their recorded times.
    Late,
    /// The time between requests is kept: it and all behind it go later.
    KeepGaps,
}

/// How a trace is replayed.
#[derive(Clone, Debug)]
pub struct Replay {
    /// How it is written; `None` looks at its first line.
    pub format: Option<Format>,
    /// The devices to replay, or `all`; none for the first that appears.
    pub devices: Vec<String>,
    /// Where several devices go.
    pub placing: Placing,
    /// `None` is [`WhenFull::Late`].
    pub when_full: Option<WhenFull>,
    /// When requests go.
    pub times: Times,
    /// Requests beyond the drive are folded into it.
    pub wrap: bool,
    /// Requests that are no whole blocks are widened.
    pub round: bool,
    /// Requests in flight at most.
    pub queue_depth: u32,
}

impl Default for Replay {
    fn default() -> Self {
        Replay {
            format: None,
            devices: Vec::new(),
            placing: Placing::Apart,
            when_full: None,
            times: Times::Recorded { speed: SPEED_RECORDED },
            wrap: false,
            round: false,
            queue_depth: 32,
        }
    }
}

/// The trace at `path`, or on standard input.
///
/// # Errors
/// When it can't be opened.
pub fn open(path: &Path) -> Result<TraceFile, Failure> {
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
pub fn read(path: &Path, replay: &Replay, verify: bool, drive: Drive) -> Result<Asked, Failure> {
    let name = if is_standard_input(path) { Path::new(STANDARD_INPUT) } else { path };
    read_file(open(path)?, name, replay, verify, drive)
}

/// As [`read`], for a file that is open and that errors call `name`.
///
/// # Errors
/// As [`read`].
pub fn read_file(
    file: TraceFile,
    name: &Path,
    replay: &Replay,
    verify: bool,
    drive: Drive,
) -> Result<Asked, Failure> {
    if let (Some(kind), Times::AsFastAsPossible) = (replay.when_full, replay.times) {
        let kind = if kind == WhenFull::Late { "open" } else { "closed" };
        return Err(Failure::usage(format!(
            "--trace-loop {kind} means nothing to --trace-speed fastest, which leaves the recorded times \
             aside"
        )));
    }
    let fail = |problem: String| Failure::file(name, problem);
    let choice = match &replay.devices[..] {
        [] => Choice::First,
        [all] if all == ALL_DEVICES => Choice::All,
        names if names.iter().any(|name| name == ALL_DEVICES) => {
            return Err(Failure::usage("--trace-device all names every device: name no others beside it"));
        }
        names => Choice::Named(names.to_vec()),
    };
    let asked = TraceOptions {
        format: replay.format,
        choice,
        placing: replay.placing,
        times: replay.times,
        beyond: if replay.wrap { Beyond::Wrap } else { Beyond::Refuse },
        unaligned: if replay.round { Unaligned::Widen } else { Unaligned::Refuse },
    };
    let survey = survey(&file, &asked, drive).map_err(fail)?;
    let notes = notes(&name.display().to_string(), &survey);
    Ok(Asked {
        notes,
        written_bytes: survey.written_bytes,
        work: OwnWork::Trace {
            file,
            survey: Box::new(survey),
            keep_gaps: replay.when_full == Some(WhenFull::KeepGaps),
            queue_depth: replay.queue_depth,
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

/// Takes a trace's speed apart: `recorded`, `fastest` or a factor.
///
/// # Errors
/// What is expected.
pub fn times(text: &str) -> Result<Times, String> {
    match text {
        "recorded" => Ok(Times::Recorded { speed: SPEED_RECORDED }),
        "fastest" => Ok(Times::AsFastAsPossible),
        _ => match text.parse::<f64>() {
            Ok(factor) if (0.001..=1_000.0).contains(&factor) => {
                Ok(Times::Recorded { speed: (f64::from(SPEED_RECORDED) * factor).round() as u32 })
            }
            _ => {
                Err("expected recorded, fastest, or a factor from 0.001 to 1000 (2 is twice as fast)".into())
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_name_or_a_factor() {
        assert_eq!(times("recorded"), Ok(Times::Recorded { speed: 1_000 }));
        assert_eq!(times("fastest"), Ok(Times::AsFastAsPossible));
        assert_eq!(times("2"), Ok(Times::Recorded { speed: 2_000 }));
        assert_eq!(times("0.5"), Ok(Times::Recorded { speed: 500 }));
        assert_eq!(times("3"), Ok(Times::Recorded { speed: 3_000 }));
        for refused in ["0", "-1", "NaN", "inf", "1e9", "1e-9", "", "quick"] {
            assert!(times(refused).is_err(), "{refused}");
        }
    }
}
