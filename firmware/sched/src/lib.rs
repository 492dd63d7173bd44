//! Flash schedulers: they decide which request a LUN works on next, and whether it may start now (design §1,
//! B17).
//!
//! A [`FlashScheduler`](aster_parties::FlashScheduler) is an exchangeable part of the drive: it stands
//! between the translation's flash requests and the channel controllers, with I3 on either side. There are
//! four:
//!
//! - [`Workers`]: a [`Worker`] per LUN, above controllers in software or hardware ([`Backend`]). They repeat
//!   reads that can't be corrected, and suspend programs and erases for reads ([`WorkersConfig`]).
//!   A [`TaskScheduler`](aster_parties::TaskScheduler) decides; the workers of a drive share it in
//!   [`Tasks`](aster_parties::Tasks).
//! - [`cosmos`]: one big loop on one core, which polls (C34–C44).
//! - [`fil`]: SoftSSD's flash interface layer, a loop on a core of its own, with queues by source (S21–S23).
//! - [`PassThrough`]: first come, first served, some requests per channel at once, on no core.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod backend;
mod bell;
mod controllers;
pub mod cosmos;
pub mod fil;
mod loop_operation;
mod loop_stats;
mod pass_through;
mod retry;
mod tasks;
mod worker;
mod workers;

pub use backend::Backend;
pub use controllers::{Controllers, WorkersConfig};
pub use pass_through::PassThrough;
pub use retry::RetryConfig;
pub use tasks::{OVERTAKES_MAX, PackageLimit, Policy};
pub use worker::Worker;
pub use workers::{Workers, spawn_workers};
