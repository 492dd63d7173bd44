//! The packages of `hardware/nand` at the pins of a channel that is simulated cycle by cycle.
//!
//! - `decoder` reads latches and bursts from the pins, `bus` turns them into calls of packages;
//! - `bursts` finds the data of a transaction's bursts, `memory` is the AXI4 slave that holds them;
//! - `engine` runs the channel under a [`aster_ports::channel::ChannelPort`].

mod bursts;
mod bus;
mod decoder;
mod engine;
mod loader;
mod memory;

pub use engine::CycleEngine;
