//! A channel's timed engine: it executes µFSM transactions against the packages of `hardware/nand`, computing
//! their bus cycles at once (design §4, "timed").
//!
//! One transaction owns the channel from BEGIN to END (B3). When a transaction starts, the engine walks
//! it to find how many cycles each µFSM takes. When it ends, the engine carries it out, each latch and
//! burst with its own time, so that a power cut executes a prefix of it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod carry;
mod engine;
pub mod fixed;
mod pace;
mod pins;
mod solver;
mod stages;
mod timing;
mod walk;
mod wave;
mod ways;

pub use engine::{ChannelStats, Engine, EngineConfig};
pub use pins::CycleEngine;
pub use solver::{KeySolver, SharedSolver};
pub use stages::{Correction, Ecc, StageConfig, Stages};
pub use timing::{BusTiming, ClockTooFast, CycleTable, EngineClock};
pub use wave::{Change, Label, Level, MAX_CHANGES, Signal, WaveFilter, WaveTap, Waveform};
pub use ways::MemoryWays;

#[cfg(test)]
mod tests;
