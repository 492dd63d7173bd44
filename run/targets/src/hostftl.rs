//! The FTL of the Host-FTL paper, from a profile.

use aster_device::plug::{MediaFacts, PieceError, TargetPiece};
use aster_device::profile::{MESSAGE_UNIT, Profile, RaidName};
use aster_device::{BuildError, refresh_on_host, victims_on_host};
use aster_hostftl::ftl::{CompositeConfig, HostFtl, HostFtlConfig, Parity, RegionConfig, StatusFrames};

/// Groups whose hot data leave a region at a time, and accesses that tell which are hot, when the profile
/// doesn't say.
const REGION_GROUPS: u32 = 4;
const REGION_ACCESSES: u32 = 4096;

pub(crate) fn make(profile: &Profile, facts: &MediaFacts) -> Result<Box<dyn TargetPiece>, BuildError> {
    let refuse = |key, reason: String| Err(PieceError::new(key, reason).into());
    if profile.host.front_end != MESSAGE_UNIT {
        let reason = format!("must be \"{MESSAGE_UNIT}\" under target.kind = \"hostftl\"");
        return refuse("host.front_end", reason);
    }
    if facts.lost_together > 1 {
        let reason =
            "must be false under target.kind = \"hostftl\", which doesn't complete word lines for a flush";
        return refuse("package.pair_loss", reason.to_owned());
    }
    let target = profile.target.as_ref();
    let gather_pages = target.and_then(|target| target.gather_pages);
    let composite_bytes = target.and_then(|target| target.composite_bytes).filter(|&bytes| bytes > 0);
    let composite = composite_bytes.map(|bytes| CompositeConfig {
        bytes,
        hot_writes: target.and_then(|target| target.hot_writes).unwrap_or(0),
    });
    let config = HostFtlConfig {
        geometry: facts.geometry,
        lanes: profile.lanes(),
        content: facts.content,
        over_provisioning_percent: profile.ftl.over_provisioning_percent,
        gather_pages: gather_pages.filter(|&pages| pages > 0).unwrap_or(profile.ftl.buffer_entries),
        gathers: gather_pages != Some(0),
        composite,
        wear_window: target.and_then(|target| target.wear_window),
        regions: target.and_then(|target| {
            Some(RegionConfig {
                percent: target.region_percent?,
                groups: target.region_groups.unwrap_or(REGION_GROUPS),
                accesses: target.region_accesses.unwrap_or(REGION_ACCESSES),
            })
        }),
        refresh: refresh_on_host(profile, facts),
        raid: match target.and_then(|target| target.raid).unwrap_or_default() {
            RaidName::Off => None,
            RaidName::Fixed => Some(Parity::Fixed),
            RaidName::Rotating => Some(Parity::Rotating),
        },
        status: StatusFrames {
            entries: target.and_then(|target| target.status_entries).unwrap_or(1),
            after_us: target.and_then(|target| target.status_us).unwrap_or(0),
        },
    };
    Ok(Box::new(HostFtl::new(config, victims_on_host(profile)?)?))
}
