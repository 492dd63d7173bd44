//! The same tests with firmware in the place of the controller's DMA engine: workers fetch the entries and
//! carry everything else (S18). Decoding, statuses, admin commands, resets and data don't change by that.
#![expect(clippy::duplicate_mod, reason = "the same tests over another way of fetching")]

mod bench {
    pub use super::super::bench::*;
    use crate::{Fetching, HostIfConfig};

    pub fn config() -> HostIfConfig {
        HostIfConfig { fetching: Fetching::ByWorkers, ..super::super::bench::config() }
    }
}
#[path = "../auto_completion.rs"]
mod auto_completion;
#[path = "../bad_input.rs"]
mod bad_input;
#[path = "../command_set.rs"]
mod command_set;
#[path = "../data.rs"]
mod data;
#[path = "../doorbells.rs"]
mod doorbells;
#[path = "../events.rs"]
mod events;
#[path = "../host_behavior.rs"]
mod host_behavior;
#[path = "../keep_alive.rs"]
mod keep_alive;
#[path = "../lifecycle.rs"]
mod lifecycle;
#[path = "../mandatory.rs"]
mod mandatory;
#[path = "../nvm.rs"]
mod nvm;
#[path = "../pause.rs"]
mod pause;
#[path = "../queues.rs"]
mod queues;
#[path = "../random.rs"]
mod random;
