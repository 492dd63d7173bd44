//! Mapping units, numbered within their LUNs.

use crate::terms::units::{Frame, UnitShape};
use alloc::vec;
use alloc::vec::Vec;
use aster_units::{Lpn, LunIndex};

/// Which unit of its LUN a logical unit is, and back: a placement repeats after some pages, of which each LUN
/// has as many.
pub(super) struct LunUnits {
    shape: UnitShape,
    // By place in the placement's order: the LUN, and which of its pages of a round it is.
    order: Vec<(LunIndex, u32)>,
    // By LUN: the places of its pages.
    places: Vec<Vec<u32>>,
    // Pages of a LUN in a round.
    per_round: u32,
}

impl LunUnits {
    /// For pages that `lun_order` places on `luns` LUNs.
    pub(super) fn new(shape: UnitShape, luns: u32, lun_order: &[LunIndex]) -> Self {
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); luns as usize];
        let mut order = Vec::with_capacity(lun_order.len());
        for (place, &lun) in (0..).zip(lun_order) {
            let of_lun = &mut places[lun.index()];
            order.push((lun, of_lun.len() as u32));
            of_lun.push(place);
        }
        let per_round = places.first().map_or(0, |places| places.len() as u32);
        LunUnits { shape, order, places, per_round }
    }
    /// The LUN of a frame, and the frame's number there.
    #[inline]
    pub(super) fn of_frame(&self, frame: Frame) -> (LunIndex, u32) {
        let (round, place) = (frame.0 / self.order.len() as u32, frame.0 % self.order.len() as u32);
        let (lun, nth) = self.order[place as usize];
        (lun, round * self.per_round + nth)
    }
    /// The first unit of a LUN's frame, in the LUN's own count.
    #[inline]
    pub(super) fn first_of(&self, frame_of_lun: u32) -> u32 {
        self.shape.first_of(Frame(frame_of_lun)).0
    }
    /// The logical unit that is this one of a LUN.
    #[inline]
    pub(super) fn unit(&self, lun: LunIndex, of_lun: u32) -> Lpn {
        let frame = self.shape.frame_of(Lpn(of_lun)).0;
        let place = self.places[lun.index()][(frame % self.per_round) as usize];
        let frame = Frame(frame / self.per_round * self.order.len() as u32 + place);
        Lpn(self.shape.first_of(frame).0 + of_lun % self.shape.per_page())
    }
    /// Units that a LUN has of the first `units` ones.
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
    fn each_unit_has_a_number_of_its_own_in_its_lun_and_is_found_by_it() {
        for order in [&[0, 1, 2, 3][..], &[2, 0, 0, 2, 1, 3, 3, 1]] {
            let order: Vec<_> = order.iter().map(|&lun| LunIndex(lun)).collect();
            let shape = UnitShape::new(16384, 4096);
            let units = LunUnits::new(shape, 4, &order);
            let mut seen = BTreeSet::new();
            for unit in 0..400 {
                let frame = shape.frame_of(Lpn(unit));
                let (lun, of_lun) = units.of_frame(frame);
                assert_eq!(lun, order[frame.0 as usize % order.len()]);
                let number = units.first_of(of_lun) + unit % 4;
                assert!(number < units.count(400) && seen.insert((lun.0, number)));
                assert_eq!(units.unit(lun, number), Lpn(unit));
            }
        }
    }
}
