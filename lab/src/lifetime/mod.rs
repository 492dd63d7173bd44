//! Writes drives until they accept no more writes, and measures how evenly their blocks wear and how long
//! they last.
//!
//! Each drive is filled, then a part of it is written over and over at random; the rest stays as it is.
//! The work is the same for each kind of wear levelling that the FTL has. When the drive refuses a write,
//! everything is read back, the power is cut, and everything is read again.

mod chart;
mod levelling;
mod life;
mod report;
#[cfg(test)]
mod tests;

pub use chart::{csv, figure};
pub use levelling::Levelling;
pub use report::{Age, Follow, Life, LifetimeError, Plan, Report, Sample};

use std::fmt::Write;

/// Runs the lives.
///
/// # Errors
/// When a drive can't be built or returns data that was never written, or when the caller stops it.
pub fn run(plan: &Plan, follow: Follow<'_>) -> Result<Report, LifetimeError> {
    let mut profile = plan.profile.clone();
    let wear_out_assumed = profile.package.wear_out_percent == 0;
    if wear_out_assumed {
        profile.package.wear_out_percent = 100;
    }
    let package = &profile.package;
    let wear_out_cycles = u64::from(package.endurance) * u64::from(package.wear_out_percent) / 100;
    let mut lives = Vec::new();
    for &levelling in Levelling::of(&profile) {
        let mut profile = profile.clone();
        levelling.set(&mut profile);
        let mut follow = |age: &Age| follow(levelling.stage(), age);
        lives.push(life::live((plan, levelling), &profile, wear_out_cycles, &mut follow)?);
    }
    Ok(Report {
        profile: plan.name.clone(),
        seed: plan.seed,
        hot_percent: plan.hot_percent,
        wear_out_cycles,
        wear_out_assumed,
        lives,
    })
}

/// The report as a table for people.
pub fn table(report: &Report) -> String {
    let assumed =
        if report.wear_out_assumed { ", its endurance, for the profile names no limit" } else { "" };
    let mut text = format!(
        "{}: {} % of the drive is written over and over; blocks wear out after {} cycles{assumed}.\n\n",
        report.profile, report.hot_percent, report.wear_out_cycles
    );
    let _ = writeln!(
        text,
        "{:<10}{:>13}{:>8}{:>18}{:>10}{:>11}{:>10}{:>8}  end",
        "levelling", "drive writes", "WAF", "erases min–max", "mean", "levelled", "bad", "lost"
    );
    for life in &report.lives {
        let name = life.wear_levelling.key();
        let Some(last) = life.samples.last() else { continue };
        let mut end = match &life.refused_with {
            Some(status) => format!("read-only ({status})"),
            None => "still takes writes".to_owned(),
        };
        if life.lost_after_power_loss != life.lost_blocks {
            let _ = write!(end, ", {} lost after a loss of power", life.lost_after_power_loss);
        }
        let _ = writeln!(
            text,
            "{:<10}{:>13.1}{:>8.2}{:>18}{:>10.1}{:>11}{:>10}{:>8}  {end}",
            name,
            life.drive_writes,
            life.waf,
            format!("{}–{}", last.erases_min, last.erases_max),
            last.erases_mean,
            life.levelled_blocks,
            last.grown_bad_blocks,
            life.lost_blocks,
        );
    }
    text
}
