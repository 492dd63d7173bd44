//! Rounds of cells until the drive is steady.

use super::drive::TestedDrive;
use super::follow::{Follow, Step};
use super::plan::Plan;
use super::report::{Measured, Preconditioned, Purge, SweepReport, Track};
use super::steady::{RANGE_PERCENT_MAX, SLOPE_PERCENT_MAX};
use super::sweep::Sweep;
use crate::experiment::{ExperimentError, heard};
use crate::warning::Warning;
use aster_units::Duration;

/// Purges and preconditions the drive and repeats the sweep's cells.
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
) -> Result<SweepReport, ExperimentError> {
    let (purge, precondition) = prepare(sweep, drive, follow)?;
    let Rounds { tracked, rounds, is_steady } = repeat(plan, sweep, minute, drive, warnings, follow)?;
    Ok(SweepReport {
        test: sweep.test,
        title: sweep.title.clone(),
        threads: sweep.threads,
        depth: sweep.depth,
        purge,
        precondition,
        figure: sweep.figure,
        tracked,
        is_steady,
        cells: SweepReport::means(&rounds),
        rounds,
    })
}

/// Purges and preconditions the drive.
///
/// # Errors
/// When a request fails, or the caller stops it.
pub(super) fn prepare(
    sweep: &Sweep,
    drive: &mut TestedDrive<'_>,
    follow: Follow<'_>,
) -> Result<(Purge, Preconditioned), ExperimentError> {
    let purge = drive.purge()?;
    let stage = format!("{}: precondition", sweep.title);
    // Once, however short it is.
    heard(follow(&Step { stage: &stage, share: Some(0.0), words: "" }))?;
    let precondition = drive.precondition(sweep, &mut |share| {
        heard(follow(&Step { stage: &stage, share: Some(share), words: "" }))
    })?;
    Ok((purge, precondition))
}

/// Rounds of a sweep's cells.
pub(super) struct Rounds {
    /// The cells that had to be steady.
    pub(super) tracked: Vec<Track>,
    /// Each round's cells, in order.
    pub(super) rounds: Vec<Vec<Measured>>,
    /// All of the tracked became steady within the plan's rounds.
    pub(super) is_steady: bool,
}

/// Repeats the sweep's cells until those that it tracks are steady.
///
/// # Errors
/// When a request fails, or the caller stops it.
pub(super) fn repeat(
    plan: &Plan,
    sweep: &Sweep,
    minute: Duration,
    drive: &mut TestedDrive<'_>,
    warnings: &mut Vec<Warning>,
    follow: Follow<'_>,
) -> Result<Rounds, ExperimentError> {
    let title = &sweep.title;
    let mut tracked: Vec<Track> = sweep.tracked.iter().map(|&cell| Track::new(cell, sweep.figure)).collect();
    let mut rounds: Vec<Vec<Measured>> = Vec::new();
    let mut erased_before = 0;
    let mut is_steady = false;
    while rounds.len() < plan.rounds_max && !is_steady {
        let number = rounds.len() + 1;
        let so_far = words(number, &tracked);
        erased_before = drive.erases;
        let measured = round((plan, sweep, number), minute, drive, &so_far, follow)?;
        for track in &mut tracked {
            let of_cell = measured.iter().find(|measured| measured.cell() == track.cell);
            track.push(of_cell.expect("a tracked cell is one of the round's").figure(track.figure));
        }
        rounds.push(measured);
        is_steady = tracked.iter().all(Track::is_steady);
    }
    if !is_steady {
        let what = format!("{title}: steady state was not reached after {} rounds", rounds.len());
        warnings.push(Warning::new("not-steady", what).of_task(title));
    }
    let writes = sweep.cells.iter().any(|cell| cell.read_percent < 100);
    if writes && drive.erases == erased_before {
        let what = format!(
            "{title}: no block was erased in the last round, so garbage collection takes no part in the \
             figures: give cells more time with --minute"
        );
        warnings.push(Warning::new("no-collection", what).of_task(title));
    }
    Ok(Rounds { tracked, rounds, is_steady })
}

/// Measures each of a sweep's cells, in the round of this number.
///
/// # Errors
/// When a request fails, or the caller stops it.
pub(super) fn round(
    (plan, sweep, number): (&Plan, &Sweep, usize),
    minute: Duration,
    drive: &mut TestedDrive<'_>,
    so_far: &str,
    follow: Follow<'_>,
) -> Result<Vec<Measured>, ExperimentError> {
    let stage = format!("{}: rounds", sweep.title);
    let mut measured = Vec::with_capacity(sweep.cells.len());
    heard(follow(&Step { stage: &stage, share: None, words: so_far }))?;
    for (at, &cell) in sweep.cells.iter().enumerate() {
        let words = format!("cell {} of {}, {so_far}", at + 1, sweep.cells.len());
        let job = sweep.job(plan, cell, number, minute);
        measured.push(
            drive.cell(cell, job, &mut |_| {
                heard(follow(&Step { stage: &stage, share: None, words: &words }))
            })?,
        );
    }
    Ok(measured)
}

/// How far the rounds are, for who waits.
fn words(round: usize, tracked: &[Track]) -> String {
    let windows = tracked.iter().filter_map(|track| track.window);
    let worst = |of: fn(&super::steady::Window) -> f64| windows.clone().map(|w| of(&w)).fold(0.0, f64::max);
    match windows.clone().next() {
        None => format!("round {round}"),
        Some(_) => format!(
            "round {round}; last five rounds: range {:.1} % (at most {RANGE_PERCENT_MAX}), slope {:.1} % \
             (at most {SLOPE_PERCENT_MAX})",
            worst(|window| window.range_percent),
            worst(|window| window.slope_percent),
        ),
    }
}
