//! The results.

use super::plan::{Class, MinuteFrom, Test};
use super::steady::{WINDOW, Window};
use super::sweep::{Cell, Tracked};
use crate::warning::Warning;
use serde::Serialize;

/// How a drive was purged.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purge {
    /// By Format NVM with user data erase.
    Format,
    /// The drive can't be formatted: a new one took its place.
    NewDrive {
        /// What the drive said.
        because: String,
    },
}

/// The workload-independent preconditioning.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Preconditioned {
    /// Bytes of a write.
    pub block_bytes: u32,
    /// Bytes written.
    pub bytes: u64,
    /// 10⁶ bytes per second.
    pub mb_per_s: f64,
}

/// What a cell did in a round, or in a window of rounds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Measured {
    /// The share of reads, in percent.
    pub read_percent: u8,
    /// Bytes of a request.
    pub block_bytes: u32,
    /// Requests.
    pub requests: u64,
    /// Requests per second.
    pub iops: f64,
    /// 10⁶ bytes per second.
    pub mb_per_s: f64,
    /// The mean time of a request, in microseconds.
    pub mean_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl Measured {
    /// The cell.
    pub fn cell(&self) -> Cell {
        Cell { read_percent: self.read_percent, block_bytes: self.block_bytes }
    }
    /// One of its figures.
    pub fn figure(&self, tracked: Tracked) -> f64 {
        match tracked {
            Tracked::Iops => self.iops,
            Tracked::MbPerS => self.mb_per_s,
            Tracked::MeanUs => self.mean_us,
        }
    }
    /// The mean of a cell's rounds, with the longest time of all.
    fn mean_of(rounds: &[&Measured]) -> Option<Measured> {
        let mean = |of: fn(&Measured) -> f64| {
            rounds.iter().map(|round| of(round)).sum::<f64>() / rounds.len() as f64
        };
        rounds.first().map(|first| Measured {
            requests: rounds.iter().map(|round| round.requests).sum(),
            iops: mean(|round| round.iops),
            mb_per_s: mean(|round| round.mb_per_s),
            mean_us: mean(|round| round.mean_us),
            max_us: rounds.iter().map(|round| round.max_us).fold(0.0, f64::max),
            ..**first
        })
    }
}

/// A tracked cell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Track {
    /// The cell.
    pub cell: Cell,
    /// What of it.
    pub figure: Tracked,
    /// That figure, round by round.
    pub rounds: Vec<f64>,
    /// Its last five rounds; `None` if there were fewer.
    pub window: Option<Window>,
}

impl Track {
    pub(super) fn new(cell: Cell, figure: Tracked) -> Self {
        Track { cell, figure, rounds: Vec::new(), window: None }
    }
    pub(super) fn push(&mut self, value: f64) {
        self.rounds.push(value);
        self.window = Window::last_of(&self.rounds);
    }
    /// Whether its last window is steady.
    pub fn is_steady(&self) -> bool {
        self.window.is_some_and(|window| window.is_steady)
    }
}

/// A test of rounds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SweepReport {
    /// The test that it belongs to.
    pub test: Test,
    /// Its name.
    pub title: String,
    /// Threads.
    pub threads: u32,
    /// Requests that each of them had in flight.
    pub depth: u32,
    /// How the drive was purged.
    pub purge: Purge,
    /// How it was preconditioned.
    pub precondition: Preconditioned,
    /// What is tracked.
    pub figure: Tracked,
    /// The cells that had to be steady.
    pub tracked: Vec<Track>,
    /// All tracked figures became steady within the plan's rounds.
    pub is_steady: bool,
    /// The cells over the last five rounds, which are the steady window if there is one.
    pub cells: Vec<Measured>,
    /// Each round's cells, in order.
    pub rounds: Vec<Vec<Measured>>,
}

impl SweepReport {
    /// The rounds that `cells` are the mean of, from 1.
    pub fn window(&self) -> (usize, usize) {
        (self.rounds.len().saturating_sub(WINDOW) + 1, self.rounds.len())
    }
    /// The mean of each cell over the last five of `rounds`.
    pub(super) fn means(rounds: &[Vec<Measured>]) -> Vec<Measured> {
        let last = &rounds[rounds.len().saturating_sub(WINDOW)..];
        let cells = last.first().map_or(0, Vec::len);
        let of = |at: usize| Measured::mean_of(&last.iter().map(|round| &round[at]).collect::<Vec<_>>());
        (0..cells).filter_map(of).collect()
    }
    /// What a cell did in that window.
    pub fn of(&self, cell: Cell) -> Option<&Measured> {
        self.cells.iter().find(|measured| measured.cell() == cell)
    }
}

/// What the host and the clock were.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Settings {
    /// Threads of the IOPS and write saturation tests.
    pub threads: u32,
    /// Requests that each of them has in flight.
    pub depth: u32,
    /// The part of the drive that the tests use, in percent.
    pub active_range_percent: u8,
    /// Whether the volatile write cache was on.
    pub write_cache: bool,
    /// Seconds of a cell.
    pub minute_s: f64,
    /// Where they are from.
    pub minute_from: MinuteFrom,
    /// Rounds after which a drive counts as not steady.
    pub rounds_max: usize,
    /// The most bytes of a command; larger requests go in several.
    pub transfer_bytes_max: u32,
}

/// The drive.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tested {
    /// The profile.
    pub profile: String,
    /// Its capacity.
    pub bytes: u64,
    /// The capacity that it would have without the profile's `[restrict]`.
    pub whole_bytes: u64,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// What its pages keep.
    pub content: &'static str,
}

/// All results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The drive.
    pub drive: Tested,
    /// Whose rules apply.
    pub class: Class,
    /// The shorter form.
    pub quick: bool,
    /// The seed.
    pub seed: u64,
    /// Host and clock.
    pub settings: Settings,
    /// The tests of rounds.
    pub tests: Vec<SweepReport>,
    /// Write saturation; absent if it wasn't asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_saturation: Option<SaturationReport>,
    /// What to know about the figures.
    pub warnings: Vec<Warning>,
}

/// Why a test of write saturation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SaturationEnd {
    /// The capacity has been written four times.
    Written,
    /// As many minutes as a day has are over.
    Time,
}

/// A round of write saturation.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SaturationRound {
    /// Bytes written since the purge, with this round.
    pub written_bytes: u64,
    /// The same over the capacity.
    pub drive_writes: f64,
    /// Seconds since the purge, with this round.
    pub simulated_s: f64,
    /// The round.
    #[serde(flatten)]
    pub measured: Measured,
}

/// Write saturation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SaturationReport {
    /// Its name.
    pub title: String,
    /// Threads.
    pub threads: u32,
    /// Requests that each of them had in flight.
    pub depth: u32,
    /// How the drive was purged.
    pub purge: Purge,
    /// Why it ended.
    pub ended_by: SaturationEnd,
    /// How often the capacity was written when a round first had less than half of the first round's IOPS;
    /// `None` if none had.
    pub halved_after_drive_writes: Option<f64>,
    /// IOPS of the last five rounds; `None` if there were fewer.
    pub window: Option<Window>,
    /// Its rounds.
    pub rounds: Vec<SaturationRound>,
}
