//! Drives whose LUNs are one pool: the tests of pages once more.

// The tests in them are written for whichever bench stands beside them.
#![expect(clippy::duplicate_mod, reason = "the same tests with another pool")]

use super::super::flash;

#[path = "../behaviour.rs"]
mod behaviour;
#[path = "../checked_host.rs"]
mod checked_host;
#[path = "../endless.rs"]
mod endless;
#[path = "../faults.rs"]
mod faults;
#[path = "../format.rs"]
mod format;
#[path = "../log_end.rs"]
mod log_end;
#[path = "../power.rs"]
mod power;
#[path = "../recovery.rs"]
mod recovery;
#[path = "../stale_runs.rs"]
mod stale_runs;

mod bench {
    use super::super::super::bench;
    pub use super::super::super::bench::Decisions;
    use super::super::super::units::map::MapOf;
    use crate::{FtlConfig, Pools};
    use aster_units::Content;

    pub type Bench = bench::AnyBench<MapOf<0, true>>;

    pub fn config(content: Content) -> FtlConfig {
        FtlConfig { pools: Pools::One, ..bench::config(content) }
    }
}
