//! Blocks that the FTL works with, and those that are spare.

use super::config::HostFtlConfig;
use super::groups::Groups;
use crate::driver::ArrayInfo;

/// Blocks for data beyond those that the host's data and the FTL's work need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spare {
    needed: u64,
    from_factory: u64,
}

impl Spare {
    /// Of an array of which so many blocks left the factory good.
    pub fn new(config: &HostFtlConfig, info: &ArrayInfo, sectors: u32, good: u64) -> Self {
        let dies = u64::from(info.channels) * u64::from(info.dies);
        let of_block = u64::from(config.geometry.pages_per_block) * u64::from(info.sectors);
        let with_data = u64::from(info.lanes) - config.parity_lanes();
        let good = good * with_data / u64::from(info.lanes);
        let needed = u64::from(sectors).div_ceil(of_block) + config.working_groups(dies) * with_data;
        Spare { needed, from_factory: good.saturating_sub(needed) }
    }
    /// What is left of it, in percent.
    pub fn of(&self, groups: &Groups) -> u8 {
        let left = groups.blocks_for_data().saturating_sub(self.needed);
        (left * 100).div_ceil(self.from_factory.max(1)).min(100) as u8
    }
}
