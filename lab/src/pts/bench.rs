//! A drive that has been purged and preconditioned, for experiments that choose their loads themselves.

use super::drive::TestedDrive;
use super::follow::Follow;
use super::plan::Plan;
use super::report::{Measured, SweepReport};
use super::rounds::{Rounds, prepare, repeat, round};
use super::sweep::Sweep;
use crate::experiment::ExperimentError;
use aster_units::Duration;

/// A drive under test, and the time that a cell takes on it.
pub(crate) struct Bench<'a> {
    plan: &'a Plan,
    minute: Duration,
    drive: TestedDrive<'a>,
}

/// What a drive does under a load once it is steady, or after as many rounds as the plan has.
pub(crate) struct Steady {
    /// Cells over the last five rounds.
    pub(crate) cells: Vec<Measured>,
    /// Each round's cells.
    pub(crate) rounds: Vec<Vec<Measured>>,
    /// What the load tracks was.
    pub(crate) is_steady: bool,
}

impl<'a> Bench<'a> {
    /// Powers the plan's drive on, purges it and preconditions it as the first of `sweeps` says. The host has
    /// queues for all of them.
    ///
    /// # Errors
    /// When the drive can't be made or doesn't come up, a request fails, or the caller stops it.
    pub(crate) fn prepared(
        plan: &'a Plan,
        minute: Duration,
        sweeps: &[Sweep],
        follow: Follow<'_>,
    ) -> Result<Self, ExperimentError> {
        let mut drive = TestedDrive::power_on(plan, &plan.queues(sweeps))?;
        let first = sweeps.first().expect("a bench has a load");
        prepare(first, &mut drive, follow)?;
        Ok(Bench { plan, minute, drive })
    }
    /// Repeats a load's cells until the drive is steady. It begins as the load before has left it.
    ///
    /// # Errors
    /// When a request fails, or the caller stops it.
    pub(crate) fn steady(&mut self, sweep: &Sweep, follow: Follow<'_>) -> Result<Steady, ExperimentError> {
        let Bench { plan, minute, drive } = self;
        // What it warns of is in what it returns.
        let Rounds { rounds, is_steady, .. } = repeat(plan, sweep, *minute, drive, &mut Vec::new(), follow)?;
        Ok(Steady { cells: SweepReport::means(&rounds), rounds, is_steady })
    }
    /// Each of a load's cells once.
    ///
    /// # Errors
    /// When a request fails, or the caller stops it.
    pub(crate) fn once(
        &mut self,
        sweep: &Sweep,
        follow: Follow<'_>,
    ) -> Result<Vec<Measured>, ExperimentError> {
        let Bench { plan, minute, drive } = self;
        round((plan, sweep, 1), *minute, drive, "", follow)
    }
}
