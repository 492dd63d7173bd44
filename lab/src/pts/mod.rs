//! SNIA's Solid State Storage Performance Test Specification on a drive in virtual time (H35).
//!
//! A test purges the drive, writes it twice (workload-independent preconditioning), and then repeats rounds
//! of cells, each a minute of one load, until what it tracks is steady over five rounds (workload-dependent
//! preconditioning); the cells of those five rounds are the result. `docs/pts.md` says where each rule comes
//! from.

mod bench;
mod chart;
mod drive;
mod follow;
mod plan;
mod report;
mod rounds;
mod saturation;
mod steady;
mod sweep;
#[cfg(test)]
mod tests;
mod text;

pub use chart::figures;
pub use follow::{Follow, Step};
pub use plan::{Class, MinuteFrom, Plan, Test, minute};
pub use report::{
    Measured, Preconditioned, Purge, Report, SaturationEnd, SaturationReport, SaturationRound, Settings,
    SweepReport, Tested, Track,
};
pub use steady::{RANGE_PERCENT_MAX, SLOPE_PERCENT_MAX, WINDOW, Window};
pub use sweep::{Cell, Tracked};
pub use text::table;

pub(crate) use bench::Bench;
pub(crate) use sweep::{PRECONDITION_PASSES, Sweep};

use crate::experiment::ExperimentError;
use crate::limits::HostLimit;
use crate::warning::Warning;
use aster_units::Content;
use drive::TestedDrive;
use sweep::size_name;

/// Carries the plan's tests out, one after the other on one drive.
///
/// # Errors
/// When the drive can't be made or run, a request fails, or the caller stops it.
pub fn run(plan: &Plan, follow: Follow<'_>) -> Result<Report, ExperimentError> {
    let built = |error: aster_device::BuildError| ExperimentError::Machine(error.into());
    let expected = plan.drive().map_err(built)?;
    let whole_bytes = plan.whole_bytes().unwrap_or(expected.bytes).max(expected.bytes);
    let (minute, minute_from) = plan.minute(expected.bytes, whole_bytes);
    let (sweeps, skipped) = Sweep::of(plan, expected);
    let queues = plan.queues(&sweeps);
    let mut warnings: Vec<Warning> = queues.limits.iter().map(HostLimit::warning).collect();
    warnings.extend(skipped.iter().map(|skipped| {
        let (test, size) = (skipped.test.title(), size_name(skipped.block_bytes));
        Warning::new("skipped", format!("{test}: requests of {size} are left out: {}", skipped.because))
            .of_task(test)
    }));
    let mut drive = TestedDrive::power_on(plan, &queues)?;
    if !drive.has_write_cache() {
        let what = "the drive has no volatile write cache that could be switched";
        warnings.push(Warning::new("no-write-cache", what));
    }
    let (mut tests, mut write_saturation) = (Vec::new(), None);
    for sweep in &sweeps {
        if sweep.is_saturation() {
            let report = saturation::run(plan, sweep, minute, &mut drive, &mut warnings, follow)?;
            write_saturation = Some(report);
        } else {
            tests.push(rounds::run(plan, sweep, minute, &mut drive, &mut warnings, follow)?);
        }
    }
    Ok(Report {
        drive: Tested {
            profile: plan.name.clone(),
            bytes: drive.drive().bytes,
            whole_bytes,
            block_bytes: drive.drive().block_bytes,
            content: match plan.content.unwrap_or(plan.profile.content.into()) {
                Content::Full => "full",
                Content::Fingerprint => "fingerprint",
            },
        },
        class: plan.class,
        quick: plan.is_quick,
        seed: plan.seed,
        settings: Settings {
            threads: plan.threads,
            depth: plan.depth,
            active_range_percent: plan.active_range_percent,
            write_cache: plan.write_cache && drive.has_write_cache(),
            minute_s: minute.as_secs_f64(),
            minute_from,
            rounds_max: plan.rounds_max,
            transfer_bytes_max: queues.transfer_bytes,
        },
        tests,
        write_saturation,
        warnings,
    })
}
