//! The page-mapping translation (`firmware/ftl`).

use crate::profile::{CollectionName, LevellingName, Profile};
use aster_ftl::{Capacity, Collection, FtlConfig, FtlCosts, MapKind, Refresh, WearLevelling};
use aster_parties::MediaFacts;
use aster_units::Duration;

/// Free blocks per LUN that only garbage collection may take: one for a victim's valid pages, and one more
/// in case a program fails meanwhile.
pub(crate) const GC_RESERVE_BLOCKS: u32 = 2;

/// The configuration of the page-mapping FTL. What concerns the front end follows at start.
pub(crate) fn ftl(profile: &Profile, facts: &MediaFacts) -> FtlConfig {
    let f = &profile.ftl;
    let c = &profile.costs;
    FtlConfig {
        geometry: facts.geometry,
        restriction: Some(facts.restriction),
        content: facts.content,
        mapping_unit_bytes: f.mapping_unit_bytes,
        map: MapKind::Resident,
        capacity: match profile.named_pages() {
            Some(pages) => Capacity::Pages(pages),
            None => Capacity::OverProvisioning(f.over_provisioning_percent),
        },
        buffer_entries: f.buffer_entries,
        slice_workers: f.slice_workers,
        command_slots: 1,
        auto_completion: false,
        partial_reads: f.partial_reads,
        gc_reserve_blocks: GC_RESERVE_BLOCKS,
        gc_free_blocks: f.gc_free_blocks,
        collection: match f.collection {
            CollectionName::OnDemand => Collection::OnDemand,
            CollectionName::Paced => Collection::Paced,
        },
        gc_depth: f.gc_depth,
        pages_per_word_line: facts.lost_together,
        whole_lines: facts.whole_lines,
        checkpoint_pages: f.checkpoint_pages,
        wear_levelling: match f.wear_levelling {
            LevellingName::None => WearLevelling::None,
            LevellingName::Dynamic => WearLevelling::Dynamic,
            LevellingName::Static => WearLevelling::Static { spread: f.wear_spread },
        },
        refresh: refresh(profile, facts.correctable),
        scan_interval: Duration::from_micros(f.scan_us.into()),
        background_gap: Duration::from_micros(f.background_gap_us.into()),
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
    }
}

fn refresh(profile: &Profile, correctable: u8) -> Refresh {
    // Rounded up, so that a small share is at least one bit.
    let corrected = (u32::from(correctable) * profile.ftl.refresh_corrected_percent).div_ceil(100) as u8;
    Refresh { corrected, correctable, reads: profile.ftl.refresh_reads }
}
