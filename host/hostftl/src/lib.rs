//! A host that has the FTL of its drive: what makes a disk of a drive that is spoken to by command frames
//! (H6 to H9, H13).
//!
//! - [`mod@bench`]: a host without an FTL, which measures commands
//! - [`driver`]: brings the drive's message unit up, gathers commands into frames and takes status frames
//! - [`ftl`]: an FTL of the host's own, as the paper describes it
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod bench;
pub mod driver;
pub mod ftl;

#[cfg(test)]
mod tests;
