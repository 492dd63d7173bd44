//! How many blocks per LUN a drive needs for the capacity in its profile.

use crate::check::has_good_blocks;
use crate::configure;
use crate::profile::{NamedCapacity, Profile};
use aster_ftl::{Capacity, FtlConfig};
use aster_units::Content;

/// Most pages that the host may see with the over-provisioning that the profile asks for.
fn pages_at_most(profile: &Profile) -> u64 {
    let facts = configure::media_facts(profile, Content::Fingerprint);
    let spare = Capacity::OverProvisioning(profile.ftl.over_provisioning_percent);
    FtlConfig { capacity: spare, ..configure::ftl(profile, &facts) }.logical_pages()
}

/// The same drive without restriction.
fn whole(profile: &Profile) -> Profile {
    Profile { restrict: Default::default(), ..profile.clone() }
}

/// Sets a number of blocks per LUN that is too small for the capacity, but lets everything else be
/// checked.
pub(crate) fn guess_blocks(profile: &mut Profile) {
    let g = &mut profile.geometry;
    let per_block = u64::from(g.pages_per_block) * u64::from(g.page_bytes);
    let of_one = u64::from(g.channels) * u64::from(g.ways) * u64::from(g.luns) * per_block;
    let bytes = g.capacity.as_ref().map_or(0, NamedCapacity::bytes);
    let planes = u64::from(g.planes.max(1));
    let blocks = bytes.checked_div(of_one).unwrap_or(0).max(2 * planes).next_multiple_of(planes);
    g.blocks_per_lun = u32::try_from(blocks).unwrap_or(u32::MAX);
}

/// Chooses the smallest number of blocks per LUN that gives the drive its capacity, the spare that the
/// profile asks for, and in each LUN the good blocks that the FTL needs. The profile must have been
/// checked with the number from [`guess_blocks`].
///
/// # Errors
/// When the array can't have that many. Says what is wrong with `geometry.capacity`.
pub(crate) fn choose_blocks(profile: &mut Profile) -> Result<(), String> {
    let all = whole(profile);
    let (Some(capacity), Some(pages)) = (&all.geometry.capacity, all.named_pages()) else { return Ok(()) };
    let does = |blocks: u32| {
        let mut with = all.clone();
        with.geometry.blocks_per_lun = blocks;
        // The cheaper check first: hundreds of numbers may be tried.
        pages_at_most(&with) >= u64::from(pages) && has_good_blocks(&with, Content::Fingerprint)
    };
    let first = all.geometry.blocks_per_lun;
    let last = first.saturating_mul(4).max(256);
    let enough = (first..=last).step_by(all.geometry.planes.into()).find(|&blocks| does(blocks));
    profile.geometry.blocks_per_lun = enough.ok_or_else(|| {
        format!(
            "must be what this array can have, but {capacity} with {} % of spare takes more than {last} \
             blocks per LUN",
            all.ftl.over_provisioning_percent
        )
    })?;
    Ok(())
}

/// Refuses a capacity that leaves less spare than the profile asks for.
///
/// # Errors
/// Says what is wrong with `geometry.capacity`.
pub(crate) fn check_capacity(profile: &Profile) -> Result<(), String> {
    let g = &profile.geometry;
    let (Some(capacity), Some(pages)) = (&g.capacity, profile.named_pages()) else { return Ok(()) };
    let most = pages_at_most(profile);
    if u64::from(pages) <= most {
        return Ok(());
    }
    Err(format!(
        "must leave {} % of spare: {} blocks per LUN are enough for {} bytes, and {capacity} is {}; leave \
         blocks_per_lun out to have it chosen",
        profile.ftl.over_provisioning_percent,
        g.blocks_per_lun,
        most * u64::from(g.page_bytes),
        capacity.bytes(),
    ))
}
