//! Recorded traces: files as they are found, plain or compressed, and what is in them.
//!
//! A trace is read line by line and never kept in memory: first by [`survey()`], which checks whether all of
//! it can be replayed, then by the replay. Input that can be read only once, such as standard input, is
//! copied to a temporary file.

mod input;
mod report;
mod survey;
#[cfg(test)]
mod tests;
mod zstd;

pub use input::{Compression, Lines, TraceFile};
pub use report::{DeviceReport, Loop, TraceReport};
pub use survey::{Choice, Placing, Survey, TraceOptions, survey};
