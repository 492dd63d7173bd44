//! Doubts about the figures of a run.

use crate::report::{DriveReport, TaskReport, thousands};
use crate::warning::Warning;

/// Share of the pages read from which on those that hold nothing are told: they cost no flash, and 1 % of them are what a 99th percentile
/// stands on.
pub const UNMAPPED_SHARE_MAX: f64 = 0.01;

/// Reads of what holds nothing: of the whole run, or of the first task by itself of which so many are.
pub(crate) fn of_reads(drive: &DriveReport, tasks: &[TaskReport]) -> Option<Warning> {
    let by_task = || {
        let told = |task: &TaskReport| unmapped(task.drive.as_ref()?, Some(&task.name));
        tasks.iter().find_map(told)
    };
    unmapped(drive, None).or_else(by_task)
}

fn unmapped(drive: &DriveReport, task: Option<&str>) -> Option<Warning> {
    let (read, nothing) = (drive.pages_read, drive.pages_read_unmapped);
    let share = nothing as f64 / read.max(1) as f64;
    if nothing == 0 || share < UNMAPPED_SHARE_MAX {
        return None;
    }
    let of = task.map_or_else(String::new, |task| format!(" by \"{task}\""));
    let these = match read - nothing {
        0 => format!("all {} pages that were read{of} hold", thousands(read as f64)),
        _ => format!(
            "{} of the {} pages that were read{of} ({:.1} %) hold",
            thousands(nothing as f64),
            thousands(read as f64),
            // Never 100 where some do hold something.
            (share * 100.0).min(99.9)
        ),
    };
    Some(Warning {
        code: "reads-unmapped",
        message: format!(
            "{these} nothing, never written or trimmed: the drive answered with zeroes and never touched flash for them"
        ),
        task: task.map(str::to_owned),
        values: [("pages_read", read as f64), ("pages_read_unmapped", nothing as f64), ("share", share)]
            .into(),
    })
}
