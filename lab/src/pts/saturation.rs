//! Write saturation: random writes from a purged drive on, without preconditioning.

use super::drive::TestedDrive;
use super::follow::{Follow, Step};
use super::plan::Plan;
use super::report::{SaturationEnd, SaturationReport, SaturationRound, Track};
use super::sweep::Sweep;
use crate::experiment::{ExperimentError, heard};
use crate::warning::Warning;
use aster_units::Duration;

/// The test ends when the capacity has been written this many times.
const DRIVE_WRITES: u64 = 4;
/// Or after a day of minutes.
const ROUNDS_MAX: usize = 24 * 60;

/// Purges the drive and writes it, round by round, until its capacity has been written four times.
///
/// # Errors
/// When a request fails, or the caller stops it.
pub(super) fn run(
    plan: &Plan,
    sweep: &Sweep,
    minute: Duration,
    drive: &mut TestedDrive<'_>,
    warnings: &mut Vec<Warning>,
    follow: Follow<'_>,
) -> Result<SaturationReport, ExperimentError> {
    let purge = drive.purge()?;
    let capacity = drive.drive().bytes;
    let cell = sweep.cells[0];
    let mut track = Track::new(cell, sweep.figure);
    let mut rounds: Vec<SaturationRound> = Vec::new();
    let (mut written_bytes, mut simulated_s) = (0, 0.0);
    let all = (capacity * DRIVE_WRITES) as f64;
    while written_bytes < capacity * DRIVE_WRITES && rounds.len() < ROUNDS_MAX {
        let share = written_bytes as f64 / all;
        let mut told = || heard(follow(&Step { stage: &sweep.title, share: Some(share), words: "" }));
        // Once, however short it is.
        told()?;
        let job = sweep.job(plan, cell, rounds.len() + 1, minute);
        let measured = drive.cell(cell, job, &mut |_| told())?;
        written_bytes += measured.requests * u64::from(measured.block_bytes);
        simulated_s += measured.requests as f64 / measured.iops;
        track.push(measured.figure(track.figure));
        let drive_writes = written_bytes as f64 / capacity as f64;
        rounds.push(SaturationRound { written_bytes, drive_writes, simulated_s, measured });
    }
    let ended_by = match written_bytes < capacity * DRIVE_WRITES {
        true => SaturationEnd::Time,
        false => SaturationEnd::Written,
    };
    if !track.is_steady() {
        let what = format!("{}: the last five rounds are not steady", sweep.title);
        warnings.push(Warning::new("not-steady", what).of_task(&sweep.title));
    }
    let first = rounds.first().map_or(0.0, |round| round.measured.iops);
    let halved = rounds.iter().find(|round| round.measured.iops < first / 2.0);
    Ok(SaturationReport {
        title: sweep.title.clone(),
        threads: sweep.threads,
        depth: sweep.depth,
        purge,
        ended_by,
        halved_after_drive_writes: halved.map(|round| round.drive_writes),
        window: track.window,
        rounds,
    })
}
