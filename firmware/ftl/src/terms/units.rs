//! Mapping units, and the frames and pages that they form.

use aster_units::{Lpn, Ppa, Upa};

/// An aligned group of consecutive mapping units that together have the size of a page: the content of a data
/// buffer entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Frame(pub(crate) u32);

/// Units of a frame or slots of a page, one bit each.
pub(crate) type Units = u32;

/// How a page is divided into mapping units: a power of two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnitShape {
    // A page has two to the power of this units.
    shift: u32,
}

impl UnitShape {
    /// Pages of `page_bytes` with units of `unit_bytes`, both of which the configuration has checked.
    pub(crate) const fn new(page_bytes: u32, unit_bytes: u32) -> Self {
        UnitShape { shift: (page_bytes / unit_bytes).trailing_zeros() }
    }
    /// Units of a page.
    #[inline]
    pub(crate) const fn per_page(self) -> u32 {
        1 << self.shift
    }
    /// All slots of a page.
    #[inline]
    pub(crate) const fn all(self) -> Units {
        Units::MAX >> (Units::BITS - self.per_page())
    }
    /// The slots in `units`, in ascending order.
    #[inline]
    pub(crate) fn slots_of(self, units: Units) -> impl Iterator<Item = u32> {
        debug_assert!(units & !self.all() == 0, "a page has {} slots", self.per_page());
        let mut left = units;
        core::iter::from_fn(move || {
            let slot = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (slot < Units::BITS).then_some(slot)
        })
    }
    /// The units of a frame that are in `units`, each with its slot.
    #[inline]
    pub(crate) fn units_in(self, frame: Frame, units: Units) -> impl Iterator<Item = (u32, Lpn)> {
        self.slots_of(units).map(move |slot| (slot, Lpn(self.first_of(frame).0 + slot)))
    }
    /// The page that a unit is in.
    #[inline]
    pub(crate) const fn page_of(self, at: Upa) -> Ppa {
        Ppa(at.0 >> self.shift)
    }
    /// A unit's place within its page.
    #[inline]
    pub(crate) const fn slot_of(self, at: Upa) -> u32 {
        at.0 & (self.per_page() - 1)
    }
    /// A page's first unit.
    #[inline]
    pub(crate) const fn first_in(self, page: Ppa) -> Upa {
        Upa(page.0 << self.shift)
    }
    /// The unit in a page's slot.
    #[inline]
    pub(crate) const fn at(self, page: Ppa, slot: u32) -> Upa {
        Upa((page.0 << self.shift) | slot)
    }
    /// The frame that a unit belongs to.
    #[inline]
    pub(crate) const fn frame_of(self, unit: Lpn) -> Frame {
        Frame(unit.0 >> self.shift)
    }
    /// The first unit of a frame.
    #[inline]
    pub(crate) const fn first_of(self, frame: Frame) -> Lpn {
        Lpn(frame.0 << self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_is_a_page_has_the_same_number() {
        let units = UnitShape::new(16384, 16384);
        assert_eq!((units.per_page(), units.at(Ppa(77), 0), units.page_of(Upa(77))), (1, Upa(77), Ppa(77)));
        assert_eq!((units.frame_of(Lpn(5)), units.first_of(Frame(5))), (Frame(5), Lpn(5)));
    }

    #[test]
    fn four_units_make_a_page_or_a_frame() {
        let units = UnitShape::new(16384, 4096);
        assert_eq!(
            (units.page_of(Upa(31)), units.slot_of(Upa(31)), units.at(Ppa(7), 3)),
            (Ppa(7), 3, Upa(31))
        );
        assert_eq!(units.frame_of(Lpn(22)), Frame(5));
        assert_eq!((units.first_of(Frame(5)), units.first_in(Ppa(7))), (Lpn(20), Upa(28)));
    }
}
