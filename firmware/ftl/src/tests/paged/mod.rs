//! The same drives over a map that waits: the behaviour tests once more, and what only such a map can show.

// The tests in them are written for whichever bench stands beside them.
#![expect(clippy::duplicate_mod, reason = "the same tests over another mapping")]

use super::flash;

mod at_work;
mod map;

#[path = "../behaviour.rs"]
mod behaviour;
#[path = "../checked_host.rs"]
mod checked_host;
#[path = "../collecting.rs"]
mod collecting;
#[path = "../faults.rs"]
mod faults;
#[path = "../log_end.rs"]
mod log_end;
#[path = "../log_pages.rs"]
mod log_pages;
#[path = "../power.rs"]
#[expect(dead_code, reason = "some of it is for the tests beside the others")]
mod power;
#[path = "../recovery.rs"]
mod recovery;

/// Drives whose map doesn't fit into memory.
mod bench {
    use super::super::bench::AnyBench;
    pub use super::super::bench::{Decisions, config};
    use super::map::PagedMap;

    pub type Bench = AnyBench<PagedMap>;
}
