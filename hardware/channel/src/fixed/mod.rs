//! Channel controllers that are entirely in hardware: the baselines against which BABOL is measured
//! (B29).
//!
//! Both serve I3 ([`FlashPort`](aster_ports::flash::FlashPort)), as the software-defined controller does.
//! Both drive the same engine, so that bus timing is the same and every difference comes from control.
//!
//! - *Synchronous* (BABOL's Fig 4): an operation module for each LUN, and an arbiter that grants the channel
//!   segment by segment, round robin.
//! - *Asynchronous* (Cosmos+, C14–C18): each segment is described by a flash control word, which passes
//!   filters and queues at a dispatcher until the flash driver is free.
//!
//! They are event handlers, not tasks, and take no time of any core.

mod asynchronous;
mod config;
mod controller;
mod module;
mod segment;
mod synchronous;

pub use asynchronous::{DISPATCH_QUEUE, StatisticsFilter, waits};
pub use config::FixedConfig;
pub use controller::{Control, FixedController};

#[cfg(test)]
mod tests;
