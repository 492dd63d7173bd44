//! Drives whose LUNs are one pool, and whose pages hold two units of 4 KiB: what depends on losses of power
//! and of data once more.

// The tests in them are written for whichever bench stands beside them.
#![expect(clippy::duplicate_mod, reason = "the same tests with another pool and unit")]

use super::super::flash;

#[path = "../checked_host.rs"]
mod checked_host;
#[path = "../faults.rs"]
mod faults;
#[path = "../log_end.rs"]
mod log_end;
#[path = "../power.rs"]
#[expect(dead_code, reason = "some of it is for the tests beside the others")]
mod power;
#[path = "../recovery.rs"]
mod recovery;

mod bench {
    use super::super::super::bench;
    use super::super::super::units::map::MapOf;
    use crate::{FtlConfig, Pools};
    use aster_units::{Content, SECTOR_BYTES};

    pub type Bench = bench::AnyBench<MapOf<4096, true>>;

    pub fn config(content: Content) -> FtlConfig {
        let mapping_unit_bytes = SECTOR_BYTES as u32;
        FtlConfig { mapping_unit_bytes, pools: Pools::One, ..bench::config(content) }
    }
}
