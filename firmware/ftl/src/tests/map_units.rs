//! Units that the map itself takes, behind those of the host.

use super::bench::config;
use crate::{ConfigError, FtlConfig, HostConfig, MapCache, MapKind};
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
    let areas = paged.areas();
    let reserve =
        areas.blocks_needed_per_lun() - areas.log_blocks_per_lun() - areas.metadata_blocks_per_lun();
    let pages = (paged.logical_pages() + paged.map_units()).div_ceil(4);
    assert_eq!(reserve, pages / 4 + 1 + u64::from(paged.gc.reserve_blocks) + 2 + 1);
}

#[test]
fn a_map_that_can_not_be_paged_is_refused_by_its_key() {
    let key = |config: FtlConfig| match config.validate() {
        Err(ConfigError::Range { key, .. }) => key,
        other => panic!("{other:?}"),
    };
    assert_eq!(key(FtlConfig { mapping_unit_bytes: 4096, ..paged(1 << 16, 8) }), "mapping_unit_bytes");
    assert_eq!(
        key(FtlConfig {
            host: HostConfig { slice_workers: 1025, ..paged(1 << 16, 8).host },
            ..paged(1 << 16, 8)
        }),
        "slice_workers"
    );
}

/// The number that the refusal names is the first one that is taken.
#[test]
fn a_cache_that_is_too_small_is_refused_with_the_bytes_that_do() {
    let mut refused = [0, 0];
    for bytes in [500, 800, 1000, 1200, 1400] {
        let (which, least) = match paged(bytes, 64).validate() {
            Err(ConfigError::MapCacheBytes { bytes: told, least: Some(least) }) => {
                assert_eq!(told, bytes);
                (0, least)
            }
            Err(ConfigError::MapCache { least: Some(least), .. }) => (1, least),
            other => panic!("{bytes}: {other:?}"),
        };
        refused[which] += 1;
        assert_eq!(paged(least, 64).validate(), Ok(()), "{bytes}");
        assert!(paged(least - 1, 64).validate().is_err(), "{bytes}");
    }
    assert!(refused.iter().all(|&times| times > 0), "both reasons: {refused:?}");
}
