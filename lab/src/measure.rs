//! Runs tasks on a machine and says what came of it.

use crate::latency::{Latencies, Spread, WaveStart};
use crate::report::{
    DriveReport, EraseReport, FirmwareReport, KindReport, ProgramReport, RunReport, TaskReport, told_apart,
};
use aster_device::DriveStats;
use aster_run_virtual::{Machine, RunError};
use aster_units::Duration;
use aster_workload::runner::{Contents, OnFailure, Runner, Statistics, Task};
use aster_workload::{Drive, RequestKind};
use std::time::Instant;

/// Follows long work: called with a share from 0 to 1; `false` asks to stop.
pub type Progress<'a> = &'a mut dyn FnMut(f64) -> bool;

/// The drive behind a machine, as workloads see it.
pub fn drive_of(machine: &Machine) -> Drive {
    let namespace = machine.driver().namespace();
    Drive { bytes: namespace.blocks * u64::from(namespace.block_bytes), block_bytes: namespace.block_bytes }
}

/// Runs `tasks` and measures them. `contents` says what the drive holds, and is given back.
///
/// # Errors
/// When the run can't go on; failing requests are in the report instead.
pub fn measure(
    machine: &Machine,
    name: &str,
    tasks: Vec<Task>,
    contents: Contents,
    on_failure: OnFailure,
    progress: Progress<'_>,
) -> Result<(RunReport, Contents), RunError> {
    let count = tasks.len();
    let (before, started, wall) = (machine.device().stats(), machine.now(), Instant::now());
    let sink = Latencies::new(count, machine.device());
    let mut runner = Runner::new(machine.driver(), tasks, contents, sink, on_failure);
    machine.run(&mut runner, |runner| {
        let (done, total) = runner.progress();
        progress(done as f64 / total.max(1) as f64)
    })?;
    let wall_s = wall.elapsed().as_secs_f64();
    let (ended, after) = (machine.now(), machine.device().stats());
    let (statistics, contents, latencies) = runner.finish();
    let names: Vec<String> = statistics.iter().map(|s| s.name.clone()).collect();
    let tasks = statistics.iter().zip(told_apart(&names)).enumerate().map(|(i, (s, name))| {
        let beside = statistics.iter().filter(|other| other.wave == s.wave).count() - 1;
        let alone = if beside == 0 { drive_during(s.wave, &latencies.waves, (ended, &after)) } else { None };
        // Of a task that writes nothing there is none, whatever the drive still has to do for the one before.
        let writes = s.of(RequestKind::Write).bytes > 0;
        let alone = alone.map(|drive| DriveReport { waf: drive.waf.filter(|_| writes), ..drive });
        TaskReport { name, ..task_report(s, i, &latencies, alone) }
    });
    let report = RunReport {
        name: name.to_owned(),
        tasks: tasks.collect(),
        drive: drive_report(&before, &after, ended.since(started)),
        erases: EraseReport { min: after.erases.min, mean: after.erases.mean, max: after.erases.max },
        wall_s,
    };
    Ok((report, contents))
}

/// What the drive did in a wave, which lasted until the next one or the end of the run. `None` when it never began.
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
        simulated_s: seconds,
    }
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

fn task_report(
    statistics: &Statistics,
    task: usize,
    latencies: &Latencies,
    drive: Option<DriveReport>,
) -> TaskReport {
    let seconds = statistics.measured().as_secs_f64();
    let done = Statistics::KINDS.into_iter().filter(|&kind| statistics.of(kind).requests > 0);
    let kinds = done.map(|kind| {
        let of = statistics.of(kind);
        KindReport {
            kind: kind_name(kind),
            requests: of.requests,
            bytes: of.bytes,
            iops: rate(of.requests as f64, seconds),
            // A flush moves nothing: 0 MB/s would be no measurement.
            mb_per_s: rate(of.bytes as f64 / 1e6, seconds).filter(|_| kind != RequestKind::Flush),
            latency: latencies.of(task, kind).and_then(Spread::report),
        }
    });
    TaskReport {
        name: statistics.name.clone(),
        kinds: kinds.collect(),
        drive,
        checked_blocks: statistics.checked_blocks,
        failures: statistics.failures,
        first_failure: statistics.first_failure.as_ref().map(ToString::to_string),
    }
}

/// How a kind of request is called in reports.
const fn kind_name(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Flush => "flush",
        RequestKind::Trim => "trim",
        RequestKind::WriteZeroes => "write zeroes",
    }
}

/// An amount a simulated second; `None` when no simulated time passed.
fn rate(amount: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| amount / seconds)
}

/// Contents without versions: blocks carry their address, which is enough to tell a wrong one.
pub fn unversioned(machine: &Machine, seed: u64) -> Contents {
    Contents::unversioned(drive_of(machine), seed)
}
