//! Recorded traces: files as they are found, plain or compressed, and what is in them.
//!
//! A trace is read line by line and never kept in memory: first by [`survey()`], which checks whether all of
//! it can be replayed, then by the replay. Input that can be read only once, such as standard input, is
//! copied to a temporary file.

mod blktrace;
mod change;
mod info;
mod info_text;
mod input;
mod recorded;
mod report;
mod sample;
mod shape;
mod survey;
#[cfg(test)]
mod tests;
mod touched;
mod write;
mod zstd;

pub use change::{Change, Changed, Scale, Slice, Stretch, UNCHANGED, change};
pub use info::{DeviceInfo, Footprint, KindInfo, LruHits, Reuse, SizeBin, Skew, TraceInfo, info};
pub use info_text::info_text;
pub use input::{Compression, Lines, TraceFile};
pub use recorded::{ReadOptions, Step, ToolError};
pub use report::{DeviceReport, Loop, TraceReport};
pub use shape::{GapReport, RateInterval, RateReport, SizeReport};
pub use survey::{Choice, Placing, Survey, TraceOptions, survey};
pub use write::{WrittenAs, Wrote};
