//! Runs tasks on a machine and reports the results.

use crate::doubt;
use crate::latency::{Latencies, WaveStart};
use crate::merged::{Merged, rate};
use crate::report::{
    DriveReport, EraseReport, FirmwareReport, ProgramReport, RunReport, SteadyReport, TaskReport, told_apart,
};
use aster_device::DriveStats;
use aster_run_virtual::{Machine, RunError};
use aster_units::Duration;
use aster_workload::runner::{Contents, HostTask, OnFailure, Runner, Statistics};
use aster_workload::{Drive, Figure, SteadyOutcome, SteadyState};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

/// Progress of long work: called with the share done from 0 to 1; `false` asks to stop.
pub type Progress<'a> = &'a mut dyn FnMut(f64) -> bool;

/// The drive behind a machine, as workloads see it.
pub fn drive_of(machine: &Machine) -> Drive {
    let namespace = machine.driver().namespace();
    Drive {
        bytes: namespace.blocks * u64::from(namespace.block_bytes),
        block_bytes: namespace.block_bytes,
        streams: machine.driver().streams(),
    }
}

/// Runs `tasks` and measures them. `contents` says what the drive holds, and is returned.
///
/// # Errors
/// When the run can't continue; failed requests are in the report instead.
pub fn measure(
    machine: &Machine,
    name: &str,
    tasks: Vec<HostTask>,
    contents: Contents,
    on_failure: OnFailure,
    progress: Progress<'_>,
) -> Result<(RunReport, Contents), RunError> {
    match measure_what_is_done(machine, name, tasks, contents, on_failure, progress) {
        (report, contents, Ok(())) => Ok((report, contents)),
        (_, _, Err(error)) => Err(error),
    }
}

/// As [`measure`], but returns the figures so far when the run can't continue. The error is in the report,
/// too ([`RunReport::error`]).
pub(crate) fn measure_what_is_done(
    machine: &Machine,
    name: &str,
    tasks: Vec<HostTask>,
    contents: Contents,
    on_failure: OnFailure,
    progress: Progress<'_>,
) -> (RunReport, Contents, Result<(), RunError>) {
    let count = tasks.len();
    let (before, started, wall) = (machine.device().stats(), machine.now(), Instant::now());
    let sink = Latencies::new(count, machine.device());
    let mut runner = Runner::new(machine.driver(), tasks, contents, sink, on_failure);
    let mut interrupted = false;
    let ran = machine.run(&mut runner, |runner| {
        let (done, total) = runner.progress();
        let goes_on = progress(done as f64 / total.max(1) as f64);
        interrupted |= !goes_on;
        goes_on
    });
    let wall_s = wall.elapsed().as_secs_f64();
    let (ended, after) = (machine.now(), machine.device().stats());
    let (statistics, contents, latencies) = runner.finish();
    let rows = rows_of(&statistics);
    let merged: Vec<Merged> =
        rows.iter().map(|row| Merged::of(row.clone(), &statistics, &latencies)).collect();
    let names: Vec<String> = merged.iter().map(|row| row.name.clone()).collect();
    let tasks = merged.iter().zip(&rows).zip(told_apart(&names)).map(|((merged, row), name)| {
        let wave = statistics[row.start].wave;
        let in_wave = statistics.iter().filter(|other| other.wave == wave).count();
        let alone = in_wave == row.len() && statistics[row.clone()].iter().all(|s| s.wave == wave);
        let drive = alone.then(|| drive_during(wave, &latencies.waves, (ended, &after))).flatten();
        // A task without writes has no WAF, even if the drive still works for the previous task.
        let drive = drive.map(|drive| DriveReport { waf: drive.waf.filter(|_| merged.writes()), ..drive });
        TaskReport {
            name,
            copies: row.len(),
            kinds: merged.kinds(),
            drive,
            steady_state: statistics[row.clone()].iter().find_map(|s| s.steady_state).map(steady_report),
            ended_by_another: statistics[row.clone()].iter().any(|s| s.ended_by_another),
            checked_blocks: merged.checked_blocks,
            failures: merged.failures,
            first_failure: merged.first_failure.clone(),
            lateness: merged.lateness.clone(),
            slipped_s: merged.slipped_s,
        }
    });
    let tasks: Vec<TaskReport> = tasks.collect();
    let drive = drive_report(&before, &after, ended.since(started));
    let mut translation = BTreeMap::new();
    machine.device().translation().counters(&mut |name, value| _ = translation.insert(name, value));
    let report = RunReport {
        name: name.to_owned(),
        total: Merged::of(0..count, &statistics, &latencies).total(),
        warnings: doubt::of_run(&drive, &tasks, machine.device().translation().write_buffer(), interrupted),
        tasks,
        drive,
        erases: EraseReport { min: after.erases.min, mean: after.erases.mean, max: after.erases.max },
        translation,
        spare: None,
        wall_s,
        interrupted,
        error: ran.as_ref().err().map(ToString::to_string),
        provenance: None,
        trace: None,
        limits: Vec::new(),
    };
    (report, contents, ran)
}

/// The tasks that share a row, in their order: those of one reporting group, or a single one.
fn rows_of(statistics: &[Statistics]) -> Vec<Range<usize>> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    for (index, of) in statistics.iter().enumerate() {
        match rows.last_mut() {
            Some(row) if of.group.is_some() && statistics[row.start].group == of.group => row.end = index + 1,
            _ => rows.push(index..index + 1),
        }
    }
    rows
}

/// What the drive did in a wave, which lasted until the next one or the end of the run. `None` when it never
/// began.
fn drive_during(
    wave: u32,
    waves: &[WaveStart],
    (ended, after): (aster_units::Instant, &DriveStats),
) -> Option<DriveReport> {
    let at = waves.iter().position(|start| start.wave == wave)?;
    let (until, then) = waves.get(at + 1).map_or((ended, after), |next| (next.at, &next.stats));
    Some(drive_report(&waves[at].stats, then, until.since(waves[at].at)))
}

fn drive_report(before: &DriveStats, after: &DriveStats, simulated: Duration) -> DriveReport {
    let busy: f64 = after
        .channels
        .iter()
        .zip(&before.channels)
        .map(|(a, b)| a.busy.saturating_sub(b.busy).as_secs_f64())
        .sum();
    let host = after.ftl.host_bytes_written - before.ftl.host_bytes_written;
    let stored = after.ftl.flash_bytes_written - before.ftl.flash_bytes_written;
    let seconds = simulated.as_secs_f64();
    DriveReport {
        waf: (host > 0).then(|| stored as f64 / host as f64),
        channel_utilisation: rate(busy / after.channels.len() as f64, seconds),
        pages_read: after.ftl.host_pages_read - before.ftl.host_pages_read,
        pages_read_unmapped: after.ftl.host_pages_unmapped - before.ftl.host_pages_unmapped,
        flash_reads: after.nand.reads - before.nand.reads,
        flash_programs: after.nand.programs - before.nand.programs,
        flash_erases: after.nand.erases - before.nand.erases,
        firmware: firmware_report(before, after),
        parts: parts_report(before, after),
        simulated_s: seconds,
    }
}

fn parts_report(before: &DriveStats, after: &DriveStats) -> BTreeMap<&'static str, u64> {
    let counters = |stats: &DriveStats| -> BTreeMap<&'static str, u64> {
        let mut counters: BTreeMap<_, _> = stats.scheduler.iter().copied().collect();
        let mut add = |name, value| {
            counters.insert(name, value);
        };
        stats.ecc.iter().for_each(|ecc| ecc.each(&mut add));
        stats.packets.iter().for_each(|packets| packets.each(&mut add));
        if let Some(stacks) = &stats.stacks {
            add("stack_switches", stacks.switches);
            add("stack_bytes_highest", stacks.deepest_bytes);
        }
        if let Some(thermal) = &stats.thermal {
            add("kelvins_highest", thermal.highest_kelvins.into());
            add("throttlings", thermal.throttlings);
            add("throttled_us", thermal.throttled.as_picos() / 1_000_000);
            if let Some(junction) = thermal.highest_junction_kelvins {
                add("junction_kelvins_highest", junction.into());
            }
            if thermal.critical > Duration::ZERO {
                add("critical_us", thermal.critical.as_picos() / 1_000_000);
            }
        }
        counters
    };
    let before = counters(before);
    let since = |name: &str, value: u64| match name.ends_with("_highest") {
        true => value,
        false => value - before.get(name).copied().unwrap_or(0),
    };
    counters(after).into_iter().map(|(name, value)| (name, since(name, value))).collect()
}

fn firmware_report(before: &DriveStats, after: &DriveStats) -> FirmwareReport {
    let since = |of: fn(&DriveStats) -> u64| of(after) - of(before);
    FirmwareReport {
        programs: ProgramReport {
            host: since(|s| s.ftl.flash_programs.host),
            gc: since(|s| s.ftl.flash_programs.gc),
            metadata: since(|s| s.ftl.flash_programs.metadata),
            padding: since(|s| s.ftl.flash_programs.padding),
        },
        victims: since(|s| s.ftl.gc_runs),
        levelled: since(|s| s.ftl.levelled),
        refreshed: since(|s| s.ftl.refreshed),
        checkpoints: since(|s| s.ftl.checkpoints),
        log_pages: since(|s| s.ftl.log_pages),
        buffer_hits: since(|s| s.ftl.buffer_hits),
        buffer_misses: since(|s| s.ftl.buffer_misses),
        uncorrectable_sectors: since(|s| s.ftl.uncorrectable_sectors),
    }
}

fn steady_report(outcome: SteadyOutcome) -> SteadyReport {
    let SteadyState { figure, slope, percent, .. } = outcome.criterion;
    let mean_unit = match figure {
        Figure::Iops => "requests/s",
        Figure::Bandwidth => "bytes/s",
        Figure::Latency => "ns",
    };
    let value_unit = match (percent, slope, figure) {
        (true, false, _) => "%",
        (true, true, _) => "% per check interval",
        (false, false, _) => mean_unit,
        (false, true, Figure::Iops) => "requests/s per check interval",
        (false, true, Figure::Bandwidth) => "bytes/s per check interval",
        (false, true, Figure::Latency) => "ns per check interval",
    };
    SteadyReport {
        value_unit,
        mean_unit,
        criterion: outcome.criterion.to_string(),
        duration_s: outcome.criterion.duration.as_secs_f64(),
        attained_s: outcome.attained.map(Duration::as_secs_f64),
        value: outcome.value,
        mean: outcome.mean,
    }
}

/// Contents without versions: blocks carry their address, which is enough to detect a wrong one.
pub fn unversioned(machine: &Machine, seed: u64) -> Contents {
    Contents::unversioned(drive_of(machine), seed)
}
