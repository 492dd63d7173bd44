//! Drives whose pages hold two units of 4 KiB: the tests of pages once more.

// The tests in them are written for whichever bench stands beside them.
#![expect(clippy::duplicate_mod, reason = "the same tests with another mapping unit")]

use super::super::flash;

#[path = "../behaviour.rs"]
mod behaviour;
#[path = "../checked_host.rs"]
mod checked_host;
#[path = "../collecting.rs"]
mod collecting;
#[path = "../endless.rs"]
mod endless;
#[path = "../faults.rs"]
mod faults;
#[path = "../format.rs"]
mod format;
#[path = "../log_end.rs"]
mod log_end;
#[path = "../log_pages.rs"]
mod log_pages;
#[path = "../power.rs"]
mod power;
#[path = "../recovery.rs"]
mod recovery;
#[path = "../refresh.rs"]
mod refresh;
#[path = "../stale_runs.rs"]
mod stale_runs;
#[path = "../wear.rs"]
mod wear;

mod bench {
    use super::super::super::bench;
    pub use super::super::super::bench::Decisions;
    use super::super::map::MapOf;
    use crate::FtlConfig;
    use aster_units::{Content, SECTOR_BYTES};

    pub type Bench = bench::AnyBench<MapOf<4096>>;

    pub fn config(content: Content) -> FtlConfig {
        let mapping_unit_bytes = SECTOR_BYTES as u32;
        FtlConfig { mapping_unit_bytes, ..bench::config(content) }
    }
}
