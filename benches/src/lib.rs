//! What several of the benches share.
#![forbid(unsafe_code)]

pub mod callgrind;
pub mod jobs;
