//! What garbage collection should cost: write amplification as theory has it, and as a bare simulation has
//! it.
//!
//! Both are here to hold a drive's FTL to, and know nothing of it: a pool of blocks, pages that are written
//! over, and a policy that chooses what is emptied. No time, no map on flash, no bad blocks.
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
