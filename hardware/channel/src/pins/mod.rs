//! The packages of `hardware/nand` at the pins of a channel that goes cycle by cycle.
//!
//! - `decoder` reads latches and bursts off the pins, `bus` makes them calls of packages;
//! - `bursts` says what a transaction's bursts carry, `memory` is the AXI4 slave that they come from and go
//!   to;
//! - `engine` runs the channel under a [`aster_ports::channel::ChannelPort`].

mod bursts;
mod bus;
mod decoder;
mod engine;
mod loader;
mod memory;

pub use engine::CycleEngine;
