//! What a life is to be, and what came of it.

use aster_device::profile::{LevellingName, Profile};
use aster_run_virtual::RunError;
use aster_run_virtual::driver::DriverError;
use serde::Serialize;
use std::ops::ControlFlow;

/// A kind of wear levelling as profiles write it.
pub(super) fn levelling_key(levelling: LevellingName) -> &'static str {
    match levelling {
        LevellingName::None => "none",
        LevellingName::Dynamic => "dynamic",
        LevellingName::Static => "static",
    }
}

/// The same for a title.
pub(super) fn levelling_title(levelling: LevellingName) -> &'static str {
    match levelling {
        LevellingName::None => "no wear levelling",
        LevellingName::Dynamic => "dynamic wear levelling",
        LevellingName::Static => "static wear levelling",
    }
}

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile's name.
    pub name: String,
    /// The drive. Its pages keep tags.
    pub profile: Profile,
    /// Decides where is written.
    pub seed: u64,
    /// The part of the drive that is written again and again, in percent, 1 to 100.
    pub hot_percent: u32,
    /// Drives that last for so many drive writes are written no further; `None` for no end.
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
    /// How its blocks were worn alike.
    pub wear_levelling: LevellingName,
    /// Bytes written by the host, over the capacity.
    pub drive_writes: f64,
    /// Bytes programmed over bytes written by the host.
    pub waf: f64,
    /// Blocks emptied since they were left behind in wear.
    pub levelled_blocks: u64,
    /// Blocks whose data was written anew before it fades.
    pub refreshed_blocks: u64,
    /// It takes no more writes; else it was written no further.
    pub read_only: bool,
    /// The status that the last write got.
    pub refused_with: Option<String>,
    /// SMART's critical warning at the end (NVMe 1.4 §5.14.1.2, byte 0).
    pub critical_warning: u8,
    /// Logical blocks read back at the end, all whole.
    pub checked_blocks: u64,
    /// And those of them that the drive said to be lost.
    pub lost_blocks: u64,
    /// As many were lost when the power had gone and all was read again.
    pub lost_after_power_loss: u64,
    /// Along its life.
    pub samples: Vec<Sample>,
}

/// What came of it.
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
    /// The profile has no such limit: the endurance that it promises was taken.
    pub wear_out_assumed: bool,
    /// Without levelling, with dynamic, and with static.
    pub lives: Vec<Life>,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum LifetimeError {
    /// The machine.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A command failed that must not.
    #[error("{0}")]
    Driver(#[from] DriverError),
    /// The drive did what it must not.
    #[error("{0}")]
    Wrong(String),
    /// The caller stopped it.
    #[error("interrupted: the drive's life did not come to its end")]
    Stopped,
}

/// How far a life is. When it ends nobody knows before: that depends on how unevenly its blocks wear.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Age {
    /// The drive now.
    pub now: Sample,
    /// Cycles that its blocks last for at least.
    pub cycles: u64,
    /// It is written no further than to so many drive writes, if that was asked for.
    pub drive_writes_max: Option<f64>,
}

impl Age {
    /// Erases in the mean over blocks, in percent of the cycles that they last for.
    pub fn mean_percent(&self) -> f64 {
        100.0 * self.now.erases_mean / self.cycles.max(1) as f64
    }
    /// The same of the block that is worn most.
    pub fn most_percent(&self) -> f64 {
        100.0 * f64::from(self.now.erases_max) / self.cycles.max(1) as f64
    }
    /// The share of what was asked for that is written; `None` where the drive is written to its end.
    pub fn share(&self) -> Option<f64> {
        self.drive_writes_max.map(|most| (self.now.drive_writes / most.max(f64::MIN_POSITIVE)).min(1.0))
    }
}

/// Follows a life by its name.
pub type Follow<'a> = &'a mut dyn FnMut(&'static str, &Age) -> ControlFlow<()>;
