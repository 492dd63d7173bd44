//! Units that the map itself takes, behind those of the host.

use super::bench::config;
use crate::{ConfigError, FtlConfig, MapCache, MapKind};
use aster_units::Content;

fn paged(bytes: u64, entries: u16) -> FtlConfig {
    let map = MapKind::DemandPaged(MapCache { bytes, entries });
    FtlConfig { map, ..config(Content::Full) }
}

#[test]
fn translation_pages_and_their_reserve_are_the_drives_and_not_the_hosts() {
    let (resident, paged) = (config(Content::Full), paged(1 << 16, 8));
    assert_eq!(paged.validate(), Ok(()));
    assert!(paged.logical_pages() < resident.logical_pages());
    assert_eq!(paged.map_units(), paged.logical_pages().div_ceil(8));
    let reserve =
        paged.blocks_needed_per_lun() - paged.log_blocks_per_lun() - paged.metadata_blocks_per_lun();
    let pages = (paged.logical_pages() + paged.map_units()).div_ceil(4);
    assert_eq!(reserve, pages / 4 + 1 + u64::from(paged.gc_reserve_blocks) + 2 + 1);
}

#[test]
fn a_cache_or_a_reserve_that_is_too_small_is_refused_by_its_key() {
    let key = |config: FtlConfig| match config.validate() {
        Err(ConfigError::Range { key, .. }) => key,
        other => panic!("{other:?}"),
    };
    assert_eq!(key(paged(500, 8)), "map_cache_bytes");
    assert_eq!(key(FtlConfig { mapping_unit_bytes: 4096, ..paged(1 << 16, 8) }), "mapping_unit_bytes");
    assert_eq!(key(FtlConfig { slice_workers: 1025, ..paged(1 << 16, 8) }), "slice_workers");
}
