//! What garbage collection should cost: write amplification by theory and by a bare simulation.
//!
//! Both are references for a drive's FTL and independent of it: a pool of blocks, pages that are
//! overwritten, and a policy that chooses victims. There is no time, no map on flash and no bad block.
//!
//! | module | what is in it |
//! |---|---|
//! | [`analytic`] | closed forms and mean-field models, each with its source |
//! | [`bare`] | the simulation |
//! | [`workload`] | which pages are written how often |
#![forbid(unsafe_code)]

pub mod analytic;
pub mod bare;
#[cfg(test)]
mod tests;
pub mod workload;

pub use bare::{Collected, Pool, Simulation, VictimRule};
pub use workload::{Class, Workload};
