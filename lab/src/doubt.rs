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
    let hold = if nothing == 1 { "holds" } else { "hold" };
    let these = match read - nothing {
        0 if read == 1 => format!("the only page that was read{of} {hold}"),
        0 => format!("all {} pages that were read{of} {hold}", thousands(read as f64)),
        _ => format!(
            "{} of the {} pages that were read{of} ({:.1} %) {hold}",
            thousands(nothing as f64),
            thousands(read as f64),
            // Never 100 where some do hold something.
            (share * 100.0).min(99.9)
        ),
    };
    let them = if nothing == 1 { "it" } else { "them" };
    Some(Warning {
        code: "reads-unmapped",
        message: format!(
            "{these} nothing, never written or trimmed: the drive answered with zeroes and never touched flash for {them}"
        ),
        task: task.map(str::to_owned),
        values: [("pages_read", read as f64), ("pages_read_unmapped", nothing as f64), ("share", share)]
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::FirmwareReport;

    #[test]
    fn one_page_is_told_as_one() {
        let told = |pages_read, pages_read_unmapped| {
            let drive = DriveReport {
                waf: None,
                channel_utilisation: Some(0.0),
                pages_read,
                pages_read_unmapped,
                flash_reads: 0,
                flash_programs: 0,
                flash_erases: 0,
                firmware: FirmwareReport::default(),
                simulated_s: 1.0,
            };
            unmapped(&drive, None).unwrap().message
        };
        assert!(told(1, 1).starts_with("the only page that was read holds nothing, "));
        assert!(told(1, 1).ends_with(" flash for it"));
        assert!(told(4, 1).starts_with("1 of the 4 pages that were read (25.0 %) holds nothing, "));
        assert!(told(4, 4).starts_with("all 4 pages that were read hold nothing, "));
        assert!(told(4, 4).ends_with(" flash for them"));
    }
}
