//! The built-in placements.

use crate::blocks::plane_order::PlaneOrder;
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
    /// All LUNs are one pool: a page goes to the next one that has room when it is programmed, channel first.
    Striped,
    /// Pages go to LUNs in a random order, in which each LUN occurs [`RANDOM_ROUNDS`] times.
    Random {
        /// Decides the order.
        seed: u64,
    },
    /// Consecutive pages go through channels, ways, dies and planes in this order (S21). Planes are allocated
    /// one by one.
    Planes {
        /// The order.
        order: PlaneOrder,
        /// Planes of a LUN.
        planes: u8,
    },
}

/// How often each LUN occurs in the order of [`Assigner::Random`].
pub const RANDOM_ROUNDS: u32 = PLACEMENT_ROUNDS_MAX;

impl Placement for Assigner {
    fn order(&self, geometry: &Geometry) -> Vec<LunIndex> {
        // A LUN's index counts channel first.
        let (channels, per_channel) = (u32::from(geometry.channels), geometry.luns_per_channel());
        let luns = geometry.total_luns();
        match *self {
            Assigner::ChannelFirst | Assigner::Striped => (0..luns).map(LunIndex).collect(),
            Assigner::WayFirst => {
                (0..luns).map(|n| LunIndex(n % per_channel * channels + n / per_channel)).collect()
            }
            Assigner::Random { seed } => {
                let mut order: Vec<_> = (0..luns * RANDOM_ROUNDS).map(|n| LunIndex(n % luns)).collect();
                let mut rng = Rng::new(seed);
                // A Fisher-Yates shuffle.
                for last in (1..order.len()).rev() {
                    order.swap(last, rng.below(last as u64 + 1) as usize);
                }
                order
            }
            Assigner::Planes { order, planes } => order.units(geometry, planes),
        }
    }
    fn mark(&self, _: &[LunIndex]) -> u64 {
        match *self {
            Assigner::ChannelFirst => 0,
            Assigner::WayFirst => 1,
            Assigner::Striped => mix64(5),
            Assigner::Random { seed } => mix64(seed) | 2,
            Assigner::Planes { order, .. } => {
                order.name().bytes().fold(3, |all, letter| mix64(all ^ u64::from(letter)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PLANE_ORDERS;
    use crate::tests::bench::config;
    use aster_units::Content;
    use std::collections::BTreeSet;

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

    /// S21, S28: channel, way, die and plane of consecutive pages, by four nested loops.
    #[test]
    fn each_of_the_24_orders_stripes_as_it_says() {
        let mut config = config(Content::Fingerprint);
        config.geometry = Geometry { channels: 3, ways: 2, luns: 2, planes: 4, ..config.geometry };
        let (array, apart) = (config.geometry, config.allocating_planes());
        let how_many = |letter| match letter {
            'c' => 3,
            'w' => 2,
            'd' => 2,
            'p' => 4,
            other => panic!("{other} stands for nothing"),
        };
        let mut names = BTreeSet::new();
        let mut marks = BTreeSet::new();
        for name in PLANE_ORDERS {
            let order = PlaneOrder::named(name).unwrap();
            let assigner = Assigner::Planes { order, planes: 4 };
            let units = assigner.order(&apart.geometry);
            let [a, b, c, d] = name.chars().collect::<Vec<_>>().try_into().unwrap();
            let mut page = 0;
            for of_d in 0..how_many(d) {
                for of_c in 0..how_many(c) {
                    for of_b in 0..how_many(b) {
                        for of_a in 0..how_many(a) {
                            let (lun, plane) = apart.planes().lun_and_plane(units[page]);
                            let at = array.lun_addr(lun);
                            let found = |letter| match letter {
                                'c' => u32::from(at.channel),
                                'w' => at.way.into(),
                                'd' => at.lun.into(),
                                _ => plane.into(),
                            };
                            assert_eq!([a, b, c, d].map(found), [of_a, of_b, of_c, of_d], "{name}, {page}");
                            page += 1;
                        }
                    }
                }
            }
            assert_eq!((page, units.len()), (48, 48));
            assert!(names.insert([a, b, c, d]) && marks.insert(assigner.mark(&units)), "{name} twice");
        }
        assert_eq!((names.len(), PlaneOrder::named("cwdd")), (24, None));
    }
}
