//! The ECC engine in software: it corrects what the channels' detectors have flagged (S9–S12, S15–S17).
//!
//! The way of a page with wrong bits: the channel puts it into its buffer as it was read, flags the frames
//! that are no code words, and the read ends as any other. The result doesn't reach who asked: the port
//! above the flash scheduler diverts it
//! ([`divert_flagged`](aster_ports::flash::FlashPort::divert_flagged)). A task on the translation's core
//! enters a command for each flagged frame into the available ring. The engine polls that ring on a core of
//! its own, and corrects one frame after the other ([`FrameCode`]). When the last frame of a read is done,
//! an inter-processor interrupt brings the result to who asked. Pages without wrong bits pass nothing of
//! this.
//!
//! Where a CRC detects wrong bits, channels have no encoder (S11): programs pass the engine, too, which
//! encodes their pages in the order in which they come.
//!
//! What is bounded: the available ring has [`EngineConfig::ring_entries`] entries. While it is full, the task
//! on the translation's core waits, and with it further pages with wrong bits.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod engine;
mod frame;
mod stats;
#[cfg(test)]
mod tests;

pub use engine::{EccCosts, Engine, EngineConfig, EnginePorts};
pub use frame::FrameCode;
pub use stats::EccStats;
