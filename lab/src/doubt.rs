//! Warnings about the figures of a run: reasons to doubt them, and requests of the work that had no effect.

use crate::lateness::LatenessReport;
use crate::report::{DriveReport, TaskReport, thousands};
use crate::warning::Warning;

/// If this share of the pages read was never written, there is a warning: such reads don't touch flash, and
/// 1 % of them affects the 99th percentile.
pub const UNMAPPED_SHARE_MAX: f64 = 0.01;

/// All warnings of a run, by importance. `buffer` has data that was written and isn't on flash yet.
pub(crate) fn of_run(
    drive: &DriveReport,
    tasks: &[TaskReport],
    buffer: &str,
    interrupted: bool,
) -> Vec<Warning> {
    let late = tasks.iter().filter_map(|task| late(task.lateness.as_ref()?, &task.name));
    let slipped = tasks.iter().filter_map(|task| Some(slipped(task.slipped_s?, &task.name)));
    let unsteady = tasks.iter().filter_map(|task| {
        let steady = task.steady_state.as_ref().filter(|steady| steady.attained_s.is_none())?;
        let values = steady.value.map(|value| ("value", value)).into_iter().collect();
        Some(Warning { values, ..Warning::new("not-steady", steady.note(&task.name)).of_task(&task.name) })
    });
    let (reads, writes) = (of_reads(drive, tasks), of_writes(drive, tasks, buffer));
    let ended = tasks.iter().filter(|task| task.ended_by_another).map(|task| {
        let message = format!("{}: ended before its time, by exitall", task.name);
        Warning::new("ended-by-another", message).of_task(&task.name)
    });
    let off_flash =
        (reads.is_none() && writes.is_none()).then(|| kept_off_flash(drive, tasks, buffer)).flatten();
    let stopped = interrupted
        .then(|| Warning::new("interrupted", "interrupted: the report covers what was done by then"));
    late.chain(slipped)
        .chain(unsteady)
        .chain(ended)
        .chain(reads)
        .chain(writes)
        .chain(off_flash)
        .chain(stopped)
        .collect()
}

fn late(lateness: &LatenessReport, task: &str) -> Option<Warning> {
    let values = [
        ("requests", lateness.requests as f64),
        ("late", lateness.late as f64),
        ("late_share", lateness.late_share),
        ("max_us", lateness.max_us),
    ];
    Some(Warning::new("late", lateness.warning()?).of_task(task).with(values))
}

fn slipped(seconds: f64, task: &str) -> Warning {
    let message = format!(
        "the time between requests was kept: waiting for completions moved the last one {seconds:.6} s \
         behind its recorded time"
    );
    Warning::new("slipped", message).of_task(task).with([("slipped_s", seconds)])
}

/// A warning when no write has reached flash: in the whole run, or in the first such task.
fn of_writes(drive: &DriveReport, tasks: &[TaskReport], buffer: &str) -> Option<Warning> {
    let by_task = || tasks.iter().find_map(|task| buffered(task.drive.as_ref()?, Some(&task.name), buffer));
    buffered(drive, None, buffer).or_else(by_task)
}

fn buffered(drive: &DriveReport, task: Option<&str>, buffer: &str) -> Option<Warning> {
    let programs = drive.firmware.programs.host;
    (drive.waf == Some(0.0) && programs == 0).then(|| {
        let of = task.map_or_else(String::new, |task| format!(" by \"{task}\""));
        let message = format!(
            "all that was written{of} stayed in {buffer}: no page was programmed for it, so WAF is 0.00, and \
             latencies and rates are the buffer's; more data, or end_fsync=1, reaches flash"
        );
        Warning { task: task.map(str::to_owned), ..Warning::new("writes-buffered", message) }
    })
}

/// A warning when data were moved and the flash did nothing, for another reason than those above.
fn kept_off_flash(drive: &DriveReport, tasks: &[TaskReport], buffer: &str) -> Option<Warning> {
    let moved = tasks.iter().flat_map(|task| &task.kinds);
    let bytes: u64 = moved.filter(|kind| ["read", "write"].contains(&kind.kind)).map(|kind| kind.bytes).sum();
    (bytes > 0 && drive.flash_reads + drive.flash_programs + drive.flash_erases == 0).then(|| {
        let message = format!(
            "nothing of the work reached flash: no page was read or programmed while {} bytes were moved, so \
             latencies and rates are those of {buffer}",
            thousands(bytes as f64)
        );
        Warning::new("off-flash", message).with([("bytes", bytes as f64)])
    })
}

/// A warning about reads of pages that were never written: in the whole run, or in the first task with too
/// many.
fn of_reads(drive: &DriveReport, tasks: &[TaskReport]) -> Option<Warning> {
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
            // Never 100 if some pages were written.
            (share * 100.0).min(99.9)
        ),
    };
    let them = if nothing == 1 { "it" } else { "them" };
    Some(Warning {
        code: "reads-unmapped",
        message: format!(
            "{these} nothing, never written or trimmed: the drive answered with zeroes and never touched \
             flash for {them}"
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

    fn idle() -> DriveReport {
        DriveReport {
            waf: None,
            channel_utilisation: Some(0.0),
            pages_read: 0,
            pages_read_unmapped: 0,
            flash_reads: 0,
            flash_programs: 0,
            flash_erases: 0,
            firmware: FirmwareReport::default(),
            parts: Default::default(),
            simulated_s: 1.0,
        }
    }

    #[test]
    fn writes_that_never_left_the_buffer_are_told_and_those_that_did_are_not() {
        let told = |waf| of_run(&DriveReport { waf, ..idle() }, &[], "pblk's write buffer", false).pop();
        let warning = told(Some(0.0)).unwrap();
        assert_eq!(warning.code, "writes-buffered");
        assert!(warning.message.contains(" stayed in pblk's write buffer: no page"), "{warning:?}");
        assert!(warning.message.contains("no page was programmed for it, so WAF is 0.00"), "{warning:?}");
        assert_eq!([told(None), told(Some(0.5))], [None, None]);
    }

    #[test]
    fn one_page_is_told_as_one() {
        let told = |pages_read, pages_read_unmapped| {
            let drive = DriveReport { pages_read, pages_read_unmapped, ..idle() };
            unmapped(&drive, None).unwrap().message
        };
        assert!(told(1, 1).starts_with("the only page that was read holds nothing, "));
        assert!(told(1, 1).ends_with(" flash for it"));
        assert!(told(4, 1).starts_with("1 of the 4 pages that were read (25.0 %) holds nothing, "));
        assert!(told(4, 4).starts_with("all 4 pages that were read hold nothing, "));
        assert!(told(4, 4).ends_with(" flash for them"));
    }
}
