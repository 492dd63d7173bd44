//! A host's requests to the drive, as pure values: this crate uses no wall clock, and only [`runner`] uses a
//! driver.
//!
//! | where | what |
//! |---|---|
//! | [`Request`], [`Source`] | one request to the drive, and a source of requests |
//! | [`Job`], [`Plan`] | a described workload; the same laid out on a drive of known size |
//! | [`Generator`], [`WrittenBlocks`] | the requests of a plan; the blocks it wrote, to be read back |
//! | [`Issuer`] | when each request may be issued: queue depth, think time, run time, rates |
//! | [`fio`] | fio job files: text to jobs, one documented table of options |
//! | [`trace`] | blkparse text, MSR Cambridge CSV, fio iolog 2 and 3 as sources |
//! | [`content`] | block content and fingerprints that carry address and version |
//! | [`Oracle`] | which versions each block may hold, with writes in flight |
//! | [`runner`] | carries all of it out on a driver; times, counts and checks it |
//!
//! A source is a function of its description and a seed: the same description gives the same requests on
//! every machine. After construction a generator allocates nothing.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod content;
mod earliest;
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
pub use plan::{NO_BLOCKS, Plan, PlanError};
pub use request::{Done, Drive, Request, RequestKind, Source, TIME_MAX};
pub use skew::{Normal, Pareto, Zipf};
pub use steady::{Figure, SteadyOutcome, SteadyState};
