//! Drives that lose power at any moment, as `aster torture` has them, but in this process.

use crate::asking::{Asking, name_of};
use crate::errors::{UsageError, json, raised};
use crate::profile::Profile;
use crate::run::content_named;
use aster_device::Pieces;
use aster_device::profile::RaidName;
use aster_lab::asked::drives::boot_new;
use aster_lab::asked::failure::Failure;
use aster_lab::namespace::bytes_to_write;
use aster_lab::own::Phase;
use aster_lab::torture::{self, Case, DEPTH, Here, Moment, Plan, Report};
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// What to do to which drives.
#[derive(FromPyObject)]
pub(crate) struct Torture {
    /// Losses of power during work.
    cuts: u64,
    /// The first drive's; the others have the next numbers.
    seed: u64,
    content: Option<String>,
    /// The chips of a lane stop answering.
    dead_lane: bool,
    /// Run only these rounds of the seed's drive, with so many commands in flight.
    rounds: Vec<u32>,
    depth: Option<u16>,
    recovery_uncut: bool,
    progress: Option<Py<PyAny>>,
}

/// Keys, as `--set` takes them, that make a drive of the profile small enough to be read back at each loss of
/// power.
#[pyfunction]
pub(crate) fn smaller_drive(profile: &Profile, content: Option<String>) -> PyResult<Vec<String>> {
    let content = content_named(content.as_deref())?;
    Ok(torture::smaller_drive(&Pieces::default, profile.name(), &profile.profile, content))
}

/// Tortures drives of the profile. Returns the report as JSON, and for a drive that has failed what was wrong
/// and the arguments that repeat it.
#[pyfunction]
pub(crate) fn torture_drives(
    py: Python<'_>,
    profile: &Profile,
    asked: Torture,
) -> PyResult<(String, Option<String>)> {
    let content = content_named(asked.content.as_deref())?;
    let target = profile.profile.target.as_ref();
    let has_parity =
        target.is_some_and(|target| matches!(target.raid, Some(RaidName::Fixed | RaidName::Rotating)));
    if asked.dead_lane && !has_parity {
        return Err(UsageError::new_err(
            "dead_lane: needs a drive with parity: target.raid = \"fixed\" or \"rotating\"",
        ));
    }
    let only = (!asked.rounds.is_empty()).then(|| Case {
        seed: asked.seed,
        rounds: asked.rounds.clone(),
        depth: asked.depth.unwrap_or(DEPTH),
        cut_recovery: !asked.recovery_uncut,
    });
    let cuts = only.as_ref().map_or(asked.cuts, |case| case.rounds.len() as u64);
    let plan = Plan { name: profile.name().to_owned(), seed: asked.seed, cuts: Some(cuts), only };
    let report = Asking::while_detached(py, |asking| carry_out(profile, &asked, content, &plan, asking))?
        .map_err(|failure| raised(&failure))?;
    let problem = report.failure.as_ref().map(|failure| {
        format!(
            "seed {}, round {}, power lost at {:.6} ms: {}; repeat it with the arguments {} of \
             `aster torture`, which says: {}",
            failure.seed,
            failure.round,
            failure.cut_at_ps as f64 / 1e9,
            failure.what,
            failure.case().arguments().join(" "),
            failure.what_smaller,
        )
    });
    Ok((json(&report)?, problem))
}

/// Tortures them without Python's lock.
fn carry_out(
    profile: &Profile,
    asked: &Torture,
    content: Option<aster_units::Content>,
    plan: &Plan,
    asking: &Asking,
) -> Result<Report, Failure> {
    // A profile that makes no drive is a mistake of the user, not a failure of a drive.
    bytes_to_write(&profile.profile, content)?;
    let progress = asked.progress.as_ref();
    boot_new(profile.wanted(), profile.name(), &profile.profile, content, &mut || {
        asking.goes_on(None, None, 0.0)
    })?;
    let here = Here::new(profile.name(), &profile.profile, content);
    let mut here = if asked.dead_lane { here.with_dead_lane() } else { here };
    let all = plan.cuts.unwrap_or(1).max(1);
    let report = torture::run(plan, &mut here, &mut |moment| {
        let share = if let Moment::Cut { cuts, .. } = moment { cuts as f64 / all as f64 } else { 1.0 };
        if asking.goes_on(progress, Some(name_of(Phase::Work)), share) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    report.map_err(Failure::run)
}
