//! Flash operations: software that drives a channel's µFSMs by transactions (B13–B16). Each operation is a
//! short async function that reads like the algorithm in BABOL's Fig 8.
//!
//! - [`Lun`] issues transactions for one LUN and waits for them.
//! - [`operations`] are READ, PROGRAM, ERASE and the rest, a file for each theme.
//! - [`boot`] takes a package from power-on to its data mode (B12).
//! - [`schedule`] chooses the transaction that gets the channel next.
//! - [`Controller`] serves I3 requests with these operations: the software-defined channel controller.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod boot;
mod controller;
mod lun;
pub mod operations;
pub mod schedule;

pub use controller::{Controller, ReadsBetween};
pub use lun::{Draft, FlashConfig, FlashCosts, Issued, Lun, LunShape, PackageVariant, PollPolicy};

#[cfg(test)]
mod tests;
