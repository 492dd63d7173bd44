//! Drives whose map is on their own flash: what depends on losses of power once more, and what only such a
//! map can show.

// The tests in them are written for whichever bench stands beside them.
#![expect(clippy::duplicate_mod, reason = "the same tests over another mapping")]

use super::flash;

mod at_work;
mod copies;
mod mutation;

pub(crate) use mutation::trusts_what_the_log_lacks;

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
#[path = "../power.rs"]
#[expect(dead_code, reason = "some of it is for the tests beside the others")]
mod power;
#[path = "../recovery.rs"]
mod recovery;

/// Drives with rows for a sixth of the units, on translation pages of 64 units.
mod bench {
    use super::super::bench;
    pub use super::super::bench::Decisions;
    use crate::{Capacity, ConfigError, DemandMap, FtlConfig, MapCache, MapKind, MappingPorts};
    use aster_units::Content;

    pub type Bench = bench::AnyBench<DemandMap>;

    impl bench::MadeForTests for DemandMap {
        fn make(ports: MappingPorts<'_>) -> Self {
            DemandMap::new(ports)
        }
        /// More memory or more over-provisioning, as it is asked for.
        fn fit(mut config: FtlConfig) -> FtlConfig {
            for _ in 0..200 {
                let needed = config.areas().blocks_needed_per_lun();
                let blocks = u64::from(config.geometry.blocks_per_lun);
                match (config.validate(), &mut config.map, &mut config.capacity) {
                    (Err(ConfigError::Capacity { .. }), _, Capacity::OverProvisioning(percent)) => {
                        *percent += 1.0;
                    }
                    (Err(ConfigError::Capacity { .. }), _, Capacity::Pages(pages)) => *pages -= *pages / 50,
                    // A block may be torn before there is a log.
                    (Ok(()), _, Capacity::OverProvisioning(percent)) if needed == blocks => *percent += 1.0,
                    (
                        Err(ConfigError::MapCache { .. } | ConfigError::MapCacheBytes { .. }),
                        MapKind::DemandPaged(cache),
                        _,
                    ) => cache.bytes += cache.bytes / 8,
                    _ => break,
                }
            }
            config
        }
    }

    pub fn config(content: Content) -> FtlConfig {
        let map = MapKind::DemandPaged(MapCache { bytes: 2300, entries: 64 });
        FtlConfig { map, capacity: Capacity::OverProvisioning(25.0), ..bench::config(content) }
    }
}
