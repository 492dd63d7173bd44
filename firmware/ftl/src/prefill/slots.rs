//! What stands in the slots of a pool while a drive is being filled.

use alloc::vec;
use alloc::vec::Vec;

/// No unit, and no slot.
pub(super) const NONE: u32 = u32::MAX;

/// What stands in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// The unit in the pool's count; [`NONE`] if the slot is empty.
    pub(super) unit: u32,
    /// When the host wrote it.
    pub(super) written: u32,
    /// How often garbage collection has copied it.
    pub(super) copies: u8,
}

/// All slots, and the place of each unit.
pub(super) struct Slots {
    units: Vec<u32>,
    written: Vec<u32>,
    copies: Vec<u8>,
    // One bit per slot: it is its unit's present place. They fit a cache much longer than the places do.
    current: Vec<u64>,
    // Per unit: its slot.
    places: Vec<u32>,
}

impl Slots {
    pub(super) fn new(slots: usize, units: usize) -> Self {
        Slots {
            units: vec![NONE; slots],
            written: vec![0; slots],
            copies: vec![0; slots],
            current: vec![0; slots.div_ceil(64)],
            places: vec![NONE; units],
        }
    }
    /// What stands in a slot.
    #[inline]
    pub(super) fn of(&self, slot: u32) -> Slot {
        let at = slot as usize;
        Slot { unit: self.units[at], written: self.written[at], copies: self.copies[at] }
    }
    /// The unit's place, if it has one.
    #[inline]
    pub(super) fn place_of(&self, unit: u32) -> Option<u32> {
        Some(self.places[unit as usize]).filter(|&place| place != NONE)
    }
    #[inline]
    pub(super) fn is_current(&self, slot: u32) -> bool {
        self.current[slot as usize / 64] >> (slot % 64) & 1 == 1
    }
    /// The current ones of `count` slots, as bits. They are a page's, whose slots are a power of two.
    #[inline]
    pub(super) fn current_of_page(&self, first: u32, count: u32) -> u64 {
        self.current[first as usize / 64] >> (first % 64) & (u64::MAX >> (64 - count))
    }
    /// The first current slot from `first` on, before `end`.
    #[inline]
    pub(super) fn next_current(&self, first: u32, end: u32) -> Option<u32> {
        let mut from = first;
        while from < end {
            let left = self.current[from as usize / 64] >> (from % 64);
            if left != 0 {
                return Some(from + left.trailing_zeros()).filter(|&slot| slot < end);
            }
            from = (from / 64 + 1) * 64;
        }
        None
    }
    /// Puts a unit into a slot, which is its place from now on.
    #[inline]
    pub(super) fn put(&mut self, slot: u32, of: Slot) {
        let at = slot as usize;
        self.places[of.unit as usize] = slot;
        self.current[at / 64] |= 1 << (slot % 64);
        (self.units[at], self.written[at], self.copies[at]) = (of.unit, of.written, of.copies);
    }
    /// Leaves a slot empty.
    #[inline]
    pub(super) fn put_none(&mut self, slot: u32) {
        self.units[slot as usize] = NONE;
    }
    /// A slot is no longer its unit's place.
    #[inline]
    pub(super) fn lose(&mut self, slot: u32) {
        self.current[slot as usize / 64] &= !(1 << (slot % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_slots_are_found_in_their_order() {
        let mut slots = Slots::new(300, 300);
        for (unit, slot) in [3, 63, 64, 190, 299].into_iter().enumerate() {
            slots.put(slot, Slot { unit: unit as u32, written: 7, copies: 1 });
        }
        let all = |slots: &Slots, first, end| {
            let (mut from, mut found) = (first, Vec::new());
            while let Some(slot) = slots.next_current(from, end) {
                found.push(slot);
                from = slot + 1;
            }
            found
        };
        assert_eq!(all(&slots, 0, 300), [3, 63, 64, 190, 299]);
        assert_eq!(all(&slots, 4, 190), [63, 64]);
        slots.lose(64);
        assert_eq!(all(&slots, 64, 191), [190]);
        assert_eq!((slots.current_of_page(188, 4), slots.current_of_page(60, 4)), (0b100, 0b1000));
        assert!(slots.is_current(190) && !slots.is_current(64));
        assert_eq!((slots.place_of(3), slots.place_of(9)), (Some(190), None));
    }
}
