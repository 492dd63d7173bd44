//! The plan of a life, and its result.

use super::levelling::Levelling;
use aster_device::profile::Profile;
use aster_driver::DriverError;
use aster_run_virtual::RunError;
use serde::Serialize;
use std::ops::ControlFlow;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile's name.
    pub name: String,
    /// The drive. Its pages keep tags.
    pub profile: Profile,
    /// The seed of the addresses that are written.
    pub seed: u64,
    /// The part of the drive that is written again and again, in percent, 1 to 100.
    pub hot_percent: u32,
    /// Drives that reach this many drive writes are written no further; `None` for no end.
    pub drive_writes_max: Option<f64>,
}

/// A drive at a moment of its life.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Sample {
    /// Bytes written by the host, over the capacity.
    pub drive_writes: f64,
    /// Fewest, mean and most erases of a block, factory bad ones left out.
    pub erases_min: u32,
    /// See there.
    pub erases_mean: f64,
    /// See there.
    pub erases_max: u32,
    /// SMART's available spare, in percent.
    pub available_spare: u8,
    /// SMART's percentage used.
    pub percentage_used: u8,
    /// Blocks that went bad in use.
    pub grown_bad_blocks: u64,
}

/// A drive's life.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Life {
    /// Its kind of wear levelling.
    pub wear_levelling: Levelling,
    /// Bytes written by the host, over the capacity.
    pub drive_writes: f64,
    /// Bytes programmed over bytes written by the host.
    pub waf: f64,
    /// Blocks emptied for wear levelling.
    pub levelled_blocks: u64,
    /// Blocks whose data was refreshed before it could fade.
    pub refreshed_blocks: u64,
    /// True if it accepts no more writes; false if it reached the limit of the plan.
    pub read_only: bool,
    /// The status that the last write got.
    pub refused_with: Option<String>,
    /// SMART's critical warning at the end (NVMe 1.4 §5.14.1.2, byte 0).
    pub critical_warning: u8,
    /// Logical blocks read back at the end, all whole.
    pub checked_blocks: u64,
    /// How many of them the drive reported as lost.
    pub lost_blocks: u64,
    /// How many were lost when everything was read again after a power cut.
    pub lost_after_power_loss: u64,
    /// Samples along its life.
    pub samples: Vec<Sample>,
}

/// The lives of a profile's drives.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The profile.
    pub profile: String,
    /// The seed.
    pub seed: u64,
    /// The part of the drive that was written again and again, in percent.
    pub hot_percent: u32,
    /// Cycles after which blocks can't be erased any more, and up to a quarter more.
    pub wear_out_cycles: u64,
    /// True if the profile has no such limit, so that its endurance was taken.
    pub wear_out_assumed: bool,
    /// One for each kind of wear levelling that the FTL has.
    pub lives: Vec<Life>,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum LifetimeError {
    /// The machine.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A command failed that must succeed.
    #[error("{0}")]
    Driver(#[from] DriverError),
    /// The drive violated what it promises.
    #[error("{0}")]
    Wrong(String),
    /// The caller stopped it.
    #[error("interrupted: the drive's life did not come to its end")]
    Stopped,
}

/// The progress of a life. Its end can't be known in advance, since it depends on how unevenly blocks
/// wear.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Age {
    /// The drive now.
    pub now: Sample,
    /// The least number of cycles that its blocks last for.
    pub cycles: u64,
    /// The limit in drive writes, if there is one.
    pub drive_writes_max: Option<f64>,
}

impl Age {
    /// Mean erases of a block, in percent of the cycles that blocks last for.
    pub fn mean_percent(&self) -> f64 {
        100.0 * self.now.erases_mean / self.cycles.max(1) as f64
    }
    /// The same for the most worn block.
    pub fn most_percent(&self) -> f64 {
        100.0 * f64::from(self.now.erases_max) / self.cycles.max(1) as f64
    }
    /// The share of the limit that is written; `None` if the drive is written to its end.
    pub fn share(&self) -> Option<f64> {
        self.drive_writes_max.map(|most| (self.now.drive_writes / most.max(f64::MIN_POSITIVE)).min(1.0))
    }
}

/// Reports a life's progress by its name.
pub type Follow<'a> = &'a mut dyn FnMut(&'static str, &Age) -> ControlFlow<()>;
