//! The page-mapping translation (`firmware/ftl`).

use crate::profile::{CollectionName, FirstAccessName, LevellingName, MappingName, Profile, STRIPED};
use aster_ftl::{
    Capacity, CareConfig, Collection, ConfigError, FirstAccess, FtlConfig, FtlCosts, GcConfig, HostConfig,
    LineConfig, MapCache, MapKind, PlaneOrder, Pools, Refresh, WearLevelling,
};
use aster_parties::MediaFacts;
use aster_units::Duration;

/// Free blocks per pool that only garbage collection may take: one for a victim's valid pages, and one more
/// in case a program fails meanwhile.
pub(crate) const GC_RESERVE_BLOCKS: u32 = 2;

/// A map cache of which the profile doesn't say how large it is: of so many bytes of the whole map, one.
const MAP_CACHE_SHARE: u64 = 100;

/// The configuration of the page-mapping FTL. What concerns the front end follows at start.
pub(crate) fn ftl(profile: &Profile, facts: &MediaFacts) -> FtlConfig {
    let resident = with_map(profile, facts, MapKind::Resident);
    match &profile.ftl.mapping {
        // One of a reader's own has no pages of its own on flash either.
        MappingName::Resident | MappingName::Own(_) => resident,
        MappingName::DemandPaged => {
            let whole = 4 * resident.logical_pages();
            let paged =
                |bytes| FtlConfig { map: MapKind::DemandPaged(MapCache { bytes, entries: 0 }), ..resident };
            match profile.ftl.map_cache_bytes {
                Some(bytes) => paged(bytes),
                None => paged(least(whole / MAP_CACHE_SHARE, |bytes| paged(bytes).validate())),
            }
        }
    }
}

/// The least number of bytes from `bytes` on, in steps of an eighth, that isn't refused for being too small.
fn least(bytes: u64, validate: impl Fn(u64) -> Result<(), ConfigError>) -> u64 {
    let is_small = |bytes: u64| {
        let refused = validate(bytes);
        matches!(refused, Err(ConfigError::MapCache { .. } | ConfigError::MapCacheBytes { .. }))
    };
    let sizes = core::iter::successors(Some(bytes.max(1024)), |bytes| Some(bytes + bytes / 8));
    // A map of which all is in memory is not too small; what is refused then has another reason.
    sizes.take_while(|&bytes| bytes < 1 << 40).find(|&bytes| !is_small(bytes)).unwrap_or(bytes)
}

fn with_map(profile: &Profile, facts: &MediaFacts, map: MapKind) -> FtlConfig {
    let f = &profile.ftl;
    let c = &profile.costs;
    let config = FtlConfig {
        geometry: facts.geometry,
        planes_apart: 1,
        restriction: Some(facts.restriction),
        content: facts.content,
        mapping_unit_bytes: f.mapping_unit_bytes,
        map,
        pools: if f.placement() == STRIPED { Pools::One } else { Pools::PerLun },
        capacity: match profile.named_pages() {
            Some(pages) => Capacity::Pages(pages),
            None => Capacity::OverProvisioning(f.over_provisioning_percent),
        },
        host: HostConfig {
            buffer_entries: f.buffer_entries,
            slice_workers: f.slice_workers,
            command_slots: 1,
            auto_completion: false,
            partial_reads: f.partial_reads,
            first_access: match f.first_access {
                FirstAccessName::Zeroes => FirstAccess::Zeroes,
                FirstAccessName::Assigns => FirstAccess::Assigns,
            },
        },
        gc: GcConfig {
            collection: match f.collection {
                CollectionName::OnDemand => Collection::OnDemand,
                CollectionName::Paced => Collection::Paced,
            },
            reserve_blocks: GC_RESERVE_BLOCKS,
            free_blocks: f.gc_free_blocks,
            depth: f.gc_depth,
        },
        streams: f.streams,
        lines: LineConfig { pages: facts.lost_together, whole: facts.whole_lines },
        checkpoint_pages: f.checkpoint_pages,
        care: CareConfig {
            wear_levelling: match f.wear_levelling {
                LevellingName::None => WearLevelling::None,
                LevellingName::Dynamic => WearLevelling::Dynamic,
                LevellingName::Static => WearLevelling::Static { spread: f.wear_spread },
            },
            refresh: refresh(profile, facts.correctable),
            retire_uncorrectable: f.retire_uncorrectable,
            scan_interval: Duration::from_micros(f.scan_us.into()),
            background_gap: Duration::from_micros(f.background_gap_us.into()),
        },
        costs: FtlCosts {
            command: c.command,
            slice: c.slice,
            translate: c.translate,
            buffer: c.buffer,
            dma: c.dma,
            complete: c.complete,
            move_page: c.move_page,
            replay: c.replay,
        },
    };
    match PlaneOrder::named(f.placement()) {
        Some(_) => config.allocating_planes(),
        None => config,
    }
}

pub(crate) fn refresh(profile: &Profile, correctable: u8) -> Refresh {
    Refresh::of(correctable, profile.ftl.refresh_corrected_percent, profile.ftl.refresh_reads)
}
