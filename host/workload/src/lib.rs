//! What a host asks of the drive, as pure values: nothing here knows a wall clock, and only [`runner`] knows
//! a driver.
//!
//! | where | what |
//! |---|---|
//! | [`Request`], [`Source`] | one thing asked of the drive, and whatever gives the next one |
//! | [`Job`], [`Plan`] | a described workload; the same laid out on a drive of known size |
//! | [`Generator`], [`WrittenBlocks`] | the requests of a plan; the blocks it wrote, to be read back |
//! | [`Issuer`] | when each request may go: queue depth, think time, run time, rates |
//! | [`fio`] | fio job files: text to jobs, one documented table of options |
//! | [`trace`] | blkparse text, MSR Cambridge CSV, fio iolog 2 and 3 as sources |
//! | [`content`] | block content and fingerprints that carry address and version |
//! | [`Oracle`] | which versions each block may hold, with writes in flight |
//! | [`runner`] | all of it carried out on a driver, timed, counted and checked |
//!
//! A source is a function of its description and a seed: the same description gives the same requests on
//! every machine. After construction a generator allocates nothing.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod content;
pub mod fio;
mod floor;
mod generator;
mod issuer;
mod job;
mod oracle;
mod permutation;
mod placement;
mod plan;
mod rate;
mod request;
pub mod runner;
mod skew;
mod steady;
pub mod trace;

pub use floor::FloorMissed;
pub use generator::{Generator, WrittenBlocks};
pub use issuer::{HeldBy, IssueStep, Issuer, Pace};
pub use job::{
    Access, BlockSizes, Distribution, ExitWhat, Extent, Job, Mix, PerDirection, RateFloor, Unmet, Zone,
};
pub use oracle::{Oracle, ReadToken, Unexpected, WriteToken};
pub use permutation::Permutation;
pub use plan::{Plan, PlanError};
pub use request::{Drive, Request, RequestKind, Source, TIME_MAX};
pub use skew::{Normal, Pareto, Zipf};
pub use steady::{Figure, SteadyOutcome, SteadyState};
