//! Recorded traces: files as they are found, plain or compressed, and what is in them.
//!
//! A trace is read line by line and never kept: first by [`survey()`], which says whether all of it can be
//! replayed, then by the replay. What can be read only once, as standard input, is put into a temporary file
//! as it comes.

mod input;
mod report;
mod survey;
#[cfg(test)]
mod tests;
mod zstd;

pub use input::{Compression, Lines, TraceFile};
pub use report::{DeviceReport, Loop, TraceReport};
pub use survey::{Choice, Placing, Survey, TraceOptions, survey};
