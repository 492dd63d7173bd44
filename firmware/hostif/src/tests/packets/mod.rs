//! The same tests with packets between the workers and the host, and the board's data mover or without it
//! (S8: what NVMe does doesn't depend on how its bytes cross the link).
//!
//! A write is posted, so the drive doesn't hear of one that reaches no memory
//! ([`BenchOver::writes_are_answered`](bench::BenchOver::writes_are_answered)).
#![expect(clippy::duplicate_mod, reason = "the same tests over another way to the host")]

mod offloaded;

mod bench {
    pub use super::super::bench::*;
    use crate::{Fetching, HostIfConfig};

    /// Firmware looks at each completion.
    pub struct Copied;
    impl Way for Copied {
        const PACKETS: Option<bool> = Some(false);
    }
    pub type Bench = BenchOver<Copied>;

    pub fn config() -> HostIfConfig {
        HostIfConfig { fetching: Fetching::ByWorkers, ..super::super::bench::config() }
    }
}
#[path = "../auto_completion.rs"]
mod auto_completion;
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
