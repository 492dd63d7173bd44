//! With the completion offload (S6).
#![expect(clippy::duplicate_mod, reason = "the same tests over another way to the host")]

mod bench {
    pub use super::super::bench::{config, *};

    /// The board moves the data of completions.
    pub struct Moved;
    impl Way for Moved {
        const PACKETS: Option<bool> = Some(true);
    }
    pub type Bench = BenchOver<Moved>;
}
#[path = "../../data.rs"]
mod data;
#[path = "../../lifecycle.rs"]
mod lifecycle;
#[path = "../../mandatory.rs"]
mod mandatory;
#[path = "../../nvm.rs"]
mod nvm;
#[path = "../../pause.rs"]
mod pause;
#[path = "../../random.rs"]
mod random;
