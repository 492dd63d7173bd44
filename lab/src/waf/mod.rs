//! Write amplification by victim policy, streams and skew: of a drive, of a bare simulation, and by theory.
//!
//! Only garbage collection is measured. The drives have no bad blocks, and move nothing for wear or
//! refresh. Pages of the map and of the log don't count, only the pages that garbage collection copies per
//! page that the data buffer evicts.

mod chart;
mod drive;
mod report;
#[cfg(test)]
mod tests;

pub use chart::figure;
pub use report::{Follow, Passes, Plan, Point, Report, table};

use crate::experiment::{ExperimentError, heard};
use crate::spare::theory::{policies, pool, theory, workload};
use aster_device::profile::Profile;
use aster_theory::{Pool, Simulation};

/// Measures each point of the plan.
///
/// # Errors
/// When a drive can't be made or run, or the caller stops it.
pub fn run(plan: &Plan, follow: Follow<'_>) -> Result<Report, ExperimentError> {
    let mut points = Vec::new();
    let drives = plan.streams.len() * plan.over_provisioning.len();
    let all = (drives * plan.hot_percents.len()).max(1) as f64;
    let chosen = policies(&plan.profile).into_iter().filter(|(name, _)| plan.victims.contains(name));
    for (name, rule) in chosen {
        for (at, (streams, over_provisioning_percent, profile)) in plan.drives().enumerate() {
            let profile = collected_by(name, profile);
            let pool = in_units(pool(&profile), &profile);
            for (skew, &hot_percent) in plan.hot_percents.iter().enumerate() {
                let before = (at * plan.hot_percents.len() + skew) as f64;
                let drive = drive::write_amplification(
                    plan,
                    &profile,
                    &drive::distribution(hot_percent),
                    &mut |share| heard(follow(name, (before + share) / all)),
                )?;
                let simulated = || {
                    let mut simulation = Simulation::new(pool, rule, &workload(hot_percent), plan.seed);
                    simulation.run(plan.passes.settle);
                    simulation.run(plan.passes.measure).write_amplification()
                };
                let is_one = streams == 1;
                points.push(Point {
                    victims: name,
                    streams,
                    over_provisioning_percent,
                    hot_percent,
                    drive,
                    simulation: is_one.then(simulated),
                    theory: is_one.then(|| theory(rule, hot_percent, &pool)).flatten(),
                });
            }
        }
    }
    let Pool { blocks, pages_per_block, reserve, .. } = pool(&plan.profile);
    let (profile, seed) = (plan.name.clone(), plan.seed);
    Ok(Report { profile, seed, blocks, pages_per_block, reserve, points })
}

/// A pool whose pages are mapping units.
fn in_units(pool: Pool, profile: &Profile) -> Pool {
    let per_page = profile.geometry.page_bytes / drive::unit_bytes(profile);
    Pool {
        pages_per_block: pool.pages_per_block * per_page,
        logical_pages: pool.logical_pages * per_page,
        ..pool
    }
}

/// A profile with this victim policy, without keys of other policies.
fn collected_by(victims: &str, mut profile: Profile) -> Profile {
    let ftl = &mut profile.ftl;
    if ftl.victims != victims {
        (ftl.victim_choices, ftl.victim_window_percent) = (None, None);
    }
    ftl.victims = victims.to_owned();
    profile
}
