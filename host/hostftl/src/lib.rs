//! A host that has the FTL of its drive: what makes a disk of a drive that is spoken to by command frames
//! (H6 to H9, H13).
//!
//! - [`driver`]: brings the drive's message unit up, gathers commands into frames and takes status frames
//! - [`ftl`]: the decisions of an FTL of the host's own, of which nothing is at work yet
//! - [`over_frames`]: a translation that knows nothing of frames, at work over them
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod driver;
pub mod ftl;
pub mod over_frames;

#[cfg(test)]
mod tests;
