//! Runs a drive in deterministic virtual time: a host value and a device value, each with its own clock,
//! advanced in turn (design §1, §2). A run is a function of profile, workload and seed.
#![forbid(unsafe_code)]

mod machine;

pub use machine::{Machine, RunError, VirtualBar};

#[cfg(test)]
mod tests;
