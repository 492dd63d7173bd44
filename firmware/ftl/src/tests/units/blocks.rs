//! Drives whose pages hold sixteen units of a logical block: what depends on losses
//! of power and of data once more.

// The tests in them are written for whichever bench stands beside them.
#![expect(clippy::duplicate_mod, reason = "the same tests with another mapping unit")]

use super::super::flash;

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

mod bench {
    use super::super::super::bench;
    use super::super::map::MapOf;
    use crate::FtlConfig;
    use aster_units::{Content, SECTOR_BYTES};

    pub type Bench = bench::AnyBench<MapOf<512>>;

    pub fn config(content: Content) -> FtlConfig {
        let mapping_unit_bytes = match content {
            Content::Full => 512,
            Content::Fingerprint => SECTOR_BYTES as u32,
        };
        FtlConfig { mapping_unit_bytes, ..bench::config(content) }
    }
}
