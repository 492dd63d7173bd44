//! The results as tables for people.

use super::plan::{Class, MinuteFrom, Test};
use super::report::{
    Measured, Purge, Report, SaturationEnd, SaturationReport, SaturationRound, Settings, SweepReport, Track,
};
use super::steady::{RANGE_PERCENT_MAX, SLOPE_PERCENT_MAX, Window};
use super::sweep::{Cell, Tracked, size_name};
use crate::experiment::Cells;
use crate::words::counted;
use std::fmt::Write;

/// Columns of the matrices.
const MATRIX: Cells = Cells { name: 12, width: 12 };
/// Columns of a saturation's rounds.
const SATURATION: Cells = Cells { name: 8, width: 14 };
/// Rounds of a saturation that are told.
const SATURATION_LINES: usize = 16;
/// Figures of rounds in a line.
const A_LINE: usize = 10;

/// All of it.
pub fn table(report: &Report) -> String {
    let mut text = head(report);
    for test in &report.tests {
        text.push('\n');
        put_sweep(&mut text, test);
    }
    if let Some(saturation) = &report.write_saturation {
        text.push('\n');
        put_saturation(&mut text, saturation);
    }
    text
}

fn head(report: &Report) -> String {
    let Report { drive, class, settings, .. } = report;
    let class = match class {
        Class::Enterprise => "enterprise",
        Class::Client => "client",
    };
    let form = if report.quick { ", quick form: the same steps with fewer cells and less time" } else { "" };
    let cache = if settings.write_cache { "on" } else { "off" };
    format!(
        "{}: SNIA's Solid State Storage Performance Test, {class} class{form}\n\
         The drive has {} in blocks of {} bytes, with {} content. Its write cache is {cache}. The tests use \
         {} % of it.\n{}\n",
        drive.profile,
        size(drive.bytes),
        drive.block_bytes,
        drive.content,
        settings.active_range_percent,
        minute(settings, drive.bytes, drive.whole_bytes)
    )
}

/// How long a cell was, and why.
fn minute(settings: &Settings, bytes: u64, whole: u64) -> String {
    let seconds = settings.minute_s;
    let why = match settings.minute_from {
        MinuteFrom::Given => "as asked for".to_owned(),
        MinuteFrom::Quick => "as always in the quick form".to_owned(),
        MinuteFrom::Scaled if bytes < whole => {
            format!("scaled as the drive is, which has {} of {}", size(bytes), size(whole))
        }
        MinuteFrom::Scaled if seconds < 60.0 => "scaled since the drive is small".to_owned(),
        MinuteFrom::Scaled => "as the specification says".to_owned(),
    };
    format!("A cell takes {seconds} s of simulated time for the specification's 60 s, {why}.")
}

fn size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 { format!("{mib:.1} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

fn put_sweep(text: &mut String, test: &SweepReport) {
    let precondition = &test.precondition;
    let _ = writeln!(
        text,
        "{}\n{} Preconditioned by {} in sequential writes of {}, at {:.1} MB/s. {}",
        capitalised(&test.title),
        purged(&test.purge),
        size(precondition.bytes),
        size_name(precondition.block_bytes),
        precondition.mb_per_s,
        in_flight(test.threads, test.depth),
    );
    test.tracked.iter().for_each(|track| put_track(text, track));
    let (first, last) = test.window();
    let window = format!("mean of rounds {first} to {last}");
    match test.test {
        Test::Latency => {
            let _ = writeln!(text, "\nMean time, µs, {window}");
            put_matrix(text, &test.cells, |measured| measured.mean_us);
            let _ = writeln!(text, "\nLongest time of these rounds, µs");
            put_matrix(text, &test.cells, |measured| measured.max_us);
        }
        Test::Throughput => {
            let _ = writeln!(text, "\nMB/s, {window}");
            put_matrix(text, &test.cells, |measured| measured.mb_per_s);
        }
        Test::Iops | Test::WriteSaturation => {
            let _ = writeln!(text, "\nIOPS, {window}");
            put_matrix(text, &test.cells, |measured| measured.iops);
        }
    }
}

/// A tracked figure by round, and what its window came to.
fn put_track(text: &mut String, track: &Track) {
    let _ = write!(text, "{} by round, {}:", capitalised(&track.cell.name()), track.figure.unit());
    for (at, value) in track.rounds.iter().enumerate() {
        if at % A_LINE == 0 {
            text.push_str("\n ");
        }
        let _ = write!(text, " {:>9}", plain(*value, track.figure));
    }
    text.push('\n');
    put_window(text, track.window.as_ref(), track.rounds.len(), track.figure);
}

/// The verdict on the last five rounds.
fn put_window(text: &mut String, window: Option<&Window>, rounds: usize, figure: Tracked) {
    let Some(window) = window else {
        text.push_str("Not steady: there were fewer than five rounds.\n");
        return;
    };
    let verdict = match window.is_steady {
        true => "Steady in".to_owned(),
        false => format!("STEADY STATE NOT REACHED after {}:", counted(rounds as u64, "round")),
    };
    let _ = writeln!(
        text,
        "{verdict} rounds {} to {}: mean {}, range {:.1} % (at most {RANGE_PERCENT_MAX} %), slope {:.1} % \
         (at most {SLOPE_PERCENT_MAX} %).",
        window.first_round,
        window.last_round(),
        plain(window.mean, figure),
        window.range_percent,
        window.slope_percent,
    );
}

/// How a drive was purged.
fn purged(purge: &Purge) -> String {
    match purge {
        Purge::Format => "Purged by Format NVM with user data erase.".to_owned(),
        Purge::NewDrive { because } => format!("Purged by taking a new drive: {because}."),
    }
}

/// What the host asked for at a time.
fn in_flight(threads: u32, depth: u32) -> String {
    match threads {
        1 => format!("{} in flight.", counted(depth, "request")),
        threads => format!("{threads} threads with {} in flight each.", counted(depth, "request")),
    }
}

/// A figure with as many digits as its kind deserves.
fn plain(value: f64, figure: Tracked) -> String {
    match figure {
        Tracked::Iops => format!("{value:.0}"),
        Tracked::MbPerS | Tracked::MeanUs => format!("{value:.1}"),
    }
}

/// Mixes from above, sizes from the left, each in the order of the cells.
fn put_matrix(text: &mut String, cells: &[Measured], of: fn(&Measured) -> f64) {
    let mut sizes: Vec<u32> = Vec::new();
    let mut mixes: Vec<u8> = Vec::new();
    for measured in cells {
        if !sizes.contains(&measured.block_bytes) {
            sizes.push(measured.block_bytes);
        }
        if !mixes.contains(&measured.read_percent) {
            mixes.push(measured.read_percent);
        }
    }
    MATRIX.head(text, "R/W", sizes.iter().map(|bytes| size_name(*bytes)));
    for read_percent in mixes {
        let cell = |block_bytes: &u32| Cell { read_percent, block_bytes: *block_bytes };
        let value = |cell: Cell| cells.iter().find(|measured| measured.cell() == cell).map_or(f64::NAN, of);
        let name = Cell { read_percent, block_bytes: 0 }.mix_name();
        MATRIX.row(text, &name, sizes.iter().map(cell).map(value));
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn put_saturation(text: &mut String, test: &SaturationReport) {
    let _ = writeln!(
        text,
        "{}\n{} No preconditioning. {}",
        capitalised(&test.title),
        purged(&test.purge),
        in_flight(test.threads, test.depth)
    );
    let last = test.rounds.len().saturating_sub(1);
    let shown = SATURATION_LINES.min(test.rounds.len());
    SATURATION.head(text, "round", ["drive writes", "IOPS", "mean µs", "longest µs"].into_iter());
    // From the first round to the last, as far from each other as can be.
    for nth in 0..shown {
        let at = nth * last / (shown - 1).max(1);
        let SaturationRound { drive_writes, measured, .. } = test.rounds[at];
        let values = [
            format!("{drive_writes:.2}"),
            format!("{:.0}", measured.iops),
            format!("{:.1}", measured.mean_us),
            format!("{:.1}", measured.max_us),
        ];
        SATURATION.head(text, &(at + 1).to_string(), values.into_iter());
    }
    if shown < test.rounds.len() {
        let _ = writeln!(text, "{shown} of {} rounds; --json has all.", test.rounds.len());
    }
    let end = match test.ended_by {
        SaturationEnd::Written => "when the capacity had been written four times",
        SaturationEnd::Time => "after as many minutes as a day has",
    };
    let _ = writeln!(text, "It ended {end}, after {}.", counted(test.rounds.len() as u64, "round"));
    match test.halved_after_drive_writes {
        Some(writes) => {
            let _ = writeln!(text, "After {writes:.2} drive writes it has less than half of its first IOPS.");
        }
        None => text.push_str("It always has more than half of its first IOPS.\n"),
    }
    put_window(text, test.window.as_ref(), test.rounds.len(), Tracked::Iops);
}
