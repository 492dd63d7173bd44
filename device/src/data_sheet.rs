//! What a profile's drive has on paper: what its blocks are for, and what its link and buses carry.

use crate::configure::{self, BuildError};
use crate::pieces::Pieces;
use crate::profile::{PAGE_MAPPING, Profile};
use aster_ftl::{PlaneOrder, Pools};
use aster_units::Content;

/// What the blocks of a pool are for, under our page-mapping FTL. None of them is bad. A pool is a LUN, or
/// all LUNs of the drive. Where planes are allocated one by one, each of them counts as a LUN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LunPool {
    /// Pools of the drive.
    pub pools: u32,
    /// LUNs of each.
    pub luns_per_pool: u32,
    /// Whether they are planes.
    pub are_planes: bool,
    /// Blocks set aside for the log.
    pub log_blocks: u32,
    /// Blocks kept for the stored map.
    pub map_blocks: u32,
    /// Blocks for data: closed, open or free.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Logical pages of the fullest pool.
    pub logical_pages: u32,
    /// Free blocks that only garbage collection may use.
    pub reserve: u32,
    /// Most dirty entries of the drive's data buffer.
    pub dirty_max: u32,
}

/// A pool of a profile's drive; `None` if the drive has another translation than our
/// page-mapping FTL.
pub fn lun_pool(pieces: &Pieces, profile: &Profile, content: Content) -> Option<LunPool> {
    if profile.ftl.kind != PAGE_MAPPING || !pieces.translations.is_ours(PAGE_MAPPING) {
        return None;
    }
    let config = configure::ftl(profile, &configure::media_facts(profile, content));
    let luns = if config.pools == Pools::One { config.geometry.total_luns() } else { 1 };
    let pools = config.geometry.total_luns() / luns;
    Some(LunPool {
        pools,
        luns_per_pool: luns,
        are_planes: PlaneOrder::named(profile.ftl.placement()).is_some(),
        log_blocks: config.areas().log_blocks_per_lun() as u32 * luns,
        map_blocks: config.areas().metadata_blocks_per_lun() as u32 * luns,
        blocks: config.areas().data_blocks_per_lun() as u32 * luns,
        pages_per_block: config.geometry.pages_per_block.into(),
        logical_pages: config.logical_pages().div_ceil(pools.into()) as u32,
        reserve: config.pool_reserve_blocks(),
        dirty_max: config.host.dirty_max(),
    })
}

/// What a drive's link and flash buses carry at most, in bytes per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// Payload in one direction of the link, in packets as large as the profile allows; `None` without a
    /// limit.
    pub link: Option<u64>,
    /// Data strobes of one channel, towards the controller.
    pub channel: u64,
}

/// The rates of a profile's link and flash buses.
///
/// # Errors
/// When the profile has a data interface and timing mode that don't exist together.
pub fn carried(profile: &Profile) -> Result<Carried, BuildError> {
    let link = configure::link(profile);
    let payload = u64::from(link.packet_payload.max(1));
    let packet = payload + u64::from(link.packet_overhead);
    // Two bytes pass in a pair of strobes, whatever the interface.
    let pair = configure::bus_timing(profile)?.t_pair_out.as_picos().max(1);
    Ok(Carried {
        link: (link.bytes_per_second > 0).then(|| link.bytes_per_second * payload / packet),
        channel: 2 * 1_000_000_000_000 / pair,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{STRIPED, shipped};

    #[test]
    fn a_luns_blocks_are_all_accounted_for() {
        let mut profile = shipped("ideal").unwrap();
        profile.ftl.placement = None;
        let pool = lun_pool(&Pieces::default(), &profile, Content::Fingerprint).unwrap();
        let all = pool.log_blocks + pool.map_blocks + pool.blocks;
        assert_eq!((all, pool.pools, pool.luns_per_pool), (profile.geometry.blocks_per_lun, 64, 1));
        assert!(pool.logical_pages < (pool.blocks - pool.reserve) * pool.pages_per_block);
        let mut striped = profile.clone();
        striped.ftl.placement = Some(STRIPED.to_owned());
        let all_of_it = lun_pool(&Pieces::default(), &striped, Content::Fingerprint).unwrap();
        assert_eq!((all_of_it.pools, all_of_it.luns_per_pool), (1, 64));
        assert_eq!((all_of_it.blocks, all_of_it.log_blocks), (64 * pool.blocks, 64 * pool.log_blocks));
        assert!(all_of_it.reserve < 64 * pool.reserve / 4, "most of the reserve is shared");
        assert!(all_of_it.logical_pages.abs_diff(64 * pool.logical_pages) <= 64);
    }

    /// NV-DDR2 mode 7 has 400 MT/s (ONFI 5.1, table 4-15), and a generation 4 lane 16 GT/s with 128b/130b.
    #[test]
    fn links_and_buses_carry_what_their_standards_say() {
        let mut profile = shipped("ideal").unwrap();
        let Carried { link, channel } = carried(&profile).unwrap();
        assert_eq!(channel, 400_000_000);
        let raw = 4.0 * 16e9 / 8.0 * 128.0 / 130.0;
        assert!((0.85..0.99).contains(&(link.unwrap() as f64 / raw)), "{link:?}");
        profile.link.unlimited = true;
        assert_eq!(carried(&profile).unwrap().link, None);
    }
}
