//! The placements that there are to choose from.

use alloc::vec::Vec;
use aster_parties::{PLACEMENT_ROUNDS_MAX, Placement};
use aster_units::{Geometry, LunIndex, Rng, mix64};

/// Which LUN a logical page belongs to (C70, C73).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Assigner {
    /// Consecutive pages go to consecutive channels, then to the next way.
    #[default]
    ChannelFirst,
    /// Consecutive pages go to consecutive ways of one channel, then to the next channel.
    WayFirst,
    /// Pages go to ways and channels at random, but each LUN gets as many of [`RANDOM_ROUNDS`] rounds of all
    /// LUNs.
    Random {
        /// Decides the order.
        seed: u64,
    },
}

/// Rounds of all LUNs in which [`Assigner::Random`] gives each its share.
pub const RANDOM_ROUNDS: u32 = PLACEMENT_ROUNDS_MAX;

impl Placement for Assigner {
    fn order(&self, geometry: &Geometry) -> Vec<LunIndex> {
        // A LUN's index counts channel first.
        let (channels, per_channel) = (u32::from(geometry.channels), geometry.luns_per_channel());
        let luns = geometry.total_luns();
        match *self {
            Assigner::ChannelFirst => (0..luns).map(LunIndex).collect(),
            Assigner::WayFirst => {
                (0..luns).map(|n| LunIndex(n % per_channel * channels + n / per_channel)).collect()
            }
            Assigner::Random { seed } => {
                let mut order: Vec<_> = (0..luns * RANDOM_ROUNDS).map(|n| LunIndex(n % luns)).collect();
                let mut rng = Rng::new(seed);
                // Fisher and Yates.
                for last in (1..order.len()).rev() {
                    order.swap(last, rng.below(last as u64 + 1) as usize);
                }
                order
            }
        }
    }
    // As older images have it.
    fn mark(&self, _: &[LunIndex]) -> u64 {
        match *self {
            Assigner::ChannelFirst => 0,
            Assigner::WayFirst => 1,
            Assigner::Random { seed } => mix64(seed) | 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bench::config;
    use aster_units::Content;

    #[test]
    fn each_assigner_gives_all_luns_the_same_share() {
        let geometry = config(Content::Fingerprint).geometry;
        let luns = geometry.total_luns();
        let assigners = [Assigner::ChannelFirst, Assigner::WayFirst, Assigner::Random { seed: 7 }];
        let orders = assigners.map(|assigner| assigner.order(&geometry));
        for order in &orders {
            let share = |lun| order.iter().filter(|at| at.0 == lun).count();
            assert!((0..luns).all(|lun| share(lun) == order.len() / luns as usize));
        }
        assert!(orders[0].iter().map(|lun| lun.0).eq(0..luns));
        assert!(orders[0] != orders[1]);
        assert!(orders[2][..luns as usize] != orders[0][..]);
    }
}
