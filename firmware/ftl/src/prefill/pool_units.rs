//! Mapping units, numbered within their pools.

use crate::terms::block::PoolIndex;
use crate::terms::units::{Frame, UnitShape};
use alloc::vec;
use alloc::vec::Vec;
use aster_units::Lpn;

/// Which unit of its pool a logical unit is, and back: a placement repeats after some pages, of which each
/// pool has as many.
pub(super) struct PoolUnits {
    shape: UnitShape,
    // By place in the placement's order: the pool, and which of its pages of a round it is.
    order: Vec<(PoolIndex, u32)>,
    // By pool: the places of its pages.
    places: Vec<Vec<u32>>,
    // Pages of a pool in a round.
    per_round: u32,
}

impl PoolUnits {
    /// For pages that a placement gives to these of `pools` pools, one after the other.
    pub(super) fn new(shape: UnitShape, pools: usize, placed: impl Iterator<Item = PoolIndex>) -> Self {
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); pools];
        let mut order = Vec::new();
        for (place, pool) in (0..).zip(placed) {
            let of_pool = &mut places[pool.at()];
            order.push((pool, of_pool.len() as u32));
            of_pool.push(place);
        }
        let per_round = places.first().map_or(0, |places| places.len() as u32);
        PoolUnits { shape, order, places, per_round }
    }
    /// The pool of a frame, and the frame's number there.
    #[inline]
    pub(super) fn of_frame(&self, frame: Frame) -> (PoolIndex, u32) {
        let (round, place) = (frame.0 / self.order.len() as u32, frame.0 % self.order.len() as u32);
        let (pool, nth) = self.order[place as usize];
        (pool, round * self.per_round + nth)
    }
    /// The first unit of a pool's frame, in the pool's own count.
    #[inline]
    pub(super) fn first_of(&self, frame_of_pool: u32) -> u32 {
        self.shape.first_of(Frame(frame_of_pool)).0
    }
    /// The logical unit that is this one of a pool.
    #[inline]
    pub(super) fn unit(&self, pool: PoolIndex, of_pool: u32) -> Lpn {
        let frame = self.shape.frame_of(Lpn(of_pool)).0;
        let place = self.places[pool.at()][(frame % self.per_round) as usize];
        let frame = Frame(frame / self.per_round * self.order.len() as u32 + place);
        Lpn(self.shape.first_of(frame).0 + of_pool % self.shape.per_page())
    }
    /// Units that a pool has of the first `units` ones.
    pub(super) fn count(&self, units: u32) -> u32 {
        let frames = units.div_ceil(self.shape.per_page());
        frames.div_ceil(self.order.len() as u32) * self.per_round * self.shape.per_page()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_unit_has_a_number_of_its_own_in_its_pool_and_is_found_by_it() {
        for (pools, order) in [(4, &[0, 1, 2, 3][..]), (4, &[2, 0, 0, 2, 1, 3, 3, 1]), (1, &[0; 4])] {
            let order: Vec<_> = order.iter().map(|&pool| PoolIndex(pool)).collect();
            let shape = UnitShape::new(16384, 4096);
            let units = PoolUnits::new(shape, pools, order.iter().copied());
            let mut seen = BTreeSet::new();
            for unit in 0..400 {
                let frame = shape.frame_of(Lpn(unit));
                let (pool, of_pool) = units.of_frame(frame);
                assert_eq!(pool, order[frame.0 as usize % order.len()]);
                let number = units.first_of(of_pool) + unit % 4;
                assert!(number < units.count(400) && seen.insert((pool.0, number)));
                assert_eq!(units.unit(pool, number), Lpn(unit));
            }
        }
    }
}
